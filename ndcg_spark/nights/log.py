"""The log of an output, which says which evaluation of a night counts. Rows are only ever added to it."""

import concurrent.futures
import contextlib
import dataclasses
import datetime
import io
import json
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import pyarrow as pa
from pyarrow import parquet as pq

from ndcg_spark.errors import NdcgSparkError, StorageError, first_line
from ndcg_spark.nights.store import FAILURES, LOG, Store, folder
from ndcg_spark.schemas import EVALUATIONS

Row = Mapping[str, Any]
#: What became of an evaluation. Only one that is published can count.
Status = Literal["published", "refused", "failed"]

#: The columns of EVALUATIONS whose text is JSON.
JSON = (
    *("options", "configuration", "inputs", "datasets", "datasets_without_results"),
    *("versions", "counts", "rejected", "steps", "findings", "files"),
)

_SCHEMA = EVALUATIONS
_STORED = pa.schema([field for field in _SCHEMA if field.name != "evaluated_on"])
_FILE = re.compile(rf"{LOG}/evaluated_on=(\d{{4}}-\d\d-\d\d)/[^/]+\.parquet")
_EMPTY = dict.fromkeys(_SCHEMA.names)
_T = TypeVar("_T")
_logger = logging.getLogger(__name__)


class ReplacedError(StorageError):
    """A night was evaluated again or removed while it was being read."""

    def __init__(self, night: "Night") -> None:
        super().__init__(f"output: {night} in {night.store.place} was replaced while it was read; run this again")


@dataclasses.dataclass(frozen=True, order=True)
class Night:
    """The scores of a dataset on a date: the evaluation that counts, with its row of the log."""

    dataset: str
    evaluated_on: str
    #: A later evaluation of the night has a greater one.
    number: int
    evaluation_id: str
    store: Store = dataclasses.field(compare=False, repr=False)
    row: Row = dataclasses.field(compare=False, repr=False)
    #: What people wrote about the night: `text` and `at`, the oldest first.
    notes: Sequence[Mapping[str, str]] = dataclasses.field(default=(), compare=False, repr=False)

    @property
    def record(self) -> Row:
        """Its row with the columns of JSON decoded; `verdict`, `accepted` and `notes` are objects.

        Raises
        ------
        StorageError
            The row is damaged.
        """
        if "_record" not in self.__dict__:
            try:
                self.__dict__["_record"] = _decoded(self.row) | {"notes": list(self.notes)}
            except (ValueError, RecursionError) as error:
                raise StorageError(
                    f"output: the row of {self} in the log of {self.store.place} is damaged, {error}; evaluate that "
                    "night again"
                ) from error
        return self.__dict__["_record"]  # type: ignore[no-any-return]  # what was decoded

    @property
    def is_good(self) -> bool:
        """Whether later nights may be compared with it alone: its verdict was a pass, or somebody has accepted it."""
        record = self.record
        return bool(record["accepted"]) or (record["verdict"] or {}).get("verdict") == "pass"

    @property
    def is_not_worse(self) -> bool:
        """Whether it is good, or all was measured and nothing failed, so that a drop that was seen may be chance.

        The mean of the nights that passed would be that of the lucky ones.
        """
        return self.is_good or bool(self.record["is_baseline"])

    def with_record(self, record: Row) -> "Night":
        """The same night as if it had this record."""
        night = dataclasses.replace(self)
        night.__dict__["_record"] = record
        return night

    def files(self, table: str) -> dict[str, int]:
        """The paths of its evaluation's files in a table, with all of its datasets, and their sizes."""
        place = folder(table, self.evaluated_on, self.evaluation_id)
        found = self.record["files"].get(table, {})
        return {f"{place}/{name}": file["bytes"] for name, file in found.items()}

    def kept_rows(self, table: str) -> int:
        """How many rows its evaluation has in a table."""
        return sum(file["rows"] for file in self.record["files"].get(table, {}).values())

    def __str__(self) -> str:
        return f"the night {self.evaluated_on} of {self.dataset}"


class Nights(list[Night]):
    """Every night that counts, sorted by dataset and date, and what else the log says."""

    #: All rows of the log, in the order in which they count, each with the `file` that it stands in.
    rows: Sequence[Row] = ()
    #: The rows of evaluations that published nothing, by date and time.
    attempts: Sequence[Row] = ()
    #: By date, why its log cannot be read.
    damaged: Mapping[str, str] = {}

    def refuse_damaged(self, dates: Iterable[str]) -> None:
        """StorageError if the log of one of these dates cannot be read."""
        for date in sorted({*dates} & {*self.damaged}):
            raise StorageError(
                f"output: {self.damaged[date]}; restore the file, or remove it and evaluate {date} again"
            )


