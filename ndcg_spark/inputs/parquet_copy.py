"""Writes files of other formats as Parquet once, in a temporary folder.

Files, and blocks of a file, are processed in parallel.
"""

import operator
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
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
#: The types of our columns in a copy of text; all others are FEW.
_TYPES = {
    "relevance": pa.float64(),
    "score": pa.float64(),
    "rank": pa.int32(),
    "doc_id": pa.string(),
}

#: Reads a file in parts.
Parts = Callable[[File], Iterator[Any]]
#: Converts a part of a file to a table.
ToTable = Callable[[Any, File], pa.Table]


class ParquetCopy(NamedTuple):
    """A folder of Parquet files with one schema."""

    folder: Path
    rows: int
    #: The columns that have a value in at least one row.
    filled_columns: set[str]
    #: For text, the paths of the files without rows.
    empty: Sequence[str] = ()
    #: For text, the last line of each file that has no line end, by the file's path.
    unended: Mapping[str, str] = {}
    #: For TREC text, the number of comment lines.
    comments: int = 0
    #: For TREC text, the number of header block lines.
    block_lines: int = 0
    #: How the rows were read, such as "the order of the rows is the rank".
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
    theirs_by_ours = {ours: shape.columns.get(ours, ours) for ours in names}
    known = {*shape.fields, *dict(files[0].partition)}
    has = [ours for ours, theirs in theirs_by_ours.items() if ours in shape.has or theirs in known]
    schema = _copy_schema(shape, has, are_labels=bool(labels))
    positions = None
    if shape.is_ordered:
        positions = Positions([name for name in shape.list_key if name in has])
    text = _TextTables(reader, shape, theirs_by_ours, schema, positions)
    if numbers is None:
        in_order = positions is not None
        copy = write_copy(files, reader.parts, text.table, schema, scratch, in_order=in_order)
    else:
        copy = write_numbered_copy(files, reader.parts, text.table, schema, scratch, numbers)
    empty = [file.path for file in files if file.path not in text.paths_with_rows]
    notes = [] if positions is None else positions.notes(files)
    copy = copy._replace(empty=empty, notes=notes)
    if not isinstance(reader, Delimited):
        return copy
    return copy._replace(
        unended=reader.unended,
        comments=sum(reader.comments),
        block_lines=sum(reader.block_lines),
    )


@dataclass(frozen=True)
class _TextTables:
    """Converts the parts of text files to tables with the same schema."""

    reader: Any
    shape: Shape
    #: The names of our columns in the files and their folders.
    theirs_by_ours: Mapping[str, str]
    schema: pa.Schema
    #: Counts the rows if their order is the rank.
    positions: Positions | None
    paths_with_rows: set[str] = field(default_factory=set)

    def table(self, part: Any, file: File) -> pa.Table:
        """Return the rows of a part of a file, and its lines that are not rows."""
        columns, broken = self.reader.read(part)
        for ours, theirs in self.shape.in_both.items():
            refuse_other_value(columns[ours], ours, theirs, file)
        if self.shape.separator_of_ids is not None:
            columns = one_row_each(columns, self.shape.separator_of_ids)
        rows = len(next(iter(columns.values())))
        given = self._values_of_folders(file)
        table = complete_table(columns, rows, given, self.schema)
        if self.positions is not None and "rank" not in columns:
            table = _with_positions(table, self.positions, file)
        table = pa.concat_tables([table, _broken_rows(broken, given, self.schema)])
        if len(table):
            self.paths_with_rows.add(file.path)
        return table

    def _values_of_folders(self, file: File) -> dict[str, str | None]:
        """Return the values that folders give to every row of a file, by our names."""
        folders = dict(file.partition)
        values = {}
        for ours, theirs in self.theirs_by_ours.items():
            if theirs in folders:
                values[ours] = folders[theirs]
        return values


def _copy_schema(shape: Shape, has: Sequence[str], *, are_labels: bool) -> pa.Schema:
    """Return the schema for a copy of text with these columns, which have our names."""
    kinds = {name: _TYPES.get(name, FEW) for name in has}
    if shape.has_places:
        kinds["rank"] = _TYPES["rank"]
    if "relevance" in has and are_labels:
        kinds["relevance"] = FEW
    if "relevance" in has and not are_labels:
        # It keeps the text of grades that are not numbers, for messages.
        kinds[UNREAD_GRADE] = FEW
    return pa.schema({**kinds, FAULT: FEW, LINE: pa.string()})


def _with_positions(table: pa.Table, positions: Positions, file: File) -> pa.Table:
    """Return the table with the positions of its rows as the ranks."""
    ranks = positions.ranks(table, file).cast(_TYPES["rank"])
    return table.set_column(table.column_names.index("rank"), "rank", ranks)


def _broken_rows(
    broken: Sequence[str], given: Mapping[str, str | None], schema: pa.Schema
) -> pa.Table:
    """Return the lines that are not rows, each as a row with a FAULT."""
    lines = pa.array(broken, pa.string())
    return complete_table({LINE: lines}, len(lines), {**given, FAULT: BROKEN_LINE}, schema)


