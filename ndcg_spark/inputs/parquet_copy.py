"""What is not Parquet is written as Parquet once, in a temporary folder: files and their blocks in parallel."""

import contextlib
import dataclasses
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, fs

from ndcg_spark.engine.sessions import usable_cores
from ndcg_spark.errors import EngineError, InputError
from ndcg_spark.inputs.delimited import FEW, NUMBERS, numbers
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.schemas import FAULT, LINE
from ndcg_spark.scratch import Scratch

#: The most threads. Each takes the memory of about ten blocks.
_MAX_THREADS = 16
#: The fewest rows that are written together, as an engine takes time and memory for each part of a file.
_MIN_ROWS = 150_000
_TYPES = {
    "relevance": pa.float64(),
    "score": pa.float64(),
    "rank": pa.int32(),
    "doc_id": pa.string(),
    LINE: pa.string(),
}

#: Reads a file in parts; and makes a table of a part.
Parts = Callable[[File], Iterator[Any]]
TableOf = Callable[[Any, File], pa.Table]


@dataclasses.dataclass(frozen=True)
class ParquetCopy:
    """A folder of Parquet files of one schema, and how many rows they have."""

    folder: Path
    rows: int
    #: By column, how many values are not null.
    values: Mapping[str, int]


def text_to_parquet(
    shape: Shape,
    files: Sequence[File],
    names: Sequence[str],
    in_both: Collection[str],
    scratch: Scratch,
    where: str,
) -> ParquetCopy:
    """The rows of text files, with those of our columns `names` that the files or their folders have.

    InputError if a file has another value than its folder in one of the columns `in_both`.
    """
    reader = shape.reader(names)
    called = {ours: shape.columns.get(ours, ours) for ours in names}
    known = {*shape.fields, *dict(files[0].partition)}
    has = [ours for ours, theirs in called.items() if ours in shape.has or theirs in known]
    schema = pa.schema([*((name, _TYPES.get(name, FEW)) for name in (*has, FAULT)), (LINE, pa.string())])

    def table_of(part: Any, file: File) -> pa.Table:
        read, values = reader.read(part), dict(file.partition)
        for ours in in_both:
            refuse_other_value(read.columns[ours], ours, called[ours], file, where)
        given = {ours: values[theirs] for ours, theirs in called.items() if theirs in values}
        tables = [filled(read.columns, len(next(iter(read.columns.values()))), given, schema)]
        if read.broken:
            faults, lines = (pa.array(texts, pa.string()) for texts in zip(*read.broken, strict=True))
            tables.append(filled({FAULT: faults, LINE: lines}, len(lines), given, schema))
        return pa.concat_tables(tables)

    return write_copy(files, partial(reader.parts, where=where), table_of, schema, scratch, where)


def refuse_other_value(values: pa.ChunkedArray, ours: str, theirs: str, file: File, where: str) -> None:
    """InputError if a column of a file has another value than the folder of the file."""
    value = dict(file.partition)[theirs]
    kind = pa.float64() if ours in NUMBERS else pa.string()
    values = values.cast(kind)
    other = values.filter(compute.not_equal(values, _constant(value, kind, 1)[0]))
    if len(other):
        raise InputError(
            f"{where}: {file.path} has rows with {theirs}={other[0]}, and its folder is {theirs}={value}; correct one, "
            "or give that folder itself as the path, so that its name does not count"
        )


def filled(
    columns: Mapping[str, pa.ChunkedArray], rows: int, given: Mapping[str, str | None], schema: pa.Schema
) -> pa.Table:
    """The table of this schema; a column that is `given` one value, or is absent, has the same in all rows."""
    whole = []
    for name, kind in zip(schema.names, schema.types, strict=True):
        column = columns.get(name)
        if name in given or column is None:
            column = _constant(given.get(name), kind, rows)
        elif kind == FEW and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        whole.append(column.cast(kind))
    return pa.table(whole, schema)