def committed(output: str | Store, dates: Iterable[str] | None = None) -> Nights:
    """The nights of an output, or of some dates of it.

    A date whose log is damaged has no nights here; a warning says so.

    Raises
    ------
    StorageError
        The output is not a folder or cannot be read.
    """
    store = output if isinstance(output, Store) else Store(output)
    store.refuse_a_file()
    with store.failures("cannot be read"):
        places = [LOG] if dates is None else [f"{LOG}/evaluated_on={date}" for date in dates]
        files = {path: found for place in places for path, found in store.files(place, ".parquet").items()}
        files = {path: found for path, found in files.items() if _FILE.fullmatch(path)}
        with concurrent.futures.ThreadPoolExecutor(store.at_once) as pool:
            read = list(pool.map(lambda path: _rows_of(store, path), files))
    rows: list[Row] = []
    damaged: dict[str, str] = {}
    for (path, found), content in zip(files.items(), read, strict=True):
        date = _FILE.fullmatch(path)[1]  # type: ignore[index]  # it matched above
        if isinstance(content, str):
            damaged[date] = f"{store.place}/{path} cannot be read, {content}"
        else:
            rows += [{**_EMPTY, **row, "evaluated_on": date, "file": path, "written": found.written} for row in content]
    for sentence in damaged.values():
        _logger.warning("output: %s; its nights are left out", sentence)
    nights = _counting(store, sorted(rows, key=_order))
    nights.damaged = damaged
    return nights


def _rows_of(store: Store, path: str) -> list[dict[str, Any]] | str:
    """The rows of a file of the log; why they cannot be read, or none if it was removed in the meantime."""
    try:
        content = store.read(path)
        rows = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False).to_pylist()
        return [row for row in rows if row["status"] is not None and row["evaluation_id"] is not None]
    except FileNotFoundError:
        return []
    except (*FAILURES, KeyError) as error:
        return first_line(error)


def _order(row: Row) -> tuple[Any, ...]:
    """Rows of a night in the order in which they count, the last most."""
    return (row["dataset"] or "", row["evaluated_on"], row["number"] or 0, row["evaluation_id"], *_revision(row))


def _revision(row: Row) -> tuple[int, str]:
    return row["revision"] or 0, row["revised_at"] or ""


def _counting(store: Store, rows: Sequence[Row]) -> Nights:
    """The nights that these rows, in order, describe."""
    by_night: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["status"] == "published":
            by_night.setdefault((row["dataset"], row["evaluated_on"]), []).append(row)
    nights = Nights()
    for (dataset, date), of_night in by_night.items():
        last = of_night[-1]
        accepted = [row for row in of_night if row["evaluation_id"] == last["evaluation_id"] and row["accepted"]]
        # Two that are added at once do not know of each other; of two acceptances the last counts.
        row = {**last, "accepted": accepted[-1]["accepted"], "is_baseline": True} if accepted else last
        noted = sorted((each for each in of_night if each["note"]), key=lambda each: str(each["revised_at"]))
        notes = [{"text": each["note"], "at": each["revised_at"]} for each in noted]
        nights.append(Night(dataset, date, last["number"], last["evaluation_id"], store, row, notes))
    nights.sort()
    nights.rows = rows
    others = [row for row in rows if row["status"] != "published"]
    nights.attempts = sorted(others, key=lambda row: (row["evaluated_on"], row["committed_at"] or ""))
    return nights


def _decoded(row: Row) -> dict[str, Any]:
    decoded = {name: json.loads(row[name]) if row[name] else {} for name in JSON}
    verdict = {"verdict": row["verdict"], "reason": row["reason"], **decoded["findings"]} if row["verdict"] else None
    accepted = {"reason": row["accepted"], "at": row["revised_at"] or row["committed_at"]} if row["accepted"] else None
    return {**row, **decoded, "verdict": verdict, "accepted": accepted, "seconds": decoded["steps"]}


def last_good(nights: Sequence[Night]) -> Night | None:
    """The last of these nights of one dataset, sorted by date, that is good."""
    return next((night for night in reversed(nights) if night.is_good), None)


def log_table(rows: Iterable[Row], date: str | None = None) -> pa.Table:
    """The table EVALUATIONS of these rows, or of those of a date."""
    values = [row for row in rows if date in (None, row["evaluated_on"])]
    dated = [{**row, "evaluated_on": datetime.date.fromisoformat(row["evaluated_on"])} for row in values]
    return pa.Table.from_pylist([{name: row[name] for name in _SCHEMA.names} for row in dated], _SCHEMA)


