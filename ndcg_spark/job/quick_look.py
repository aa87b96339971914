"""The runs of an evaluation beside one of them, as `evaluate --baseline` shows them."""

import dataclasses

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.comparison.comparing import Compared, compare_tables
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.committed import read_scores
from ndcg_spark.plain import did_you_mean

#: What of QUERY_SCORES is compared.
_COLUMNS = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "status", "evaluation_id", "ndcg")


@dataclasses.dataclass
class QuickLook:
    """Compares the NDCG of every run with that of the baseline, once the scores are there."""

    baseline: str
    found: Compared | None = None

    def expect(self, runs: list[str]) -> None:
        """ConfigurationError, before anything is scored, if the baseline is none of the runs."""
        if self.baseline not in runs:
            near = did_you_mean(self.baseline, runs)
            raise ConfigurationError(
                f"baseline: no run is called {self.baseline!r}{near}; there are {', '.join(sorted(runs)[:10])}"
            )

    def hand_over(self, scores: DataFrame) -> None:
        """Compare scores that are not kept. They come to this process first, or they would be computed three times."""
        rows = scores.select(*_COLUMNS).toArrow()
        self._compare(scores.sparkSession.createDataFrame(rows))

    def hand_over_night(self, output: str, evaluation_id: str, session: SparkSession) -> None:
        """Compare the scores of an evaluation that was published."""
        self._compare(read_scores(output, "query_scores", session).where(F.col("evaluation_id") == evaluation_id))

    def _compare(self, scores: DataFrame) -> None:
        self.found = compare_tables(scores, None, self.baseline)
