"""The log of an output, which says which evaluation of a night counts. Rows are only ever added to it."""

import concurrent.futures
import dataclasses
import datetime
import functools
import json
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.nights.store import FAILURES, LOG, Store, folder, parquet
from ndcg_spark.schemas import EVALUATIONS

Row = Mapping[str, Any]

#: The columns of EVALUATIONS whose text is JSON.
JSON = EVALUATIONS.names[EVALUATIONS.names.index("options") :]

_STORED = pa.schema([field for field in EVALUATIONS if field.name != "evaluated_on"])
_FILE = re.compile(rf"{LOG}/evaluated_on=(\d{{4}}-\d\d-\d\d)/[^/]+\.parquet")
_EMPTY = dict.fromkeys(EVALUATIONS.names)
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

    @functools.cached_property
    def record(self) -> Row:
        """Its row with the columns of JSON decoded; `verdict`, `accepted` and `notes` are objects."""
        row = {**self.row, **{name: json.loads(self.row[name]) if self.row[name] else {} for name in JSON}}
        verdict, accepted = row["verdict"], row["accepted"]
        decided = {name: row[name] for name in ("verdict", "reason", "run")}
        row["verdict"] = {**decided, **row["findings"]} if verdict else None
        row["accepted"] = {"reason": accepted, "at": row["accepted_at"]} if accepted else None
        return {**row, "seconds": row["steps"], "notes": list(self.notes)}

    @property
    def is_good(self) -> bool:
        """Whether later nights may be compared with it: every check measured something and none failed, or accepted."""
        return bool(self.record.get("is_baseline"))

    def with_record(self, record: Row) -> "Night":
        """The same night as if it had this record."""
        night = dataclasses.replace(self)
        night.__dict__["record"] = record
        return night

    def files(self, table: str) -> dict[str, int]:
        """The paths of its evaluation's files in a table, with all of its datasets, and their sizes."""
        place = folder(table, self.evaluated_on, self.evaluation_id)
        return {f"{place}/{name}": file["bytes"] for name, file in self.record["files"].get(table, {}).items()}

    def kept_rows(self, table: str) -> int:
        """How many rows its evaluation has in a table."""
        return sum(file["rows"] for file in self.record["files"].get(table, {}).values())

    def __str__(self) -> str:
        return f"the night {self.evaluated_on} of {self.dataset}"


class Nights(list[Night]):
    """Every night that counts, sorted by dataset and date, and what else the log says."""

    #: All rows of the log, in the order in which they count, each with the `file` that it stands in.
    rows: Sequence[Row] = ()
    #: By date, why its log cannot be read.
    damaged: Mapping[str, str] = {}

    @property
    def attempts(self) -> list[Row]:
        """The rows of evaluations that published nothing, by date and time."""
        others = [row for row in self.rows if row["status"] != "published"]
        return sorted(others, key=lambda row: (row["evaluated_on"], row["committed_at"] or ""))

    def with_nights(self, nights: Iterable[Night]) -> "Nights":
        """The same log with these nights."""
        other = Nights(nights)
        other.rows, other.damaged = self.rows, self.damaged
        return other

    def refuse_damaged(self, dates: Iterable[str]) -> None:
        """StorageError if the log of one of these dates cannot be read."""
        for date in sorted({*dates} & {*self.damaged}):
            raise StorageError(
                f"output: {self.damaged[date]}; restore the file, or remove it and evaluate {date} again"
            )


def committed(output: str | Store, dates: Iterable[str] | None = None) -> Nights:
    """The nights of an output, or of some dates of it.

    A date whose log is damaged has no nights here; a warning says so.

    Raises StorageError.
    """
    store = output if isinstance(output, Store) else Store(output)
    with store.failures("cannot be read"):
        places = [LOG] if dates is None else [f"{LOG}/evaluated_on={date}" for date in dates]
        files = {path: info for place in places for path, info in store.files(place).items() if _FILE.fullmatch(path)}
        with concurrent.futures.ThreadPoolExecutor(store.at_once) as pool:
            contents = list(pool.map(functools.partial(_rows, store), files))
    rows: list[Row] = []
    nights = Nights()
    nights.damaged = damaged = {}
    for (path, info), content in zip(files.items(), contents, strict=True):
        date = path[len(f"{LOG}/evaluated_on=") :].partition("/")[0]
        if isinstance(content, str):
            damaged[date] = f"{store.place}/{path} cannot be read, {content}"
            _logger.warning("output: %s; its nights are left out", damaged[date])
        else:
            more = {"evaluated_on": date, "file": path, "written": info.mtime_ns / 1e9}
            rows += [{**_EMPTY, **row, **more} for row in content]
    nights.rows = sorted((row for row in rows if row["evaluated_on"] not in damaged), key=_order)
    by_night: dict[tuple[str, str], list[Row]] = {}
    first = {(row["dataset"], row["evaluated_on"], row["evaluation_id"]) for row in nights.rows if not row["revision"]}
    for row in nights.rows:
        night = row["dataset"], row["evaluated_on"]
        # A revision that was added while its night expired revises nothing.
        if row["status"] == "published" and (*night, row["evaluation_id"]) in first:
            by_night.setdefault(night, []).append(row)
    nights += (_night(store, of_night) for of_night in by_night.values())
    return nights


