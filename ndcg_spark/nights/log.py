"""The log of an output, which determines each night's current evaluation.

It is append-only.
"""

import concurrent.futures
import dataclasses
import datetime
import functools
import itertools
import json
import logging
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.convention.parsing import parse_measure_set
from ndcg_spark.errors import ConfigurationError, StorageError, first_line
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

#: The columns of EVALUATIONS whose text is JSON.
JSON = EVALUATIONS.names[EVALUATIONS.names.index("options") :]
#: The columns that a published row must have.
_PUBLISHED = ("dataset", "number", "options", "configuration", "files")
_STATUSES = ("published", "refused", "failed")
_STORED = pa.schema([field for field in EVALUATIONS if field.name != "evaluated_on"])
_FILE = re.compile(rf"{LOG}/evaluated_on=([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})/[^/]+\.parquet")
_EMPTY = dict.fromkeys(EVALUATIONS.names)
#: A verdict's columns.
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
        """Its row with the JSON columns decoded.

        `verdict` also has the findings (None without a gate), and `seconds` the time of each step.
        """
        record = dict(self.row)
        for name in JSON:
            record[name] = json.loads(self.row[name] or "{}")
        verdict = None
        if record["verdict"]:
            verdict = {name: record[name] for name in _VERDICT} | record["findings"]
        record["verdict"] = verdict
        record["seconds"] = record["steps"]
        record["notes"] = list(self.notes)
        return record

    @functools.cached_property
    def measure_set(self) -> MeasureSet:
        """The measures that the night was evaluated with. StorageError if they are unknown."""
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
    def unmeasured(self) -> dict[str, str]:
        """A sentence for each run whose document ids no judgment has.

        Its scores of 0 say nothing about its ranking, so the night does not have the run for any
        comparison.
        """
        results = self.record["inputs"].get("results", {})
        return dict(results.get("unknown_ids", {}).get(self.dataset, {}))

    @property
    def is_good(self) -> bool:
        """Whether later nights may be compared with it.

        Every check measured something and none failed, or somebody accepted the night.
        """
        return bool(self.row["is_baseline"]) and self.unverified is None

    def files(self, table: str) -> dict[str, Mapping[str, int]]:
        """The files of its evaluation in a table, for all datasets: rows, bytes, crc32 by path."""
        path = folder(table, self.evaluated_on, self.evaluation_id)
        files = self.record["files"].get(table, {})
        return {f"{path}/{name}": file for name, file in files.items()}

    def kept_rows(self, table: str) -> int:
        """The number of rows of its evaluation in a table, for all datasets."""
        files: Mapping[str, Mapping[str, int]] = self.record["files"].get(table, {})
        return sum(file["rows"] for file in files.values())

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
        #: All rows of the log, sorted so that a night's last row is the current one. Each row
        #: has its `file`, and when that file was `written`.
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
        """Raise StorageError if the log of one of these dates cannot be read."""
        damaged = sorted(set(dates).intersection(self.damaged))
        if damaged:
            advice = f"restore the file, or remove it and evaluate {damaged[0]} again"
            raise StorageError(f"output: {self.damaged[damaged[0]]}; {advice}")


def committed(output: str | Store, dates: Iterable[str] | None = None) -> Nights:
    """The nights of an output, or of some of its dates.

    A date with a damaged log has no nights, and a warning says so.
    """
    store = output if isinstance(output, Store) else Store(output)
    folders = [LOG] if dates is None else [f"{LOG}/evaluated_on={date}" for date in dates]
    with store.failures("cannot be read"):
        listed = itertools.chain.from_iterable(store.files(path).values() for path in folders)
        files = [file for file in listed if _is_log_file(file)]
        with concurrent.futures.ThreadPoolExecutor(store.at_once) as pool:
            contents = list(pool.map(functools.partial(_read_log_file, store), files))
    damaged = {content.date: content.problem for content in contents if content.problem}
    for problem in damaged.values():
        _logger.warning("output: %s; its nights are left out", problem)
    rows: list[Row] = []
    for content in contents:
        if content.date not in damaged:
            rows.extend(content.rows)
    rows.sort(key=_order_in_log)
    return Nights(_current_nights(store, rows), rows, damaged)


