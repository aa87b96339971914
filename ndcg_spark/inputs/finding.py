"""The files of a table as the engine at hand has them, and the refusal of those that no engine can read."""

import re
import urllib.parse

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import files, table_formats
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.loading import loaded
from ndcg_spark.inputs.storage import is_local

_BINARY = ("parquet", "orc")
#: The logs of tables, for the glob of an engine that hides them in a listing.
_LOGS, _ICEBERG = "{_delta_log,.hoodie}", "metadata/*.metadata.json"


def find(engine: Engine, path: str, name: str) -> list[File]:
    """The files behind a path, as `files.find` has them; asked of the engine where this process may not see them."""
    if engine.sees_local_files:
        return files.sniffed(files.find(path, name), name)
    fixed = files.before_wildcards(path)
    # The engine's own storage, which this process may not see: ask it for names and sizes, not for content.
    listing = loaded(engine, "binaryFile", [path], name, recursiveFileLookup="true").select("path", "length")
    root = urllib.parse.urlsplit(fixed).path.rstrip("/")
    rows = [(row["path"], urllib.parse.urlsplit(row["path"]).path, row["length"]) for row in listing.collect()]
    table_formats.refuse([row[0] for row in rows], name)
    found = sorted((files.below(root, *row, fixed) for row in rows), key=lambda file: file.path)
    if not found:
        raise InputError(f"{name}: no files in {path}, an empty folder; check what should have written it")
    _refuse_logs(engine, fixed, found, name)
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


def _refuse_logs(engine: Engine, fixed: str, found: list[File], name: str) -> None:
    """InputError where a file is in a table whose log the engine's storage has, in a folder above the file.

    Above the path that was asked for, only folders of partitions and one called data are looked out of.
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
