"""Two tables that were held to the rules: what is good of them, what was set aside, and what both come to."""

import dataclasses

from pyspark.sql import DataFrame

from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts
from ndcg_spark.scoring.pruning import Pruning


@dataclasses.dataclass(frozen=True)
class Checked:
    """Two tables without the rows that breach the contract, and what was counted of them."""

    #: In their schemas.
    judgments: DataFrame
    results: DataFrame
    judged: JudgmentCounts
    returned: ResultCounts
    #: What was set aside, a table for each reason to do so; as `rejecting.rejected` makes it.
    rejected: tuple[DataFrame, ...] = ()
    #: Which results cannot matter, if their ranks tell.
    pruning: Pruning | None = None

    @property
    def listed(self) -> DataFrame:
        """The results that can be among the best of their list."""
        whole = self.returned.whole_queries
        return self.results if self.pruning is None or whole is None else self.pruning.kept(self.results, whole)

    @property
    def both(self) -> tuple[JudgmentCounts | ResultCounts, ...]:
        """The counts of the judgments, then of the results."""
        return self.judged, self.returned

    @property
    def breaches(self) -> list[Breach]:
        """Of the judgments, then of the results."""
        return [breach for counts in self.both for breach in counts.breaches]

    @property
    def datasets(self) -> list[str | None]:
        """The datasets of the runs, sorted; None alone where the tables name none."""
        return sorted({run.dataset for run in self.returned.runs}, key=lambda name: name or "")

    def counts(self, cutoffs: int) -> dict[str, int]:
        """What was read and what must come out: every run of a dataset with every query that was judged in it."""
        judged, runs = self.judged, self.returned.runs
        pairs = sum(judged.queries.get(run.dataset, 0) for run in runs)
        return {
            "judgments": judged.rows,
            "judged_queries": sum(judged.queries.values()),
            "results": self.returned.rows,
            "runs": len(runs),
            "unjudged_queries": sum(run.unjudged_queries for run in runs),
            "results_of_unjudged_queries": sum(run.unjudged_rows for run in runs),
            "missing_queries": pairs - sum(run.judged_queries for run in runs),
            "datasets_without_results": len(set(judged.queries) - set(self.datasets)),
            "rejected_judgments": sum(breach.rows for breach in judged.breaches),
            "rejected_results": sum(breach.rows for breach in self.returned.breaches),
            "query_scores": pairs * cutoffs,
            "dataset_scores": len(runs) * cutoffs,
        }
