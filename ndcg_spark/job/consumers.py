"""What is done with query scores besides publishing them: they are printed, or compared with one of the runs."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, MeasureSet
from ndcg_spark.tables.sorting import DECIMALS, Order
from ndcg_spark.text import unknown_name

if TYPE_CHECKING:
    from ndcg_spark.comparison.compare import Comparison

_KEY = ("dataset", "run", "query_id", "cutoff")
#: The columns of QUERY_SCORES that a comparison needs besides the measures.
_COMPARED = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "evaluation_id")


@dataclasses.dataclass(frozen=True)
class QueryScores:
    """Streams the rows, sorted by the engine, as there may be more than fit into memory."""

    #: Called once, with rows of QUERY_SCORES as the engine yields them.
    write: Callable[[Iterable[Mapping[str, Any]]], None]
    #: By default by dataset, run, query and cutoff.
    order: Order | None = None

    def consume(self, scores: DataFrame, attributes: DataFrame | None = None) -> None:
        """Sort the scores and write them."""
        rows = scores.orderBy(*self._sort_keys())
        self.write(row.asDict() for row in rows.toLocalIterator())

    def _sort_keys(self) -> list[Column]:
        key, order = [F.asc_nulls_last(name) for name in _KEY], self.order
        if order is None:
            return key
        value = F.col(order.column) if order.is_of_text else F.round(order.column, DECIMALS)
        directed = value.desc_nulls_last() if order.descending else value.asc_nulls_last()
        if order.cutoff is None:
            return [directed, *key]
        # Rows at the named cutoff come first.
        cutoff = F.coalesce(F.col("cutoff").cast("string"), F.lit("all"))
        return [F.when(cutoff == order.cutoff, 0).otherwise(1), directed, *key]


@dataclasses.dataclass
class InlineComparison:
    """Compares every run with the baseline by the requested measures, else by NDCG, as `evaluate --baseline` shows."""

    baseline: str
    measure_set: MeasureSet = NDCG_ONLY
    result: "Comparison | None" = None

    def check_runs(self, runs: list[str]) -> None:
        """ConfigurationError if the baseline is not one of the runs; called before anything is scored."""
        if self.baseline not in runs:
            raise unknown_name("baseline", "run", self.baseline, runs)

    def consume(self, scores: DataFrame, attributes: DataFrame | None = None) -> None:
        """Compare the scores, also in slices, and store the comparison in `result`."""
        # Imported here, because an evaluation without a baseline need not wait for statistics.
        from ndcg_spark.comparison.api import sources
        from ndcg_spark.comparison.compare import compare_sources
        from ndcg_spark.comparison.differences import ComparisonOptions
        from ndcg_spark.comparison.slices import Attributes

        # The columns that are compared, each at the cutoffs that were requested for it.
        names = dict.fromkeys(name for name, _ in self.measure_set.pairs)
        measures: dict[str, list[Cutoff] | None] = {
            MEASURES[name].column: self.measure_set.cutoffs_of(name) for name in names
        } or {"ndcg": None}
        rows = scores.select(*_COMPARED, *measures).toArrow()
        sliced = None if attributes is None else Attributes(attributes.toArrow())
        own, options = sources(rows, list(measures), "query_scores"), ComparisonOptions(measures)
        self.result = compare_sources(own, None, options, baselines=[self.baseline], attributes=sliced)


#: Gets the query scores of an evaluation, once none can be refused any more.
Consumer = QueryScores | InlineComparison
