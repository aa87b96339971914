"""Comparisons and trends as a notebook shows them: a table in the terminal, HTML and a chart in a cell."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.comparison.trend_data import TrendRequest, lines
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.charts import drawing, trend_chart
from ndcg_spark.report.trends import trend_tables
from ndcg_spark.tables.comparisons import comparison_table
from ndcg_spark.tables.table import TextTable
from ndcg_spark.tables.writers import html, text


@dataclasses.dataclass(frozen=True)
class NotebookView:
    """What a notebook shows as HTML, and `print` as text."""

    tables: Sequence[TextTable]
    #: SVG.
    chart: str = ""

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return self.chart + "".join(map(html, self.tables))

    def __str__(self) -> str:
        """As it is printed."""
        return "\n\n".join("\n".join(text(table)) for table in self.tables)


def show_comparison(
    comparisons: Any, *, correction: str = ComparisonOptions.correction, alpha: float = ComparisonOptions.alpha
) -> NotebookView:
    """A table of `compare`, or the `comparisons` of nights, for people. Runs a Spark job.

    Parameters
    ----------
    comparisons : DataFrame
        Of Spark, in the schema COMPARISONS.
    correction, alpha : str, float
        What `compare` was given, for the notes below the table.
    """
    rows = [row.asDict() for row in comparisons.collect()]
    # Those of all queries first, as `compare` has them; tables that were kept are in no order.
    order = sorted(rows, key=lambda row: (row["dataset"], str(row["attribute"] or ""), str(row["value"] or "")))
    return NotebookView([comparison_table(order, correction, alpha)])


def show_trend(
    output: str,
    dataset: str | None = None,
    run: str | None = None,
    measures: str | None = None,
    last: int = 60,
) -> NotebookView:
    """The nights of an output as lines, with unusual nights; a chart where the extra `report` is installed.

    Parameters
    ----------
    output : str
        The folder that keeps the scores.
    dataset, run : str, optional
        Only these.
    measures : str, optional
        Such as ``ndcg@10,judged_rate``; by default the first that the newest night was asked for.
    last : int
        Number of nights to show.

    Raises
    ------
    ConfigurationError
        There is no such dataset, run, measure or night.
    StorageError
        The output cannot be read.
    """
    found = lines(output, TrendRequest(dataset, run, (), measures, last))
    try:
        chart = drawing(trend_chart(found), "trend")
    except ConfigurationError:
        # The extra is not installed, and the table says the same.
        chart = ""
    return NotebookView(trend_tables(found), chart)
