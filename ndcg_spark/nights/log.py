"""The log of an output, which determines the current evaluation of a night. It is append-only."""

import concurrent.futures
import dataclasses
import datetime
import functools
import itertools
import json
import logging
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.convention.parsing import parse_measure_set
from ndcg_spark.errors import ConfigurationError, StorageError, first_line
from ndcg_spark.nights.rows import JSON, DamagedRowError, refuse_damaged_row
from ndcg_spark.nights.store import LOG, OutputFile, Store, folder, named_checksum
from ndcg_spark.schemas import EVALUATIONS

Row = Mapping[str, Any]

#: The `reason` of the verdict on a night that was published although the spot check found a
#: difference.
NOT_VERIFIED = "not_verified"
#: The prefix in the column `verified`, before the reason why it was published.
_UNVERIFIED = "not verified: "

#: The entries that a revision can withdraw.
ACCEPTANCE, ACKNOWLEDGEMENT = "acceptance", "acknowledgement"

_STORED = pa.schema([field for field in EVALUATIONS if field.name != "evaluated_on"])
_FILE = re.compile(rf"{LOG}/evaluated_on=([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})/[^/]+\.parquet")
_EMPTY = dict.fromkeys(EVALUATIONS.names)
#: The columns of a verdict.
_VERDICT = ("verdict", "reason", "run")
_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, order=True)
class Night:
    """The scores of a dataset on a date: the current evaluation, with its log row."""

    dataset: str
    evaluated_on: str
    #: A later evaluation of the night has a larger number.
    number: int
    evaluation_id: str
    store: Store = dataclasses.field(compare=False, repr=False)
    row: Row = dataclasses.field(compare=False, repr=False)
    #: What people wrote about the night, the oldest first.
    notes: Sequence[str] = dataclasses.field(default=(), compare=False, repr=False)

    @functools.cached_property
    def record(self) -> Row:
        """Its row with the JSON columns decoded; `verdict` has the findings, `seconds` the time of
        each step.
        """
        row = {**self.row, **{name: json.loads(self.row[name] or "{}") for name in JSON}}
        verdict = (
            {**{name: row[name] for name in _VERDICT}, **row["findings"]}
            if row["verdict"]
            else None
        )
        return {**row, "verdict": verdict, "seconds": row["steps"], "notes": list(self.notes)}

    @functools.cached_property
    def measure_set(self) -> MeasureSet:
        configuration = self.record["configuration"]
        measures = configuration.get("measures") or ()
        try:
            return parse_measure_set(measures, configuration.get("headline"))
        except ConfigurationError as error:
            sentence = f"output: the measures of {self} in its log are unknown: {error}"
            raise StorageError(sentence) from error

    @property
    def gate(self) -> Row:
        """The gate of its configuration; empty if there is none."""
        gate: Row = self.record["configuration"].get("gate") or {}
        return gate

    @property
    def unverified(self) -> str | None:
        """Why its scores were published although the engine and plain Python differ, or None."""
        if self.row["reason"] != NOT_VERIFIED:
            return None
        return str(self.row["verified"] or "").removeprefix(_UNVERIFIED)

    @property
    def is_good(self) -> bool:
        """Whether later nights may be compared with it: every check measured something and none
        failed, or somebody accepted it.
        """
        return bool(self.row["is_baseline"]) and self.unverified is None

    def files(self, table: str) -> dict[str, Mapping[str, int]]:
        """The files of its evaluation in a table, for all datasets: rows, bytes, crc32 by path."""
        path = folder(table, self.evaluated_on, self.evaluation_id)
        files = self.record["files"].get(table, {})
        return {f"{path}/{name}": file for name, file in files.items()}

    def kept_rows(self, table: str) -> int:
        return sum(file["rows"] for file in self.record["files"].get(table, {}).values())

    def __str__(self) -> str:
        return f"the night {self.evaluated_on} of {self.dataset}"


