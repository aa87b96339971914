"""A report of a published night is written to a file, and its plots to a folder."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.interrupts import NOTHING_PUBLISHED, stand
from ndcg_spark.job.inline_comparison import InlineComparison
from ndcg_spark.job.outcome import Outcome, Tell
from ndcg_spark.nights.choosing import chosen, left_out
from ndcg_spark.nights.records import committed, read_again_if_replaced
from ndcg_spark.report.against import Baseline, Held, compared, of_gate
from ndcg_spark.report.charts import picture, require_extra
from ndcg_spark.report.figures import figures
from ndcg_spark.report.files import refuse_unwritable, write_file
from ndcg_spark.report.night_data import NightData, night_data
from ndcg_spark.report.page import page


def write(
    output: str,
    html: Path,
    date: str | None = None,
    dataset: str | None = None,
    run: str | None = None,
    baseline: Baseline | None = None,
    png: Path | None = None,
    tell: Tell = lambda *_: None,
) -> list[Path]:
    """Write the report of a night, the newest if no date is named, and return the files that were written.

    Without a baseline, the night is shown beside what its gate has compared it with, if it had one.

    Raises
    ------
    ConfigurationError
        There is no such night, dataset, run or baseline, or the extra `report` is not installed.
    StorageError
        The output cannot be read, a file cannot be written, or there is no such night to compare with.
    """
    require_extra()
    refuse_unwritable("html", html)
    if png is not None:
        refuse_unwritable("png", png / "runs.png")
    nights, absent = read_again_if_replaced(lambda: _read(output, date, dataset, run, baseline, tell))
    if absent:
        tell("note", absent)
    pictures = [] if png is None else _pictures(png, nights)
    write_file("report", html, page(nights, absent).encode())
    for path, content in pictures:
        write_file("report", path, content)
    return [html, *(path for path, _ in pictures)]


def _read(
    output: str, date: str | None, dataset: str | None, run: str | None, baseline: Baseline | None, tell: Tell
) -> tuple[list[NightData], str | None]:
    """What the report shows of each night, and a sentence about datasets that have no night of the date."""
    known = committed(output)
    of_date = chosen(known, output, date, dataset)
    held: dict[str, Held] = {} if baseline is None else compared(output, of_date, known, baseline, tell)
    nights = [
        night_data(output, night, run, held[night.dataset] if baseline else of_gate(output, night, known))
        for night in of_date
    ]
    # A comparison of several datasets says so itself.
    return nights, None if baseline and len(of_date) > 1 else left_out(known, of_date[0].evaluated_on, dataset)


@contextlib.contextmanager
def reported(
    config: EvaluationConfig,
    html: Path,
    tell: Tell,
    evaluate: Callable[[EvaluationConfig, Tell], Outcome],
    look: InlineComparison | None = None,
) -> Iterator[tuple[Outcome, Callable[[], None]]]:
    """The outcome of evaluating with this function, and what writes the report, beside what the `look` has found.

    Without an output, the night is kept in a temporary folder until the block ends, with its documents. Raises as
    `write`, by then too; what is not installed, and a file that cannot be written, are told before anything is
    evaluated.
    """
    require_extra()
    refuse_unwritable("report", html)

    def write_it(folder: str) -> None:
        baseline = Baseline(look.baseline, found=look.found) if look else None
        write(folder, html, config.date.isoformat(), baseline=baseline)
        tell("report", str(html))

    if config.output:
        outcome = evaluate(config, tell)
        yield outcome, lambda: write_it(str(outcome.output))
        return
    scratch = Scratch()
    try:
        folder = str(scratch.folder())
        # What is written to a folder that goes is nothing to tell.
        quiet: Tell = lambda step, sentence: None if step == "wrote" else tell(step, sentence)  # noqa: E731
        outcome = evaluate(config.model_copy(update={"output": folder, "documents": "top"}), quiet)
        stand(NOTHING_PUBLISHED)
        yield dataclasses.replace(outcome, output=None), lambda: write_it(folder)
    finally:
        scratch.remove()


def _pictures(folder: Path, nights: Sequence[NightData]) -> list[tuple[Path, bytes]]:
    return [
        (folder / f"{figure.name}{number or ''}.png", picture(figure.chart, "png"))
        for number, data in enumerate(nights)
        for figure in figures(data)
    ]
