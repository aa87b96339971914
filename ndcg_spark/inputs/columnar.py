"""Parquet and ORC that no engine, or not every engine, can read as they are, and tables of Delta and Iceberg.

No engine reads a file with a column of half-precision floats, durations, or times in nanoseconds as pandas writes them,
whether the column is wanted or not. Some read neither pandas' categories (Arrow dictionaries) nor times of day, and
hash no unsigned numbers. So the wanted columns are written again with plain types, which every engine reads.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa

from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.errors import InputError, NdcgSparkError, first_line
from ndcg_spark.inputs.conversion import Converted, converted
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.footers import Footer
from ndcg_spark.inputs.values import constant

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_IS_LIST = (
    *(pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list),
    *(pa.types.is_list_view, pa.types.is_large_list_view),
)


def is_list(kind: pa.DataType) -> bool:
    """Whether the values are lists, however they are stored."""
    return any(is_kind(kind) for is_kind in _IS_LIST)


def holds_structs(kind: pa.DataType) -> bool:
    """Whether the values are lists of structs, whose fields may be columns of ours."""
    return is_list(kind) and bool(pa.types.is_struct(kind.value_type))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that every engine reads the same values with; the type itself if it is such a one, or has none."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain_type(field.type)) for field in kind])
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    # Text keeps every digit, and is read as the nearest double.
    return pa.string() if pa.types.is_decimal256(kind) else _WIDER.get(kind, kind)


def is_readable(schemas: Iterable[Mapping[str, pa.DataType]], names: Sequence[str]) -> bool:
    """Whether every engine reads files with these columns, and reads the wanted `names` rightly."""
    columns = {pair for schema in schemas for pair in schema.items()}
    return not any(
        _is_unreadable(kind) or (name in names and pa.types.is_unsigned_integer(kind)) for name, kind in columns
    )


def columns_to_parquet(
    kind: str, files: Sequence[File], known: Sequence[Footer], names: Sequence[str], scratch: Scratch, where: str
) -> Converted:
    """The wanted columns of the files with plain types, and those of their folders as text.

    A column without any value in one file has the type that another gives it. Raises as `_batches` and
    `conversion.converted`.
    """
    types: dict[str, pa.DataType] = {}
    for name, stored in (column for footer in known for column in footer.columns.items()):
        if _is_wanted(name, stored, names) and pa.types.is_null(types.get(name, pa.null())):
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

    return converted(files, partial(_batches, kind, wanted, where), of_batch, schema, scratch, where)


def _is_wanted(name: str, kind: pa.DataType, names: Sequence[str]) -> bool:
    """Whether a column is one of the wanted ones, or may have them as fields of a list of structs."""
    return name in names or holds_structs(kind)


def _batches(kind: str, names: Sequence[str], where: str, file: File) -> Iterator[pa.RecordBatch]:
    """The wanted columns of a file of this format, with plain types, a part at a time.

    Raises
    ------
    InputError
        A wanted column is neither text, a number nor a list of them, or the file is damaged.
    """
    place = f"{where}: {file.path}"
    if file.snapshot is not None:
        yield from _of_snapshot(names, file, place)
        return
    system, at = file.located(where)
    read = _of_parquet if kind == "parquet" else _of_orc
    try:
        yield from read(names, system, at, place)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{place} cannot be read, {first_line(error)}; write it again") from error


def _plain_schema(schema: pa.Schema, names: Sequence[str], place: str) -> pa.Schema:
    """The wanted columns with plain types; InputError if one is no text, number or list."""
    kept = [field for field in schema if field.name in names]
    # Spark would take a duration for a number.
    wrong = [f"{field.name} is {field.type}" for field in kept if pa.types.is_temporal(_value(field.type))]
    if wrong:
        raise InputError(
            f"{place}: {len(wrong)} column(s) of the wrong type, {', '.join(wrong)}; write numbers or text"
        )
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in kept])


def _of_parquet(names: Sequence[str], system: pa.fs.FileSystem, at: str, place: str) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    with parquet.ParquetFile(at, filesystem=system) as stored:
        schema = _plain_schema(stored.schema_arrow, names, place)
        yield from (_cast(batch, schema) for batch in stored.iter_batches(columns=schema.names))


def _of_orc(names: Sequence[str], system: pa.fs.FileSystem, at: str, place: str) -> Iterator[pa.RecordBatch]:
    from pyarrow import orc

    with system.open_input_file(at) as stream:
        stored = orc.ORCFile(stream)
        schema = _plain_schema(stored.schema, names, place)
        for stripe in range(stored.nstripes):
            yield _cast(stored.read_stripe(stripe, columns=schema.names), schema)


def _of_snapshot(names: Sequence[str], file: File, place: str) -> Iterator[pa.RecordBatch]:
    snapshot = file.snapshot
    if snapshot is None:
        raise ValueError("a table of a lakehouse has a snapshot")
    schema = _plain_schema(snapshot.schema, names, place)
    try:
        yield from (_cast(batch, schema) for batch in snapshot.scan(schema.names))
    except NdcgSparkError:
        raise
    except Exception as error:  # each library raises kinds of its own
        raise InputError(
            f"{place}, version {snapshot.version}, cannot be read, {first_line(error)}; if its files were vacuumed or "
            "expired, name another version"
        ) from error


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([batch[field.name].cast(field.type) for field in schema], schema=schema)


def _is_unreadable(kind: pa.DataType) -> bool:
    """Whether an engine cannot read a file with a column of this type, or of a part of it."""
    tests: tuple[Callable[[pa.DataType], bool], ...] = (
        *(pa.types.is_float16, pa.types.is_duration, pa.types.is_dictionary, pa.types.is_fixed_size_binary),
        *(pa.types.is_time, pa.types.is_decimal256),
    )
    if any(is_kind(kind) for is_kind in tests) or (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return True
    return pa.types.is_nested(kind) and any(_is_unreadable(kind.field(at).type) for at in range(kind.num_fields))


def _value(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind) or is_list(kind):
        return _value(kind.value_type)
    return kind
