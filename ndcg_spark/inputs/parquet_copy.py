"""What is not Parquet is written as Parquet once, in a temporary folder: files and their blocks in
parallel.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from ndcg_spark.engine.sessions import usable_cores
from ndcg_spark.errors import InputError, ReadError
from ndcg_spark.inputs.delimited import FEW, NUMBERS, Delimited, numbers
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.mixed_types import as_type
from ndcg_spark.inputs.row_documents import RowNumbers
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.parquet_files import open_writer
from ndcg_spark.schemas import BROKEN_LINE, FAULT, LINE, UNREAD_GRADE
from ndcg_spark.scratch import Scratch

#: The most threads. Each takes the memory of about ten blocks.
_MAX_THREADS = 16
#: The fewest rows that are written together, as an engine takes time and memory for each part of a
#: file.
_MIN_ROWS = 150_000
_TYPES = {
    "relevance": pa.float64(),
    "score": pa.float64(),
    "rank": pa.int32(),
    "doc_id": pa.string(),
}

#: Reads a file in parts; and makes a table of a part.
Parts = Callable[[File], Iterator[Any]]
ToTable = Callable[[Any, File], pa.Table]


class ParquetCopy(NamedTuple):
    """A folder of Parquet files of one schema, how many rows they have, and which columns have a
    value.
    """

    folder: Path
    rows: int
    filled_columns: set[str]
    #: Of text, the files without a row, and by file its last line if that has no line end.
    empty: Sequence[str] = ()
    unended: Mapping[str, str] = {}


def text_to_parquet(
    shape: Shape,
    files: Sequence[File],
    names: Sequence[str],
    scratch: Scratch,
    labels: Collection[str] = (),
    numbers: RowNumbers | None = None,
) -> ParquetCopy:
    """The rows of text files, with those of our columns `names` that the files or their folders
    have.

    Grades stay text if they are `labels`. With `numbers`, the
    rows are in order and have these.
    """
    reader = shape.reader(names, labels)
    called = {ours: shape.columns.get(ours, ours) for ours in names}
    known = {*shape.fields, *dict(files[0].partition)}
    has = [ours for ours, theirs in called.items() if ours in shape.has or theirs in known]
    kinds = {name: _TYPES.get(name, FEW) for name in has}
    if labels and "relevance" in kinds:
        kinds["relevance"] = FEW
    elif "relevance" in kinds:
        kinds[UNREAD_GRADE] = FEW
    schema = pa.schema({**kinds, FAULT: FEW, LINE: pa.string()})

    with_rows = set[str]()

    def to_table(part: Any, file: File) -> pa.Table:
        read = reader.read(part)
        values = dict(file.partition)
        for ours, theirs in shape.in_both.items():
            refuse_other_value(read.columns[ours], ours, theirs, file)
        given = {ours: values[theirs] for ours, theirs in called.items() if theirs in values}
        rows = len(next(iter(read.columns.values())))
        tables = [complete_table(read.columns, rows, given, schema)]
        if read.broken:
            lines = pa.array(read.broken, pa.string())
            tables.append(
                complete_table({LINE: lines}, len(lines), {**given, FAULT: BROKEN_LINE}, schema)
            )
        if any(map(len, tables)):
            with_rows.add(file.path)
        return pa.concat_tables(tables)

    if numbers is None:
        copy = write_copy(files, reader.parts, to_table, schema, scratch)
    else:
        copy = write_numbered_copy(files, reader.parts, to_table, schema, scratch, numbers)
    empty = [file.path for file in files if file.path not in with_rows]
    unended = reader.unended if isinstance(reader, Delimited) else {}
    return copy._replace(empty=empty, unended=unended)


def refuse_other_value(values: pa.ChunkedArray, ours: str, theirs: str, file: File) -> None:
    value = dict(file.partition)[theirs]
    is_label = ours == "relevance" and not pa.types.is_primitive(values.type)
    kind = pa.float64() if ours in NUMBERS and not is_label else pa.string()
    values = values.cast(kind) if pa.types.is_dictionary(values.type) else as_type(values, kind)
    other = values.filter(compute.not_equal(values, _cast(value, kind)[0]))
    if len(other):
        what = f"{file.path} has rows with {theirs}={other[0]}, and its folder is {theirs}={value}"
        to_do = "or give that folder itself as the path, so that its name does not count"
        raise InputError(f"{what}; correct one, {to_do}")


def complete_table(
    columns: Mapping[str, pa.ChunkedArray],
    rows: int,
    given: Mapping[str, str | None],
    schema: pa.Schema,
) -> pa.Table:
    """The table of this schema; a column that is `given` one value, or is absent, has the same in
    all rows.
    """
    whole, first = [], pa.array(np.zeros(rows, np.int32))
    for name, kind in zip(schema.names, schema.types, strict=True):
        is_one = name in given or name not in columns
        column = _cast(given.get(name), kind) if is_one else columns[name]
        if kind == FEW and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        column = column.cast(kind)
        whole.append(column.take(first) if is_one else column)
    return pa.table(whole, schema)


def _cast(value: str | None, kind: pa.DataType) -> pa.Array:
    """A folder's value, null for text where numbers are expected."""
    text = pa.array([value], pa.string())
    return (
        numbers("rank" if kind == pa.int32() else "score", text)
        if pa.types.is_primitive(kind)
        else text
    )


