"""What is not Parquet is written as Parquet once, in a temporary folder: files and their blocks in parallel."""

import dataclasses
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ndcg_spark import interrupts
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.errors import EngineError
from ndcg_spark.inputs.files import File

#: The most threads. Each takes the memory of about ten blocks.
_MOST_THREADS = 16
#: The fewest rows that are written together, as an engine takes time and memory for each part of a file.
_TOGETHER = 150_000

#: A part of a file, as it is read; and what makes a table of one.
Parts = Callable[[File], Iterator[Any]]
TableOf = Callable[[Any, File], pa.Table]


@dataclasses.dataclass(frozen=True)
class Converted:
    """A folder of Parquet files of one schema, and how many rows they have."""

    folder: Path
    rows: int
    #: By column, how many values are not null.
    values: Mapping[str, int]


def converted(
    files: Sequence[File], parts: Parts, table_of: TableOf, schema: pa.Schema, scratch: Scratch, where: str
) -> Converted:
    """The rows of all files as Parquet. Rows are in no order.

    Writing ends when the scratch is removed, also if a signal does that.

    Raises
    ------
    EngineError
        There is no room.
    NdcgSparkError
        Whatever `parts` and `table_of` raise.
    """
    from pyarrow import parquet

    # The largest first, so that no thread is left with one when the others are done.
    waiting = deque(sorted(files, key=lambda file: -file.size))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = min(_MOST_THREADS, cores)
    pool = ThreadPoolExecutor(threads)
    try:
        work = _Work(waiting, parts, table_of, schema, scratch.folder())

        def stop() -> None:
            work.stopping.set()
            pool.shutdown(cancel_futures=True)

        scratch.later(stop)
        try:
            writing = [pool.submit(work.sheet, number) for number in range(threads)]
            wait(writing)
        except RuntimeError as refused:
            # The pool takes no more work once the scratch is being removed.
            raise _StoppedError("the work is over") from refused
        finally:
            stop()
            interrupts.wait_for_exit()
        failed = [error for each in writing if (error := each.exception())]
        if failed:
            # One has failed, and the others have ended because of it.
            raise min(failed, key=lambda error: isinstance(error, _StoppedError))
        sheets = [each.result() for each in writing]
        rows = sum(sheet.rows for sheet in sheets)
        if not rows:
            parquet.write_table(schema.empty_table(), work.folder / "empty.parquet", store_schema=False)
        values = {name: sum(sheet.values[name] for sheet in sheets) for name in schema.names}
        return Converted(work.folder, rows, values)
    except OSError as error:
        raise EngineError(
            f"{where}: no temporary files, {error}; make room, or set TMPDIR to another folder"
        ) from error


class _StoppedError(EngineError):
    """Another thread has failed, or the scratch is being removed."""


class _Opened:
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
    opened: list[_Opened] = dataclasses.field(default_factory=list)
    stopping: threading.Event = dataclasses.field(default_factory=threading.Event)

    def sheet(self, number: int) -> "_Sheet":
        """Write the rows that one thread takes to a file of its own: those of whole files, then parts of others."""
        try:
            with _Sheet(self.schema, self.folder / f"{number:04}.parquet") as sheet:
                while (source := self._source()) is not None:
                    while (part := source.part()) is not None:
                        if self.stopping.is_set():
                            # So that nothing more is written.
                            raise _StoppedError("the work is over")
                        sheet.add(self.table_of(part, source.file))
                    self._close(source)
        except BaseException:
            self.stopping.set()
            raise
        return sheet

    def _source(self) -> _Opened | None:
        try:
            file = self.waiting.popleft()
        except IndexError:
            return next(iter(self.opened), None)
        source = _Opened(file, self.parts(file))
        self.opened.append(source)
        return source

    def _close(self, source: _Opened) -> None:
        try:
            self.opened.remove(source)
        except ValueError:
            # Another thread came to its end first.
            return


class _Sheet:
    """A Parquet file for rows. At the end of the block it is there if it has rows, and nothing was raised."""

    def __init__(self, schema: pa.Schema, target: Path) -> None:
        from pyarrow import parquet

        self.rows, self.values = 0, dict.fromkeys(schema.names, 0)
        self._target, self._waiting = target, list[pa.Table]()
        self._writer = parquet.ParquetWriter(
            target,
            schema,
            filesystem=fs.LocalFileSystem(),
            compression="lz4",
            # Without Arrow's own types, text is plain text to the engine.
            store_schema=False,
            use_dictionary=[field.name for field in schema if pa.types.is_dictionary(field.type)],
            # Every part has rows of all kinds, so no plan would leave out a part by them.
            write_statistics=False,
        )

    def __enter__(self) -> "_Sheet":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        whole = False
        try:
            if kind is None:
                self._write()
            self._writer.close()
            whole = kind is None and self.rows > 0
        finally:
            if not whole:
                self._target.unlink(missing_ok=True)

    def add(self, table: pa.Table) -> None:
        """Write a table, once there are enough rows."""
        self._waiting.append(table)
        if sum(table.num_rows for table in self._waiting) >= _TOGETHER:
            self._write()

    def _write(self) -> None:
        if self._waiting:
            table = pa.concat_tables(self._waiting).unify_dictionaries()
            self._waiting.clear()
            self.rows += table.num_rows
            for name in table.column_names:
                self.values[name] += table.num_rows - table.column(name).null_count
            self._writer.write_table(table)
