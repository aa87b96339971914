"""The scores of an evaluation as two lazy tables that a terminal and a notebook can show."""

import dataclasses
import sys

from pyspark.sql import DataFrame

from ndcg_spark.convention.measures import NDCG_ONLY, MeasureSet
from ndcg_spark.pandas_tables import first_rows, with_html
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES, measure_first
from ndcg_spark.tables.scores import score_table, slice_table
from ndcg_spark.tables.sorting import without_slices
from ndcg_spark.tables.table import TextTable
from ndcg_spark.tables.writers import html, text

#: At most this many runs are shown.
_MOST_ROWS = 50


@dataclasses.dataclass(frozen=True)
class Scores:
    """The two tables of an evaluation, lazy: `schemas.QUERY_SCORES` and `schemas.DATASET_SCORES`."""

    query_scores: DataFrame
    dataset_scores: DataFrame
    #: The measures that are shown, with their cutoffs; NDCG at every cutoff if there are none.
    measure_set: MeasureSet = NDCG_ONLY

    def show(self) -> None:
        """Print the dataset scores, a row per run, the best by the first measure first. Runs a Spark job."""
        sys.stdout.write("\n\n".join("\n".join(text(table)) for table in self._tables()) + "\n")

    def _repr_html_(self) -> str:
        """The dataset scores as notebooks show them. Runs a Spark job."""
        return "".join(map(html, self._tables()))

    def _tables(self) -> list[TextTable]:
        rows, of_slices = without_slices(row.asDict() for row in self.dataset_scores.collect())
        notes = [f"{row['convention']}: {row['formula']}" for row in rows[:1]]
        tables = [score_table(rows, None, notes, self.measure_set)]
        tables += [slice_table(of_slices, None, self.measure_set)] if of_slices else []
        return [table.first(_MOST_ROWS, "rows in dataset_scores") for table in tables]


def scores_of(query_scores: DataFrame, dataset_scores: DataFrame, measure_set: MeasureSet) -> Scores:
    """Both tables of an evaluation; a notebook shows the first rows of either table."""
    of_means = ("attribute", "value", "dataset", "run", "cutoff")
    queries, means = (measure_first(schema, measure_set.columns) for schema in (QUERY_SCORES, DATASET_SCORES))
    return Scores(
        with_html(query_scores, lambda table: first_rows(table, ("dataset", "run", "query_id", "cutoff"), queries)),
        with_html(dataset_scores, lambda table: first_rows(table, of_means, means)),
        measure_set,
    )
