"""What people see in a terminal: steps on stderr, and tables on stdout."""

import contextlib
import errno
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ndcg_spark import interrupts
from ndcg_spark.plain import message, printable
from ndcg_spark.sheets.sheet import Sheet, rounded

_STEP_WIDTH = 8
#: The width of a table without a terminal, where no line may be cut.
_UNLIMITED = 10_000
#: A table for people has at most so many rows.
MOST_ROWS = 50


class _Console(Console):
    """A console that raises BrokenPipeError if nobody reads its stream; rich would end the program with exit code 1."""

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles the error."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads")


class _UnderWay:
    """What is being done, and for how long; rich asks again whenever it draws."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()

    def __rich__(self) -> Text:
        seconds = f"{time.monotonic() - self._start:.0f}"
        return Text(f"{seconds:>3} s  {self._what}", no_wrap=True, overflow="ellipsis")


class Progress:
    """Lines that say what was done and, on a terminal, a spinner that says what is being done and for how long.

    With `silent`, neither is shown.
    """

    def __init__(self, silent: bool = False) -> None:
        quiet = silent or sys.stderr is None
        self._console = _Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True, quiet=quiet)
        dots = "dots" if self._console.encoding.startswith("utf") else "line"
        shown = _UnderWay("starting")
        self._status = self._console.status(shown, spinner=dots) if self._console.is_terminal else None

    @contextlib.contextmanager
    def running(self) -> Iterator["Progress"]:
        """Show the spinner until the block ends. A signal stops it too, because it hides the cursor."""
        if self._status is None:
            yield self
            return
        with interrupts.cleaned_up_by(self._status.stop), self._status:
            yield self

    def tell(self, step: str, sentence: str) -> None:
        """Say that a step is done, in a sentence with its counts. Once stderr cannot be written to, say no more."""
        said = message(sentence)
        try:
            self._console.print(f"{step:<{_STEP_WIDTH}} {said}")
        except OSError:
            self._console.quiet = True
        self.doing(f"after {step}: {said}")

    def doing(self, sentence: str) -> None:
        """Say on a terminal, until something else is said, what is being done."""
        if self._status:
            self._status.update(_UnderWay(message(sentence)))


def print_sheet(table: Sheet, notes: Sequence[str] = ()) -> None:
    """Print a sheet with aligned columns, sentences right below it, and its own notes after a blank line."""
    console = _console(sys.stdout)
    aligned = Table(box=None, pad_edge=False, header_style="bold")
    for column, heading in enumerate(table.headings):
        aligned.add_column(_name(heading), justify="right" if column in table.numbers else "left", no_wrap=True)
    for row in table.rows:
        aligned.add_row(*map(_name, row))
    console.print(aligned)
    for note in [*notes, *(["", *table.notes] if table.notes else [])]:
        console.print(note, soft_wrap=True)


def print_check(found: Mapping[str, Any]) -> None:
    """The counts of a check and the judged rate of each run, one per line."""
    console = _console(sys.stdout)
    for name, count in found["counts"].items():
        console.print(f"{count:>12,}  {name.replace('_', ' ')}", soft_wrap=True)
    rates = found["judged_rate"]
    for row in rates[:MOST_ROWS]:
        rate = f"judged rate@{row['cutoff'] or 'all'} of run={row['run']} dataset={row['dataset']}"
        console.print(f"{rounded(row['judged_rate']):>12}  {printable(rate)}", soft_wrap=True)
    if len(rates) > MOST_ROWS:
        console.print(f"and {len(rates) - MOST_ROWS:,} more; --format json has all")


def _name(text: str) -> Text:
    return Text(printable(text))


def _console(stream: TextIO) -> Console:
    return _Console(
        file=stream, highlight=False, markup=False, emoji=False, width=None if stream.isatty() else _UNLIMITED
    )