def refuse_other_value(values: pa.ChunkedArray, ours: str, theirs: str, file: File) -> None:
    """Raise InputError if a row's value in the column `theirs` differs from the file's folder."""
    value = dict(file.partition)[theirs]
    is_label = ours == "relevance" and not pa.types.is_primitive(values.type)
    kind = pa.float64() if ours in NUMBERS and not is_label else pa.string()
    values = values.cast(kind) if pa.types.is_dictionary(values.type) else as_type(values, kind)
    other = values.filter(compute.not_equal(values, _value_of_folder(value, kind)[0]))
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
    """Return a table of this schema with this number of rows.

    A column in `given` has the given value in all rows. A column that is absent is null.
    """
    completed = []
    # The index of the only value of a constant column, once for each row.
    repeats = pa.array(np.zeros(rows, np.int32))
    for name, kind in zip(schema.names, schema.types, strict=True):
        is_constant = name in given or name not in columns
        column = _value_of_folder(given.get(name), kind) if is_constant else columns[name]
        if kind == FEW and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        column = column.cast(kind)
        completed.append(column.take(repeats) if is_constant else column)
    return pa.table(completed, schema)


def _value_of_folder(value: str | None, kind: pa.DataType) -> pa.Array:
    """Return an array with a folder's value, which is null if it should be a number but is not."""
    text = pa.array([value], pa.string())
    if not pa.types.is_primitive(kind):
        return text
    return numbers("rank" if kind == pa.int32() else "score", text)


def write_numbered_copy(
    files: Sequence[File],
    parts: Parts,
    to_table: ToTable,
    schema: pa.Schema,
    scratch: Scratch,
    numbers: RowNumbers,
) -> ParquetCopy:
    """Write the rows of all files as Parquet in order, with row numbers.

    Raise the same errors as `write_copy`.
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
    # Several threads would not keep the parts in order.
    threads = 1 if in_order else min(_MAX_THREADS, usable_cores())
    stopped = threading.Event()
    by_size = list(files) if in_order else _largest_first(files)
    opened = [_OpenFile(file, parts(file), threading.Lock()) for file in by_size]

    def write(thread: int) -> _Written:
        target = folder / f"{thread:04}.parquet"
        # A thread reads its own share of the files, then the rest of all files. So few files are
        # open, and no thread waits for a large one.
        in_turn = (*opened[thread::threads], *opened)
        try:
            written = _write_file(target, _tables(in_turn, to_table, stopped), schema)
        finally:
            # If a thread has failed, the others stop after their part. If one is done, all parts
            # have been taken.
            stopped.set()
        if thread and not written.rows:
            # An engine would spend time on a file without rows, and the table needs only one file.
            target.unlink()
        return written

    try:
        folder = scratch.folder()
        with ThreadPoolExecutor(threads) as pool:
            try:
                written = list(pool.map(write, range(threads)))
            finally:
                # The threads also stop after their part if the process is interrupted.
                stopped.set()
    except (OSError, RuntimeError) as error:
        to_do = "free disk space, set TMPDIR to a different folder, or allow more threads"
        raise ReadError(f"the temporary copy cannot be written, {error}; {to_do}") from error
    rows = sum(of_thread.rows for of_thread in written)
    filled_columns = set[str]().union(*(of_thread.filled_columns for of_thread in written))
    return ParquetCopy(folder, rows, filled_columns)


class _OpenFile(NamedTuple):
    """A file that several threads read, one part at a time."""

    file: File
    unread_parts: Iterator[Any]
    #: Held while a part is read. Threads parse the parts of a file in parallel.
    lock: threading.Lock


class _Written(NamedTuple):
    """What one thread has written."""

    rows: int
    filled_columns: set[str]


def _tables(
    files: Iterable[_OpenFile], to_table: ToTable, stopped: threading.Event
) -> Iterator[pa.Table]:
    """Yield the tables of all parts that no thread has taken, until a thread has `stopped`."""
    for opened in files:
        while not stopped.is_set():
            with opened.lock:
                part = next(opened.unread_parts, None)
            if part is None:
                break
            yield to_table(part, opened.file)


def _write_file(target: Path, tables: Iterator[pa.Table], schema: pa.Schema) -> _Written:
    """Write the tables to one Parquet file."""
    encoded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    rows = 0
    filled_columns = set[str]()
    with open_writer(target, schema, compression="lz4", dictionaries=encoded) as writer:
        for table in _merge_small(tables):
            rows += len(table)
            for name in schema.names:
                if table.column(name).null_count < len(table):
                    filled_columns.add(name)
            writer.write_table(table)
    return _Written(rows, filled_columns)


def _largest_first(files: Sequence[File]) -> list[File]:
    return sorted(files, key=operator.attrgetter("size"), reverse=True)


def _merge_small(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same rows in larger tables; only the last one may be small."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= _MIN_ROWS:
            yield pa.concat_tables(waiting).unify_dictionaries()
            waiting.clear()
    if waiting:
        yield pa.concat_tables(waiting).unify_dictionaries()
