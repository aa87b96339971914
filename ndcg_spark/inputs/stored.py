"""Files with types, and tables with a log: read in place where every engine can, else after a plain copy."""

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.casting import refuse_alike
from ndcg_spark.config import TableConfig
from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.column_names import names_in
from ndcg_spark.inputs.dataframes import rows_of
from ndcg_spark.inputs.engine_files import read_copy, read_files
from ndcg_spark.inputs.files import BINARY, TABLES, File, of_each
from ndcg_spark.inputs.memory import holds_structs, is_list, is_readable, plain_type
from ndcg_spark.inputs.parquet_copy import ParquetCopy, filled, refuse_other_value, write_copy
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.inputs.storage import is_local, unreadable
from ndcg_spark.schemas import FAULT


class Footer(NamedTuple):
    """The columns of a file with their types, and its number of rows."""

    columns: dict[str, pa.DataType]
    rows: int


def footers_of(engine: Engine, files: list[File], kind: str, where: str) -> list[Footer]:
    """What files with types say of their columns, one footer a file; of far files just what the first one says."""
    if kind in TABLES:
        snapshots = (file.snapshot for file in files if file.snapshot)
        return [Footer({field.name: field.type for field in snapshot.schema}, 0) for snapshot in snapshots]
    if kind not in BINARY:
        return []
    if not files[0].found:
        table = read_files(engine, files[:1], where)
        return [Footer({name: pa.null() for name in table.columns}, 0)]
    is_near = engine.sees_local_files or is_local(files[0].path)
    return of_each(files if is_near else files[:1], lambda file: footer(file, kind, where))


def footer(file: File, kind: str, where: str) -> Footer:
    """What a file of Parquet or ORC says of itself; InputError that names it if it is damaged."""
    from pyarrow import orc, parquet

    system, place = file.location(where)
    try:
        with system.open_input_file(place) as stream:
            if kind == "orc":
                stored = orc.ORCFile(stream)
                schema, rows = stored.schema, stored.nrows
            else:
                found = parquet.read_metadata(stream)
                schema, rows = found.schema.to_arrow_schema(), found.num_rows
                if declared := (found.metadata or {}).get(b"ARROW:schema"):
                    # What the writer meant. pyarrow forgets that numbers are categories, which engines cannot read.
                    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(declared)))
    except (OSError, ValueError, pa.ArrowException) as error:
        name = "Parquet" if kind == "parquet" else "ORC"
        raise InputError(
            f"{where}: {file.path} is not a complete {name} file, {first_line(error)}; write it again"
        ) from error
    refuse_alike(schema.names, f"{where}: {file.path}")
    return Footer({field.name: field.type for field in schema}, rows)


def refuse_different_types(files: Sequence[File], known: Sequence[Footer], names: Collection[str], where: str) -> None:
    """InputError where files differ in which of the columns `names` they have, or in the plain types of these."""
    for name in names:
        kinds: dict[pa.DataType | None, str] = {}
        for file, columns in zip(files, (footer.columns for footer in known), strict=True):
            kind = columns.get(name)
            # A column without any value agrees with every type.
            if kind is None or not pa.types.is_null(kind):
                kinds.setdefault(kind and plain_type(kind), f"{kind or 'absent'} in {file.path}")
        if len(kinds) > 1:
            raise InputError(
                f"{where}: files with different columns or types, {name} is {' and '.join([*kinds.values()][:2])}; "
                "write them alike"
            )


def refuse_other_values(files: Sequence[File], columns: Mapping[str, str], kind: str, where: str) -> None:
    """InputError if a file with types has another value than its folder in one of these `columns`."""
    from pyarrow import dataset

    def look(file: File) -> None:
        system, place = file.location(where)
        try:
            table = dataset.dataset(place, filesystem=system, format=kind)
            for batch in table.to_batches(columns=[*columns.values()]):
                for ours, theirs in columns.items():
                    refuse_other_value(batch[theirs], ours, theirs, file, where)
        except pa.ArrowNotImplementedError:
            return  # A type that is refused for itself later.
        except (OSError, pa.ArrowException) as error:
            raise unreadable(file.path, where, error) from error

    of_each(files, look)


