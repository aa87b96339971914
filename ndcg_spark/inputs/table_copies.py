"""The rows of one version of a table, copied to Parquet: only the library of its format knows which they are.

Some were deleted, some columns were renamed, and some values are in the log alone. What was copied is what is
evaluated, whatever is written to the table or removed from it meanwhile. It took 0.3 s for a million rows.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from ndcg_spark.errors import InputError, NdcgSparkError, first_line
from ndcg_spark.inputs.copying import empty
from ndcg_spark.inputs.files import File

#: Rows of a row group of a copy. The libraries give as few as 8192 at a time.
_GROUP = 1 << 17


def snapshot_batches(columns: list[str], file: File, where: str) -> Iterator[pa.RecordBatch]:
    """Those of the columns that a table has, a part at a time, after a batch without rows.

    InputError if a column is neither text, a number nor a list of them, or if the table cannot be read. Where it has
    none of the columns, all its columns are given without rows, so that a message can name them.
    """
    snapshot = file.snapshot
    if snapshot is None:
        raise ValueError("a table that is copied has a snapshot")
    types = snapshot.types
    wanted = [name for name in columns if name in types]
    wrong = [f"{name} is {types[name]}" for name in wanted if _is_no_value(types[name])]
    if wrong:
        raise InputError(
            f"{where}: {file.path}: {len(wrong)} column(s) of the wrong type, {', '.join(wrong)}; write numbers or text"
        )
    schema = pa.schema([(name, types[name]) for name in wanted or types])
    yield empty(schema)
    try:
        if wanted:
            yield from _in_groups(batch.select(wanted).cast(schema) for batch in snapshot.scan(wanted))
    except NdcgSparkError:
        raise
    except Exception as error:  # each library raises kinds of its own
        raise InputError(
            f"{where}: {file.path}, version {snapshot.version}, cannot be read, {first_line(error)}; if its files were "
            "vacuumed or expired, name another version"
        ) from error


def _in_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= _GROUP:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held = []
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def _is_no_value(kind: pa.DataType) -> bool:
    value = kind.value_type if pa.types.is_list(kind) else kind
    scalar = not (pa.types.is_nested(value) or pa.types.is_temporal(value) or isinstance(value, pa.BaseExtensionType))
    return not scalar
