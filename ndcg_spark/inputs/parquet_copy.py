"""Writes files of other formats as Parquet once, in a temporary folder.

Files, and blocks of a file, are processed in parallel.
"""

import operator
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
from ndcg_spark.inputs.reshape import Positions, one_row_each
from ndcg_spark.inputs.row_documents import RowNumbers
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.parquet_files import open_writer
from ndcg_spark.schemas import BROKEN_LINE, FAULT, LINE, UNREAD_GRADE
from ndcg_spark.scratch import Scratch

#: The most threads. Each needs the memory of about ten blocks.
_MAX_THREADS = 16
#: The fewest rows that are written at a time, because each part of a file costs an engine time and
#: memory.
_MIN_ROWS = 150_000
_TYPES = {
    "relevance": pa.float64(),
    "score": pa.float64(),
    "rank": pa.int32(),
    "doc_id": pa.string(),
}

#: A function that reads a file in parts, and one that makes a table of a part.
Parts = Callable[[File], Iterator[Any]]
ToTable = Callable[[Any, File], pa.Table]


class ParquetCopy(NamedTuple):
    """A folder of Parquet files with one schema, their number of rows, and the filled columns."""

    folder: Path
    rows: int
    filled_columns: set[str]
    #: For text, the files without rows, and the last line of each file that does not end in a line
    #: end.
    empty: Sequence[str] = ()
    unended: Mapping[str, str] = {}
    #: For TREC text, the number of comment lines and of header block lines.
    comments: int = 0
    block_lines: int = 0
    #: Sentences for people about how the rows were read.
    notes: Sequence[str] = ()


def text_to_parquet(
    shape: Shape,
    files: Sequence[File],
    names: Sequence[str],
    scratch: Scratch,
    labels: Collection[str] = (),
    numbers: RowNumbers | None = None,
) -> ParquetCopy:
    """Write the rows of text files, with our columns `names` that the files or folders have.

    Grades remain text if they are `labels`. With `numbers`, the rows are in order and numbered.
    """
    reader = shape.reader(names, labels)
    called = {ours: shape.columns.get(ours, ours) for ours in names}
    known = {*shape.fields, *dict(files[0].partition)}
    has = [ours for ours, theirs in called.items() if ours in shape.has or theirs in known]
    schema = _copy_schema(shape, has, are_labels=bool(labels))
    with_rows = set[str]()
    positions = None
    if shape.is_ordered:
        positions = Positions([name for name in shape.list_key if name in has])

    def to_table(part: Any, file: File) -> pa.Table:
        read = reader.read(part)
        values = dict(file.partition)
        for ours, theirs in shape.in_both.items():
            refuse_other_value(read.columns[ours], ours, theirs, file)
        given = {ours: values[theirs] for ours, theirs in called.items() if theirs in values}
        columns = read.columns
        if shape.separator_of_ids is not None:
            columns = one_row_each(columns, shape.separator_of_ids)
        rows = len(next(iter(columns.values())))
        table = complete_table(columns, rows, given, schema)
        if positions is not None and "rank" not in columns:
            table = _with_positions(table, positions, file)
        both = pa.concat_tables([table, _broken_rows(read.broken, given, schema)])
        if len(both):
            with_rows.add(file.path)
        return both

    if numbers is None:
        in_order = positions is not None
        copy = write_copy(files, reader.parts, to_table, schema, scratch, in_order=in_order)
    else:
        copy = write_numbered_copy(files, reader.parts, to_table, schema, scratch, numbers)
    empty = [file.path for file in files if file.path not in with_rows]
    notes = [] if positions is None else positions.notes(files)
    copy = copy._replace(empty=empty, notes=notes)
    if not isinstance(reader, Delimited):
        return copy
    return copy._replace(
        unended=reader.unended,
        comments=sum(reader.comments),
        block_lines=sum(reader.block_lines),
    )


def _copy_schema(shape: Shape, has: Sequence[str], *, are_labels: bool) -> pa.Schema:
    """Return the schema for a copy of text that has these columns of ours."""
    kinds = {name: _TYPES.get(name, FEW) for name in has}
    if shape.has_places:
        kinds["rank"] = _TYPES["rank"]
    if "relevance" in has:
        name = "relevance" if are_labels else UNREAD_GRADE
        kinds[name] = FEW
    return pa.schema({**kinds, FAULT: FEW, LINE: pa.string()})


def _with_positions(table: pa.Table, positions: Positions, file: File) -> pa.Table:
    """Return the table with the positions of its rows as the ranks."""
    ranks = positions.ranks(table, file).cast(_TYPES["rank"])
    return table.set_column(table.column_names.index("rank"), "rank", ranks)


