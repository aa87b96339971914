"""Files with types, and tables of lakehouses: as they are where every engine can read them, else as a plain copy."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.config import TableConfig
from ndcg_spark.engine import Engine
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.errors import InputError, NdcgSparkError, first_line
from ndcg_spark.inputs import arrow_types, engine_files, footers
from ndcg_spark.inputs.arrow_types import plain_type
from ndcg_spark.inputs.column_names import names_in
from ndcg_spark.inputs.files import BINARY, TABLES, File
from ndcg_spark.inputs.footers import Footer
from ndcg_spark.inputs.lists import rows_of
from ndcg_spark.inputs.parquet_copy import ParquetCopy, write_copy
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.inputs.storage import is_local
from ndcg_spark.inputs.values import constant
from ndcg_spark.schemas import FAULT


def footers_of(engine: Engine, files: list[File], kind: str, where: str) -> list[Footer]:
    """What the files say of their columns; of files on a storage that others read, what the first one says.

    InputError if one is damaged.
    """
    if kind in TABLES:
        snapshots = (file.snapshot for file in files if file.snapshot)
        return [Footer({field.name: field.type for field in snapshot.schema}, 0) for snapshot in snapshots]
    if kind not in BINARY:
        return []
    if not files[0].found:
        table = engine_files.read_files(engine, kind, files[:1], where)
        return [Footer({name: pa.null() for name in table.columns}, 0)]
    is_near = engine.sees_local_files or is_local(files[0].path)
    return footers.footers(files if is_near else files[:1], kind, where)


def read_typed(
    engine: Engine,
    files: list[File],
    shape: Shape,
    config: TableConfig,
    schema: pa.Schema,
    known: Sequence[Footer],
    name: str,
) -> tuple[DataFrame, int | None]:
    """The schema's columns of the files, and their number of rows: None where rows have lists, or where it is unknown.

    InputError if a file is damaged, files differ in their wanted columns, or a needed column is missing.
    """
    place = f"{name}: {files[0].path}"
    columns = [shape.columns.get(field, field) for field in schema.names]
    if len(known) == len(files):
        footers.refuse_different_types(files, known, columns, name)
    rows: int | None
    if _is_copied(engine, files[0], shape.kind, known, columns):
        if not any(map(arrow_types.holds_structs, known[0].columns.values())):
            names_in([*shape.fields, *(key for key, _ in files[0].partition)], shape.columns, config, schema, place)
        copy = _plain_copy(shape.kind, files, known, columns, engine.scratch, name)
        table, rows = engine_files.read_copy(engine, copy, name), copy.rows
    else:
        table = engine_files.read_files(engine, shape.kind, files, name)
        rows = sum(footer.rows for footer in known) if len(known) == len(files) and files[0].found else None
    listed = rows_of(table, shape.columns, config, schema, place)
    return listed, None if FAULT in listed.columns else rows


def _is_copied(engine: Engine, file: File, kind: str, known: Sequence[Footer], names: Sequence[str]) -> bool:
    """Whether files with types must be copied, because not every engine can read all of them together."""
    is_out_of_reach = (
        engine.kind == "connect" and not engine.sees_local_files and bool(file.found) and is_local(file.path)
    )
    if kind in TABLES or (kind == "orc" and engine.kind == "embedded") or is_out_of_reach:
        return True
    columns = {column for footer in known for column in footer.columns.items()}
    # A column of two types has two entries.
    return len(columns) > len(dict(columns)) or not arrow_types.are_readable(columns, names)


def _plain_copy(
    kind: str, files: Sequence[File], known: Sequence[Footer], names: Sequence[str], scratch: Scratch, where: str
) -> ParquetCopy:
    """The wanted columns of the files with plain types, and those of their folders as text.

    A column without any value in one file has the type that another gives it.
    """
    types: dict[str, pa.DataType] = {}
    for name, stored in (column for footer in known for column in footer.columns.items()):
        # A list of structs may have wanted columns as its fields.
        is_wanted = name in names or arrow_types.holds_structs(stored)
        if is_wanted and pa.types.is_null(types.get(name, pa.null())):
            types[name] = plain_type(stored)
    wanted = list(types)
    folders = [key for key, _ in files[0].partition if key in names]
    types |= dict.fromkeys(folders, pa.dictionary(pa.int32(), pa.string()))
    schema = pa.schema([(name, pa.string() if pa.types.is_null(stored) else stored) for name, stored in types.items()])

    def of_batch(batch: pa.RecordBatch, file: File) -> pa.Table:
        values = dict(file.partition)
        columns = [
            constant(values[field.name], field.type, len(batch))
            if field.name in folders
            else batch[field.name].cast(field.type)
            for field in schema
        ]
        return pa.table(columns, schema)

    return write_copy(files, partial(_batches, kind, wanted, where), of_batch, schema, scratch, where)


def _batches(kind: str, names: Sequence[str], where: str, file: File) -> Iterator[pa.RecordBatch]:
    """The wanted columns of a file or a version of a table with plain types, a part at a time.

    InputError if a wanted column is neither text, a number nor a list of them, or the file is damaged.
    """
    place = f"{where}: {file.path}"
    try:
        if file.snapshot is not None:
            schema, scan = file.snapshot.schema, file.snapshot.scan
        else:
            from pyarrow import dataset

            system, path = file.location(where)
            stored = dataset.dataset(path, filesystem=system, format=kind)
            schema, scan = stored.schema, lambda columns: stored.to_batches(columns=columns, batch_readahead=1)
        plain = _plain_schema(schema, names, place)
        for batch in scan(plain.names):
            yield pa.record_batch([batch[field.name].cast(field.type) for field in plain], schema=plain)
    except NdcgSparkError:
        raise
    except Exception as error:
        if file.snapshot is not None:  # each library raises kinds of its own
            raise InputError(
                f"{place}, version {file.snapshot.version}, cannot be read, {first_line(error)}; if its files were "
                "vacuumed or expired, name another version"
            ) from error
        if isinstance(error, (OSError, pa.ArrowException)):
            raise InputError(f"{place} cannot be read, {first_line(error)}; write it again") from error
        raise


def _plain_schema(schema: pa.Schema, names: Sequence[str], place: str) -> pa.Schema:
    """The wanted columns with plain types; InputError if one is not text, a number or a list."""
    kept = [field for field in schema if field.name in names]
    # Spark would take a duration for a number.
    wrong = [f"{field.name} is {field.type}" for field in kept if pa.types.is_temporal(_value(field.type))]
    if wrong:
        raise InputError(
            f"{place}: {len(wrong)} column(s) of the wrong type, {', '.join(wrong)}; write numbers or text"
        )
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in kept])


def _value(kind: pa.DataType) -> pa.DataType:
    return _value(kind.value_type) if pa.types.is_dictionary(kind) or arrow_types.is_list(kind) else kind
