"""What Parquet and ORC files say of themselves, read without an engine: their columns, types and rows."""

import base64
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ndcg_spark.casting import refuse_alike
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.arrow_types import plain_type
from ndcg_spark.inputs.files import File, of_each


class Footer(NamedTuple):
    """The columns of a file with their types, and its number of rows."""

    columns: dict[str, pa.DataType]
    rows: int


def footers(files: list[File], kind: str, where: str) -> list[Footer]:
    """The footer of every file, in their order; InputError that names the file for one that is damaged."""
    return of_each(files, lambda file: _footer(file, kind, where))


def refuse_different_types(files: Sequence[File], found: Sequence[Footer], names: Collection[str], where: str) -> None:
    """InputError where two files differ in which of the columns `names` they have, or in the types of those.

    Types that store the same values in another way are the same. A column without any value has no type, and agrees
    with every type.
    """
    first: dict[str, tuple[str, pa.DataType]] = {}
    has = [{name: kind for name, kind in footer.columns.items() if name in names} for footer in found]
    for file, types in zip(files, has, strict=True):
        if types.keys() != has[0].keys():
            one, other = (", ".join(sorted(columns)) or "none of them" for columns in (has[0], types))
            raise InputError(
                f"{where}: files with different columns, {files[0].path} has {one}, {file.path} has {other}; "
                "write them alike"
            )
        for name, kind in types.items():
            if pa.types.is_null(kind):
                continue
            path, expected = first.setdefault(name, (file.path, kind))
            if plain_type(kind) != plain_type(expected):
                raise InputError(
                    f"{where}: files with different types, {name} is {expected} in {path} and {kind} in {file.path}; "
                    "write them alike"
                )


def _footer(file: File, kind: str, where: str) -> Footer:
    system, place = file.location(where)
    try:
        schema, rows = (_of_parquet if kind == "parquet" else _of_orc)(system, place)
    except (OSError, ValueError, pa.ArrowException) as error:
        name = "Parquet" if kind == "parquet" else "ORC"
        raise InputError(
            f"{where}: {file.path} is not a complete {name} file, {first_line(error)}; write it again"
        ) from error
    refuse_alike(schema.names, f"{where}: {file.path}")
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
