"""What people see in a terminal: steps on stderr, and tables on stdout."""

import contextlib
import errno
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ndcg_spark import interrupts
from ndcg_spark.job.every_preset import Compared
from ndcg_spark.job.outcome import Outcome
from ndcg_spark.nights.committed import CommittedNight
from ndcg_spark.plain import message, printable

_STEP_WIDTH = 9
#: The width of a table without a terminal, where no line may be cut.
_UNLIMITED = 10_000


class _Console(Console):
    """A console that raises BrokenPipeError if nobody reads its stream; rich would end the program with exit code 1."""

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles the error."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads")


class Progress:
    """Lines that say what was done and, on a terminal, a spinner that says what is being done.

    With `silent`, neither is shown.
    """

    def __init__(self, silent: bool = False) -> None:
        quiet = silent or sys.stderr is None
        self._console = _Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True, quiet=quiet)
        dots = "dots" if self._console.encoding.startswith("utf") else "line"
        self._status = self._console.status("starting", spinner=dots) if self._console.is_terminal else None

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
            self._console.print(f"{step:<{_STEP_WIDTH}}{said}")
        except OSError:
            self._console.quiet = True
        if self._status:
            self._status.update(Text(f"after {step}: {said}"))


def print_scores(outcome: Outcome) -> None:
    """The dataset scores, one row per dataset and run, the best at the deepest cutoff first; the formula below."""
    console = _console(sys.stdout)
    rows = outcome.dataset_scores
    cutoffs = list(dict.fromkeys(row["cutoff"] for row in rows))
    by_run: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        by_run.setdefault((row["dataset"], row["run"]), []).append(row)
    several = len({dataset for dataset, _ in by_run}) > 1
    table = _score_table([*(["dataset"] if several else []), "run"], cutoffs)
    for (dataset, run), of_run in sorted(by_run.items(), key=lambda entry: _best_first(entry[0], entry[1][-1])):
        table.add_row(*([_name(dataset)] if several else []), _name(run), *_cells(of_run))
    console.print(table)
    console.print(f"\n{printable(outcome.convention)}: {printable(outcome.formula)}", soft_wrap=True)


def print_check(found: Mapping[str, Any]) -> None:
    """The counts of a check and the judged rate of each run, one per line."""
    console = _console(sys.stdout)
    for name, count in found["counts"].items():
        console.print(f"{count:>12,}  {name.replace('_', ' ')}", soft_wrap=True)
    for row in found["judged_rate"]:
        rate = f"judged rate@{row['cutoff'] or 'all'} of run={row['run']} dataset={row['dataset']}"
        console.print(f"{_rounded(row['judged_rate']):>12}  {printable(rate)}", soft_wrap=True)


def print_comparison(compared: list[Compared]) -> None:
    """A table per dataset and run with a row per preset: its means and counts. Below, why presets refuse the data."""
    console = _console(sys.stdout)
    names = list(dict.fromkeys((row["dataset"], row["run"]) for entry in compared for row in entry.rows))
    for dataset, run in names:
        cutoffs = list(dict.fromkeys(row["cutoff"] for entry in compared for row in entry.rows))
        table = _score_table([f"{dataset} / {run}"], cutoffs)
        for entry in compared:
            rows = [row for row in entry.rows if (row["dataset"], row["run"]) == (dataset, run)]
            table.add_row(entry.preset, *(_cells(rows) if rows else ["-"] * len(cutoffs)))
        console.print(table)
        console.print()
    for entry in compared:
        if entry.refused:
            console.print(f"{entry.preset} refuses: {message(entry.refused)}", soft_wrap=True)


def print_nights(nights: list[CommittedNight]) -> None:
    """The committed nights, one per row, by dataset and date."""
    names = ["dataset", "date", "runs", "queries", "convention", "evaluation_id", "committed", "version"]
    table = Table(*names, box=None, pad_edge=False, header_style="bold")
    for night in nights:
        record = night.record
        counts, versions = record.get("counts", {}), record.get("versions", {})
        cells = [night.dataset, night.evaluated_on, counts.get("runs", "-"), counts.get("judged_queries", "-")]
        cells += [record.get(name, "-") for name in ("convention", "evaluation_id", "committed_at")]
        table.add_row(*(_name(str(cell)) for cell in [*cells, versions.get("ndcg_spark", "-")]))
    _console(sys.stdout).print(table)


def _score_table(names: list[str], cutoffs: list[int | None]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(_name(name), no_wrap=True)
    measured = [f"ndcg@{cutoff or 'all'}" for cutoff in cutoffs]
    for name in [*measured, "queries", "missing", "no relevant", "unjudged", "judged rate"]:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cells(rows: list[dict[str, Any]]) -> list[str]:
    """The scores of one run at every cutoff, and the counts of the last; only the judged rate differs by cutoff."""
    last = rows[-1]
    counts = [last[name] for name in ("queries", "missing_queries", "no_relevant_queries", "unjudged_queries")]
    return [
        *(_rounded(row["ndcg"]) for row in rows),
        *(f"{count:,}" for count in counts),
        _rounded(last["judged_rate"]),
    ]


def _name(text: str) -> Text:
    return Text(printable(text))


def _console(stream: TextIO) -> Console:
    return _Console(
        file=stream, highlight=False, markup=False, emoji=False, width=None if stream.isatty() else _UNLIMITED
    )


def _best_first(name: tuple[str, str], row: dict[str, Any]) -> tuple[str, float, str]:
    dataset, run = name
    return dataset, -row["ndcg"] if row["ndcg"] is not None else float("inf"), run


def _rounded(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
