"""The steps of a command, on stderr while it runs."""

import contextlib
import logging
import shutil
import sys
from collections.abc import Iterator

from ndcg_spark.report.console import is_merged
from ndcg_spark.steps import LOGGER
from ndcg_spark.text import message

_STEP_WIDTH = 8
#: To the start of the line of a terminal, which is erased.
_ERASED = "\r\x1b[K"


class Progress(logging.Handler):
    """Lines that say what was done and, on a terminal, one below them that says what is being done.

    Neither is shown where it would stand between the rows that a program reads, in another style than `table`.
    """

    def __init__(self, style: str = "table") -> None:
        super().__init__()
        self._stream = None if style != "table" and is_merged() else sys.stderr
        self._erased = _ERASED if self._stream is not None and self._stream.isatty() else ""

    @contextlib.contextmanager
    def listening(self) -> Iterator["Progress"]:
        """Show the steps that are logged within the block."""
        LOGGER.addHandler(self)
        level = LOGGER.level
        LOGGER.setLevel(logging.DEBUG)
        try:
            yield self
        finally:
            LOGGER.setLevel(level)
            LOGGER.removeHandler(self)
            self.clear()

    def clear(self) -> None:
        """Erase what is being done, before results are printed."""
        self._write("")

    def emit(self, record: logging.LogRecord) -> None:
        """Print that a step is done, or show what is being done."""
        line, step = message(record.getMessage()), getattr(record, "step", None)
        if step is not None:
            self._write(f"{step:<{_STEP_WIDTH}} {line}\n")
        elif self._erased:
            self._write(line[: shutil.get_terminal_size().columns - 1])

    def _write(self, text: str) -> None:
        """Once stderr cannot be written to, print no more."""
        if self._stream is not None:
            try:
                self._stream.write(self._erased + text)
                self._stream.flush()
            except OSError:
                self._stream = None


@contextlib.contextmanager
def shown_steps(style: str = "table") -> Iterator[None]:
    """Show the steps of the block."""
    with Progress(style).listening():
        yield
