"""The journal of a commit: which staged files become which nights, which old files they replace, as a list of moves.

It is written once, before anything is moved, and is all that is needed to complete or undo the commit from any point.
Its names are checked when it is read, so that a damaged journal cannot move files of other folders or evaluations.
"""

import re
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.store import RECORDS, STAGING, TABLES, Store, night_of, partition

JOURNAL = "_commit.json"
#: The folder in staging that keeps the old night until the commit is complete.
REPLACED = "_replaced"
#: The folders in which a night has files, in the order in which the old ones are moved away.
PLACES = (RECORDS, *TABLES)

_NIGHT = re.compile(r"dataset=[^/\0]+/evaluated_on=[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Move(NamedTuple):
    """One move of a folder or a file, with the names of the files that are moved."""

    source: str
    target: str
    files: tuple[str, ...]


def _file_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of a file")
    return name


def _folder(folder: str) -> str:
    if not _NIGHT.fullmatch(folder):
        raise ValueError(f"{folder!r} is no folder of a night")
    return folder


def _night(night: str) -> str:
    if partition(*night_of(_folder(night))) != night:
        raise ValueError(f"{night!r} is not spelled as a night is")
    return night


def _place(place: str) -> str:
    if place not in PLACES:
        raise ValueError(f"{place!r} is no place where a night has files")
    return place


_FileName = Annotated[str, AfterValidator(_file_name)]
_Night = Annotated[str, AfterValidator(_night)]
_Place = Annotated[str, AfterValidator(_place)]


class StagedPartition(BaseModel):
    """The files of one night in one staged table."""

    model_config = ConfigDict(strict=True, frozen=True)

    #: As the engine named it, which may be another spelling of the night.
    folder: Annotated[str, AfterValidator(_folder)]
    files: list[_FileName]
    #: The number of rows of every Parquet file; earlier versions of the program did not keep it.
    rows: dict[_FileName, int] = Field(default_factory=dict)


class Journal(BaseModel):
    """How the staging folder of one evaluation is published."""

    model_config = ConfigDict(strict=True, frozen=True)

    evaluation_id: _FileName
    nights: list[_Night]
    staged: dict[_Place, dict[_Night, StagedPartition]]
    #: The old files by place and night; an empty list for an empty folder. None in journals of earlier versions.
    replaced: dict[_Place, dict[_Night, list[_FileName]]] | None = None
    record: dict[str, Any]
    #: What the record of a night has beside those of the other nights; absent in journals of earlier versions.
    of_nights: dict[_Night, dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if RECORDS in self.staged:
            raise ValueError("records are not staged as a table is")
        for partitions in self.staged.values():
            for night, staged in partitions.items():
                if night not in self.nights or night_of(staged.folder) != night_of(night):
                    raise ValueError(f"{staged.folder!r} is not staged for a night of this journal")
        return self

    @property
    def staging(self) -> str:
        """The staging folder of the evaluation."""
        return f"{STAGING}/{self.evaluation_id}"

    @property
    def path(self) -> str:
        """The path of the journal."""
        return f"{self.staging}/{JOURNAL}"

    @property
    def record_name(self) -> str:
        """The name of the record in the folder of each night."""
        return f"{self.evaluation_id}.json"

    def new_files(self, night: str) -> dict[str, list[str]]:
        """The names of the new files of a night, by place."""
        staged = {table: partitions[night].files for table, partitions in self.staged.items() if night in partitions}
        return {**staged, RECORDS: [self.record_name]}

    def old_files(self, place: str, night: str) -> list[str]:
        """The names of the old files of a night in a place."""
        return (self.replaced or {}).get(place, {}).get(night, [])

    def record_of(self, night: str) -> dict[str, Any]:
        """The record of a night: that of the evaluation, its own, and its files with their numbers of rows."""
        rows = {table: partitions[night].rows for table, partitions in self.staged.items() if night in partitions}
        record = {**self.record, **self.of_nights.get(night, {})}
        return {**record, "files": rows} if any(rows.values()) else record

    def moves(self, night: str, whole_folders: bool) -> list[Move]:
        """All moves of a night in order: the old record, the old tables, the new tables, the new record.

        In this order nobody sees two nights of one date, a record is only there while all its files are, and a table
        that the new night does not have is removed.
        """
        replaced = self.replaced or {}
        folders = [
            (f"{place}/{night}", f"{self.staging}/{REPLACED}/{place}/{night}", replaced[place][night])
            for place in PLACES
            if night in replaced.get(place, {})
        ]
        folders += [
            (f"{self.staging}/{table}/{partitions[night].folder}", f"{table}/{night}", partitions[night].files)
            for table, partitions in self.staged.items()
            if night in partitions
        ]
        folders.append((f"{self.staging}/{RECORDS}/{night}", f"{RECORDS}/{night}", [self.record_name]))
        if whole_folders:
            return [Move(source, target, tuple(files)) for source, target, files in folders]
        return [
            Move(f"{source}/{name}", f"{target}/{name}", (name,)) for source, target, files in folders for name in files
        ]


def read_journal(store: Store, evaluation_id: str) -> Journal:
    """The journal in an evaluation's staging folder. StorageError if it is damaged or of another evaluation."""
    path = f"{STAGING}/{evaluation_id}/{JOURNAL}"
    try:
        journal = Journal.model_validate(store.read_json(path))
        if journal.evaluation_id != evaluation_id:
            raise ValueError(f"it is of the evaluation {journal.evaluation_id!r}")
    except ValueError as error:
        reason = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            reason = ": ".join([*map(str, first["loc"][:1]), first["msg"].removeprefix("Value error, ")])
        raise StorageError(
            f"output: {store.place}/{path} is no journal of a commit, {reason}; nothing was moved, "
            "restore the file, or remove it to give this evaluation up"
        ) from error
    return journal if journal.replaced is not None else _with_replaced(store, journal)


def replaced_files(store: Store, journal: Journal) -> dict[str, dict[str, list[str]]]:
    """The old files by place and night: those in place that are not the journal's, and those moved away already."""
    replaced: dict[str, dict[str, list[str]]] = {place: {} for place in PLACES}
    for night in journal.nights:
        own = journal.new_files(night)
        for place in PLACES:
            away, there = f"{journal.staging}/{REPLACED}/{place}/{night}", f"{place}/{night}"
            names = {*store.names(away), *store.names(there)} - {*own.get(place, ())}
            is_new = bool({*store.names(there)} & {*own.get(place, ())})
            if names or (not is_new and (store.exists(away) or store.exists(there))):
                replaced[place][night] = sorted(names)
    return replaced


def _with_replaced(store: Store, journal: Journal) -> Journal:
    """The journal of an earlier version with its old files, which that version looked for while it moved."""
    for night in journal.nights:
        folder = f"{RECORDS}/{night}"
        store.delete(f"{folder}/{journal.record_name}.part")
        if store.exists(f"{journal.staging}/{REPLACED}/{folder}") and not store.names(folder):
            store.delete(folder)
    replaced = replaced_files(store, journal)
    for names in replaced[RECORDS].values():
        # A record with a later name is of an evaluation that has replaced this one since.
        names[:] = [name for name in names if name <= journal.record_name]
    return journal.model_copy(update={"replaced": replaced})
