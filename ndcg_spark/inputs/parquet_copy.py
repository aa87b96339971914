"""What is not Parquet is written as Parquet once, in a temporary folder: files and their blocks in parallel."""

import dataclasses
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from queue import LifoQueue
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
_TYPES = {"relevance": pa.float64(), "score": pa.float64(), "rank": pa.int32(), "doc_id": pa.string()}

#: Reads a file in parts; and makes a table of a part.
Parts = Callable[[File], Iterator[Any]]
ToTable = Callable[[Any, File], pa.Table]


@dataclasses.dataclass(frozen=True)
class ParquetCopy:
    """A folder of Parquet files of one schema, and how many rows they have."""

    folder: Path
    rows: int
    #: By column, how many values are not null.
    values: Mapping[str, int]


def text_to_parquet(
    shape: Shape, files: Sequence[File], names: Sequence[str], in_both: Collection[str], scratch: Scratch, where: str
) -> ParquetCopy:
    """The rows of text files, with those of our columns `names` that the files or their folders have.

    InputError if a file has another value than its folder in one of the columns `in_both`.
    """
    reader = shape.reader(names)
    called = {ours: shape.columns.get(ours, ours) for ours in names}
    known = {*shape.fields, *dict(files[0].partition)}
    has = [ours for ours, theirs in called.items() if ours in shape.has or theirs in known]
    schema = pa.schema([*((name, _TYPES.get(name, FEW)) for name in (*has, FAULT)), (LINE, pa.string())])

    def to_table(part: Any, file: File) -> pa.Table:
        read, values = reader.read(part), dict(file.partition)
        for ours in in_both:
            refuse_other_value(read.columns[ours], ours, called[ours], file, where)
        given = {ours: values[theirs] for ours, theirs in called.items() if theirs in values}
        tables = [filled(read.columns, len(next(iter(read.columns.values()))), given, schema)]
        if read.broken:
            faults, lines = (pa.array(texts, pa.string()) for texts in zip(*read.broken, strict=True))
            tables.append(filled({FAULT: faults, LINE: lines}, len(lines), given, schema))
        return pa.concat_tables(tables)

    return write_copy(files, partial(reader.parts, where=where), to_table, schema, scratch, where)


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
    files: Sequence[File], parts: Parts, to_table: ToTable, schema: pa.Schema, scratch: Scratch, where: str
) -> ParquetCopy:
    """Write the rows of all files as Parquet, in no order; EngineError if there is no room for them, or no thread."""
    threads = min(_MAX_THREADS, usable_cores())
    shared = _Parts(files, parts, threads)

    def write(target: Path) -> tuple[int, Counter[str]]:
        rows, values = 0, Counter[str]()
        with _writer(target, schema) as writer:
            for table in _together(to_table(part, file) for part, file in shared.taken()):
                rows += len(table)
                values.update({name: len(table) - table.column(name).null_count for name in schema.names})
                writer.write_table(table)
        return rows, values

    try:
        folder = scratch.folder()
        with ThreadPoolExecutor(threads) as pool:
            try:
                writing = [pool.submit(write, folder / f"{number:04}.parquet") for number in range(threads)]
                wait(writing, return_when=FIRST_EXCEPTION)
            finally:
                # Where one has failed, or the caller is interrupted, the others end after their part.
                shared.stop()
        written = [future.result() for future in writing]
    except (OSError, RuntimeError) as error:
        raise EngineError(
            f"{where}: no temporary copy, {error}; make room, set TMPDIR to another folder, or allow more threads"
        ) from error
    # An engine would take the time of a file for one without rows; the table needs one.
    for number in [number for number, (rows, _) in enumerate(written) if not rows and number]:
        (folder / f"{number:04}.parquet").unlink()
    values = {name: sum(counts[name] for _, counts in written) for name in schema.names}
    return ParquetCopy(folder, sum(rows for rows, _ in written), values)


class _Parts:
    """The parts of all files, for several threads.

    A thread takes the file that was put back last, reads a part, and puts it back before it parses that. So few files
    are open, two threads never read one at the same time, and the largest does not come last.
    """

    def __init__(self, files: Sequence[File], parts: Parts, threads: int) -> None:
        self._threads, self._files, self._ended = threads, len(files), itertools.count(1)
        self._is_over = threading.Event()
        self._open: LifoQueue[tuple[File, Iterator[Any]] | None] = LifoQueue()
        for file in sorted(files, key=lambda file: file.size):
            self._open.put((file, parts(file)))

    def stop(self) -> None:
        """End every thread after its part, also those that wait for a file."""
        self._is_over.set()
        for _ in range(self._threads):
            self._open.put(None)

    def taken(self) -> Iterator[tuple[Any, File]]:
        """The parts that one thread takes."""
        while not self._is_over.is_set() and (source := self._open.get()):
            file, parts = source
            if (part := next(parts, None)) is not None:
                self._open.put(source)
                yield part, file
            elif next(self._ended) == self._files:
                self.stop()


def _writer(target: Path, schema: pa.Schema) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(
        target,
        schema,
        filesystem=fs.LocalFileSystem(),
        compression="lz4",
        # Without Arrow's own types, text is plain text to the engine.
        store_schema=False,
        use_dictionary=[field.name for field in schema if pa.types.is_dictionary(field.type)],
        # Every part has rows of all kinds, so no plan could skip a part by its statistics.
        write_statistics=False,
    )


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
