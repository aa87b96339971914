"""The records of an output: which evaluation of a night counts, what its record says, and its acceptance."""

import concurrent.futures
import contextlib
import dataclasses
import datetime
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import parquet as pq
from pydantic import BaseModel, ValidationError
from pyspark.sql.pandas.types import to_arrow_schema

from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConventionError, NdcgSparkError, StorageError
from ndcg_spark.nights.layout import AT_ONCE, FAILURES, RECORDS, Store, night_folder, night_of
from ndcg_spark.schemas import EVALUATIONS, PARTITIONS

_PATH = re.compile(rf"{RECORDS}/([^/]+/[^/]+)/([0-9]+)-([^/]+)\.json")
#: The file of a night in the table `evaluations`.
EVALUATION_FILE = "evaluation.parquet"
_T = TypeVar("_T")


class ReplacedError(StorageError):
    """A night was evaluated again or removed while it was read."""

    def __init__(self, night: "CommittedNight") -> None:
        super().__init__(f"output: {night} in {night.store.place} was replaced while it was read; run this again")


class _File(BaseModel):
    rows: int
    #: None for what an acceptance replaces.
    bytes: int | None


class _Verdict(BaseModel):
    verdict: str
    reason: str
    findings: list[dict[str, Any]] = []
    baselines: list[dict[str, Any]] = []


class _Record(BaseModel):
    """What readers rely on in a record; it holds more than this."""

    convention: str
    options: dict[str, Any]
    configuration: dict[str, Any]
    inputs: dict[str, dict[str, Any]]
    files: dict[str, dict[str, _File]]
    datasets: list[str] = []
    verdict: _Verdict | None = None
    accepted: dict[str, str] | None = None


@dataclasses.dataclass(frozen=True, order=True)
class CommittedNight:
    """The evaluation of a night that counts. Its record is read when it is first needed."""

    dataset: str
    evaluated_on: str
    #: Of its record; a later evaluation of the night has a greater one.
    number: int
    evaluation_id: str
    store: Store = dataclasses.field(compare=False, repr=False)

    @property
    def folder(self) -> str:
        """The folder of its rows in every table."""
        return f"{night_folder(self.dataset, self.evaluated_on)}/evaluation_id={self.evaluation_id}"

    @property
    def path(self) -> str:
        """The path of its record, whose name sorts by its number."""
        return f"{RECORDS}/{night_folder(self.dataset, self.evaluated_on)}/{self.number:06}-{self.evaluation_id}.json"

    @property
    def record(self) -> Mapping[str, Any]:
        """Its record.

        Raises
        ------
        ReplacedError
            The night was evaluated again or removed in the meantime.
        StorageError
            The record cannot be read, or is damaged.
        """
        # Not functools.cached_property, which until Python 3.12 lets only one thread at a time read any record.
        if "_record" not in self.__dict__:
            self.__dict__["_record"] = self._read()
        return self.__dict__["_record"]  # type: ignore[no-any-return]  # what _read has returned

    def _read(self) -> Mapping[str, Any]:
        try:
            return _checked(json.loads(self.store.read(self.path)))
        except FileNotFoundError as error:
            raise ReplacedError(self) from error
        except FAILURES as error:
            place = f"{self.store.place}/{self.path}"
            raise StorageError(f"output: {place} cannot be read, {error}; check its rights") from error
        except (ValueError, RecursionError) as error:
            raise StorageError(
                f"output: {self.store.place}/{self.path} is not a record that this version can read, {_reason(error)}; "
                "restore the file, or evaluate that night again"
            ) from error

    @property
    def is_good(self) -> bool:
        """Whether later nights may be compared with it: its verdict was a pass, or somebody has accepted it."""
        return bool(self.record.get("accepted")) or (self.record.get("verdict") or {}).get("verdict") == "pass"

    def files(self, table: str) -> dict[str, int | None]:
        """The paths of its files of a table, with their sizes in bytes if these must be as they were published."""
        found = self.record["files"].get(table, {})
        return {f"{table}/{self.folder}/{name}": file["bytes"] for name, file in found.items()}

    def __str__(self) -> str:
        return f"the night {self.evaluated_on} of {self.dataset}"


def committed(output: str) -> list[CommittedNight]:
    """Every night with the evaluation that counts, sorted by dataset and date; records are not read yet.

    Raises
    ------
    StorageError
        The output is not a folder or cannot be read.
    """
    store = Store(output)
    store.refuse_a_file()
    with store.failures("cannot be read"):
        newest = {(night.dataset, night.evaluated_on): night for night in all_records(store)}
    return sorted(newest.values())