class Nights(list[Night]):
    """All current nights, sorted by dataset and date, and the other contents of the log."""

    def __init__(
        self,
        nights: Iterable[Night] = (),
        rows: Sequence[Row] = (),
        damaged: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(nights)
        #: All rows of the log, the current ones last, each with its `file` and when that was
        #: `written`.
        self.rows = rows
        #: Why the log of a date cannot be read, by date.
        self.damaged = damaged or {}

    @property
    def attempts(self) -> list[Row]:
        """The rows of evaluations that published nothing, by date and time."""
        others = [row for row in self.rows if row["status"] != "published"]
        return sorted(others, key=lambda row: (row["evaluated_on"], row["committed_at"] or ""))

    def damaged_between(self, after: str, before: str) -> list[str]:
        """The dates between two others whose log cannot be read."""
        return sorted(date for date in self.damaged if after < date < before)

    def refuse_damaged(self, dates: Iterable[str]) -> None:
        for date in sorted({*dates} & {*self.damaged}):
            advice = f"restore the file, or remove it and evaluate {date} again"
            raise StorageError(f"output: {self.damaged[date]}; {advice}")


def committed(output: str | Store, dates: Iterable[str] | None = None) -> Nights:
    """The nights of an output, or of some of its dates. A date with a damaged log has no nights,
    and a warning says so.
    """
    store = output if isinstance(output, Store) else Store(output)
    folders = [LOG] if dates is None else [f"{LOG}/evaluated_on={date}" for date in dates]
    with store.failures("cannot be read"):
        listed = itertools.chain.from_iterable(store.files(path).values() for path in folders)
        files = [file for file in listed if _is_of_a_date(file)]
        with concurrent.futures.ThreadPoolExecutor(store.at_once) as pool:
            contents = list(pool.map(functools.partial(_rows_of_file, store), files))
    damaged = {date: content for date, content in contents if isinstance(content, str)}
    for problem in damaged.values():
        _logger.warning("output: %s; its nights are left out", problem)
    rows = sorted(
        (row for date, file_rows in contents if date not in damaged for row in file_rows),
        key=_order_in_log,
    )
    evaluation = operator.itemgetter("dataset", "evaluated_on", "evaluation_id")
    published = [row for row in rows if row["status"] == "published"]
    # A revision that was added while its night expired has no effect.
    first = {evaluation(row) for row in published if not row["revision"]}
    counting = (row for row in published if evaluation(row) in first)
    nights = itertools.groupby(counting, operator.itemgetter("dataset", "evaluated_on"))
    return Nights([_counting_night(store, [*group]) for _, group in nights], rows, damaged)


def _is_of_a_date(file: OutputFile) -> bool:
    """Whether a file belongs to the log: directly in the folder of a date."""
    named = _FILE.fullmatch(file.path)
    try:
        return bool(named and datetime.date.fromisoformat(named[1]))
    except ValueError:
        return False


def _rows_of_file(store: Store, file: OutputFile) -> tuple[str, Any]:
    """The date of a log file, and its rows (empty if the file was removed meanwhile) or why it
    cannot be read.
    """
    date = file.path.rpartition("/")[0].rpartition("=")[2]
    try:
        rows = _whole_rows(store, file.path)
    except FileNotFoundError:
        rows = []
    except Exception as error:  # noqa: BLE001  # damaged files raise many kinds
        return date, f"{store.location}/{file.path} cannot be read: {first_line(error)}"
    more = {"evaluated_on": date, "file": file.path, "written": file.mtime_ns / 1e9}
    return date, [{**_EMPTY, **row, **more} for row in rows]


def _whole_rows(store: Store, path: str) -> list[dict[str, Any]]:
    """The rows of a log file, verified by its checksum or, if it has none, row by row."""
    checksum = named_checksum(path)
    rows: list[dict[str, Any]] = store.read(path, checksum).to_pylist()
    if not rows:
        raise DamagedRowError("it has no rows")
    if checksum is None:
        for row in rows:
            refuse_damaged_row(row)
    return rows


def _order_in_log(row: Row) -> tuple[Any, ...]:
    """A sort key for the rows of a night; the last row is the current one.

    The views in the guide sort by the same columns.
    """
    return (
        row["dataset"] or "",
        row["evaluated_on"],
        row["number"] or 0,
        row["evaluation_id"],
        row["revision"] or 0,
        row["revised_at"] or "",
        row["accepted"] or "",
        row["is_baseline"] or False,
        row["note"] or "",
    )


def _counting_night(store: Store, rows: Sequence[Row]) -> Night:
    row = {**rows[-1], **_stood_for(rows)}
    noted = [other for other in rows if other["note"]]
    noted.sort(key=lambda other: other["revised_at"] or "")
    notes = [other["note"] for other in noted]
    name, date, number = row["dataset"], row["evaluated_on"], row["number"]
    return Night(name, date, number, row["evaluation_id"], store, row, notes)


def _stood_for(rows: Sequence[Row]) -> dict[str, Any]:
    """What people said about the current evaluation, from all of its rows.

    Two rows that are added at once do not know of each other. Of two acceptances, the last one
    wins, and an entry that a row withdraws is removed whatever rows of the same revision say.
    """
    own = [row for row in rows if row["evaluation_id"] == rows[-1]["evaluation_id"]]
    own.sort(key=lambda row: (row["revision"] or 0, row["withdrawn"] is not None))
    said: dict[str, Any] = dict.fromkeys(("accepted", "accepted_runs", "acknowledged"))
    said["is_baseline"] = own[-1]["is_baseline"]
    for row in own:
        withdrawn = json.loads(row["withdrawn"] or "[]")
        if row["accepted"]:
            said |= {"accepted": row["accepted"], "accepted_runs": row["accepted_runs"]}
            said["is_baseline"] = True
        if row["acknowledged"]:
            said["acknowledged"] = row["acknowledged"]
        if ACCEPTANCE in withdrawn:
            said |= {"accepted": None, "accepted_runs": None, "is_baseline": row["is_baseline"]}
        if ACKNOWLEDGEMENT in withdrawn:
            said["acknowledged"] = None
    return said


def log_table(rows: Iterable[Row]) -> pa.Table:
    days = [
        {**row, "evaluated_on": datetime.date.fromisoformat(row["evaluated_on"])} for row in rows
    ]
    return pa.Table.from_pylist(days, EVALUATIONS)


def append(store: Store, evaluated_on: str, rows: Iterable[Row]) -> str:
    """Add rows to the log of a date atomically; return the path of the file. Raises FAILURES."""
    return store.add_rows(f"{LOG}/evaluated_on={evaluated_on}", rows, _STORED)


def log_row(record: Row, verdict: Row | None = None, **more: Any) -> Row:
    seconds, verdict = record.get("seconds", {}), verdict or {}
    row = {
        **_EMPTY,
        **record,
        "revision": 0,
        "is_baseline": False,
        "seconds": seconds.get("total"),
        "steps": seconds,
    }
    row |= {name: verdict.get(name) for name in _VERDICT}
    findings = verdict.keys() - {*_VERDICT, "accepted", "dataset", "evaluated_on"}
    row |= {"findings": {name: verdict[name] for name in findings}, **more}
    for name, table in record.get("inputs", {}).items():
        own = table.get("fingerprints", {}).get(more.get("dataset"))
        row[f"{name}_fingerprint"] = own or table.get("fingerprint")
    texts = {name: row[name] for name in JSON if row.get(name) is not None}
    return row | {
        name: json.dumps(value, ensure_ascii=False, default=str) for name, value in texts.items()
    }


def verified_in_words(lists: int, unverified: str | None) -> str:
    """The value of the column `verified` for a night.

    It says how many lists were recomputed, or why scores that differ were published.
    """
    return f"verified {lists} lists" if unverified is None else f"{_UNVERIFIED}{unverified}"


def utc_now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def revise(night: Night, **entries: Any) -> None:
    """Add a copy of a night's row with these entries to the log.

    They are a `note`; why the night is `accepted` as a baseline, and for which `accepted_runs`;
    what is `acknowledged`; or what is `withdrawn`, with the resulting `is_baseline`.
    ConfigurationError for an empty note, or for a night whose scores are not verified. StorageError
    if the night was replaced or removed in the meantime, so that the change has no effect.
    """
    if "note" in entries and not entries["note"].strip():
        raise ConfigurationError("note: the text is empty; write what to remember about the night")
    if "accepted" in entries and night.unverified is not None:
        sentence = f"{night} is not verified; evaluate it again"
        raise ConfigurationError(sentence, option="accept-baseline")
    is_baseline = night.is_good or "accepted" in entries
    row = {**night.row, "note": None, "withdrawn": None, "is_baseline": is_baseline, **entries}
    row |= {"revision": (night.row["revision"] or 0) + 1, "revised_at": utc_now()}
    for name in JSON:
        if name in entries and entries[name] is not None:
            row[name] = json.dumps(entries[name], ensure_ascii=False)
    with night.store.failures("cannot be written"):
        append(night.store, night.evaluated_on, [row])
    refuse_replaced(night, StorageError)


def refuse_replaced(night: Night, error: type[StorageError]) -> None:
    """Raise an `error` if the evaluation is no longer current, so that its rows may be gone."""
    known = committed(night.store, [night.evaluated_on])
    known.refuse_damaged([night.evaluated_on])
    if night not in known:
        raise error(
            f"output: {night} in {night.store.location} has since been replaced; run this again"
        )
