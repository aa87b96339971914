"""Check both inputs: good rows, rejected rows, counts."""

from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

from ndcg_spark import casting, rules, schemas
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import aggregates, ambiguity, exclusions, limits, scan
from ndcg_spark.contract.checked_tables import CheckedTables, Cut
from ndcg_spark.contract.counts import JudgmentCounts, ResultCounts
from ndcg_spark.contract.rows import InputRows
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import JUDGMENTS, RESULTS
from ndcg_spark.scoring import gains
from ndcg_spark.scoring.floors import MANY_A_QUERY, MOST_BROADCAST, floors_of
from ndcg_spark.scoring.pruning import pruning_of

#: How many results are sampled to see whether most are of judged queries.
_SAMPLE = 10_000


def _refuse_unusable(judgments: Source, results: Source, config: EvaluationConfig) -> None:
    """Refuse tables that cannot be read in their schemas. Nothing is read.

    Raises
    ------
    InputError
        A column is missing or has the wrong type.
    ConfigurationError
        The configuration names a dataset, and the tables have a column with their datasets.
    """
    typed_judgments = casting.conform(judgments.table, JUDGMENTS, f"judgments ({judgments.place})")
    typed_results = casting.conform(results.table, RESULTS, f"results ({results.place})")
    rules.require_columns(typed_judgments.columns, typed_results.columns, config.convention, results.place)
    if "dataset" in typed_judgments.columns and "dataset" in config.model_fields_set:
        raise ConfigurationError(
            f"dataset: the configuration says {config.dataset!r}, but the tables name their datasets; remove it, or "
            "map the column away"
        )


def check_tables(judgments: Source, results: Source, config: EvaluationConfig) -> CheckedTables:
    """Both tables without the rows that break a rule, and their counts, by one scan of each.

    Raises
    ------
    InputError
        A table has more rejected rows than `max_rejected_fraction` allows, or no good row; no query of the results is
        judged; or a run lacks more queries than allowed.
    """
    _refuse_unusable(judgments, results, config)
    judgment_rows, judgment_counts = check_judgments(judgments, config)
    good_judgments = judgment_rows.good(judgment_counts)
    judged_queries = good_judgments.select(*schemas.query_key(good_judgments.columns)).distinct()
    result_rows, good_results, result_counts, cut = _checked_results(
        results, judged_queries, sum(judgment_counts.queries.values()), config
    )
    tables = CheckedTables(
        good_judgments,
        good_results,
        judgment_counts,
        scan.with_empty_runs(result_counts, results.runs),
        (*judgment_rows.rejected(judgment_counts), *result_rows.rejected(result_counts)),
        cut,
        results.batches,
    )
    if results.without:
        limits.refuse_unrelated(tables.result_counts, results.place)
        tables = exclusions.without_excluded(tables, results.without)
    limits.refuse_coverage(tables, config, results.place)
    return tables


def check_judgments(judgments: Source, config: EvaluationConfig) -> tuple[InputRows, JudgmentCounts]:
    """The rows of the judgments and their counts, by one scan. InputError as `check_tables`."""
    casting.conform(judgments.table, JUDGMENTS, f"judgments ({judgments.place})")
    rows = InputRows(judgments, JUDGMENTS, _reason_of_judgment(judgments.table, config.convention))
    counts = rows.with_breaches(scan.count_judgments(rows.all, rows.reason))
    limits.refuse_lost_rows(judgments, counts.rows)
    limits.refuse_breaches("judgments", counts.breaches, counts.rows, judgments.place, config.max_rejected_fraction)
    return rows, counts


def check_lists(results: Source, config: EvaluationConfig) -> tuple[DataFrame, ResultCounts, Cut | None]:
    """Results that are compared without judgments: the good rows, the counts, and how too deep rows are left out.

    Raises as `check_tables` does for results.
    """
    typed = casting.conform(results.table, RESULTS, f"results ({results.place})")
    rules.require_columns(typed.columns, typed.columns, config.convention, results.place)
    _, good, counts, cut = _checked_results(results, None, 0, config)
    if results.without:
        exclusions.refuse_bad_rows(results.without)
        good = exclusions.remove_excluded(good, results.without)
    return good, counts, cut


