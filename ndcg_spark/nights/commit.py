"""Publishes an evaluation: writes its rows to their final place, verifies them, and adds log rows.

Nothing is overwritten. If a process is killed, the old night remains current, unless the log rows
were already added. Anything that the process wrote before that is ignored, and a later evaluation
removes it.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.errors import InputError, NdcgSparkError, StorageError
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.stored_rows import StoredRows
from ndcg_spark.nights.log import Night, Nights, append, committed, log_row, utc_now
from ndcg_spark.nights.reader import file_schema, read_night_files
from ndcg_spark.nights.store import FAILURES, REMOVING, Store, folder
from ndcg_spark.schemas import IN_PATHS, KEPT
from ndcg_spark.text import masked
from ndcg_spark.voices import OPTIONS, Voice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Publication:
    """Publishes the scores of one evaluation: `write` and `verify` every table, then `commit`.

    Readers see nothing before the commit. As a context manager, it removes the written files if
    the block fails.
    """

    def __init__(self, output: str, evaluated_on: str, evaluation_id: str) -> None:
        self.store = Store(output)
        self._date = evaluated_on
        self._id = evaluation_id
        self.location = self.store.location
        #: The rows, bytes and checksum of each file, by table.
        self._files: dict[str, dict[str, dict[str, int]]] = {}

    def __enter__(self) -> "Publication":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abandon()

    def write(self, name: str, table: "DataFrame") -> None:
        """Let the engine write a table."""
        path = self.store.for_engine(self._folder(name))
        table.drop(*IN_PATHS).write.parquet(path, mode="append")

    def write_rows(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a table with few rows, without an engine."""
        with self.store.failures("cannot be written"):
            self.store.add_rows(self._folder(name), rows, file_schema(name))

    def read(self, name: str, session: "SparkSession") -> "DataFrame":
        """The rows of a written table, as the engine reads them."""
        path = self.store.for_engine(self._folder(name))
        return read_night_files(session, name, [path], self._date, self._id)

    def night(self, dataset: str, record: Mapping[str, Any]) -> Night:
        """The verified rows as a night of a dataset that is not published yet."""
        return Night(dataset, self._date, 0, self._id, self.store, self._row(record, dataset))

    def stored(self, name: str) -> StoredRows:
        """The rows of a verified table, as this process reads them."""
        root = self._folder(name)
        files = []
        for path, described in self._files[name].items():
            place = (self.store.system, f"{root}/{path}")
            files.append(File(path, described["bytes"], storage=place))
        columns = file_schema(name).names
        return StoredRows(files, {}, columns, "output", f"{name} in {self.location}")

    def table(self, name: str) -> pa.Table:
        """All rows of a verified table, unordered, read without an engine.

        StorageError if a file has changed since it was written.
        """
        root = self._folder(name)
        schema = file_schema(name)
        parts = [schema.empty_table()]
        with self.store.failures("cannot be read back"):
            for path, described in self._files[name].items():
                content = self.store.read(f"{root}/{path}", described.get("crc32"))
                parts.append(content.select(schema.names).cast(schema))
        rows = pa.concat_tables(parts)
        in_paths = {"evaluated_on": self._date, "evaluation_id": self._id}
        for column, value in in_paths.items():
            constant = pa.scalar(value).cast(KEPT[name].field(column).type)
            rows = rows.append_column(column, pa.repeat(constant, len(rows)))
        return rows.select(KEPT[name].names)

    def size(self, name: str) -> tuple[int, int]:
        """The number of rows in a verified table, and their bytes."""
        files = self._files[name].values()
        return sum(file["rows"] for file in files), sum(file["bytes"] for file in files)

    def verify(self, name: str, rows: int) -> None:
        """Raise StorageError unless the footers of a table's files add up to this many rows."""
        files: dict[str, dict[str, int]] = {}
        self._files[name] = files
        with self.store.failures("cannot be read back, and nothing was published"):
            for path, size in self._sizes(name).items():
                whole = f"{self._folder(name)}/{path}"
                self.store.protect(whole)
                files[path] = self.store.describe(whole, size)
        count = sum(file["rows"] for file in files.values())
        if count != rows:
            raise StorageError(
                f"output: {count} of {rows} rows of {name} were read back from "
                f"{self.store.location}; nothing was published. If the engine is a cluster, "
                "give the output as a URI that this machine can also read"
            )

    def commit(
        self, record: Mapping[str, Any], datasets: Mapping[str, Mapping[str, Any]]
    ) -> list[str]:
        """Add a row to the log for each dataset, with these entries of a verdict.

        From then on, this is the current evaluation. Returns a sentence for each dataset whose
        current evaluation is a different one that was published at the same time.
        """
        with self.store.failures("cannot be written, and nothing was published"):
            self._refuse_lost()
            known = committed(self.store, [self._date])
            known.refuse_damaged([self._date])
            path = append(self.store, self._date, self._log_rows(record, datasets, known))
            try:
                # A process that removes leftovers writes a mark before it reads the log, so one of
                # the two processes notices the other.
                self._refuse_lost()
            except BaseException:
                with contextlib.suppress(*FAILURES):
                    self.store.delete(path)
                raise
        sentences = []
        for night in committed(self.store, [self._date]):
            if night.dataset in datasets and night.evaluation_id != self._id:
                other = f"{night.dataset} on {self._date}: {night.evaluation_id}"
                now = "was published at the same time and is now the current evaluation"
                sentences.append(f"{other} {now}")
        return sentences

    def _log_rows(
        self,
        record: Mapping[str, Any],
        datasets: Mapping[str, Mapping[str, Any]],
        known: Nights,
    ) -> list[Mapping[str, Any]]:
        """A published row for each dataset, numbered after its current evaluation."""
        committed_at = utc_now()
        numbers = {night.dataset: night.number + 1 for night in known}
        rows = []
        for name, entries in datasets.items():
            row = self._row(
                record,
                name,
                number=numbers.get(name, 1),
                status="published",
                committed_at=committed_at,
                **entries,
            )
            rows.append(row)
        return rows

    def _refuse_lost(self) -> None:
        """Raise StorageError if verified files are gone, which can happen to a slow evaluation."""
        for name, files in self._files.items():
            verified = {path: file["bytes"] for path, file in files.items()}
            listed = self._sizes(name, suffix="")
            present = {path: size for path, size in listed.items() if path.endswith(".parquet")}
            if REMOVING in listed or present != verified:
                where = f"output: files of {name} in {self.store.location}"
                what = "changed after they were verified, so nothing was published"
                raise StorageError(f"{where} {what}; run this again")

    def abandon(self) -> None:
        """Remove the written files, unless they were published. Storage failures are ignored."""
        with contextlib.suppress(*FAILURES, StorageError):
            known = committed(self.store, [self._date])
            is_published = any(row["evaluation_id"] == self._id for row in known.rows)
            # A damaged log may have a row of this evaluation.
            if is_published or known.damaged:
                return
            for name in KEPT:
                self.store.delete(self._folder(name))

    def _row(self, record: Mapping[str, Any], dataset: str, **more: Any) -> Mapping[str, Any]:
        """A log row of this evaluation."""
        own = {"evaluated_on": self._date, "evaluation_id": self._id, "files": self._files}
        return log_row({**record, **own}, dataset=dataset, **more)

    def _sizes(self, name: str, suffix: str = ".parquet") -> dict[str, int]:
        """The size of each file of a table, by its name in the evaluation's folder."""
        root = self._folder(name)
        files = self.store.files(root, suffix)
        return {path.removeprefix(f"{root}/"): file.size for path, file in files.items()}

    def _folder(self, name: str) -> str:
        return folder(name, self._date, self._id)


def log_attempt(
    output: str,
    evaluated_on: str,
    evaluation_id: str,
    error: Exception,
    exit_code: int,
    voice: Voice = OPTIONS,
    **more: Any,
) -> None:
    """Add a row for an evaluation that published nothing. Storage failures are ignored.

    `voice`: how the caller names options.
    """
    status = "refused" if exit_code == InputError.exit_code else "failed"
    reason = error.worded(voice) if isinstance(error, NdcgSparkError) else str(error)
    more |= {
        "evaluation_id": evaluation_id,
        "exit_code": exit_code,
        "reason": masked(reason),
        "committed_at": utc_now(),
    }
    with contextlib.suppress(*FAILURES, StorageError):
        append(Store(output), evaluated_on, [log_row({}, status=status, **more)])
