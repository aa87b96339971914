"""Both tables after the check: the good rows, the rejected rows, and counts of both."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.contract import scan
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts, RunCounts
from ndcg_spark.inputs.run_batches import WHOLE, Batch
from ndcg_spark.schemas import query_key

#: Leaves out results that are proved not to matter.
Cut = Callable[[DataFrame], DataFrame]


@dataclasses.dataclass(frozen=True)
class CheckedTables:
    """Both tables without the rows that break a rule, and their counts."""

    #: Good rows only, in the schemas JUDGMENTS and RESULTS.
    judgments: DataFrame
    results: DataFrame
    #: Of all rows, good and bad.
    judgment_counts: JudgmentCounts
    result_counts: ResultCounts
    #: The rejected rows, in tables as `rows.rejected_rows` returns them.
    rejected: tuple[DataFrame, ...] = ()
    #: Leaves out results by their ranks (`scoring.pruning`) or by the floors of their lists (`scoring.floors`); None if
    #: every result may matter.
    cut: Cut | None = None
    #: The runs that are scored together.
    batches: tuple[Batch, ...] = WHOLE

    @property
    def pruned_results(self) -> DataFrame:
        """The results without those that are proved to lie below the deepest cutoff."""
        return self.results if self.cut is None else self.cut(self.results)

    @property
    def published_judgments(self) -> DataFrame:
        """The judgments of datasets that have results."""
        named = [name for name in self.datasets if name is not None]
        return self.judgments.where(F.col("dataset").isin(named)) if named else self.judgments

    @property
    def judged_queries(self) -> DataFrame:
        """One row per judged query: its key."""
        return self.judgments.select(*query_key(self.judgments.columns)).distinct()

    @property
    def unjudged_rows(self) -> int:
        """How many good results are of unjudged queries."""
        return sum(run.unjudged_rows for run in self.result_counts.runs)

    @property
    def both_counts(self) -> tuple[JudgmentCounts | ResultCounts, ...]:
        """The counts of the judgments, then of the results."""
        return self.judgment_counts, self.result_counts

    @property
    def breaches(self) -> list[Breach]:
        """The breaches of the judgments, then those of the results."""
        return [breach for counts in self.both_counts for breach in counts.breaches]

    @property
    def datasets(self) -> list[str | None]:
        """The datasets of the runs, sorted; only None if the tables name no datasets."""
        return sorted({run.dataset for run in self.result_counts.runs}, key=lambda name: name or "")

    @property
    def datasets_without_results(self) -> list[str]:
        """The datasets that are judged but have no results, sorted."""
        return sorted(name for name in {*self.judgment_counts.queries}.difference(self.datasets) if name is not None)

    @property
    def parts(self) -> list[Self]:
        """The tables once for each batch, with its results and the counts of its runs only."""
        return [self] if self.batches == WHOLE else [self._of(batch) for batch in self.batches]

    def _of(self, batch: Batch) -> Self:
        runs = [run for run in self.result_counts.runs if batch.has(run.run)]
        counts = dataclasses.replace(self.result_counts, rows=sum(run.rows for run in runs), runs=runs)
        return dataclasses.replace(self, results=batch.of(self.results), result_counts=counts, batches=WHOLE)

    def with_runs(self, runs: Sequence[RunCounts]) -> Self:
        """The same tables with new counts of the runs; a run that has no rows left stays, and lacks all queries."""
        counts = self.result_counts
        return dataclasses.replace(
            self, result_counts=dataclasses.replace(counts, runs=scan.of_the_same_runs(counts.runs, runs))
        )

    def counts(self, cutoffs: int) -> dict[str, int]:
        """How many rows and queries were read, and how many scores there must be, by name.

        A run has a score for every judged query of its dataset, at each of the cutoffs.
        """
        judged, runs = self.judgment_counts, self.result_counts.runs
        pairs = sum(judged.queries.get(run.dataset, 0) for run in runs)
        return {
            "judgments": judged.rows,
            "judged_queries": sum(judged.queries.values()),
            "results": self.result_counts.rows,
            "runs": len(runs),
            "unjudged_queries": sum(run.unjudged_queries for run in runs),
            "results_of_unjudged_queries": sum(run.unjudged_rows for run in runs),
            "excluded_results": self.result_counts.excluded,
            "missing_queries": pairs - sum(run.judged_queries for run in runs),
            "datasets_without_results": len(self.datasets_without_results),
            "rejected_judgments": sum(breach.rows for breach in judged.breaches),
            "rejected_results": sum(breach.rows for breach in self.result_counts.breaches),
            "query_scores": pairs * cutoffs,
            "dataset_scores": len(runs) * cutoffs,
        }