def write_copy(
    files: Sequence[File], parts: Parts, to_table: ToTable, schema: pa.Schema, scratch: Scratch
) -> ParquetCopy:
    """Write the rows of all files as Parquet, in no order.

    ReadError if there is no room for them, or no thread.
    """
    by_size = sorted(files, key=lambda file: file.size, reverse=True)
    threads = min(_MAX_THREADS, usable_cores())
    return _write(by_size, parts, to_table, schema, scratch, threads)


def write_numbered_copy(
    files: Sequence[File],
    parts: Parts,
    to_table: ToTable,
    schema: pa.Schema,
    scratch: Scratch,
    numbers: RowNumbers,
) -> ParquetCopy:
    """Write the rows of all files as Parquet in their order, with their numbers; raises as
    `write_copy`.
    """

    def to_numbered(part: Any, file: File) -> pa.Table:
        return numbers.add(to_table(part, file))

    return _write(files, parts, to_numbered, numbers.schema(schema), scratch, threads=1)


def _write(
    files: Sequence[File],
    parts: Parts,
    to_table: ToTable,
    schema: pa.Schema,
    scratch: Scratch,
    threads: int,
) -> ParquetCopy:
    encoded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    stopped = threading.Event()
    sources = [(file, parts(file), threading.Lock()) for file in files]

    def tables(thread: int) -> Iterator[pa.Table]:
        # Its own share of the files, then what is left of all: few are open, and no thread waits
        # for a large one.
        for file, unread, lock in (*sources[thread::threads], *sources):
            while not stopped.is_set():
                # Two threads never read a file at the same time, and parse its parts together.
                with lock:
                    part = next(unread, None)
                if part is None:
                    break
                yield to_table(part, file)

    def write(thread: int) -> tuple[int, set[str]]:
        rows, names, target = 0, set[str](), folder / f"{thread:04}.parquet"
        try:
            with open_writer(target, schema, compression="lz4", dictionaries=encoded) as writer:
                for table in _together(tables(thread)):
                    rows += len(table)
                    names |= {
                        name for name in schema.names if table.column(name).null_count < len(table)
                    }
                    writer.write_table(table)
        finally:
            # Where one has failed the others end after their part; where one is done, all parts are
            # taken.
            stopped.set()
        if thread and not rows:
            # An engine would take the time of a file for one without rows; the table needs one.
            target.unlink()
        return rows, names

    try:
        folder = scratch.folder()
        with ThreadPoolExecutor(threads) as pool:
            try:
                written = list(pool.map(write, range(threads)))
            finally:
                # An interrupt too ends them after their part.
                stopped.set()
    except (OSError, RuntimeError) as error:
        to_do = "make room, set TMPDIR to another folder, or allow more threads"
        raise ReadError(f"no temporary copy, {error}; {to_do}") from error
    rows, names = 0, set[str]()
    for thread_rows, thread_names in written:
        rows += thread_rows
        names |= thread_names
    return ParquetCopy(folder, rows, names)


def _together(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in larger tables; only the last may be small."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= _MIN_ROWS:
            yield pa.concat_tables(waiting).unify_dictionaries()
            waiting.clear()
    if waiting:
        yield pa.concat_tables(waiting).unify_dictionaries()
