"""What is not Parquet is written as Parquet once, in a temporary folder: files and their blocks in parallel."""

import contextlib
import dataclasses
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.engine.sessions import usable_cores
from ndcg_spark.errors import EngineError
from ndcg_spark.inputs.files import File
from ndcg_spark.scratch import Scratch

#: The most threads. Each takes the memory of about ten blocks.
_MAX_THREADS = 16
#: The fewest rows that are written together, as an engine takes time and memory for each part of a file.
_MIN_ROWS = 150_000

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


def write_copy(
    files: Sequence[File], parts: Parts, table_of: TableOf, schema: pa.Schema, scratch: Scratch, where: str
) -> ParquetCopy:
    """Write the rows of all files as Parquet, in no order; EngineError if there is no room or no scratch any more."""
    from pyarrow import parquet

    threads = min(_MAX_THREADS, usable_cores())
    pool = ThreadPoolExecutor(threads)
    try:
        # The largest first, so that no thread is left with one when the others are done.
        waiting = deque(sorted(files, key=lambda file: -file.size))
        work = _Work(waiting, parts, table_of, schema, scratch.folder())

        def stop() -> None:
            work.stopping.set()
            pool.shutdown(cancel_futures=True)

        scratch.later(stop)
        try:
            writing = [pool.submit(work.write, number) for number in range(threads)]
            wait(writing)
        except RuntimeError as refused:
            # The pool takes no more work once the scratch is being removed.
            raise _StoppedError("the work is over") from refused
        finally:
            stop()
        failed = [error for each in writing if (error := each.exception())]
        if failed:
            # One has failed, and the others have ended because of it.
            raise min(failed, key=lambda error: isinstance(error, _StoppedError))
        written = [each.result() for each in writing]
        rows = sum(count for count, _ in written)
        if not rows:
            parquet.write_table(schema.empty_table(), work.folder / "empty.parquet", store_schema=False)
        values = {name: sum(counts[name] for _, counts in written) for name in schema.names}
        return ParquetCopy(work.folder, rows, values)
    except OSError as error:
        raise EngineError(
            f"{where}: no temporary files, {error}; make room, or set TMPDIR to another folder"
        ) from error


class _StoppedError(EngineError):
    """Another thread has failed, or the scratch is being removed."""


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
    stopping: threading.Event = dataclasses.field(default_factory=threading.Event)

    def write(self, number: int) -> tuple[int, Counter[str]]:
        """Write what one thread takes to a file of its own; returns its number of rows and of each column's values.

        The file exists only if it has rows and nothing was raised.
        """
        target = self.folder / f"{number:04}.parquet"
        rows, values = 0, Counter[str]()
        try:
            with _writer(target, self.schema) as writer:
                for table in _together(self._tables()):
                    rows += table.num_rows
                    values.update({name: len(table) - table.column(name).null_count for name in table.column_names})
                    writer.write_table(table)
        except BaseException:
            self.stopping.set()
            target.unlink(missing_ok=True)
            raise
        if not rows:
            target.unlink()
        return rows, values

    def _tables(self) -> Iterator[pa.Table]:
        """The tables of whole files, and then of parts of those that other threads have opened."""
        while (source := self._source()) is not None:
            while (part := source.part()) is not None:
                if self.stopping.is_set():
                    # So that nothing more is written.
                    raise _StoppedError("the work is over")
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
