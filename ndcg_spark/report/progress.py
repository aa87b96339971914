"""The steps of a command, on stderr while it runs."""

import contextlib
import errno
import logging
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from ndcg_spark.report.console import is_merged
from ndcg_spark.steps import LOGGER
from ndcg_spark.text import message

_STEP_WIDTH = 8


class _Console(Console):
    """A console that raises BrokenPipeError if nobody reads its stream; rich would end the program with exit code 1."""

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles the error."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads")

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor alone: a signal ends the process without bringing it back."""
        return False


class _Activity:
    """What is being done, and for how long; rich asks again whenever it draws."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()

    def __rich__(self) -> Text:
        seconds = f"{time.monotonic() - self._start:.0f}"
        return Text(f"{seconds:>3} s  {self._what}", no_wrap=True, overflow="ellipsis")


class Progress(logging.Handler):
    """Lines that say what was done and, on a terminal, a spinner that says what is being done and for how long.

    Neither is shown where it would stand between the rows that a program reads, in another style than `table`.
    """

    def __init__(self, style: str = "table") -> None:
        super().__init__()
        quiet = (style != "table" and is_merged()) or sys.stderr is None
        self._console = _Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True, quiet=quiet)
        dots = "dots" if self._console.encoding.startswith("utf") else "line"
        starting = _Activity("starting")
        self._status = self._console.status(starting, spinner=dots) if self._console.is_terminal else None

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

    def spinner(self) -> contextlib.AbstractContextManager[object]:
        """Show the spinner, on a terminal, until the block ends."""
        return self._status or contextlib.nullcontext()

    def emit(self, record: logging.LogRecord) -> None:
        """Print that a step is done, or show what is being done. Once stderr cannot be written to, print no more."""
        line, step = message(record.getMessage()), getattr(record, "step", None)
        if step is not None:
            try:
                self._console.print(f"{step:<{_STEP_WIDTH}} {line}")
            except OSError:
                self._console.quiet = True
            line = f"after {step}: {line}"
        if self._status:
            self._status.update(_Activity(line))


@contextlib.contextmanager
def shown_steps(style: str = "table") -> Iterator[None]:
    """Show the steps of the block, and the spinner."""
    with Progress(style).listening() as progress, progress.spinner():
        yield