def _broken_rows(
    broken: Sequence[str], given: Mapping[str, str | None], schema: pa.Schema
) -> pa.Table:
    """Return a row for each line that is not a row."""
    lines = pa.array(broken, pa.string())
    return complete_table({LINE: lines}, len(lines), {**given, FAULT: BROKEN_LINE}, schema)


def refuse_other_value(values: pa.ChunkedArray, ours: str, theirs: str, file: File) -> None:
    value = dict(file.partition)[theirs]
    is_label = ours == "relevance" and not pa.types.is_primitive(values.type)
    kind = pa.float64() if ours in NUMBERS and not is_label else pa.string()
    values = values.cast(kind) if pa.types.is_dictionary(values.type) else as_type(values, kind)
    other = values.filter(compute.not_equal(values, _cast(value, kind)[0]))
    if len(other):
        what = f"{file.path} has rows with {theirs}={other[0]}, but its folder is {theirs}={value}"
        to_do = "or give that folder itself as the path, so that its name is ignored"
        raise InputError(f"{what}; correct one, {to_do}")


def complete_table(
    columns: Mapping[str, pa.ChunkedArray],
    rows: int,
    given: Mapping[str, str | None],
    schema: pa.Schema,
) -> pa.Table:
    """Return a table of this schema.

    A column in `given` has this value in all rows. A column that is absent is null.
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
    """Return a folder's value as this type, or null for text if a number is expected."""
    text = pa.array([value], pa.string())
    return (
        numbers("rank" if kind == pa.int32() else "score", text)
        if pa.types.is_primitive(kind)
        else text
    )


def write_numbered_copy(
    files: Sequence[File],
    parts: Parts,
    to_table: ToTable,
    schema: pa.Schema,
    scratch: Scratch,
    numbers: RowNumbers,
) -> ParquetCopy:
    """Write the rows of all files as Parquet in order, with their numbers.

    Raises the same errors as `write_copy`.
    """

    def to_numbered(part: Any, file: File) -> pa.Table:
        return numbers.add(to_table(part, file))

    numbered = numbers.schema(schema)
    return write_copy(files, parts, to_numbered, numbered, scratch, in_order=True)


def write_copy(
    files: Sequence[File],
    parts: Parts,
    to_table: ToTable,
    schema: pa.Schema,
    scratch: Scratch,
    *,
    in_order: bool = False,
) -> ParquetCopy:
    """Write the rows of all files as Parquet, in any order, or file by file if `in_order` is set.

    Raise ReadError if there is no disk space for them, or no thread can be started.
    """
    encoded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    # Several threads would not keep the parts in order.
    threads = 1 if in_order else min(_MAX_THREADS, usable_cores())
    stopped = threading.Event()
    by_size = list(files) if in_order else _largest_first(files)
    sources = [(file, parts(file), threading.Lock()) for file in by_size]

    def tables(thread: int) -> Iterator[pa.Table]:
        # A thread reads its own share of the files, then the rest of all files. So few files are
        # open, and no thread waits for a large one.
        for file, unread, lock in (*sources[thread::threads], *sources):
            while not stopped.is_set():
                # Two threads never read a file at the same time, but they parse its parts in
                # parallel.
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
            # If a thread has failed, the others stop after their part. If one is done, all parts
            # have been taken.
            stopped.set()
        if thread and not rows:
            # An engine would spend time on a file without rows, and the table needs only one file.
            target.unlink()
        return rows, names

    try:
        folder = scratch.folder()
        with ThreadPoolExecutor(threads) as pool:
            try:
                written = list(pool.map(write, range(threads)))
            finally:
                # They also stop after their part if the process is interrupted.
                stopped.set()
    except (OSError, RuntimeError) as error:
        to_do = "free disk space, set TMPDIR to a different folder, or allow more threads"
        raise ReadError(f"the temporary copy cannot be written, {error}; {to_do}") from error
    rows, names = 0, set[str]()
    for thread_rows, thread_names in written:
        rows += thread_rows
        names |= thread_names
    return ParquetCopy(folder, rows, names)


def _largest_first(files: Sequence[File]) -> list[File]:
    return sorted(files, key=operator.attrgetter("size"), reverse=True)


def _together(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same rows in larger tables; only the last one may be small."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= _MIN_ROWS:
            yield pa.concat_tables(waiting).unify_dictionaries()
            waiting.clear()
    if waiting:
        yield pa.concat_tables(waiting).unify_dictionaries()
