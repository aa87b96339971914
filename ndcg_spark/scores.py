"""What the library returns for a terminal, a notebook, pandas and Arrow: two lazy tables of scores, or a view."""

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.convention.measures import NDCG_ONLY, MeasureSet
from ndcg_spark.pandas_tables import to_pandas
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES, measure_first
from ndcg_spark.tables.scores import score_table, slice_table
from ndcg_spark.tables.sorting import without_slices
from ndcg_spark.tables.table import TextTable
from ndcg_spark.tables.writers import html, text

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

    from ndcg_spark.spark_tables import Table

#: At most this many runs are shown.
_MOST_ROWS = 50


@dataclasses.dataclass(frozen=True)
class Scores:
    """The two tables of an evaluation, lazy: `schemas.QUERY_SCORES` and `schemas.DATASET_SCORES`."""

    query_scores: "Table"
    dataset_scores: "Table"
    #: The measures that are shown, with their cutoffs; NDCG at every cutoff if there are none.
    measure_set: MeasureSet = NDCG_ONLY

    def show(self) -> None:
        """Print the dataset scores, one row per run, from the best by the first measure down. Runs a Spark job."""
        sys.stdout.write("\n\n".join("\n".join(text(table)) for table in self._tables()) + "\n")

    def to_pandas(self) -> "pd.DataFrame":
        """The dataset scores as a pandas DataFrame, in no order. Runs a Spark job."""
        return self.dataset_scores.to_pandas()

    def to_arrow(self) -> pa.Table:
        """The dataset scores as a pyarrow Table, in no order. Runs a Spark job."""
        return self.dataset_scores.to_arrow()

    def _repr_html_(self) -> str:
        """The dataset scores as notebooks show them. Runs a Spark job."""
        return "".join(map(html, self._tables()))

    def _tables(self) -> list[TextTable]:
        rows, of_slices = without_slices(row.asDict() for row in self.dataset_scores.collect())
        notes = [f"{row['convention']}: {row['formula']}" for row in rows[:1]]
        tables = [score_table(rows, None, notes, self.measure_set)]
        tables += [slice_table(of_slices, None, self.measure_set)] if of_slices else []
        return [table.first(_MOST_ROWS, "rows in dataset_scores") for table in tables]


@dataclasses.dataclass(frozen=True, repr=False)
class View:
    """What a command shows: tables in a notebook and as text, its rows in pandas and Arrow."""

    tables: Callable[[], Sequence[TextTable]]
    #: What the command prints with --format json.
    json: Callable[[], Any]
    #: What it prints with --format csv.
    columns: Sequence[str] = ()
    rows: Callable[[], Iterable[Mapping[str, Any]]] = tuple
    #: HTML above the tables.
    page: Callable[[], str] = str

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas DataFrame."""
        return to_pandas(self.to_arrow())

    def to_arrow(self) -> pa.Table:
        """The rows as a pyarrow Table."""
        rows = list(self.rows())
        table = pa.table({name: pa.array([row.get(name) for row in rows]) for name in self.columns})
        # The cutoff is a number, even where every cutoff is the whole ranking.
        kinds = (f.with_type(pa.int32()) if f.name == "cutoff" and f.type == pa.null() else f for f in table.schema)
        return table.cast(pa.schema(kinds))

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        return self.page() + "".join(map(html, self.tables()))

    def __repr__(self) -> str:
        """As it is printed."""
        return "\n\n".join("\n".join(text(table)) for table in self.tables())


def scores_of(query_scores: "DataFrame", dataset_scores: "DataFrame", measure_set: MeasureSet) -> Scores:
    """Both tables of an evaluation; a notebook shows the first rows of either table."""
    from ndcg_spark.spark_tables import first_rows, with_html

    queries, means = (measure_first(schema, measure_set.columns) for schema in (QUERY_SCORES, DATASET_SCORES))
    return Scores(
        with_html(query_scores, functools.partial(first_rows, columns=queries)),
        with_html(dataset_scores, functools.partial(first_rows, columns=means)),
        measure_set,
    )
