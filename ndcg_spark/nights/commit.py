"""Complete a journaled commit, or undo it; both are safe to call after an interruption at any step.

The moves of the journal are replayed in order, without those that are done. A local file system and HDFS move a folder
at once. An object store copies and deletes file by file, so a plain reader can see part of a night while it is moved.
`read_scores` cannot, because the record is moved away first.

Every move begins or ends in the evaluation's own staging folder, and the folders that it needs are made before the
claim is checked. So a process that was suspended, even right before a move, moves nothing after another process has
finished its commit and removed its staging folder.
"""

from collections.abc import Callable

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.journal import PLACES, Journal, Move, replaced_files
from ndcg_spark.nights.lock import LostClaimError
from ndcg_spark.nights.store import RECORDS, TABLES, Store

#: Raises LostClaimError unless this process may still change the output.
Hold = Callable[[], None]


def with_replaced(store: Store, journal: Journal) -> Journal:
    """The journal with the old files that its nights replace.

    On an object store, old and new files are told apart by their names, which engines make unique (Spark with a UUID,
    pysail with 16 random letters). StorageError if a new file has the name of an old one.
    """
    for night in journal.nights:
        new = journal.new_files(night)
        for table in TABLES:
            taken = {*store.names(f"{table}/{night}")} & {*new.get(table, ())}
            if taken and not store.moves_folders:
                raise StorageError(
                    f"output: {len(taken)} new file(s) of {store.place}/{table}/{night} have the name of an old one, "
                    f"e.g. {min(taken)}; nothing was published, run again"
                )
    return journal.model_copy(update={"replaced": replaced_files(store, journal)})


def begin(store: Store, journal: Journal, hold: Hold) -> None:
    """Write the journal. From here on its nights will be published, by whoever comes next, unless they are undone."""
    # The records are written first, because they need space on the disk and moving needs none.
    _stage_records(store, journal)
    hold()
    store.write_json(journal.path, journal.model_dump())


def finish(store: Store, journal: Journal, hold: Hold) -> None:
    """Complete the commit of a journal; safe to call after an interruption at any step.

    `hold` is called before every move. The journal is not removed, so that the caller can still undo.

    Raises
    ------
    StorageError
        A file of the journal is not in place afterwards.
    LostClaimError
        Another process has taken over.
    """
    _stage_records(store, journal)
    for night in journal.nights:
        for move in journal.moves(night, store.moves_folders):
            # The source is gone if its move is done, or if an old night was removed in the meantime.
            if store.exists(move.source) and not _is_done(store, move):
                _moved(store, move.source, move.target, journal, hold)
        new = journal.new_files(night)
        for table in TABLES:
            if not store.moves_folders and table not in new and not store.names(f"{table}/{night}"):
                # An object store keeps the mark of an empty folder.
                store.delete(f"{table}/{night}")
        missing = [
            f"{place}/{night}/{name}"
            for place, names in new.items()
            for name in sorted({*names} - {*store.names(f"{place}/{night}")})
        ]
        if missing:
            raise StorageError(
                f"output: {len(missing)} file(s), e.g. {missing[0]}, did not come into place in {store.place}"
            )


def undo(store: Store, journal: Journal, hold: Hold) -> bool:
    """Move back what was moved for a journal, in reverse order. Returns whether the old nights are whole again.

    A night that has the record of another evaluation is not touched: either nothing of it was moved, or it was
    replaced since.
    """
    for night in reversed(journal.nights):
        if {*store.names(f"{RECORDS}/{night}")} <= {journal.record_name}:
            for move in reversed(journal.moves(night, store.moves_folders)):
                _take_back(store, move, journal, hold)
    return all(
        sorted(store.names(f"{place}/{night}")) == sorted(journal.old_files(place, night))
        for place in PLACES
        for night in journal.nights
    )


def lost_files(store: Store, journal: Journal) -> list[str]:
    """The files of a journal's tables that are neither staged nor in place, so that it cannot be completed."""
    return [
        f"{table}/{night}/{name}"
        for table, partitions in journal.staged.items()
        for night, partition in partitions.items()
        if night in journal.nights
        for name in sorted(
            {*partition.files}
            - {*store.names(f"{journal.staging}/{table}/{partition.folder}")}
            - {*store.names(f"{table}/{night}")}
        )
    ]


def _stage_records(store: Store, journal: Journal) -> None:
    for night in journal.nights:
        staged = f"{journal.staging}/{RECORDS}/{night}/{journal.record_name}"
        if not store.exists(staged) and not store.exists(f"{RECORDS}/{night}/{journal.record_name}"):
            store.write_json(staged, journal.record_of(night))


def _is_done(store: Store, move: Move) -> bool:
    if store.moves_folders:
        return store.exists(move.target) and (not move.files or bool({*store.names(move.target)} & {*move.files}))
    # A file that was copied but not yet deleted is copied again.
    return not store.exists(move.source)


def _take_back(store: Store, move: Move, journal: Journal, hold: Hold) -> None:
    if store.moves_folders:
        if _is_done(store, move) and not store.names(move.source):
            _fence(store, journal, hold)
            # If files were lost, their empty folder may be left, and nothing can be moved there.
            store.delete(move.source)
            _moved(store, move.target, move.source, journal, hold)
    elif store.exists(move.target):
        if store.exists(move.source):
            # It was copied, and the original is not deleted yet.
            _fence(store, journal, hold)
            store.delete(move.target)
        else:
            _moved(store, move.target, move.source, journal, hold)


def _moved(store: Store, source: str, target: str, journal: Journal, hold: Hold) -> None:
    folder = target.rpartition("/")[0]
    # Looked up first, because an object store makes a request for every folder above the one it makes.
    if not store.exists(folder):
        store.create(folder)
    _fence(store, journal, hold)
    store.move(source, target)


def _fence(store: Store, journal: Journal, hold: Hold) -> None:
    hold()
    if not store.exists(journal.path):
        raise LostClaimError(
            f"output: another process has gone on with evaluation {journal.evaluation_id} in {store.place}; "
            f"ndcg-spark nights {store.place} tells what stands"
        )