def _rows(store: Store, path: str) -> list[dict[str, Any]] | str:
    """The rows of a file of the log; why they cannot be read, or none if it was removed in the meantime."""
    try:
        return list(store.read(path).read(use_threads=False).to_pylist())
    except FileNotFoundError:
        return []
    except FAILURES as error:
        return first_line(error)


def _order(row: Row) -> tuple[Any, ...]:
    """Sorts the rows of a night in the order in which they count, the last most."""
    key = row["number"] or 0, row["evaluation_id"], row["revision"] or 0, row["revised_at"] or ""
    return (row["dataset"] or "", row["evaluated_on"], *key)


def _night(store: Store, rows: Sequence[Row]) -> Night:
    """The night of these rows, which are in order."""
    row = rows[-1]
    accepted = [each for each in rows if each["evaluation_id"] == row["evaluation_id"] and each["accepted"]]
    if accepted:
        # Two that are added at once do not know of each other; of two acceptances the last counts.
        reason = accepted[-1]["accepted"]
        since = next(each["revised_at"] or each["committed_at"] for each in accepted if each["accepted"] == reason)
        row = {**row, "accepted": reason, "accepted_at": since, "is_baseline": True}
    noted = sorted((each for each in rows if each["note"]), key=lambda each: str(each["revised_at"]))
    notes = [{"text": each["note"], "at": each["revised_at"]} for each in noted]
    return Night(row["dataset"], row["evaluated_on"], row["number"], row["evaluation_id"], store, row, notes)


def log_table(rows: Iterable[Row], date: str | None = None) -> pa.Table:
    """The table EVALUATIONS of these rows, or of those of a date."""
    dated = (row for row in rows if date in (None, row["evaluated_on"]))
    days = ({**row, "evaluated_on": datetime.date.fromisoformat(row["evaluated_on"])} for row in dated)
    return pa.Table.from_pylist([*days], EVALUATIONS)


def append(store: Store, evaluated_on: str, rows: Iterable[Row]) -> None:
    """Add rows to the log of a date, all of them by one atomic act. Raises FAILURES."""
    store.add(f"{LOG}/evaluated_on={evaluated_on}/{uuid.uuid4().hex}.parquet", parquet([*rows], _STORED))


def row_of(record: Row, verdict: Row | None = None, accepted: str | None = None, **more: Any) -> Row:
    """The row of an evaluation with this record, and the verdict on one of its datasets."""
    known = {"verdict", "reason", "run", "accepted", "dataset", "evaluated_on"}
    verdict, inputs, seconds = verdict or {}, record.get("inputs", {}), record.get("seconds", {})
    row = {
        **record,
        "revision": 0,
        **{name: verdict.get(name) for name in ("verdict", "reason", "run")},
        "accepted": accepted,
        "is_baseline": is_baseline(verdict, accepted),
        "seconds": seconds.get("total"),
        "steps": seconds,
        "findings": {name: value for name, value in verdict.items() if name not in known},
        **more,
    }
    for table in ("judgments", "results"):
        of_table = inputs.get(table, {})
        own = of_table.get("fingerprints", {}).get(more.get("dataset"))
        row[f"{table}_fingerprint"] = own or of_table.get("fingerprint")
    texts = {name: row[name] for name in JSON if row.get(name) is not None}
    return row | {name: json.dumps(value, ensure_ascii=False, default=str) for name, value in texts.items()}


def is_baseline(verdict: Row, accepted: object) -> bool:
    """Whether a night with this verdict was accepted, or every check measured something and none failed."""
    results = [each["result"] for each in verdict.get("results", ())]
    measured = bool(results) or verdict.get("verdict") == "pass"
    return bool(accepted) or (measured and set(results) <= {"pass", "undecided"})


def utc_now() -> str:
    """The time in UTC, as ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def accept(night: Night, reason: str) -> None:
    """Record why a night is accepted as a baseline of later ones. Raises as `add_note`."""
    _revise(night, accepted=reason, is_baseline=True)


def add_note(night: Night, text: str) -> None:
    """Add a note to a night, which trends and reports show.

    ReplacedError if the night was replaced or removed in the meantime, so that nothing was changed that counts;
    StorageError if the storage fails.
    """
    _revise(night, note=text)


def _revise(night: Night, **entries: Any) -> None:
    """Add a copy of a night's row with these entries and the next revision; which evaluation counts stays the same."""
    revision = (night.row["revision"] or 0) + 1
    row = {**night.row, "note": None, **entries, "revision": revision, "revised_at": utc_now()}
    with night.store.failures("cannot be written"):
        append(night.store, night.evaluated_on, [row])
    refuse_replaced(night)


def refuse_replaced(night: Night) -> None:
    """ReplacedError if the evaluation no longer counts, so that its rows may be gone."""
    known = committed(night.store, [night.evaluated_on])
    known.refuse_damaged([night.evaluated_on])
    if night not in known:
        raise ReplacedError(night)


def read_again_if_replaced(read: Callable[[], _T]) -> _T:
    """What `read` returns; it is called once more if a night was replaced while it was read."""
    try:
        return read()
    except ReplacedError:
        return read()
