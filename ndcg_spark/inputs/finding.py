"""The files of a table as the engine at hand has them, and the refusal of those that no engine can read."""

import urllib.parse

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import files, table_formats
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.loading import loaded
from ndcg_spark.inputs.storage import is_local

_BINARY = ("parquet", "orc")


def find(engine: Engine, path: str, name: str) -> list[File]:
    """The files behind a path, as `files.find` has them; asked of the engine where this process may not see them."""
    if engine.sees_local_files:
        return files.sniffed(files.find(path, name), name)
    fixed = files.before_wildcards(path)
    _refuse_logs(engine, fixed, name)
    # The engine's own storage, which this process may not see: ask it for names and sizes, not for content.
    listing = loaded(engine, "binaryFile", [path], name, recursiveFileLookup="true").select("path", "length")
    root = urllib.parse.urlsplit(fixed).path.rstrip("/")
    rows = [(row["path"], urllib.parse.urlsplit(row["path"]).path, row["length"]) for row in listing.collect()]
    table_formats.refuse([row[0] for row in rows], name)
    found = sorted((files.below(root, *row, fixed) for row in rows), key=lambda file: file.path)
    if not found:
        raise InputError(f"{name}: no files in {path}, an empty folder; check what should have written it")
    return found


def refuse_unreadable(engine: Engine, found: list[File], kind: str, name: str) -> None:
    """InputError for files without a byte, of another format than `kind`, or with a name that Spark cannot read."""
    if sum(file.size for file in found) == 0:
        raise InputError(
            f"{name}: {len(found)} file(s) without a byte, e.g. {found[0].path}; an empty table is refused"
        )
    for file in found:
        other = file.content if file.content in _BINARY or (file.content and kind in _BINARY) else kind
        if other != kind:
            raise InputError(f"{name}: {file.path} is {other} by its first bytes, not {kind}; name its format")
    far = [file for file in found if not is_local(file.path)]
    colons = [file.path for file in far if ":" in file.path.split("://", 1)[-1]]
    if colons and engine.kind != "embedded" and engine.sees_local_files:
        raise InputError(
            f"{name}: {len(colons)} name(s) with a colon, e.g. {colons[0]}; Spark cannot read them, rename"
        )


def _refuse_logs(engine: Engine, fixed: str, name: str) -> None:
    """InputError where the engine's storage has the log of a table format in this folder or one above it.

    Folders of partitions, and one called data, are in a table; nothing else is asked further up.
    """
    folder = fixed.rstrip("/")
    while True:
        for log in ("_delta_log", ".hoodie", "metadata/*.metadata.json"):
            try:
                loaded(engine, "binaryFile", [f"{folder}/{log}"], name)
            except InputError:
                continue
            table_formats.refuse([f"{folder}/{log}"], name)
        folder, _, inner = folder.rpartition("/")
        if (
            not folder.strip("/:")
            or folder.endswith(":/")
            or ("=" not in inner and inner != "data" and "." not in inner)
        ):
            return
