"""The job's guard: a scan of each table counts the rows that break a rule; `limits` refuses them.

Scoring (`lists`, `ideal`) detects duplicates, and `limits` counts them.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Self, TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits, scan
from ndcg_spark.contract.changes import Seen, see
from ndcg_spark.contract.scan import (
    EXCLUDED,
    Counts,
    JudgmentCounts,
    Rejection,
    ResultCounts,
    RunCounts,
)
from ndcg_spark.convention.convention import Convention
from ndcg_spark.engine.sessions import is_classic
from ndcg_spark.errors import about, fault_of
from ndcg_spark.inputs.batches import WHOLE, Batch
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.rules import RowTest
from ndcg_spark.schemas import (
    EXCLUDE,
    IN_PATHS,
    JUDGMENTS,
    LABEL,
    LINE,
    REJECTED_ROWS,
    RESULTS,
    query_key,
)
from ndcg_spark.scoring.lists import keep_judged_queries, mark_listed
from ndcg_spark.scoring.prepare import Checks, ListChecks, ListsToScore
from ndcg_spark.scoring.ranking import Ranker, by_window
from ndcg_spark.scoring.skipping import Floors, Pruning, plan_skipping

#: With this many results per judged query, most may belong to unjudged queries, which need no
#: floor.
_MANY_A_QUERY = 1_000
#: How many results are sampled to see whether most belong to judged queries.
_SAMPLE = 10_000
#: With more lists than this, the floors are not broadcast, on classic Spark and on Sail.
_MAX_BROADCAST_CLASSIC, _MAX_BROADCAST = 1_000_000, 500_000
#: If at most this fraction of the results belongs to unjudged queries, removing them is not worth
#: reading the judgments again.
_NOT_WORTH_A_SCAN = 0.1
_Counts = TypeVar("_Counts", JudgmentCounts, ResultCounts)


@dataclasses.dataclass(frozen=True)
class CheckedTables:
    judgments: DataFrame
    results: DataFrame
    judgment_counts: JudgmentCounts
    result_counts: ResultCounts
    #: The rejected rows as text, in one table per input that has any.
    rejected: tuple[DataFrame, ...] = ()
    #: Removes results that are proved to be below the deepest cutoff (`scoring.skipping`); None if
    #: all results may matter.
    cut: Callable[[DataFrame], DataFrame] | None = None
    batches: tuple[Batch, ...] = WHOLE
    #: The inputs as they were checked, for `changes.refuse_changed`.
    seen: tuple[Seen, ...] = ()

    @property
    def needed_results(self) -> DataFrame:
        if self.cut is None:
            return self.results
        return self.cut(self.results)

    @property
    def highest_grade(self) -> float:
        """The highest grade of all judgments, or 0 if there are none."""
        return self.judgment_counts.best_grade or 0.0

    def of_judged_queries(self, results: DataFrame) -> DataFrame:
        """The checked results without those of unjudged queries."""
        if not self.unjudged_rows:
            return results
        return keep_judged_queries(results, self.judgments)

    def to_score(self, rank: Ranker) -> list[ListsToScore]:
        """The runs of each batch, and the results that can matter if they are ranked this way."""
        return [ListsToScore(batch._results_for(rank), batch.runs()) for batch in self.by_batch]

    def _results_for(self, rank: Ranker) -> DataFrame:
        """The results that can matter, in the partitions in which windows rank them."""
        is_mostly_judged = 2 * self.unjudged_rows <= self.result_counts.rows
        if rank is by_window and self.cut is not None and is_mostly_judged:
            # One shuffle, after the cut. The windows use the same partitions.
            shuffled = self.needed_results.repartition(*query_key(self.judgments.columns))
            return self.lists_to_score(shuffled)
        return self.of_judged_queries(self.needed_results)

    def lists_to_score(self, lists: DataFrame) -> DataFrame:
        """These lists, without those of unjudged queries if there are many."""
        if not self._has_many_unjudged:
            return lists
        return self.of_judged_queries(lists)

    @property
    def _has_many_unjudged(self) -> bool:
        return self.unjudged_rows > _NOT_WORTH_A_SCAN * self.result_counts.rows

    def runs(self) -> DataFrame:
        """The table of `raising.count_unjudged_queries`, built from the known counts."""
        runs = self.result_counts.runs
        columns = {
            "run": pa.array([run.run for run in runs], pa.string()),
            "unjudged_queries": pa.array([run.unjudged_queries for run in runs], pa.int64()),
        }
        if "dataset" in self.judgments.columns:
            columns = {"dataset": pa.array([run.dataset for run in runs], pa.string()), **columns}
        # Built from Arrow, because classic Spark would start Python workers for a list of rows.
        return self.judgments.sparkSession.createDataFrame(pa.table(columns))

    @property
    def published_judgments(self) -> DataFrame:
        named = [name for name in self.datasets if name is not None]
        if not named:
            return self.judgments
        return self.judgments.where(F.col("dataset").isin(named))

    @property
    def unjudged_rows(self) -> int:
        return sum(run.unjudged_rows for run in self.result_counts.runs)

    @property
    def rejections(self) -> list[Rejection]:
        return [*self.judgment_counts.rejections, *self.result_counts.rejections]

    @property
    def datasets(self) -> list[str | None]:
        """The sorted datasets of the runs, or only None if the tables do not name datasets."""
        found = {run.dataset for run in self.result_counts.runs}
        return sorted(found, key=lambda name: name or "")

    @property
    def datasets_without_results(self) -> list[str]:
        without = set(self.judgment_counts.queries) - set(self.datasets)
        return sorted(name for name in without if name is not None)

    @property
    def by_batch(self) -> list[Self]:
        """The tables for each batch, with only its results and the counts of its runs.

        Usually there is one batch.
        """
        if self.batches == WHOLE:
            return [self]
        return [self._with_runs_of(batch) for batch in self.batches]

    def _with_runs_of(self, batch: Batch) -> Self:
        runs = [run for run in self.result_counts.runs if batch.has(run.run)]
        rows = sum(run.rows for run in runs)
        counts = dataclasses.replace(self.result_counts, rows=rows, runs=runs)
        results = batch.select(self.results)
        # The copy is one batch, so it is not split again.
        return dataclasses.replace(self, results=results, result_counts=counts, batches=WHOLE)

    @property
    def _expected_lists(self) -> int:
        """How many lists the runs should have: one per run and judged query of its dataset."""
        queries = self.judgment_counts.queries
        return sum(queries.get(run.dataset, 0) for run in self.result_counts.runs)

    def counts(self, cutoffs: int) -> dict[str, int]:
        """The counts of the inputs, and of the scores at this number of cutoffs."""
        return {
            **self.input_counts(),
            "query_scores": self._expected_lists * cutoffs,
            "dataset_scores": len(self.result_counts.runs) * cutoffs,
        }

    def input_counts(self) -> dict[str, int]:
        """The counts of the inputs."""
        judged, runs = self.judgment_counts, self.result_counts.runs
        return {
            "judgments": judged.rows,
            "judged_queries": sum(judged.queries.values()),
            "results": self.result_counts.rows,
            "runs": len(runs),
            "unjudged_queries": sum(run.unjudged_queries for run in runs),
            "results_of_unjudged_queries": self.unjudged_rows,
            "excluded_results": self.result_counts.excluded,
            "missing_queries": self._expected_lists - sum(run.judged_queries for run in runs),
            "datasets_without_results": len(self.datasets_without_results),
            "rejected_judgments": sum(rejection.rows for rejection in judged.rejections),
            "rejected_results": sum(rejection.rows for rejection in self.result_counts.rejections),
        }


def check_tables(
    judgments: Source,
    results: Source,
    config: EvaluationConfig,
    checks: Checks,
) -> CheckedTables:
    """Return both tables without invalid rows. Raise InputError if the counts are refused."""
    excluded = see(results.without) if results.without else []
    with fault_of(judgments.name):
        good, judged_counts, rejected = check_judgments(judgments, config, checks.judgments)
    lists = _check_results(results, good, judged_counts.queries, config, checks.results)
    limits.refuse_unrelated(lists.counts, results.origin, good, lists.good)
    limits.refuse_gaps(
        judged_counts,
        lists.counts,
        config.max_missing_fraction,
        config.max_unjudged_fraction,
    )
    seen = (
        Seen(judgments, judged_counts.fingerprints),
        Seen(results, lists.counts.fingerprints),
        *excluded,
    )
    return CheckedTables(
        good,
        lists.good,
        judged_counts,
        lists.counts,
        (*rejected, *lists.rejected),
        lists.cut,
        results.batches,
        seen,
    )


def refuse_duplicates(
    checked: CheckedTables,
    judgments: Source,
    results: Source,
    convention: Convention,
) -> None:
    """Raise DuplicatesError, with counts, if the tables have duplicates that are forbidden."""
    limits.refuse_in_judgments(judgments, checked.judgments, convention)
    limits.refuse_in_lists(results, [batch.results for batch in checked.by_batch], convention)


def check_judgments(
    judgments: Source,
    config: EvaluationConfig,
    tests: Sequence[RowTest],
) -> tuple[DataFrame, JudgmentCounts, list[DataFrame]]:
    """Return the valid rows, the counts, and the rejected rows if there are any."""
    table, reason = judgments.table, rules.rejection_reason(tests)
    counts = scan.count_judgments(table, reason)
    return _split(judgments, table, reason, counts, JUDGMENTS, config)


def check_lists(
    results: Source,
    config: EvaluationConfig,
    checks: ListChecks,
) -> tuple[DataFrame, ResultCounts]:
    """Check results without judgments; return the valid rows down to the depth, and the counts."""
    good, counts, _, cut = _check_results(results, None, {}, config, checks)
    return cut(good) if cut else good, counts


class _CheckedLists(NamedTuple):
    good: DataFrame
    counts: ResultCounts
    rejected: list[DataFrame]
    cut: Callable[[DataFrame], DataFrame] | None


def _check_results(
    results: Source,
    judgments: DataFrame | None,
    judged: Mapping[str | None, int],
    config: EvaluationConfig,
    checks: ListChecks,
) -> _CheckedLists:
    table = results.table
    limits.refuse_category(results)
    if results.without:
        table = _with_excluded(table, results.without, checks)
    reason = rules.rejection_reason(checks.tests)
    judged_queries = None
    if judgments is not None:
        judged_queries = judgments.select(*query_key(judgments.columns)).distinct()
    skipping = _skipping(results, judged_queries, sum(judged.values()), checks)
    # With 0 files, ranks are not compared with scores.
    files = 0
    # Row numbers are not ranks by which a list was sorted.
    if checks.has_ranks_beside_scores and not results.rows_are_documents:
        files = max(1, len(results.files))
    counts, lists = scan.count_results(
        table,
        reason,
        judged_queries,
        results.batches,
        files=files,
        skipping=skipping,
        materialize=results.materialize,
    )
    cut = None
    if isinstance(skipping, Pruning):
        cut = _cut_by_rank(skipping, counts)
    elif isinstance(skipping, Floors) and lists is not None:
        cut = _cut_by_floor(skipping, counts, lists, checks)
    counts = dataclasses.replace(counts, runs=_with_empty_runs(counts.runs, judged, results.runs))
    good, counts, rejected = _split(results, table, reason, counts, RESULTS, config)
    limits.refuse_merged_runs(results, counts, config)
    limits.refuse_opposite_ranks(counts, config)
    limits.refuse_swapped(results, counts, config)
    return _CheckedLists(good, counts, rejected, cut)


def _skipping(
    results: Source,
    judged_queries: DataFrame | None,
    queries: int,
    checks: ListChecks,
) -> Pruning | Floors | None:
    """How to skip results that no list needs: by rank (Pruning) or by score (Floors).

    None if every result may matter, or finding the floors costs more than it saves. `queries` is
    the number of judged queries.
    """
    if results.rows_are_documents:
        return None
    if results.without:
        # A list that loses documents needs results from below the deepest cutoff.
        return None
    table = results.table
    rows = _rows_for_floors(results)
    plan = plan_skipping(
        checks.convention, checks.cutoffs, table.columns, rows, queries, checks.needs_all_lists
    )
    if judged_queries is None or checks.needs_all_lists:
        return plan
    if isinstance(plan, Floors) and _is_mostly_unjudged(table, rows, judged_queries, queries):
        # Removing the results of unjudged queries is enough.
        return None
    return plan


def _rows_for_floors(results: Source) -> int:
    """The number of results, or 0, for which floors never pay.

    It is 0 if the number is not known, or if the engine cannot cheaply keep the lists with floors.
    """
    if not results.materialize:
        return 0
    return results.expected_rows or 0


def _is_mostly_unjudged(
    results: DataFrame, rows: int, judged_queries: DataFrame, queries: int
) -> bool:
    """Whether most results belong to unjudged queries, so that removing these is enough.

    Only many results per judged query are worth a sample.
    """
    if rows < _MANY_A_QUERY * queries:
        return False
    key = query_key(results.columns)
    names = [F.col(name).cast("string").alias(name) for name in key]
    sample = results.select(*names).limit(_SAMPLE)
    judged = judged_queries.join(sample, on=key, how="inner").count()
    return 2 * judged < _SAMPLE


def _cut_by_rank(pruning: Pruning, counts: ResultCounts) -> Callable[[DataFrame], DataFrame] | None:
    """Removes results beyond the deepest rank; None if no run is proved to be in rank order."""
    runs = {run.run for run in counts.runs}
    untrusted = {run.run for run in counts.runs if run.untrusted}
    if untrusted == runs:
        return None
    return partial(pruning.kept, untrusted=sorted(untrusted))


def _cut_by_floor(
    floors: Floors, counts: ResultCounts, lists: DataFrame, checks: ListChecks
) -> Callable[[DataFrame], DataFrame] | None:
    """Removes results below the floors of their `lists`; None if that costs more than it saves."""
    number = sum(run.lists for run in counts.runs)
    if not floors.is_worthwhile(counts.rows, number):
        return None
    unjudged = sum(run.unjudged_rows for run in counts.runs)
    # If most results belong to unjudged queries, removing these is enough.
    if 2 * unjudged > counts.rows and not checks.needs_all_lists:
        return None
    limit = _MAX_BROADCAST_CLASSIC if is_classic(lists.sparkSession) else _MAX_BROADCAST
    if number <= limit:
        lists = F.broadcast(lists)
    return partial(floors.kept, lists=lists)


def _with_empty_runs(
    runs: Sequence[RunCounts],
    judged: Mapping[str | None, int],
    named: Iterable[tuple[str | None, str]],
) -> list[RunCounts]:
    """The runs that have valid rows or belong to a judged dataset, and the `named` runs of empty
    files.
    """
    kept = [run for run in runs if run.rows or run.dataset in judged]
    present = {(run.dataset, run.run) for run in kept}
    names = {run.run for run in kept}
    all_datasets = list(dict.fromkeys(run.dataset for run in kept))
    for dataset, name in named:
        datasets = [dataset]
        if dataset is None:
            # The file does not name its dataset. A run that is in one is not empty.
            datasets = [] if name in names else all_datasets
        for one in datasets:
            if (one, name) not in present:
                kept.append(RunCounts(one, name))
    return kept


def _with_excluded(table: DataFrame, exclude: Source, checks: ListChecks) -> DataFrame:
    """The results with the column EXCLUDED; InputError if an excluded row has no query or
    document.
    """
    reason = rules.rejection_reason(checks.exclude_tests)
    counted = exclude.table.select(reason.alias("reason")).agg(F.count("*"), F.count("reason"))
    ((rows, rejected),) = counted.collect()
    rejections = scan.count_rejections("exclude", exclude.table, reason) if rejected else []
    limits.refuse_rejected(exclude, Counts(rows=rows, rejected=rejected, rejections=rejections))
    with about(exclude.name):
        excluded = rules.conform(exclude.table, EXCLUDE)
    # Ids may have been read as numbers.
    texts = {}
    for name in checks.exclude_key:
        texts[name] = F.col(name).cast("string")
    return mark_listed(table.withColumns(texts), excluded, checks.exclude_key, EXCLUDED)


def _split(
    source: Source,
    table: DataFrame,
    reason: Column,
    counts: _Counts,
    schema: pa.Schema,
    config: EvaluationConfig,
) -> tuple[DataFrame, _Counts, list[DataFrame]]:
    if counts.rejected:
        counts = dataclasses.replace(
            counts, rejections=scan.count_rejections(source.name, table, reason)
        )
    limits.refuse_rejected(source, counts, config.max_rejected_fraction)
    good = table.where(reason.isNull()) if counts.rejected else table
    good = good.where(F.col(EXCLUDED).isNull()) if EXCLUDED in table.columns else good
    rejected = [_rejected_rows(table, reason, source.name)] if counts.rejected else []
    with about(source.name):
        return rules.conform(good, schema), counts, rejected


def _rejected_rows(table: DataFrame, reason: Column, name: str) -> DataFrame:
    """The rows with a `reason`, as text, in the columns of REJECTED_ROWS that do not depend on the
    night.
    """
    # Where a column of REJECTED_ROWS comes from, if not from the column with the same name.
    sources = {"dataset_read": "dataset", "line": LINE}
    if LABEL in table.columns:
        sources["relevance"] = LABEL
    columns = [F.lit(name).alias("table"), reason.alias("reason")]
    for field in REJECTED_ROWS.names:
        if field in ("table", "reason", "dataset", *IN_PATHS):
            continue
        source = sources.get(field, field)
        value = F.col(source) if source in table.columns else F.lit(None)
        columns.append(value.cast("string").alias(field))
    return table.select(*columns).where("reason is not null")