def _current_nights(store: Store, rows: Iterable[Row]) -> Iterator[Night]:
    """The night of each dataset and date, from the log's sorted rows."""
    evaluation_of = operator.itemgetter("dataset", "evaluated_on", "evaluation_id")
    published = [row for row in rows if row["status"] == "published"]
    # A revision that was added while its night expired has no effect.
    with_first_row = {evaluation_of(row) for row in published if not row["revision"]}
    valid = [row for row in published if evaluation_of(row) in with_first_row]
    for _, group in itertools.groupby(valid, operator.itemgetter("dataset", "evaluated_on")):
        yield _current_night(store, list(group))


def _is_log_file(file: OutputFile) -> bool:
    """Whether a file is directly in the folder of a date in the log."""
    named = _FILE.fullmatch(file.path)
    if named is None:
        return False
    try:
        datetime.date.fromisoformat(named[1])
    except ValueError:
        return False
    return True


class _LogFile(NamedTuple):
    """The content of a log file."""

    date: str
    rows: Sequence[Row] = ()
    #: Why it cannot be read.
    problem: str | None = None


def _read_log_file(store: Store, file: OutputFile) -> _LogFile:
    """Read a log file, which has no rows if it was removed in the meantime."""
    date = file.path.rpartition("/")[0].rpartition("=")[2]
    try:
        rows = _whole_rows(store, file.path)
    except FileNotFoundError:
        return _LogFile(date)
    except Exception as error:  # noqa: BLE001  # damaged files raise many kinds
        why = f"{store.location}/{file.path} cannot be read: {first_line(error)}"
        return _LogFile(date, problem=why)
    more = {"evaluated_on": date, "file": file.path, "written": file.mtime_ns / 1e9}
    return _LogFile(date, [{**_EMPTY, **row, **more} for row in rows])


def _whole_rows(store: Store, path: str) -> list[dict[str, Any]]:
    """The rows of a log file, verified by its checksum.

    The files of versions before the first release have no checksum.
    """
    checksum = named_checksum(path)
    rows: list[dict[str, Any]] = store.read(path, checksum).to_pylist()
    if not rows:
        raise ValueError("it has no rows")
    if checksum is None:
        # Raises an exception for a value that its column cannot have.
        rows = pa.Table.from_pylist(rows, _STORED).to_pylist()
        _refuse_unusable(rows)
    return rows


def _refuse_unusable(rows: Sequence[Row]) -> None:
    """Raise an exception for rows that clearly no evaluation wrote."""
    for row in rows:
        for name in JSON:
            json.loads(row[name] or "{}")
        if row["status"] not in _STATUSES:
            raise ValueError("the status is unknown")
        if row["evaluation_id"] is None:
            raise ValueError("evaluation_id is null")
        lacking = [name for name in _PUBLISHED if row[name] is None]
        if row["status"] == "published" and lacking:
            raise ValueError(f"{lacking[0]} is null")


def _order_in_log(row: Row) -> tuple[Any, ...]:
    """A sort key for a night's rows; the last row is the current one.

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


def _current_night(store: Store, rows: Sequence[Row]) -> Night:
    """A night, from all of its log rows; the last row is the current one."""
    row = {**rows[-1], **_decisions(rows)}
    noted = [other for other in rows if other["note"]]
    noted.sort(key=lambda other: other["revised_at"] or "")
    return Night(
        row["dataset"],
        row["evaluated_on"],
        row["number"],
        row["evaluation_id"],
        store,
        row,
        notes=[other["note"] for other in noted],
    )


def _decisions(rows: Sequence[Row]) -> dict[str, Any]:
    """What people decided about the current evaluation, from all of its rows.

    Two rows that are added at once do not know of each other. Of two acceptances, the last one
    wins, and an entry that a row withdraws is removed whatever rows of the same revision say.
    """
    own = [row for row in rows if row["evaluation_id"] == rows[-1]["evaluation_id"]]
    own.sort(key=lambda row: (row["revision"] or 0, row["withdrawn"] is not None))
    decisions = {
        "accepted": None,
        "accepted_runs": None,
        "acknowledged": None,
        "is_baseline": own[-1]["is_baseline"],
    }
    for row in own:
        withdrawn = json.loads(row["withdrawn"] or "[]")
        if row["accepted"]:
            decisions["accepted"] = row["accepted"]
            decisions["accepted_runs"] = row["accepted_runs"]
            decisions["is_baseline"] = True
        if row["acknowledged"]:
            decisions["acknowledged"] = row["acknowledged"]
        if ACCEPTANCE in withdrawn:
            decisions["accepted"] = None
            decisions["accepted_runs"] = None
            decisions["is_baseline"] = row["is_baseline"]
        if ACKNOWLEDGEMENT in withdrawn:
            decisions["acknowledged"] = None
    return decisions


def log_table(rows: Iterable[Row]) -> pa.Table:
    """Rows of the log as a table with the schema of EVALUATIONS."""
    typed = []
    for row in rows:
        day = datetime.date.fromisoformat(row["evaluated_on"])
        typed.append({**row, "evaluated_on": day})
    return pa.Table.from_pylist(typed, EVALUATIONS)


def append(store: Store, evaluated_on: str, rows: Iterable[Row]) -> str:
    """Add rows to the log of a date atomically; return the file's path. Raises FAILURES."""
    return store.add_rows(f"{LOG}/evaluated_on={evaluated_on}", rows, _STORED)


