"""The runs of an evaluation compared with one of them, as `evaluate --baseline` shows them."""

import dataclasses

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.comparison.compare import Comparison, compare_tables
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, MeasureSet
from ndcg_spark.nights.choosing import unknown_run
from ndcg_spark.nights.read import read_evaluation

#: The columns of QUERY_SCORES that are needed beside the measures.
_COLUMNS = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "status", "evaluation_id")


@dataclasses.dataclass
class InlineComparison:
    """Compares every run with the baseline, once the scores are there: by the requested measures, else by NDCG."""

    baseline: str
    measure_set: MeasureSet = NDCG_ONLY
    found: Comparison | None = None

    def expect(self, runs: list[str]) -> None:
        """ConfigurationError, before anything is scored, if the baseline is not one of the runs."""
        if self.baseline not in runs:
            raise unknown_run("baseline", self.baseline, runs)

    def hand_over(self, scores: DataFrame) -> None:
        """Compare unpublished scores. They come to this process first, or they would be computed three times."""
        rows = scores.select(*_COLUMNS, *self._measures).toArrow()
        self._compare(scores.sparkSession.createDataFrame(rows))

    def hand_over_night(self, output: str, evaluation_id: str, session: SparkSession) -> None:
        """Compare the scores of an evaluation that was published."""
        self._compare(read_evaluation(output, evaluation_id, session))

    def _compare(self, scores: DataFrame) -> None:
        self.found = compare_tables(scores, None, self.baseline, ComparisonOptions(self._measures))

    @property
    def _measures(self) -> dict[str, list[Cutoff] | None]:
        """The columns that are compared, each at the cutoffs that were requested for it."""
        names = dict.fromkeys(name for name, _ in self.measure_set.pairs)
        return {MEASURES[name].column: self.measure_set.cutoffs_of(name) for name in names} or {"ndcg": None}
