"""A report of a published night: one page of HTML that needs no network, and its plots in a folder."""

import base64
import contextlib
import dataclasses
import hashlib
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.nights.log import committed, read_again_if_replaced
from ndcg_spark.nights.select import missing_datasets, select_nights
from ndcg_spark.report import figures, night_tables, summary
from ndcg_spark.report.baseline import Baseline, comparison_of
from ndcg_spark.report.charts import Chart, drawing, require_extra
from ndcg_spark.report.explanations import explanation_tables
from ndcg_spark.report.files import refuse_unwritable, write_file
from ndcg_spark.report.night_data import NightData, headline, night_data
from ndcg_spark.report.queries import MOST_RANKS, MOST_ROWS
from ndcg_spark.schemas import DATASET_SCORES
from ndcg_spark.steps import hidden, report_step
from ndcg_spark.tables.table import TextTable, rounded, signed
from ndcg_spark.tables.writers import rendered
from ndcg_spark.text import printable
from ndcg_spark.views import View

if TYPE_CHECKING:
    from ndcg_spark.job.consumers import InlineComparison
    from ndcg_spark.job.outcome import EvaluationOutcome

_ANY_BASELINE = Baseline()
_LONGEST_ANCHOR = 200


def write_report(
    output: str,
    html: Path | None,
    date: str | None = None,
    dataset: str | None = None,
    run: str | None = None,
    measure: str | None = None,
    baseline: Baseline = _ANY_BASELINE,
) -> View:
    """The report of a night, the newest if no date is named; it is written to the file `html`, if that is given.

    Without a named baseline, the night is shown beside what its gate has compared it with, if it had one, else beside
    the newest earlier night with the same judgments and convention.

    Raises
    ------
    ConfigurationError
        There is no such night, dataset, run, measure or baseline, or the extra `report` is not installed.
    StorageError
        The output cannot be read, the file cannot be written, or there is no such night to compare with.
    """
    require_extra()
    if html is not None:
        refuse_unwritable("html", html)

    def read() -> tuple[list[NightData], str | None]:
        known = committed(output)
        nights = select_nights(known, output, date, dataset)
        found = []
        for night in nights:
            place = headline(night, measure)
            comparison = comparison_of(output, night, known, baseline, place)
            found.append(night_data(output, night, place, run, comparison))
        return found, missing_datasets(known, nights[0].evaluated_on, dataset)

    nights, absent = read_again_if_replaced(read)
    if absent:
        report_step("note", absent)
    page = _page(nights, absent)
    if html is not None:
        write_file("report", html, page.encode())
    return _view(nights, page)


def _view(nights: Sequence[NightData], page: str) -> View:
    """The page for a notebook; the answer and the table of runs for people; rows of DATASET_SCORES."""

    def frame() -> str:
        from markupsafe import escape

        # A document of its own, as its style and its script are for a whole page.
        return f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" style="width: 100%; height: 80vh"></iframe>'

    def tables() -> list[TextTable]:
        return [dataclasses.replace(night_tables.runs_table(data), title=summary.answer(data)) for data in nights]

    rows = [row for data in nights for of_run in data.runs for row in of_run]
    return View(tables, lambda: rows, DATASET_SCORES.names, lambda: rows, frame)


@contextlib.contextmanager
def evaluated_with_report(
    config: EvaluationConfig,
    html: Path,
    evaluate: "Callable[[EvaluationConfig], EvaluationOutcome]",
    comparison: "InlineComparison | None" = None,
) -> "Iterator[tuple[EvaluationOutcome, Callable[[], None]]]":
    """The outcome of evaluating with this function, and what writes the report, with what the `comparison` has found.

    Without an output, the night is kept in a temporary folder until the block ends, with its documents. Raises as
    `write_report`, by then too; what is not installed, and a file that cannot be written, are refused before anything
    is evaluated.
    """
    require_extra()
    refuse_unwritable("report", html)

    def write(folder: str) -> None:
        baseline = Baseline(engine=config.engine, remote=config.remote)
        if comparison:
            baseline = Baseline(comparison.baseline, found=comparison.result)
        with hidden():
            write_report(folder, html, config.date.isoformat(), baseline=baseline)
        report_step("report", str(html))

    if config.output:
        outcome = evaluate(config)
        yield outcome, lambda: write(str(outcome.output))
        return

    # Here, because an engine is needed only where there is something to evaluate.
    from ndcg_spark.engine.scratch import Scratch

    scratch = Scratch()
    try:
        folder = str(scratch.folder())
        # Nobody needs to know what is written to a folder that is removed.
        with hidden("wrote"):
            outcome = evaluate(config.model_copy(update={"output": folder, "documents": "all"}))
        yield dataclasses.replace(outcome, output=None), lambda: write(folder)
    finally:
        scratch.remove()


def _page(nights: Sequence[NightData], note: str | None = None) -> str:
    """The report as one page, with a note below its title."""
    from markupsafe import Markup

    def drawn(chart: Chart, title: str) -> Markup:
        return Markup(drawing(chart, title))  # noqa: S704  # our own, every name in it escaped

    script, style = (
        resources.files("ndcg_spark.report").joinpath(file).read_text(encoding="utf-8")
        for file in ("page.js", "page.css")
    )
    datasets = ", ".join(dict.fromkeys(data.night.dataset for data in nights))
    return rendered(
        "report/page.html.j2",
        title=f"{nights[0].place[0].upper()} of {datasets}, {nights[0].night.evaluated_on}",
        note=note,
        nights=nights,
        # Our own, and named by its digest, so that a page runs nothing else.
        script=Markup(script),  # noqa: S704
        style=Markup(style),  # noqa: S704
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        anchor=_anchor,
        drawing=drawn,
        explanation_tables=explanation_tables,
        figures=figures,
        most_ranks=MOST_RANKS,
        most_rows=MOST_ROWS,
        rounded=rounded,
        shown_queries=_shown_queries,
        signed=signed,
        summary=summary,
        tables=night_tables,
    )


def _shown_queries(data: NightData) -> set[str]:
    """The queries that are shown with their documents, as a table names them."""
    return {printable(each.query_id) for each in (*data.worst, *data.best)}


def _anchor(query: str, night: int) -> str:
    """The id of a query on the page, also in a link; `night` counts the nights of the page from 0."""
    name = urllib.parse.quote(printable(query), safe="")
    # An address has its limits.
    short = name if len(name) <= _LONGEST_ANCHOR else hashlib.sha256(query.encode()).hexdigest()
    return f"q{night or ''}-{short}"
