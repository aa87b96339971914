"""A journal says which files become which nights; here it is made, brought about from any point, and undone.

Local folders and HDFS rename a partition at once. An object store moves file by file, each a copy and then a deletion,
so there a plain reader may see a part of a night while it is moved; `read_scores` does not, as the record is gone.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import store
from ndcg_spark.nights.store import RECORDS, STAGING, TABLES, Store

JOURNAL = "_commit.json"
_REPLACED = "_replaced"

#: What was moved from where to where, in order; each is noted before it is done.
Moves = list[tuple[str, str]]


def journal_of(found: Store, evaluation_id: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """What is to become of a staging folder: the nights, their record, and of every table the folder and file names.

    Engines give a file a name of its own (Spark a UUID, pysail 16 random letters), by which an object store tells new
    files from old ones: StorageError if one is in place already.
    """
    staging = f"{STAGING}/{evaluation_id}"
    staged = {name: _partitions(found, f"{staging}/{name}") for name in TABLES}
    nights = sorted(set().union(*staged.values()))
    for name, partitions in staged.items():
        for night, partition in partitions.items():
            taken = set(_names(found, f"{name}/{night}")) & set(partition["files"])
            if taken and not found.moves_folders:
                raise StorageError(
                    f"output: {len(taken)} new file(s) of {found.output}/{name}/{night} have the name of an old one, "
                    f"e.g. {min(taken)}; the old night was kept, run again"
                )
    return {"evaluation_id": evaluation_id, "nights": nights, "staged": staged, "record": dict(record)}


def finish(found: Store, journal: Mapping[str, Any], hold: Callable[[], None], moves: Moves | None = None) -> None:
    """Bring about the nights that a journal describes, from wherever its process had come to, and remove the journal.

    Of one night, the old record and all old files go before any new file comes: nobody sees two nights of a date,
    and a table that the new night lacks is gone. `hold` is asked before every move.
    """
    done = moves if moves is not None else []
    staging = f"{STAGING}/{journal['evaluation_id']}"
    for night in journal["nights"]:
        record = f"{RECORDS}/{night}/{journal['evaluation_id']}.json"
        if found.exists(record):
            continue
        staged = {name: partitions.get(night) for name, partitions in journal["staged"].items()}
        pairs = _pairs(found, f"{RECORDS}/{night}", f"{staging}/{_REPLACED}/{RECORDS}/{night}")
        for name, partition in staged.items():
            # A staged folder that is gone has come into place.
            if not found.moves_folders or partition is None or found.exists(f"{staging}/{name}/{partition['folder']}"):
                new = partition["files"] if partition else ()
                pairs += _pairs(found, f"{name}/{night}", f"{staging}/{_REPLACED}/{name}/{night}", but=new)
        for name, partition in staged.items():
            if partition is not None:
                pairs += _pairs(found, f"{staging}/{name}/{partition['folder']}", f"{name}/{night}")
        for pair in pairs:
            hold()
            done.append(pair)
            found.move(*pair)
        for name, partition in staged.items():
            if partition is None and not found.moves_folders:
                # An object store keeps the mark of an empty folder.
                found.delete(f"{name}/{night}")
        hold()
        done.append((f"{staging}/{_REPLACED}/undone/{night}.json", record))
        found.write_json(record, journal["record"])
    found.delete(f"{staging}/{JOURNAL}")


def undo(found: Store, journal: Mapping[str, Any], moves: Moves) -> None:
    """Take back, from the last to the first, what `finish` has moved, and remove the journal."""
    for source, target in reversed(moves):
        if not found.exists(target):
            continue
        if not found.exists(source):
            found.move(target, source)
        elif not found.moves_folders:
            # Copied, and the original not deleted yet.
            found.delete(target)
    found.delete(f"{STAGING}/{journal['evaluation_id']}/{JOURNAL}")


def _pairs(found: Store, source: str, target: str, but: tuple[str, ...] = ()) -> Moves:
    """The moves that bring a folder to a place: one, or one of every file, but for some names."""
    if found.moves_folders:
        return [(source, target)] if found.exists(source) else []
    return [(f"{source}/{name}", f"{target}/{name}") for name in _names(found, source) if name not in but]


def _partitions(found: Store, table: str) -> dict[str, dict[str, Any]]:
    """Every staged partition: how it is called, the folder that the engine has called it, and the files in it."""
    folders = sorted({path.removeprefix(f"{table}/").rpartition("/")[0] for path in found.files(table, ".parquet")})
    return {
        store.partition(*store.night_of(folder)): {"folder": folder, "files": _names(found, f"{table}/{folder}")}
        for folder in folders
    }


def _names(found: Store, folder: str) -> list[str]:
    return [path.removeprefix(f"{folder}/") for path in found.files(folder)]
