"""Files of plain text (see `plain_text`), written as typed rows to Parquet, several at the same time."""

import dataclasses
import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa

from ndcg_spark import interrupts
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.plain_rows import PlainRows, Sheet
from ndcg_spark.inputs.plain_text import NotPlainError

#: The most files that are read at the same time. Each takes the memory of about ten blocks.
_MOST_READERS = 16
#: What Arrow raises where it cannot write, or must not.
_UNWRITTEN = (OSError, pa.ArrowException)


def write_plain(files: Sequence[File], rows: PlainRows, scratch: Scratch) -> tuple[Path, list[File]]:
    """A folder with the rows of the plain files, as Parquet, and the files that are not plain.

    What cannot be read, or written, is not plain either: the engine tells why. Writing ends when the scratch is
    removed, also if a signal does that.
    """
    # The largest first, so that no thread is left with one when the others are done.
    order = sorted(range(len(files)), key=lambda number: -files[number].size)
    work = _Work(files, rows, scratch.folder(), deque(order))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    readers = min(_MOST_READERS, cores, len(files))
    pool = ThreadPoolExecutor(readers)

    def stop() -> None:
        work.stopping.set()
        pool.shutdown(cancel_futures=True)

    scratch.later(stop)
    try:
        plain = set[int]().union(*pool.map(work.done, range(readers)))
    finally:
        stop()
        interrupts.wait_for_exit()
    return work.folder, [file for number, file in enumerate(files) if number not in plain]


@dataclasses.dataclass(frozen=True)
class _Work:
    """What the threads share: the files, and the numbers of those that no thread has taken yet."""

    files: Sequence[File]
    rows: PlainRows
    folder: Path
    waiting: deque[int]
    stopping: threading.Event = dataclasses.field(default_factory=threading.Event)

    def done(self, reader: int) -> set[int]:
        """Write the files that one thread takes; the numbers of those that are plain.

        Files of one block share a file of Parquet, as the engine takes time and memory for each.
        """
        small, large = set[int](), set[int]()
        try:
            with Sheet(self.rows, self.folder / f"small-{reader}.parquet") as sheet:
                while (number := self._next()) is not None:
                    tables = self.rows.tables(self.files[number])
                    first = _first_two(tables)
                    if len(first) == 1:
                        sheet.add(first[0])
                        small.add(number)
                    elif first and self._is_written(number, chain(first, tables)):
                        large.add(number)
        except _UNWRITTEN:
            return large
        return small | large

    def _next(self) -> int | None:
        self._go_on()
        try:
            return self.waiting.popleft()
        except IndexError:
            return None

    def _go_on(self) -> None:
        if self.stopping.is_set():
            # So that nothing more is written.
            raise pa.ArrowCancelled("the work is over")

    def _is_written(self, number: int, tables: Iterable[pa.Table]) -> bool:
        try:
            with Sheet(self.rows, self.folder / f"{number:07}.parquet") as sheet:
                for table in tables:
                    self._go_on()
                    sheet.add(table)
        except (NotPlainError, *_UNWRITTEN):
            return False
        return True


def _first_two(tables: Iterable[pa.Table]) -> list[pa.Table]:
    """The first tables of a file, of which most files have one; none if it is not plain."""
    try:
        return list(islice(tables, 2))
    except NotPlainError:
        return []