def read_typed(
    engine: Engine,
    files: list[File],
    shape: Shape,
    config: TableConfig,
    schema: pa.Schema,
    known: Sequence[Footer],
    name: str,
) -> tuple[DataFrame, int | None]:
    """The schema's columns of the files, and their number of rows: None where that is unknown, or rows have lists."""
    place = f"{name}: {files[0].path}"
    columns = [shape.columns.get(field, field) for field in schema.names]
    rows: int | None = None
    if len(known) == len(files):
        refuse_different_types(files, known, columns, name)
    if _is_copied(engine, files[0], shape.kind, known, columns):
        if not any(map(holds_structs, known[0].columns.values())):
            names_in([*shape.fields, *(key for key, _ in files[0].partition)], shape.columns, schema, place)
        copy = _plain_copy(engine, shape.kind, files, known, columns, name)
        table, rows = read_copy(engine, copy, name), copy.rows
    else:
        table = read_files(engine, files, name)
        if len(known) == len(files) and files[0].found:
            rows = sum(footer.rows for footer in known)
    listed = rows_of(table, shape.columns, schema, place)
    return listed, None if FAULT in listed.columns else rows


def _is_copied(engine: Engine, file: File, kind: str, known: Sequence[Footer], names: Sequence[str]) -> bool:
    """Whether files with types must be copied, because not every engine can read all of them together."""
    is_out_of_reach = not engine.sees_local_files and engine.kind == "connect" and file.found and is_local(file.path)
    if kind != "parquet" or is_out_of_reach:
        return True
    columns = {column for footer in known for column in footer.columns.items()}
    # A column of two types has two entries. Engines hash no unsigned numbers.
    return len(columns) > len(dict(columns)) or not all(
        is_readable(kind) and not (name in names and pa.types.is_unsigned_integer(kind)) for name, kind in columns
    )


def _plain_copy(
    engine: Engine, kind: str, files: Sequence[File], known: Sequence[Footer], names: Sequence[str], where: str
) -> ParquetCopy:
    """The wanted columns of the files with plain types, and those of their folders as text.

    A column without any value in one file has the type that another gives it. InputError for a column of times.
    """
    types: dict[str, pa.DataType] = {}
    for name, stored in (column for footer in known for column in footer.columns.items()):
        if (name in names or holds_structs(stored)) and pa.types.is_null(types.get(name, pa.null())):
            types[name] = plain_type(stored)
    # Spark would take a duration for a number.
    wrong = [f"{name} is {stored}" for name, stored in types.items() if pa.types.is_temporal(_value_type(stored))]
    if wrong:
        raise InputError(
            f"{where}: {files[0].path}: {len(wrong)} column(s) of the wrong type, {', '.join(wrong)}; write numbers "
            "or text"
        )
    wanted = list(types)
    folders = [key for key, _ in files[0].partition if key in names]
    types |= dict.fromkeys(folders, pa.dictionary(pa.int32(), pa.string()))
    schema = pa.schema([(name, pa.string() if pa.types.is_null(stored) else stored) for name, stored in types.items()])

    def of_batch(batch: pa.RecordBatch, file: File) -> pa.Table:
        given = {name: value for name, value in file.partition if name in folders}
        return filled({name: batch[name] for name in batch.schema.names}, len(batch), given, schema)

    def batches(file: File) -> Iterator[pa.RecordBatch]:
        from pyarrow import dataset

        place = f"{where}: {file.path}"
        try:
            if file.snapshot is not None:
                yield from file.snapshot.scan(wanted)
            else:
                system, path = file.location(where)
                yield from dataset.dataset(path, filesystem=system, format=kind).to_batches(
                    columns=wanted, batch_readahead=1
                )
        except Exception as error:
            if file.snapshot is not None:  # each library raises kinds of its own
                raise InputError(
                    f"{place}, version {file.snapshot.version}, cannot be read, {first_line(error)}; if its files were "
                    "vacuumed or expired, name another version"
                ) from error
            if isinstance(error, (OSError, pa.ArrowException)):
                raise InputError(f"{place} cannot be read, {first_line(error)}; write it again") from error
            raise

    return write_copy(files, batches, of_batch, schema, engine.scratch, where)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return _value_type(kind.value_type) if is_list(kind) else kind