def _checked_results(
    results: Source, judged_queries: DataFrame | None, queries: int, config: EvaluationConfig
) -> tuple[InputRows, DataFrame, ResultCounts, Cut | None]:
    """The rows of the results, the good ones, their counts, and how those that are too deep are left out.

    `queries` is how many are judged; 0 where `judged_queries` is None, as every query counts.
    """
    rows = InputRows(results, RESULTS, _reason_of_result(results.table, config.convention))
    counts, cut = _count_results(rows, judged_queries, queries, config)
    limits.refuse_lost_rows(results, counts.rows)
    limits.refuse_breaches("results", counts.breaches, counts.rows, results.place, config.max_rejected_fraction)
    ambiguity.refuse_values_as_runs(counts, results, config.results)
    ambiguity.refuse_merged_runs(results, counts, config)
    ambiguity.refuse_two_readings(rows, counts, config)
    good = rows.good(counts)
    ambiguity.refuse_categories_as_runs(good, counts, results, config.results)
    return rows, good, counts, cut


def _count_results(
    rows: InputRows, judged_queries: DataFrame | None, queries: int, config: EvaluationConfig
) -> tuple[ResultCounts, Cut | None]:
    """The counts of the results, and how those that are proved to be too deep are left out: by ranks, or by floors."""
    results, columns, convention = rows.source, rows.all.columns, config.convention
    # A list from which documents are removed needs more results from below the deepest cutoff.
    needs_all = results.without is not None
    pruning = None if needs_all else pruning_of(convention, config.cutoffs, columns)
    expected, materialize = results.expected_rows or 0, results.materialize
    floors = None
    if materialize is not None and not needs_all:
        floors = floors_of(convention, config.cutoffs, columns, expected, queries)
    if floors and judged_queries is not None and expected >= MANY_A_QUERY * queries:
        floors = floors if _are_mostly_judged(rows.all, judged_queries) else None
    if floors is None or materialize is None:
        has_both = convention.order == "score" and {"score", "rank"} <= set(columns)
        further = [aggregates.ranks_beside_scores(rows.all, rows.reason, len(results.files))] if has_both else []
        counts = scan.count_results(rows.all, rows.reason, judged_queries, pruning, further, results.batches)
        cut = None if pruning is None or counts.untrusted is None else partial(pruning.kept, untrusted=counts.untrusted)
        return rows.with_breaches(counts), cut
    counts, of_lists = scan.count_results_and_floors(
        rows.all, rows.reason, judged_queries, floors, materialize, results.batches
    )
    lists = sum(run.lists for run in counts.runs)
    unjudged = sum(run.unjudged_rows for run in counts.runs)
    # If most results belong to unjudged queries, leaving those out is enough.
    is_worthwhile = floors.is_worthwhile(counts.rows, lists) and 2 * unjudged <= counts.rows
    hinted = F.broadcast(of_lists) if lists <= MOST_BROADCAST else of_lists
    return rows.with_breaches(counts), partial(floors.kept, lists=hinted) if is_worthwhile else None


def _are_mostly_judged(results: DataFrame, judged_queries: DataFrame) -> bool:
    """Whether at least half of a sample of the results are of judged queries. Runs a Spark job."""
    key = schemas.query_key(results.columns)
    sample = results.select(*(F.col(name).cast("string").alias(name) for name in key)).limit(_SAMPLE)
    return 2 * sample.join(judged_queries, on=key, how="left_semi").count() >= _SAMPLE


def _reason_of_judgment(table: DataFrame, convention: Convention) -> Column:
    types = dict(table.dtypes)
    relevance = F.coalesce(casting.as_type(F.col("relevance"), DoubleType(), types["relevance"]), F.lit(0.0))
    return rules.reason_of(rules.broken_judgments(types, gains.gain(relevance, convention), convention))


def _reason_of_result(table: DataFrame, convention: Convention) -> Column:
    return rules.reason_of(rules.broken_results(dict(table.dtypes), convention))
