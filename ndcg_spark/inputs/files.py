"""The files behind a path, looked at before an engine reads them.

Engines differ in what they do with a path that is not there (the embedded one reads zero rows) and with a damaged
file (it names none), so both are found out here, with pyarrow, where this process sees the files.
"""

import base64
import dataclasses
import fnmatch
import io
import re
import urllib.parse
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError, NdcgSparkError, first_line
from ndcg_spark.schemas import NULL_FOLDER, refuse_alike

_FORMATS = {
    ".parquet": "parquet",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_GLOB = re.compile(r"[*?\[]")
_READERS = 8


@dataclasses.dataclass(frozen=True)
class File:
    """A file as an engine names it, and its size in bytes."""

    path: str
    size: int
    #: The columns that folders named column=value give its rows, below the path that was asked for.
    partition: tuple[tuple[str, str | None], ...] = ()
    #: Whether every folder below that path gives a column, so that engines find the file and its columns themselves.
    regular: bool = True

    @property
    def compressed(self) -> bool:
        """Whether its name says gzip."""
        return self.path.endswith(".gz")


def find(path: str, where: str) -> list[File]:
    """The files that a file name, a folder or a glob stands for, in the order of their names.

    Hidden files (`_SUCCESS`, `.part.crc`) are left out, as Spark does. Folders in folders are looked into.

    Raises
    ------
    InputError
        Nothing is there, or nothing but empty folders.
    """
    system, place = storage(path, where)
    entries = _entries(system, place)
    if not entries:
        raise InputError(f"{where}: no such path, {path}; check the spelling, and the date if it is part of it")
    found = [file for entry in entries for file in _below(system, entry)]
    if not found:
        raise InputError(f"{where}: no files in {path}, an empty folder; check what should have written it")
    scheme = path.partition("://")[0] if "://" in path else "file"
    prefix = "" if scheme == "file" else f"{scheme}://"
    fixed = place if system.get_file_info(place).type != fs.FileType.NotFound else before_wildcards(place)
    named = (below(fixed, prefix + info.path, info.path, info.size) for info in found)
    plain = (dataclasses.replace(file, regular=file.regular and fixed == place) for file in named)
    return sorted(plain, key=lambda file: file.path)


def below(root: str, path: str, place: str, size: int) -> File:
    """The file at a place below a root, with the columns that the folders between them give it."""
    folders = place.removeprefix(root).strip("/").split("/")[:-1]
    pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
    values = tuple((key, None if value == NULL_FOLDER else urllib.parse.unquote(value)) for key, value in pairs)
    return File(path, size, values, len(pairs) == len(folders))


def before_wildcards(place: str) -> str:
    """The part of a glob that names one folder; all of a path that is none."""
    segments = place.split("/")
    wild = (index for index, segment in enumerate(segments) if _GLOB.search(segment))
    return "/".join(segments[: next(wild, len(segments))]) or "/"


def local(path: str) -> str:
    """A local path, or a file:// URI of one, as an absolute path."""
    return str(Path(path.removeprefix("file://").removeprefix("file:")).absolute())


def storage(path: str, where: str, error: type[NdcgSparkError] = InputError) -> tuple[fs.FileSystem, str]:
    """The file system of a path and its place there; a path without a scheme is local. `error` where there is none."""
    if "://" not in path.removeprefix("file://"):
        return fs.LocalFileSystem(), local(path)
    try:
        system, place = fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    except (pa.ArrowException, OSError, ValueError) as reason:
        raise error(f"{where}: no storage for {path}, {first_line(reason)}; check its scheme") from reason
    return system, place


def format_of(files: Iterable[File], where: str) -> str:
    """The format that the names say, TREC text where they say nothing; InputError where they disagree."""
    by_format: dict[str, str] = {}
    for file in files:
        suffix = Path(file.path.removesuffix(".gz")).suffix.lower()
        by_format.setdefault(_FORMATS.get(suffix, "trec"), file.path)
    if len(by_format) > 1:
        examples = ", ".join(f"{name} ({path})" for name, path in by_format.items())
        raise InputError(f"{where}: {len(by_format)} formats in one place, {examples}; name one with format")
    return next(iter(by_format))


def check_parquet(files: list[File], columns: Iterable[str], where: str) -> list[pa.Schema]:
    """The schema of each footer: InputError for a damaged file, or one whose columns are typed unlike the first's."""
    wanted = set(columns)
    with ThreadPoolExecutor(_READERS) as pool:
        schemas = list(pool.map(lambda file: _footer(file, where), files))
    first = {field.name: field.type for field in schemas[0] if field.name in wanted}
    for file, schema in zip(files, schemas, strict=True):
        refuse_alike(schema.names, f"{where}: {file.path}")
        types = {field.name: field.type for field in schema if field.name in wanted}
        if types != first:
            raise InputError(
                f"{where}: files with different columns, {files[0].path} has {_listed(first)}, "
                f"{file.path} has {_listed(types)}; write them alike"
            )
    return schemas


def check_headers(files: list[File], where: str) -> str:
    """The line that all files of a CSV or TSV table begin with; InputError where they do not begin alike."""
    headers = {file.path: _first_line(file, where) for file in files}
    first = headers[files[0].path]
    for path, header in headers.items():
        if header != first:
            raise InputError(
                f"{where}: files with different headers, {files[0].path} has {first!r}, {path} has {header!r}; "
                "write them alike"
            )
    return first


def damaged(files: Iterable[File], kind: str) -> str | None:
    """Why the first damaged file cannot be read, by reading all of every file; None where each can be.

    For the moment after an engine failed: it costs a pass over the data.
    """
    for file in files:
        try:
            _read_all(file, kind)
        except (OSError, EOFError, ValueError, pa.ArrowException) as error:
            return f"{file.path} cannot be read, {first_line(error)}"
    return None


def _read_all(file: File, kind: str) -> None:
    system, place = storage(file.path, kind)
    if kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(place, filesystem=system) as parquet:
            for batch in parquet.iter_batches():
                batch.validate(full=True)  # above all, whether text is UTF-8
        return
    if kind == "orc":
        from pyarrow import orc

        with system.open_input_file(place) as stream:
            orc.ORCFile(stream).read().validate(full=True)
        return
    compression = "gzip" if file.compressed else None
    with io.TextIOWrapper(
        system.open_input_stream(place, compression=compression), encoding="utf-8", newline=""
    ) as text:
        for _ in text:
            pass


def _footer(file: File, where: str) -> pa.Schema:
    import pyarrow.parquet as pq

    system, place = storage(file.path, where)
    try:
        footer = pq.read_metadata(place, filesystem=system)
        declared = (footer.metadata or {}).get(b"ARROW:schema")
        # pyarrow itself forgets that numbers were declared as categories, which not every engine can read.
        return (
            pa.ipc.read_schema(pa.py_buffer(base64.b64decode(declared)))
            if declared
            else footer.schema.to_arrow_schema()
        )
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"{where}: {file.path} is no whole Parquet file, {first_line(error)}; write it again"
        ) from error


