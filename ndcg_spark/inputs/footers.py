"""What Parquet and ORC files say of themselves, read without an engine: their columns, types and rows."""

import base64
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.casting import refuse_alike, refuse_own
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File, of_each

_NAMES = {"parquet": "Parquet", "orc": "ORC"}


@dataclasses.dataclass(frozen=True)
class Footer:
    """The columns of a file with their types, and its number of rows."""

    columns: dict[str, pa.DataType]
    rows: int


def footers(files: list[File], kind: str, where: str) -> list[Footer]:
    """The footer of every file, in their order; InputError that names the file for one that is damaged."""
    return of_each(files, lambda file: _footer(file, kind, where))


def refuse_different_types(files: Sequence[File], found: Sequence[Footer], columns: Iterable[str], where: str) -> None:
    """InputError where two files differ in which of `columns` they have, or in the types of those.

    A column without any value has no type, and agrees with every type.
    """
    wanted = set(columns)
    expected = wanted & found[0].columns.keys()
    first: dict[str, tuple[File, pa.DataType]] = {}
    for file, footer in zip(files, found, strict=True):
        types = {name: kind for name, kind in footer.columns.items() if name in wanted}
        if types.keys() != expected:
            raise InputError(
                f"{where}: files with different columns, {files[0].path} has {_listed(expected)}, "
                f"{file.path} has {_listed(types)}; write them alike"
            )
        for name, kind in types.items():
            if pa.types.is_null(kind):
                continue
            other, its_kind = first.setdefault(name, (file, kind))
            if _plain(kind) != _plain(its_kind):
                raise InputError(
                    f"{where}: files with different types, {name} is {its_kind} in {other.path} and {kind} in "
                    f"{file.path}; write them alike"
                )


def signatures(found: Sequence[Footer]) -> list[tuple[tuple[str, str], ...]]:
    """For each file, the types of those columns that have different types in different files.

    Files with equal signatures can be read together.
    """
    kinds: dict[str, set[str]] = {}
    for footer in found:
        for name, kind in footer.columns.items():
            kinds.setdefault(name, set()).add(str(kind))
    differ = [name for name, types in kinds.items() if len(types) > 1]
    return [tuple((name, str(footer.columns[name])) for name in differ if name in footer.columns) for footer in found]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none of them"


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values, whichever way they are stored."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_large_string(value) or pa.types.is_string_view(value)
    return pa.string() if text else value


def _footer(file: File, kind: str, where: str) -> Footer:
    system, place = file.located(where)
    try:
        schema, rows = (_of_parquet if kind == "parquet" else _of_orc)(system, place)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"{where}: {file.path} is not a complete {_NAMES[kind]} file, {first_line(error)}; write it again"
        ) from error
    refuse_alike(schema.names, f"{where}: {file.path}")
    refuse_own(schema.names, f"{where}: {file.path}")
    return Footer({field.name: field.type for field in schema}, rows)


def _of_parquet(system: Any, place: str) -> tuple[pa.Schema, int]:
    from pyarrow import parquet

    footer = parquet.read_metadata(place, filesystem=system)
    declared = (footer.metadata or {}).get(b"ARROW:schema")
    if not declared:
        return footer.schema.to_arrow_schema(), footer.num_rows
    # The types that the writer meant. pyarrow forgets that numbers are categories, which engines cannot read.
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(declared))), footer.num_rows


def _of_orc(system: Any, place: str) -> tuple[pa.Schema, int]:
    from pyarrow import orc

    with system.open_input_file(place) as stream:
        stored = orc.ORCFile(stream)
        return stored.schema, stored.nrows