def _constant(value: str | None, kind: pa.DataType, rows: int) -> pa.Array:
    """The same value in all rows, null for text where numbers are expected."""
    one = pa.array([value], pa.string())
    if kind == FEW:
        one = one.dictionary_encode()
    elif kind != pa.string():
        one = numbers("rank" if kind == pa.int32() else "score", one)
    return one.take(pa.array(np.zeros(rows, np.int32)))


def write_copy(
    files: Sequence[File], parts: Parts, table_of: TableOf, schema: pa.Schema, scratch: Scratch, where: str
) -> ParquetCopy:
    """Write the rows of all files as Parquet, in no order; EngineError if there is no room for them, or no thread."""
    from pyarrow import parquet

    threads = min(_MAX_THREADS, usable_cores())
    try:
        # The largest first, so that no thread is left with one when the others are done.
        work = _Work(deque(sorted(files, key=lambda file: -file.size)), parts, table_of, schema, scratch.folder())
        with ThreadPoolExecutor(threads) as pool:
            try:
                writing = [pool.submit(work.write, number) for number in range(threads)]
                wait(writing, return_when=FIRST_EXCEPTION)
            finally:
                # Where one has failed, or the caller is interrupted, the others end after their part.
                work.is_over.set()
        written = [each.result() for each in writing]
        rows = sum(count for count, _ in written)
        if not rows:
            parquet.write_table(schema.empty_table(), work.folder / "empty.parquet", store_schema=False)
    except (OSError, RuntimeError) as error:
        raise EngineError(
            f"{where}: no temporary copy, {error}; make room, set TMPDIR to another folder, or allow more threads"
        ) from error
    return ParquetCopy(work.folder, rows, {name: sum(counts[name] for _, counts in written) for name in schema.names})


class _OpenFile:
    """A file whose parts several threads may take, one at a time."""

    def __init__(self, file: File, parts: Iterator[Any]) -> None:
        self.file = file
        self._parts, self._lock = parts, threading.Lock()

    def part(self) -> Any:
        """The next part; None at the end."""
        with self._lock:
            return next(self._parts, None)


@dataclasses.dataclass(frozen=True)
class _Work:
    """What the threads share: the files that none has opened yet, and those that are open."""

    waiting: deque[File]
    parts: Parts
    table_of: TableOf
    schema: pa.Schema
    folder: Path
    open_files: list[_OpenFile] = dataclasses.field(default_factory=list)
    is_over: threading.Event = dataclasses.field(default_factory=threading.Event)

    def write(self, number: int) -> tuple[int, Counter[str]]:
        """Write what one thread takes to a file of its own, if that has rows; their number, and that of values."""
        from pyarrow import parquet

        target = self.folder / f"{number:04}.parquet"
        rows, values = 0, Counter[str]()
        with parquet.ParquetWriter(
            target,
            self.schema,
            filesystem=fs.LocalFileSystem(),
            compression="lz4",
            # Without Arrow's own types, text is plain text to the engine.
            store_schema=False,
            use_dictionary=[field.name for field in self.schema if pa.types.is_dictionary(field.type)],
            # Every part has rows of all kinds, so no plan could skip a part by its statistics.
            write_statistics=False,
        ) as writer:
            for table in _together(self._tables()):
                rows += table.num_rows
                values.update({name: len(table) - table.column(name).null_count for name in table.column_names})
                writer.write_table(table)
        if not rows:
            target.unlink()
        return rows, values

    def _tables(self) -> Iterator[pa.Table]:
        """The tables of whole files, and then of parts of those that other threads have opened."""
        while (source := self._source()) is not None:
            while not self.is_over.is_set() and (part := source.part()) is not None:
                yield self.table_of(part, source.file)
            # Another thread may have come to its end first.
            with contextlib.suppress(ValueError):
                self.open_files.remove(source)

    def _source(self) -> _OpenFile | None:
        try:
            file = self.waiting.popleft()
        except IndexError:
            return next(iter(self.open_files), None)
        source = _OpenFile(file, self.parts(file))
        self.open_files.append(source)
        return source


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