def _first_line(file: File, where: str) -> str:
    system, place = storage(file.path, where)
    try:
        with system.open_input_stream(place, compression="gzip" if file.compressed else None) as stream:
            return str(stream.read(1 << 16).split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error


def _entries(system: fs.FileSystem, place: str) -> list[fs.FileInfo]:
    """What is at a path that may be a glob; a name that exists as it is written is no glob."""
    info = system.get_file_info(place)
    if info.type != fs.FileType.NotFound:
        return [info]
    if not _GLOB.search(place):
        return []
    fixed = before_wildcards(place)
    level = [fixed]
    for segment in place.removeprefix(fixed).strip("/").split("/"):
        level = [child.path for parent in level for child in _children(system, parent) if _matches(child, segment)]
    return [entry for entry in system.get_file_info(level) if entry.type != fs.FileType.NotFound] if level else []


def _matches(info: fs.FileInfo, segment: str) -> bool:
    return fnmatch.fnmatchcase(info.base_name, segment) and not _hidden(info.base_name)


def _children(system: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    if system.get_file_info(folder).type != fs.FileType.Directory:
        return []
    return list(system.get_file_info(fs.FileSelector(folder, allow_not_found=True)))


def _below(system: fs.FileSystem, entry: fs.FileInfo) -> Iterator[fs.FileInfo]:
    if entry.type == fs.FileType.File:
        yield entry
        return
    for child in _children(system, entry.path):
        if not _hidden(child.base_name):
            yield from _below(system, child)


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _listed(types: dict[str, pa.DataType]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in sorted(types.items())) or "none of them"