def append(store: Store, evaluated_on: str, rows: Iterable[Row]) -> None:
    """Add rows to the log of a date, all of them by one atomic act. Raises FAILURES."""
    values = [{name: row.get(name) for name in _STORED.names} for row in rows]
    content = io.BytesIO()
    # A thousand such files are read at once, in half the time if there is nothing in them but values.
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
    pq.write_table(pa.Table.from_pylist(values, _STORED), content, **plain)
    store.add(f"{LOG}/evaluated_on={evaluated_on}/{uuid.uuid4().hex}.parquet", content.getvalue())


def row_of(record: Row, verdict: Row | None = None, accepted: str | None = None, **more: Any) -> Row:
    """The row of an evaluation with this record, and the verdict on one of its datasets."""
    known = {"verdict", "reason", "accepted", "dataset", "evaluated_on"}
    findings = {name: value for name, value in (verdict or {}).items() if name not in known}
    inputs, seconds = record.get("inputs", {}), record.get("seconds", {})
    dataset = more.get("dataset")
    prints = {
        f"{table}_fingerprint": inputs.get(table, {}).get("fingerprints", {}).get(dataset)
        or inputs.get(table, {}).get("fingerprint")
        for table in ("judgments", "results")
    }
    row = {
        **record,
        **prints,
        "revision": 0,
        "verdict": (verdict or {}).get("verdict"),
        "reason": (verdict or {}).get("reason"),
        "run": next((each["run"] for each in findings.get("findings", ()) if each["effect"] != "pass"), None),
        "accepted": accepted,
        "is_baseline": bool(accepted) or _is_not_worse(verdict or {}),
        "version": record.get("versions", {}).get("ndcg_spark"),
        "seconds": seconds.get("total"),
        "steps": seconds,
        "findings": findings,
        **more,
    }
    return row | {
        name: json.dumps(row[name], ensure_ascii=False, default=str) for name in JSON if row.get(name) is not None
    }


def _is_not_worse(verdict: Row) -> bool:
    """Whether a night passed, or all was measured and nothing failed."""
    measured = [
        each["effect"] in ("pass", "warning") or each["outcome"] == "inconclusive"
        for each in verdict.get("findings", ())
    ]
    # If there is no verdict and nothing is inconclusive, nothing was measured: all checks only warn.
    is_doubtful = any(each["outcome"] == "inconclusive" for each in verdict.get("findings", ()))
    return verdict.get("verdict") == "pass" or (all(measured) and is_doubtful)


def utc_now() -> str:
    """The time in UTC, as ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def accept(night: Night, reason: str) -> None:
    """Record why a night is accepted as a baseline of later ones. Raises as `revise`."""
    revise(night, accepted=reason, is_baseline=True)


def add_note(night: Night, text: str) -> None:
    """Add a note to a night, which trends and reports show. Raises as `revise`."""
    revise(night, note=text)


def revise(night: Night, **entries: Any) -> None:
    """Add a copy of a night's row with these entries and the next revision; which evaluation counts stays the same.

    Raises
    ------
    ReplacedError
        The night was replaced or removed in the meantime, and nothing was changed that counts.
    StorageError
        The storage fails.
    """
    refuse_replaced([night])
    with night.store.failures("cannot be written"):
        revision = (night.row["revision"] or 0) + 1
        row = {**night.row, "note": None, **entries, "revision": revision, "revised_at": utc_now()}
        append(night.store, night.evaluated_on, [row])
    refuse_replaced([night])


@contextlib.contextmanager
def unreplaced(nights: Sequence[Night]) -> Iterator[None]:
    """Run the block, which reads these nights. ReplacedError if one of them no longer counts when it ends."""
    try:
        yield
    except NdcgSparkError:
        # Removed rows can look like any other failure.
        refuse_replaced(nights)
        raise
    refuse_replaced(nights)


def refuse_replaced(nights: Sequence[Night]) -> None:
    """ReplacedError if one of these evaluations no longer counts, so that its rows may be gone."""
    if not nights:
        return
    newest = {(each.dataset, each.evaluated_on): each for each in committed(nights[0].store, _dates(nights))}
    for night in nights:
        found = newest.get((night.dataset, night.evaluated_on))
        if found is None or found.evaluation_id != night.evaluation_id:
            raise ReplacedError(night)


def _dates(nights: Iterable[Night]) -> list[str]:
    return sorted({night.evaluated_on for night in nights})


def read_again_if_replaced(read: Callable[[], _T]) -> _T:
    """What `read` returns; it is called once more if a night was replaced while it was read."""
    try:
        return read()
    except ReplacedError:
        return read()
