"""The records of an output, which decide which evaluation of a night counts and whether it was accepted."""

import concurrent.futures
import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ndcg_spark.errors import NdcgSparkError, StorageError
from ndcg_spark.nights import record_format
from ndcg_spark.nights.layout import AT_ONCE, FAILURES, RECORDS, Store, night_folder, night_of
from ndcg_spark.nights.sink import Sink
from ndcg_spark.nights.table_outputs import is_of_tables

_PATH = re.compile(rf"{RECORDS}/([^/]+/[^/]+)/([0-9]+)-([^/]+)\.json")
_T = TypeVar("_T")


class ReplacedError(StorageError):
    """A night was evaluated again or removed while it was being read."""

    def __init__(self, night: "CommittedNight") -> None:
        super().__init__(f"output: {night} in {night.store.place} was replaced while it was read; run this again")


@dataclasses.dataclass(frozen=True, order=True)
class CommittedNight:
    """The evaluation of a night that counts. Its record is read when it is first needed."""

    dataset: str
    evaluated_on: str
    #: The number of its record; a later evaluation of the night has a greater one.
    number: int
    evaluation_id: str
    #: The folder, or the tables, that it is kept in.
    store: Store | Sink = dataclasses.field(compare=False, repr=False)

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
        # Not functools.cached_property, with which before Python 3.12 only one thread at a time reads a record.
        if "_record" not in self.__dict__:
            self.__dict__["_record"] = self._read()
        return self.__dict__["_record"]  # type: ignore[no-any-return]  # what _read has returned

    def _read(self) -> Mapping[str, Any]:
        try:
            return record_format.read(self.in_folder.read(self.path))
        except FileNotFoundError as error:
            raise ReplacedError(self) from error
        except FAILURES as error:
            place = f"{self.store.place}/{self.path}"
            raise StorageError(f"output: {place} cannot be read, {error}; check its rights") from error
        except (ValueError, RecursionError) as error:
            raise StorageError(
                f"output: {self.store.place}/{self.path} is not a record that this version can read, {error}; "
                "restore the file, or evaluate that night again"
            ) from error

    @property
    def is_good(self) -> bool:
        """Whether later nights may be compared with it: its verdict was a pass, or somebody has accepted it."""
        return bool(self.record.get("accepted")) or (self.record.get("verdict") or {}).get("verdict") == "pass"

    @property
    def is_not_worse(self) -> bool:
        """Whether it is good, or all was measured and nothing failed, so that a drop that was seen may be chance.

        The mean of the nights that passed would be that of the lucky ones.
        """
        findings = (self.record.get("verdict") or {}).get("findings") or ()
        measured = [each["effect"] in ("pass", "warning") or each["outcome"] == "inconclusive" for each in findings]
        # If there is no verdict and nothing is inconclusive, nothing was measured: all checks only warn.
        return self.is_good or (all(measured) and any(each["outcome"] == "inconclusive" for each in findings))

    def with_record(self, record: Mapping[str, Any]) -> "CommittedNight":
        """The same night as if it had this record."""
        night = dataclasses.replace(self)
        night.__dict__["_record"] = record
        return night

    @property
    def in_folder(self) -> Store:
        """The folder that it is kept in; only nights of a folder have files."""
        if isinstance(self.store, Sink):
            raise TypeError(f"{self} is kept in tables")
        return self.store

    def kept_rows(self, table: str) -> int:
        """How many rows it has in a table."""
        in_tables = self.record.get("tables", {}).get(table, {})
        return int(in_tables.get("rows", 0)) or sum(
            file["rows"] for file in self.record["files"].get(table, {}).values()
        )

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
    if is_of_tables(output):
        return _in_tables(Sink(output))
    store = Store(output)
    store.refuse_a_file()
    with store.failures("cannot be read"):
        newest = {(night.dataset, night.evaluated_on): night for night in all_records(store)}
    return sorted(newest.values())


def _in_tables(sink: Sink) -> list[CommittedNight]:
    """Every night of an output of tables, sorted by dataset and date. Raises StorageError."""
    found = [CommittedNight(*key[:2], 0, key[2], sink).with_record(record) for key, record in sink.records().items()]
    return sorted(found)


def all_records(store: Store, folder: str = "") -> list[CommittedNight]:
    """Every record of an output, or of one night's folder, superseded ones too; the last of a night counts.

    It takes one listing. Raises FAILURES.
    """
    paths = store.files(f"{RECORDS}/{folder}".rstrip("/"), ".json")
    names = filter(None, map(_PATH.fullmatch, paths))
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
    """Run the block, which reads these nights. ReplacedError if one of them no longer counts when it ends."""
    try:
        yield
    except NdcgSparkError:
        # Removed rows can look like any other failure.
        refuse_replaced(nights)
        raise
    refuse_replaced(nights)


def refuse_replaced(nights: Sequence[CommittedNight]) -> None:
    """ReplacedError if one of these evaluations no longer counts, so its rows may be gone."""
    if nights and isinstance(nights[0].store, Sink):
        known = nights[0].store.records()
        for night in nights:
            if (night.dataset, night.evaluated_on, night.evaluation_id) not in known:
                raise ReplacedError(night)
        return
    for night in nights:
        with night.in_folder.failures("cannot be read"):
            newest = all_records(night.in_folder, night_folder(night.dataset, night.evaluated_on))
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
    store.write(night.path, record_format.written(record))
    return night


def accept(night: CommittedNight, reason: str) -> None:
    """Record why a night is accepted as a baseline of later ones. Raises as `amend`."""
    amend(night, {"accepted": record_format.remark(reason=reason)})


def add_note(night: CommittedNight, text: str) -> None:
    """Add a note to a night, which trends and reports show. Raises as `amend`."""
    amend(night, {"notes": [*night.record.get("notes", ()), record_format.remark(text=text)]})


def notes_of(output: str, date: str) -> dict[str, list[dict[str, str]]]:
    """The notes on the nights of a date, by dataset; a night that is evaluated again keeps them."""
    found = {}
    for night in [night for night in committed(output) if night.evaluated_on == date]:
        # A record that cannot be read is mended by evaluating its night again.
        with contextlib.suppress(StorageError):
            found[night.dataset] = night.record.get("notes", [])
    return {dataset: notes for dataset, notes in found.items() if notes}


def amend(night: CommittedNight, entries: Mapping[str, Any]) -> None:
    """Change entries of a night's record, and its row of EVALUATIONS with them.

    Each of these files is replaced atomically. If the night is evaluated again in the meantime, they are superseded as
    they would have been before.

    Raises
    ------
    ReplacedError
        The night was replaced or removed in the meantime.
    StorageError
        The storage fails.
    """
    record = {**night.record, **entries}
    if isinstance(night.store, Sink):
        night.store.begin_amending()
        refuse_replaced([night])
        night.store.amend(night, record)
        return
    store = night.store
    with unreplaced([night]), store.failures("cannot be written"):
        refuse_replaced([night])
        store.write(f"evaluations/{night.folder}/{record_format.EVALUATION_FILE}", record_format.evaluation_row(record))
        store.write(night.path, record_format.written(record))
