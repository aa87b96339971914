"""Complete a journaled commit; safe to call after an interruption at any step. Or undo it.

A journal's moves are replayed in order: those that are done are passed over. Local folders and HDFS move a partition
at once. An object store moves file by file, each a copy and then a deletion, so there a plain reader may see a part of
a night while it is moved; `read_scores` does not, as the record is gone.

Every move begins or ends in the evaluation's own staging folder, and the folders it needs are made before the claim is
looked at. So a process that is stopped, and wakes after another has finished its work and removed its staging, moves
nothing, even if it was stopped right before a move.
"""

from collections.abc import Callable

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.journal import PLACES, Journal, Move, replaced_files
from ndcg_spark.nights.lock import LostClaimError
from ndcg_spark.nights.store import RECORDS, TABLES, Store

#: Raises unless this process may still move what is in the output.
Hold = Callable[[], None]


def plan(found: Store, journal: Journal) -> Journal:
    """The journal with what it replaces.

    Engines give a file a name of its own (Spark a UUID, pysail 16 random letters), by which an object store tells new
    files from old ones: StorageError if one is in place already.
    """
    for night in journal.nights:
        new = journal.new_files(night)
        for table in TABLES:
            taken = {*found.names(f"{table}/{night}")} & {*new.get(table, ())}
            if taken and not found.moves_folders:
                raise StorageError(
                    f"output: {len(taken)} new file(s) of {found.place}/{table}/{night} have the name of an old one, "
                    f"e.g. {min(taken)}; nothing was published, run again"
                )
    return journal.model_copy(update={"replaced": replaced_files(found, journal)})


def begin(found: Store, journal: Journal, hold: Hold) -> None:
    """Write a planned journal: from here on its nights will stand, unless they are undone."""
    # The records take space; when there is room for them, moving needs none.
    _stage_records(found, journal)
    hold()
    found.write_json(journal.path, journal.model_dump())


def finish(found: Store, journal: Journal, hold: Hold) -> None:
    """Bring about the nights of a journal, from wherever its process had come to.

    `hold` is asked before every move. The journal stays, so that the caller can still undo.

    Raises
    ------
    StorageError
        A file that the journal names did not come into place.
    """
    _stage_records(found, journal)
    for night in journal.nights:
        for move in journal.moves(night, found.moves_folders):
            # An old night may have been removed before its journal is taken up.
            if found.exists(move.source) and not _is_done(found, move):
                _moved(found, move.source, move.target, journal, hold)
        new = journal.new_files(night)
        for table in TABLES:
            if not found.moves_folders and table not in new and not found.names(f"{table}/{night}"):
                # An object store keeps the mark of an empty folder.
                found.delete(f"{table}/{night}")
        missing = [
            f"{place}/{night}/{name}"
            for place, names in new.items()
            for name in sorted({*names} - {*found.names(f"{place}/{night}")})
        ]
        if missing:
            raise StorageError(
                f"output: {len(missing)} file(s), e.g. {missing[0]}, did not come into place in {found.place}"
            )


def undo(found: Store, journal: Journal, hold: Hold) -> bool:
    """Take back what was moved of a journal, the last move first; whether all is again as it was before.

    A night that another evaluation's record stands over is left alone: nothing of it was moved, or it is theirs.
    """
    for night in reversed(journal.nights):
        if {*found.names(f"{RECORDS}/{night}")} <= {journal.record_name}:
            for move in reversed(journal.moves(night, found.moves_folders)):
                _take_back(found, move, journal, hold)
    return all(
        sorted(found.names(f"{place}/{night}")) == sorted(journal.old_files(place, night))
        for place in PLACES
        for night in journal.nights
    )


def lost_files(found: Store, journal: Journal) -> list[str]:
    """The files of a journal's tables that are neither staged nor in place: without them it cannot be finished."""
    return [
        f"{table}/{night}/{name}"
        for table, partitions in journal.staged.items()
        for night, partition in partitions.items()
        if night in journal.nights
        for name in sorted(
            {*partition.files}
            - {*found.names(f"{journal.staging}/{table}/{partition.folder}")}
            - {*found.names(f"{table}/{night}")}
        )
    ]


def _stage_records(found: Store, journal: Journal) -> None:
    for night in journal.nights:
        staged = f"{journal.staging}/{RECORDS}/{night}/{journal.record_name}"
        if not found.exists(staged) and not found.exists(f"{RECORDS}/{night}/{journal.record_name}"):
            found.write_json(staged, journal.record_of(night))


def _is_done(found: Store, move: Move) -> bool:
    if found.moves_folders:
        return found.exists(move.target) and (not move.files or bool({*found.names(move.target)} & {*move.files}))
    # A file that was copied, and its original not deleted yet, is copied again.
    return not found.exists(move.source)


def _take_back(found: Store, move: Move, journal: Journal, hold: Hold) -> None:
    if found.moves_folders:
        if _is_done(found, move) and not found.names(move.source):
            _fence(found, journal, hold)
            # An empty folder is what is left of one whose files were lost; it would be in the way.
            found.delete(move.source)
            _moved(found, move.target, move.source, journal, hold)
    elif found.exists(move.target):
        if found.exists(move.source):
            # Copied, and the original not deleted yet.
            _fence(found, journal, hold)
            found.delete(move.target)
        else:
            _moved(found, move.target, move.source, journal, hold)


def _moved(found: Store, source: str, target: str, journal: Journal, hold: Hold) -> None:
    folder = target.rpartition("/")[0]
    # Making a folder anew costs an object store a request for every folder above it.
    if not found.exists(folder):
        found.create(folder)
    _fence(found, journal, hold)
    found.move(source, target)


def _fence(found: Store, journal: Journal, hold: Hold) -> None:
    hold()
    if not found.exists(journal.path):
        raise LostClaimError(
            f"output: another process has gone on with evaluation {journal.evaluation_id} in {found.place}; "
            f"ndcg-spark nights {found.place} tells what stands"
        )
