"""What can be told of files without an engine: their types, rows and headers, and which of them is damaged."""

import base64
import dataclasses
import io
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.storage import storage
from ndcg_spark.schemas import refuse_alike, refuse_own

_READERS = 8
_HEAD_BYTES = 1 << 16
_NAMES = {"parquet": "Parquet", "orc": "ORC"}


@dataclasses.dataclass(frozen=True)
class Footer:
    """What a Parquet or ORC file says of itself."""

    columns: dict[str, pa.DataType]
    rows: int


def footers(files: list[File], kind: str, where: str) -> list[Footer]:
    """The footer of every file; InputError by name for one that is damaged."""
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(lambda file: _footer(file, kind, where), files))


def refuse_different_types(files: list[File], found: list[Footer], columns: Iterable[str], where: str) -> None:
    """InputError where two files differ in the columns that are read, or in their types.

    A column without any value, which has no type, goes with all others.
    """
    wanted = set(columns)
    first: dict[str, tuple[File, pa.DataType]] = {}
    for file, footer in zip(files, found, strict=True):
        types = {name: kind for name, kind in footer.columns.items() if name in wanted}
        if types.keys() != (wanted & found[0].columns.keys()):
            listed = " has ".join((file.path, ", ".join(sorted(types)) or "none of them"))
            others = ", ".join(sorted(wanted & found[0].columns.keys())) or "none of them"
            raise InputError(
                f"{where}: files with different columns, {files[0].path} has {others}, {listed}; write them alike"
            )
        for name, kind in types.items():
            if pa.types.is_null(kind):
                continue
            other, expected = first.setdefault(name, (file, kind))
            if _plain(kind) != _plain(expected):
                raise InputError(
                    f"{where}: files with different types, {name} is {expected} in {other.path} and {kind} in "
                    f"{file.path}; write them alike"
                )


def signatures(found: list[Footer]) -> list[tuple[tuple[str, str], ...]]:
    """For each file, its types of the columns that have several; files with the same can be read together."""
    kinds: dict[str, set[str]] = {}
    for footer in found:
        for name, kind in footer.columns.items():
            kinds.setdefault(name, set()).add(str(kind))
    differ = [name for name, types in kinds.items() if len(types) > 1]
    return [tuple((name, str(footer.columns[name])) for name in differ if name in footer.columns) for footer in found]


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


def beginning(file: File, where: str) -> str:
    """The first line of text that is not blank, or as much of it as 64 KiB hold, whatever of it is not UTF-8."""
    lines = (line.strip("\ufeff \t\r\f") for line in _head(file, where).decode("utf-8", "replace").split("\n"))
    return next((line for line in lines if line), "")


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


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values, however they are stored."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_large_string(value) or pa.types.is_string_view(value)
    return pa.string() if text else value


def _footer(file: File, kind: str, where: str) -> Footer:
    system, place = storage(file.path, where)
    try:
        if kind == "parquet":
            import pyarrow.parquet as pq

            footer = pq.read_metadata(place, filesystem=system)
            return Footer(_types(_declared(footer), f"{where}: {file.path}"), footer.num_rows)
        from pyarrow import orc

        with system.open_input_file(place) as stream:
            stored = orc.ORCFile(stream)
            return Footer(_types(stored.schema, f"{where}: {file.path}"), stored.nrows)
    except InputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"{where}: {file.path} is no whole {_NAMES[kind]} file, {first_line(error)}; write it again"
        ) from error


def _declared(footer: Any) -> pa.Schema:
    """The types that the writer meant: pyarrow forgets numbers that are categories, which engines cannot read."""
    declared = (footer.metadata or {}).get(b"ARROW:schema")
    if not declared:
        return footer.schema.to_arrow_schema()
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(declared)))


def _types(schema: pa.Schema, where: str) -> dict[str, pa.DataType]:
    refuse_alike(schema.names, where)
    refuse_own(schema.names, where)
    return {field.name: field.type for field in schema}


def _read_all(file: File, kind: str) -> None:
    system, place = storage(file.path, kind)
    if kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(place, filesystem=system) as parquet:
            for batch in parquet.iter_batches():
                # Above all, whether text is UTF-8.
                batch.validate(full=True)
        return
    if kind == "orc":
        from pyarrow import orc

        with system.open_input_file(place) as stream:
            stored = orc.ORCFile(stream)
            for stripe in range(stored.nstripes):
                stored.read_stripe(stripe).validate(full=True)
        return
    compression = "gzip" if file.compressed else None
    with io.TextIOWrapper(
        system.open_input_stream(place, compression=compression), encoding="utf-8", newline=""
    ) as text:
        for _ in text:
            pass


def _first_line(file: File, where: str) -> str:
    try:
        return _head(file, where).split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error


def _head(file: File, where: str) -> bytes:
    system, place = storage(file.path, where)
    try:
        with system.open_input_stream(place, compression="gzip" if file.compressed else None) as stream:
            return bytes(stream.read(_HEAD_BYTES))
    except OSError as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error
