"""A report of a published night: one page of HTML that needs no network, and its plots in a folder."""

import base64
import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.interrupts import NOTHING_PUBLISHED, set_outcome
from ndcg_spark.job.consumers import InlineComparison
from ndcg_spark.job.progress import ReportStep
from ndcg_spark.job.record import Outcome
from ndcg_spark.nights.records import committed, read_again_if_replaced
from ndcg_spark.nights.selection import missing_datasets, select_nights
from ndcg_spark.report import night_tables
from ndcg_spark.report.baseline import Baseline, compare_with_baseline, gate_comparison
from ndcg_spark.report.charts import Chart, drawing, picture, require_extra
from ndcg_spark.report.explanations import explanation_tables
from ndcg_spark.report.figures import figures
from ndcg_spark.report.files import refuse_unwritable, write_file
from ndcg_spark.report.night_data import NightData, night_data
from ndcg_spark.tables.table import rounded, signed
from ndcg_spark.tables.writers import rendered


def write_report(
    output: str,
    html: Path,
    date: str | None = None,
    dataset: str | None = None,
    run: str | None = None,
    baseline: Baseline | None = None,
    png: Path | None = None,
    report_step: ReportStep = lambda *_: None,
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

    def read() -> tuple[list[NightData], str | None]:
        known = committed(output)
        nights = select_nights(known, output, date, dataset)
        found = compare_with_baseline(output, nights, known, baseline, report_step) if baseline else {}
        # A comparison of several datasets says itself which have no night of the date.
        absent = None if baseline and len(nights) > 1 else missing_datasets(known, nights[0].evaluated_on, dataset)
        comparisons = [found[night.dataset] if baseline else gate_comparison(night, known) for night in nights]
        return [
            night_data(output, *each) for each in zip(nights, [run] * len(nights), comparisons, strict=True)
        ], absent

    nights, absent = read_again_if_replaced(read)
    if absent:
        report_step("note", absent)
    pictures = [] if png is None else _pictures(png, nights)
    write_file("report", html, _page(nights, absent).encode())
    for path, content in pictures:
        write_file("report", path, content)
    return [html, *(path for path, _ in pictures)]


@contextlib.contextmanager
def evaluated_with_report(
    config: EvaluationConfig,
    html: Path,
    report_step: ReportStep,
    evaluate: Callable[[EvaluationConfig, ReportStep], Outcome],
    comparison: InlineComparison | None = None,
) -> Iterator[tuple[Outcome, Callable[[], None]]]:
    """The outcome of evaluating with this function, and what writes the report, with what the `comparison` has found.

    Without an output, the night is kept in a temporary folder until the block ends, with its documents. Raises as
    `write_report`, by then too; what is not installed, and a file that cannot be written, are refused before anything
    is evaluated.
    """
    require_extra()
    refuse_unwritable("report", html)

    def write(folder: str) -> None:
        baseline = Baseline(comparison.baseline, found=comparison.result) if comparison else None
        write_report(folder, html, config.date.isoformat(), baseline=baseline)
        report_step("report", str(html))

    if config.output:
        outcome = evaluate(config, report_step)
        yield outcome, lambda: write(str(outcome.output))
        return

    def quiet(step: str, sentence: str) -> None:
        # Nobody needs to know what is written to a folder that is removed.
        if step != "wrote":
            report_step(step, sentence)

    scratch = Scratch()
    try:
        folder = str(scratch.folder())
        outcome = evaluate(config.model_copy(update={"output": folder, "documents": "top"}), quiet)
        set_outcome(NOTHING_PUBLISHED)
        yield dataclasses.replace(outcome, output=None), lambda: write(folder)
    finally:
        scratch.remove()


def _page(nights: Sequence[NightData], note: str | None = None) -> str:
    """The report as one page, with a note below its title."""
    from markupsafe import Markup

    def drawn(chart: Chart, title: str) -> Markup:
        return Markup(drawing(chart, title))  # noqa: S704  # our own, every name in it escaped

    script = resources.files("ndcg_spark.report").joinpath("page.js").read_text(encoding="utf-8")
    datasets = ", ".join(dict.fromkeys(data.night.dataset for data in nights))
    return rendered(
        "report/page.html.j2",
        title=f"NDCG of {datasets}, {nights[0].night.evaluated_on}",
        note=note,
        nights=nights,
        # Our own, and named by its digest, so that a page runs nothing else.
        script=Markup(script),  # noqa: S704
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        drawing=drawn,
        explanation_tables=explanation_tables,
        figures=figures,
        rounded=rounded,
        signed=signed,
        tables=night_tables,
    )


def _pictures(folder: Path, nights: Sequence[NightData]) -> list[tuple[Path, bytes]]:
    return [
        (folder / f"{figure.name}{number or ''}.png", picture(figure.chart, "png"))
        for number, data in enumerate(nights)
        for figure in figures(data)
    ]