def log_row(record: Row, verdict: Row | None = None, **more: Any) -> Row:
    """The log row of an evaluation of a dataset, from its record and verdict.

    `more` are further entries, such as `dataset` and `status`.
    """
    seconds = record.get("seconds", {})
    verdict = verdict or {}
    row = {
        **_EMPTY,
        **record,
        "revision": 0,
        "is_baseline": False,
        "seconds": seconds.get("total"),
        "steps": seconds,
    }
    for name in _VERDICT:
        row[name] = verdict.get(name)
    findings = verdict.keys() - {*_VERDICT, "accepted", "dataset", "evaluated_on"}
    row["findings"] = {name: verdict[name] for name in findings}
    row |= more
    for name, table in record.get("inputs", {}).items():
        of_dataset = table.get("fingerprints", {}).get(more.get("dataset"))
        row[f"{name}_fingerprint"] = of_dataset or table.get("fingerprint")
    for name in JSON:
        if row.get(name) is not None:
            row[name] = json.dumps(row[name], ensure_ascii=False, default=str)
    return row


def verified_in_words(lists: int, unverified: str | None) -> str:
    """The value of the column `verified` for a night.

    It says how many lists were recomputed, or why scores that differ were published.
    """
    return f"verified {lists} lists" if unverified is None else f"{_UNVERIFIED}{unverified}"


def utc_now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def revise(night: Night, **entries: Any) -> None:
    """Add a copy of a night's row with these entries to the log.

    The entries are a `note`; why the night is `accepted` as a baseline, and for which
    `accepted_runs`; what is `acknowledged`; or what is `withdrawn`, with the resulting
    `is_baseline`. ConfigurationError if a note is empty, or if a night is accepted whose scores are
    not verified. StorageError if the night was replaced or removed in the meantime, so that the
    change has no effect.
    """
    if "note" in entries and not entries["note"].strip():
        raise ConfigurationError("note: the text is empty; write what to remember about the night")
    if "accepted" in entries and night.unverified is not None:
        sentence = f"{night} is not verified; evaluate it again"
        raise ConfigurationError(sentence, option="accept-baseline")
    row = {
        **night.row,
        "note": None,
        "withdrawn": None,
        "is_baseline": night.is_good or "accepted" in entries,
        **entries,
        "revision": (night.row["revision"] or 0) + 1,
        "revised_at": utc_now(),
    }
    for name in JSON:
        if name in entries and entries[name] is not None:
            row[name] = json.dumps(entries[name], ensure_ascii=False)
    with night.store.failures("cannot be written"):
        append(night.store, night.evaluated_on, [row])
    refuse_replaced(night, StorageError)


def refuse_replaced(night: Night, error: type[StorageError]) -> None:
    """Raise an `error` if an evaluation is no longer current, because its rows may be gone."""
    known = committed(night.store, [night.evaluated_on])
    known.refuse_damaged([night.evaluated_on])
    if night not in known:
        raise error(
            f"output: {night} in {night.store.location} has since been replaced; run this again"
        )
