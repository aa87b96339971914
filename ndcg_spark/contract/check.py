"""Both inputs held to the rules, and counted. Scoring (`lists`, `ideal`) detects duplicates, `limits` counts them."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Self, TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits, scan
from ndcg_spark.contract.changes import Seen, see
from ndcg_spark.contract.scan import EXCLUDED, Counts, JudgmentCounts, Rejection, ResultCounts, RunCounts
from ndcg_spark.engine.sessions import is_classic
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.batches import WHOLE, Batch
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import EXCLUDE, IN_PATHS, JUDGMENTS, LINE, REJECTED_ROWS, RESULTS, query_key
from ndcg_spark.scoring.ideal import gain
from ndcg_spark.scoring.skipping import Floors, Pruning, plan_skipping

#: With this many results per judged query, most may belong to unjudged queries, which need no floor.
_MANY_A_QUERY = 1_000
#: How many results are sampled to see whether most are of judged queries.
_SAMPLE = 10_000
#: The floors of more lists than this are not broadcast, on classic Spark and on Sail.
_MAX_BROADCAST_CLASSIC, _MAX_BROADCAST = 1_000_000, 500_000
_Counts = TypeVar("_Counts", JudgmentCounts, ResultCounts)


@dataclasses.dataclass(frozen=True)
class CheckedTables:
    judgments: DataFrame
    results: DataFrame
    judgment_counts: JudgmentCounts
    result_counts: ResultCounts
    #: The rejected rows as text, in a table for each input that has some.
    rejected: tuple[DataFrame, ...] = ()
    #: Leaves out results that are proved to lie below the deepest cutoff (`scoring.skipping`); None if all may matter.
    cut: Callable[[DataFrame], DataFrame] | None = None
    batches: tuple[Batch, ...] = WHOLE
    #: The inputs as they were checked, for `changes.refuse_changed`.
    seen: tuple[Seen, ...] = ()

    @property
    def needed_results(self) -> DataFrame:
        return self.results if self.cut is None else self.cut(self.results)

    @property
    def published_judgments(self) -> DataFrame:
        named = [name for name in self.datasets if name is not None]
        return self.judgments.where(F.col("dataset").isin(named)) if named else self.judgments

    @property
    def unjudged_rows(self) -> int:
        return sum(run.unjudged_rows for run in self.result_counts.runs)

    @property
    def rejections(self) -> list[Rejection]:
        return [*self.judgment_counts.rejections, *self.result_counts.rejections]

    @property
    def datasets(self) -> list[str | None]:
        """The datasets of the runs, sorted; only None if the tables name no datasets."""
        return sorted({run.dataset for run in self.result_counts.runs}, key=lambda name: name or "")

    @property
    def datasets_without_results(self) -> list[str]:
        return sorted(name for name in {*self.judgment_counts.queries}.difference(self.datasets) if name is not None)

    @property
    def by_batch(self) -> list[Self]:
        """The tables once for each batch, with its results and the counts of its runs only; usually there is one."""
        return [self] if self.batches == WHOLE else [self._only(batch) for batch in self.batches]

    def _only(self, batch: Batch) -> Self:
        runs = [run for run in self.result_counts.runs if batch.has(run.run)]
        counts = dataclasses.replace(self.result_counts, rows=sum(run.rows for run in runs), runs=runs)
        return dataclasses.replace(self, results=batch.select(self.results), result_counts=counts, batches=WHOLE)

    def counts(self, cutoffs: int) -> dict[str, int]:
        judged, runs = self.judgment_counts, self.result_counts.runs
        pairs = sum(judged.queries.get(run.dataset, 0) for run in runs)
        return {
            "judgments": judged.rows,
            "judged_queries": sum(judged.queries.values()),
            "results": self.result_counts.rows,
            "runs": len(runs),
            "unjudged_queries": sum(run.unjudged_queries for run in runs),
            "results_of_unjudged_queries": self.unjudged_rows,
            "excluded_results": self.result_counts.excluded,
            "missing_queries": pairs - sum(run.judged_queries for run in runs),
            "datasets_without_results": len(self.datasets_without_results),
            "rejected_judgments": sum(rejection.rows for rejection in judged.rejections),
            "rejected_results": sum(rejection.rows for rejection in self.result_counts.rejections),
            "query_scores": pairs * cutoffs,
            "dataset_scores": len(runs) * cutoffs,
        }


def check_tables(judgments: Source, results: Source, config: EvaluationConfig) -> CheckedTables:
    judged = rules.conform(judgments.table, JUDGMENTS, f"judgments ({judgments.origin})").columns
    returned = rules.conform(results.table, RESULTS, f"results ({results.origin})").columns
    rules.require_columns(judged, returned, config.convention, results.origin)
    if "dataset" in judged and "dataset" in config.model_fields_set:
        raise ConfigurationError(
            f"dataset: the configuration says {config.dataset!r}, but the tables name their datasets; remove it, or "
            "the column"
        )
    excluded = see(results.without) if results.without else []
    good, judged_counts, rejected = check_judgments(judgments, config)
    good_results, counts, rejected_results, cut = _check_results(results, good, judged_counts.queries, config)
    limits.refuse_unrelated(counts, results.origin, good, good_results)
    limits.refuse_gaps(judged_counts, counts, config.max_missing_fraction, config.max_unjudged_fraction)
    both = (*rejected, *rejected_results)
    seen = (
        Seen(judgments, judged_counts.fingerprints),
        Seen(results, counts.fingerprints),
        *excluded,
    )
    batches = results.batches
    return CheckedTables(good, good_results, judged_counts, counts, both, cut, batches, seen)


def check_judgments(judgments: Source, config: EvaluationConfig) -> tuple[DataFrame, JudgmentCounts, list[DataFrame]]:
    table, convention = judgments.table, config.convention
    rules.conform(table, JUDGMENTS, f"judgments ({judgments.origin})")
    types = dict(table.dtypes)
    relevance = F.coalesce(rules.typed("relevance", types), F.lit(0.0))
    reason = rules.rejection_reason(rules.judgment_rules(types, gain(relevance, convention), convention))
    return _split(judgments, table, reason, scan.count_judgments(table, reason), JUDGMENTS, config)


def check_lists(results: Source, config: EvaluationConfig) -> tuple[DataFrame, ResultCounts, DataFrame]:
    """Results that need no judgments: the good rows, the counts, and the good rows that are not too deep."""
    columns = rules.conform(results.table, RESULTS, f"results ({results.origin})").columns
    rules.require_columns(columns, columns, config.convention, results.origin)
    good, counts, _, cut = _check_results(results, None, {}, config)
    return good, counts, cut(good) if cut else good


def _check_results(
    results: Source, judgments: DataFrame | None, judged: Mapping[str | None, int], config: EvaluationConfig
) -> tuple[DataFrame, ResultCounts, list[DataFrame], Callable[[DataFrame], DataFrame] | None]:
    table, convention = results.table, config.convention
    limits.refuse_category(results)
    if results.without:
        table = _with_excluded(table, results.without)
    reason = rules.rejection_reason(rules.result_rules(dict(table.dtypes), convention))
    judged_queries = None if judgments is None else judgments.select(*query_key(judgments.columns)).distinct()
    rows, queries = results.expected_rows or 0 if results.materialize else 0, sum(judged.values())
    # A list from which documents are removed needs more results from below the deepest cutoff.
    skipping = None if results.without else plan_skipping(convention, config.cutoffs, table.columns, rows, queries)
    if isinstance(skipping, Floors) and judged_queries is not None and rows >= _MANY_A_QUERY * queries:
        key = query_key(table.columns)
        sample = table.select(*(F.col(name).cast("string").alias(name) for name in key)).limit(_SAMPLE)
        is_mostly_judged = 2 * judged_queries.join(sample, on=key, how="inner").count() >= _SAMPLE
        skipping = skipping if is_mostly_judged else None
    has_both = convention.order == "score" and {"score", "rank"} <= set(table.columns)
    files = max(1, len(results.files)) if has_both else 0
    counts, lists = scan.count_results(
        table, reason, judged_queries, results.batches, files, skipping, results.materialize
    )
    cut = _cut(skipping, counts, lists, table)
    counts = dataclasses.replace(counts, runs=_with_empty_runs(counts.runs, judged, results.runs))
    good, counts, rejected = _split(results, table, reason, counts, RESULTS, config)
    limits.refuse_merged_runs(results, counts, config)
    limits.refuse_opposite_ranks(counts, config)
    limits.refuse_swapped(results, counts, config)
    return good, counts, rejected, cut


def _cut(
    skipping: Pruning | Floors | None, counts: ResultCounts, lists: DataFrame | None, table: DataFrame
) -> Callable[[DataFrame], DataFrame] | None:
    if isinstance(skipping, Pruning):
        untrusted = {run.run for run in counts.runs if run.untrusted}
        is_all = untrusted.issuperset(run.run for run in counts.runs)
        return None if is_all else partial(skipping.kept, untrusted=sorted(untrusted))
    number = sum(run.lists for run in counts.runs)
    unjudged = sum(run.unjudged_rows for run in counts.runs)
    # If most results belong to unjudged queries, leaving those out is enough.
    if not skipping or lists is None or not skipping.is_worthwhile(counts.rows, number) or 2 * unjudged > counts.rows:
        return None
    limit = _MAX_BROADCAST_CLASSIC if is_classic(table.sparkSession) else _MAX_BROADCAST
    return partial(skipping.kept, lists=F.broadcast(lists) if number <= limit else lists)


def _with_empty_runs(
    runs: Sequence[RunCounts], judged: Mapping[str | None, int], named: Iterable[tuple[str | None, str]]
) -> list[RunCounts]:
    """The runs that have good rows or are of a judged dataset, and those of `named` files that have no row at all."""
    kept = [run for run in runs if run.rows or run.dataset in judged]
    present, names = {(run.dataset, run.run) for run in kept}, {run.run for run in kept}
    datasets = list(dict.fromkeys(run.dataset for run in kept))
    for dataset, name in named:
        if (name not in names) if dataset is None else ((dataset, name) not in present):
            kept += [RunCounts(known, name) for known in (datasets if dataset is None else [dataset])]
    return kept


def _with_excluded(table: DataFrame, exclude: Source) -> DataFrame:
    """The results with the column EXCLUDED. InputError for an excluded row without a query or a document."""
    excluded = rules.conform(exclude.table, EXCLUDE, f"exclude ({exclude.origin})")
    reason = rules.rejection_reason(rules.name_rules(dict(exclude.table.dtypes), EXCLUDE.names))
    ((rows, rejected),) = exclude.table.select(reason.alias("reason")).agg(F.count("*"), F.count("reason")).collect()
    rejections = scan.count_rejections("exclude", exclude.table, reason) if rejected else []
    limits.refuse_rejected(exclude, Counts(rows=rows, rejected=rejected, rejections=rejections))
    key = [name for name in excluded.columns if name in table.columns]
    marks = excluded.select(*key).distinct().withColumn(EXCLUDED, F.lit(True))
    # Ids may have been read as numbers.
    texts = {name: F.col(name).cast("string") for name in key}
    return marks.join(table.withColumns(texts), on=key, how="right")


def _split(
    source: Source, table: DataFrame, reason: Column, counts: _Counts, schema: pa.Schema, config: EvaluationConfig
) -> tuple[DataFrame, _Counts, list[DataFrame]]:
    if counts.rejected:
        counts = dataclasses.replace(counts, rejections=scan.count_rejections(source.name, table, reason))
    limits.refuse_rejected(source, counts, config.max_rejected_fraction)
    good = table.where(reason.isNull()) if counts.rejected else table
    good = good.where(F.col(EXCLUDED).isNull()) if EXCLUDED in table.columns else good
    rejected = [_rejected_rows(table, reason, source.name)] if counts.rejected else []
    return rules.conform(good, schema, source.name), counts, rejected


def _rejected_rows(table: DataFrame, reason: Column, name: str) -> DataFrame:
    """The columns of REJECTED_ROWS that do not depend on the night: the rows that have a `reason`, as text."""
    described = {"table": F.lit(name), "reason": reason}
    sources = {"dataset_read": "dataset", "line": LINE}
    for field in REJECTED_ROWS.names:
        if field not in {*described, "dataset", *IN_PATHS}:
            source = sources.get(field, field)
            described[field] = (F.col(source) if source in table.columns else F.lit(None)).cast("string")
    return table.select(*(column.alias(field) for field, column in described.items())).where("reason is not null")