def all_records(store: Store, folder: str = "") -> list[CommittedNight]:
    """Every record of an output, or of one night's folder, superseded ones too; of a night, the one that counts last.

    One listing. Raises FAILURES.
    """
    found = store.files(f"{RECORDS}/{folder}".rstrip("/"), ".json")
    names = filter(None, map(_PATH.fullmatch, found))
    return sorted(CommittedNight(*night_of(name[1]), int(name[2]), name[3], store) for name in names)


def last_good(nights: Sequence[CommittedNight]) -> CommittedNight | None:
    """The last of these nights of one dataset, sorted by date, that is good; the records of older ones are not read."""
    return next((night for night in reversed(nights) if night.is_good), None)


def read_records(nights: Sequence[CommittedNight]) -> None:
    """Read the records of many nights at once. Raises as `CommittedNight.record`."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda night: night.record, nights))


@contextlib.contextmanager
def unreplaced(nights: Sequence[CommittedNight]) -> Iterator[None]:
    """Run the block, which reads these nights. ReplacedError if one of them does not count any more at its end."""
    try:
        yield
    except NdcgSparkError:
        # Rows that are gone look like many other failures.
        refuse_replaced(nights)
        raise
    refuse_replaced(nights)


def refuse_replaced(nights: Sequence[CommittedNight]) -> None:
    """ReplacedError if one of these evaluations does not count any more, so that its rows may be gone."""
    for night in nights:
        with night.store.failures("cannot be read"):
            newest = all_records(night.store, night_folder(night.dataset, night.evaluated_on))
        if not newest or newest[-1].evaluation_id != night.evaluation_id:
            raise ReplacedError(night)


def read_again_if_replaced(read: Callable[[], _T]) -> _T:
    """What `read` returns; it is called once more if a night was replaced while it was read."""
    try:
        return read()
    except ReplacedError:
        return read()


def write_record(
    store: Store, dataset: str, evaluated_on: str, evaluation_id: str, record: Mapping[str, Any]
) -> CommittedNight:
    """Write a record with the next number of its night: from here on this evaluation counts. Raises FAILURES."""
    before = all_records(store, night_folder(dataset, evaluated_on))
    night = CommittedNight(dataset, evaluated_on, before[-1].number + 1 if before else 1, evaluation_id, store)
    store.write(night.path, _as_json(record))
    return night


def _as_json(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, indent=2, ensure_ascii=False, default=str) + "\n").encode()


def accept(night: CommittedNight, reason: str) -> None:
    """Note why a night is accepted as a baseline of later ones, in its record and in its row of EVALUATIONS.

    Both are replaced by files of the same names, each at once. If the night is evaluated again in the meantime, they
    are superseded as they would have been before.

    Raises
    ------
    ReplacedError
        The night was replaced or removed in the meantime.
    StorageError
        The storage fails.
    """
    store, record = night.store, {**night.record, "accepted": acceptance(reason)}
    with unreplaced([night]), store.failures("cannot be written"):
        refuse_replaced([night])
        store.write(f"evaluations/{night.folder}/{EVALUATION_FILE}", evaluation_row(record))
        store.write(night.path, _as_json(record))


def acceptance(reason: str) -> dict[str, str]:
    """What a record says of an acceptance."""
    return {"reason": reason, "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")}


def evaluation_row(record: Mapping[str, Any]) -> bytes:
    """The row of EVALUATIONS of a night with this record, as a Parquet file."""
    verdict, inputs = record.get("verdict") or {}, record.get("inputs", {})
    row = {
        "verdict": verdict.get("verdict"),
        "reason": verdict.get("reason"),
        "accepted": (record.get("accepted") or {}).get("reason"),
        **{name: record.get(name) for name in ("committed_at", "convention", "formula", "engine")},
        **{f"{table}_fingerprint": inputs.get(table, {}).get("fingerprint") for table in ("judgments", "results")},
        "counts": list(record.get("counts", {}).items()),
        "seconds": list(record.get("seconds", {}).items()),
        "record": json.dumps(record, ensure_ascii=False, default=str),
    }
    schema = to_arrow_schema(EVALUATIONS)
    stored = pa.schema([field for field in schema if field.name not in PARTITIONS])
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row], stored), content)
    return content.getvalue()


def _checked(record: Any) -> Mapping[str, Any]:
    """The record, as it was read. ValueError unless it has what readers rely on."""
    _Record.model_validate(record)
    unknown = sorted({*record["options"]} - {*Convention().options()})
    if unknown:
        raise ValueError(f"it has the option {unknown[0]!r}, which this version does not know")
    Convention(**record["options"])
    return dict(record)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the record'}: {first['msg']}"
    return str(error) if isinstance(error, ConventionError) else f"{type(error).__name__}: {error}"
