"""The files of a table as the engine sees them, and the refusal of tables and names that engines cannot read."""

import re
import urllib.parse

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError, MissingInputError
from ndcg_spark.inputs import files, pipes, table_formats
from ndcg_spark.inputs.file_formats import sniffed
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.listing import before_wildcards
from ndcg_spark.inputs.loading import loaded
from ndcg_spark.inputs.local_listing import is_backup
from ndcg_spark.inputs.storage import is_local, refuse_credentials

#: The logs of table formats, as globs: Spark leaves them out when it lists a folder.
_LOGS, _ICEBERG = "{_delta_log,.hoodie}", "metadata/*.metadata.json"


def find(engine: Engine, path: str, name: str) -> list[File]:
    """The files behind a path, sorted by path.

    This process looks for them where it sees what the engine sees. Otherwise the engine is asked, and nothing is known
    of their content.

    Raises
    ------
    InputError
        As `files.find`; or the path has credentials in it.
    """
    refuse_credentials(path, name)
    if engine.sees_local_files:
        return sniffed(files.find(pipes.as_file(engine, path, name), name), name)
    fixed = before_wildcards(path)
    listing = loaded(engine, "binaryFile", [path], name, {"recursiveFileLookup": "true"}).select("path", "length")
    root = urllib.parse.urlsplit(fixed).path.rstrip("/")
    rows = [(row["path"], row["length"]) for row in listing.collect()]
    table_formats.refuse([path for path, _ in rows], name)
    found = [File(path, size, files.partition_of(root, urllib.parse.urlsplit(path).path), fixed) for path, size in rows]
    if not found:
        raise MissingInputError(f"{name}: no files in {path}, an empty folder; check what should have written it")
    found.sort(key=lambda file: file.path)
    _refuse_logs(engine, fixed, found, name)
    return found


def without_backups(found: list[File], paths: list[str], name: str) -> tuple[list[File], list[str]]:
    """The files that are read, and a sentence about those that are left out: backups in a folder or behind a glob.

    A sentence also names files without a byte. MissingInputError if nothing is left.
    """
    backups = [file for file in found if _is_left_out(file)]
    left_out = [file.path for file in backups]
    kept = [file for file in found if file.path not in left_out] if backups else found
    if not kept:
        raise MissingInputError(
            f"{name}: no files in {paths[0]} but {len(left_out)} backup(s), e.g. {left_out[0]}; give the path of the "
            "file itself if it is meant"
        )
    empty = [file.path for file in kept if file.size == 0 and file.snapshot is None]
    sentences = [f"{len(left_out)} backup(s) left out, e.g. {left_out[0]}"] if left_out else []
    sentences += [f"{len(empty)} file(s) without a byte, e.g. {empty[0]}"] if empty else []
    return kept, sentences


def _is_left_out(file: File) -> bool:
    """Whether a file is a backup that was not asked for by its own name."""
    is_named = bool(file.root) and file.path.endswith(file.root)
    return file.snapshot is None and not is_named and is_backup(file.path.rpartition("/")[2])


def refuse_colons(engine: Engine, found: list[File], name: str) -> None:
    """InputError for names with a colon in an object store, which Spark cannot read."""
    if engine.kind == "embedded" or not engine.sees_local_files:
        return
    far = [file for file in found if not is_local(file.path)]
    colons = [file.path for file in far if ":" in file.path.split("://", 1)[-1].partition("/")[2]]
    if colons:
        raise InputError(
            f"{name}: {len(colons)} name(s) with a colon, e.g. {colons[0]}; Spark cannot read them, rename"
        )


def _refuse_logs(engine: Engine, fixed: str, found: list[File], name: str) -> None:
    """InputError if a file belongs to a table of such a format, whose log is in a folder above the file.

    Above the path that was asked for, the search goes on only from folders of partitions and from one called data.
    """
    folder = fixed.rstrip("/")
    deepest = max(file.path.count("/") for file in found) - found[0].path.count("/", 0, len(folder))
    places = [f"{folder}/{'*/' * depth}{_LOGS}" for depth in range(max(deepest, 1))]
    while True:
        places += [f"{folder}/{_LOGS}", f"{folder}/{_ICEBERG}"]
        folder, _, inner = folder.rpartition("/")
        inside = "=" in inner or "." in inner or inner == "data"
        if not inside or not folder.strip("/:") or folder.endswith(":/"):
            break
    for place in dict.fromkeys(places):
        try:
            logs = loaded(engine, "binaryFile", [place], name).select("path").collect()
        except InputError:
            continue  # there is none
        roots = {re.sub(r"/(_delta_log|\.hoodie|metadata)/.*", "/", row["path"]) for row in logs}
        inside_of = [row["path"] for row in logs if any(file.path.startswith(tuple(roots)) for file in found)]
        table_formats.refuse(inside_of, name)
