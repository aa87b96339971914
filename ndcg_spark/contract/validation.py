"""Validate both inputs: accepted rows, rejected rows, counts."""

import dataclasses
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

from ndcg_spark import conforming, rules, schemas
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import asking, counting, doubts, duplicates, excluding, orders, run_column, thresholds
from ndcg_spark.contract.checked import Checked, Cut
from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts, RunCounts
from ndcg_spark.contract.duplicates import Duplicates
from ndcg_spark.contract.screening import Screened
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError, DuplicatesError
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import JUDGMENTS, RESULTS
from ndcg_spark.scoring import gains
from ndcg_spark.scoring.floors import MANY_A_QUERY, MOST_BROADCAST, floors_of
from ndcg_spark.scoring.pruning import Pruning, pruning_of

#: How many results are looked at to tell whether most are of judged queries.
_SAMPLE = 10_000
#: How a message says what occurs twice, and what to do, by the code of the rule.
_TWICE = {
    "judged_twice": (
        "document(s) judged twice for one query",
        "keep one row each, or --set judgment_duplicates=max",
    ),
    "returned_twice": ("document(s) returned twice for one query", "keep one row each, or --set duplicates=best"),
    "rank_twice": ("rank(s) with two documents", "number each list from 1 or, if there are scores, --set order=score"),
}


def typed(judgments: Source, results: Source, config: EvaluationConfig) -> tuple[DataFrame, DataFrame]:
    """Both tables with all their rows, in their schemas. Nothing is read.

    Raises
    ------
    InputError
        A column is missing or has the wrong type.
    ConfigurationError
        The configuration names a dataset, and the tables name theirs.
    """
    typed_judgments = conforming.conform(judgments.table, JUDGMENTS, f"judgments ({judgments.place})")
    typed_results = conforming.conform(results.table, RESULTS, f"results ({results.place})")
    rules.require_columns(typed_judgments.columns, typed_results.columns, config.convention, results.place)
    if "dataset" in typed_judgments.columns and "dataset" in config.model_fields_set:
        raise ConfigurationError(
            f"dataset: {config.dataset!r} is given, and the tables name their datasets; leave it out, "
            "or map the column away"
        )
    return typed_judgments, typed_results


def check(judgments: Source, results: Source, config: EvaluationConfig) -> Checked:
    """Both tables without the rows that break a rule, and their counts, by one scan of each. An action.

    Raises
    ------
    InputError
        A table has more rejected rows than `max_rejected_fraction` allows, or no good row; no query of the results was
        judged; or a run has larger gaps than allowed.
    """
    allowed, convention = config.max_rejected_fraction, config.convention
    typed(judgments, results, config)
    grades = Screened(judgments, JUDGMENTS, _reason_of_judgment(judgments.table, convention))
    judged = grades.with_breaches(counting.count_judgments(grades.rows, grades.reason))
    thresholds.refuse_lost_rows(judgments, judged.rows)
    thresholds.refuse_breaches("judgments", judged.breaches, judged.rows, judgments.place, allowed)
    good_judgments = grades.good(judged)
    lists = Screened(results, RESULTS, _reason_of_result(results.table, convention))
    returned, pruning, cut = _counted(lists, _queries(good_judgments), judged, config)
    thresholds.refuse_lost_rows(results, returned.rows)
    thresholds.refuse_breaches("results", returned.breaches, returned.rows, results.place, allowed)
    doubts.refuse_foreign_runs(returned, results, config.results)
    orders.refuse_two_readings(lists, returned, config)
    good_results = lists.good(returned)
    run_column.refuse_one_list_as_runs(good_results, returned, results, config.results)
    checked = Checked(
        good_judgments,
        good_results,
        judged,
        counting.with_empty_runs(returned, results.runs),
        (*grades.rejected(judged), *lists.rejected(returned)),
        pruning,
        cut,
    )
    if results.without:
        checked = excluding.without_excluded(checked, results.without, _queries(good_judgments))
    _refuse_coverage(checked, config, results.place)
    return checked


def _counted(
    lists: Screened, judged_queries: DataFrame, judged: JudgmentCounts, config: EvaluationConfig
) -> tuple[ResultCounts, Pruning | None, Cut | None]:
    """The counts of the results, and how what is proved to be too deep can be left out: by ranks, or by floors."""
    results, columns, convention = lists.source, lists.rows.columns, config.convention
    # A list from which documents are taken needs more of what is below the deepest cutoff.
    whole = results.without is not None
    pruning = None if whole else pruning_of(convention, config.cutoffs, columns)
    rows, queries, materialize = results.expected_rows or 0, sum(judged.queries.values()), results.materialize
    floors = None if whole or materialize is None else floors_of(convention, config.cutoffs, columns, rows, queries)
    if floors and rows >= MANY_A_QUERY * queries and not _are_mostly_judged(lists.rows, judged_queries):
        floors = None
    if floors is None or materialize is None:
        both = convention.order == "score" and {"score", "rank"} <= set(columns)
        further = [asking.ranks_beside_scores(lists.rows, lists.reason)] if both else []
        counts = counting.count_results(lists.rows, lists.reason, judged_queries, pruning, further)
        return lists.with_breaches(counts), pruning, None
    counts, of_lists = counting.count_results_and_floors(lists.rows, lists.reason, judged_queries, floors, materialize)
    several = sum(run.lists for run in counts.runs)
    unjudged = sum(run.unjudged_rows for run in counts.runs)
    # Where most results are of queries that nobody judged, leaving these out is enough.
    pays = floors.is_worthwhile(counts.rows, several) and 2 * unjudged <= counts.rows
    hinted = F.broadcast(of_lists) if several <= MOST_BROADCAST else of_lists
    return lists.with_breaches(counts), None, partial(floors.kept, lists=hinted) if pays else None


def without_duplicates(checked: Checked, judgments: Source, results: Source, config: EvaluationConfig) -> Checked:
    """`checked` without the documents that occur twice for one query, unless an option merges their rows. An action.

    Where ranks are the order, also without documents that share one. One scan of each table counts such documents, a
    further one of the results those that share a rank, and what is left without them.

    Raises
    ------
    DuplicatesError
        There are such documents, and the budget for rejected rows is 0.
    InputError
        As `check`. The budget is for all rejected rows of a table, whatever the reason.
    """
    once = checked
    if config.convention.judgment_duplicates == "error":
        once = _judged_once(checked, judgments, config)
    searched = config.convention.duplicates == "error"
    if searched:
        found, runs = duplicates.in_results(once.results, _queries(once.judgments))
        once = _once(once, found, runs, results, config)
    if config.convention.order == "rank":
        found, runs = duplicates.in_ranks(once.results, _queries(once.judgments))
        once = _once(once, found, runs, results, config)
    elif once is not checked and not searched:
        # Queries may have lost all their judgments, so the runs are counted again.
        once = _with_runs(once, counting.count_runs(once.results, _queries(once.judgments)))
    _refuse_coverage(once, config, results.place)
    return once


def _are_mostly_judged(results: DataFrame, judged_queries: DataFrame) -> bool:
    """Whether at least half of some results, whichever come first, are of judged queries. An action."""
    key = schemas.query_key(results.columns)
    some = results.select(*(F.col(name).cast("string").alias(name) for name in key)).limit(_SAMPLE)
    return 2 * some.join(judged_queries, on=key, how="left_semi").count() >= _SAMPLE


def _judged_once(checked: Checked, source: Source, config: EvaluationConfig) -> Checked:
    counts = checked.judgment_counts
    found, queries = duplicates.in_judgments(checked.judgments)
    if not found:
        return checked
    breaches = [*counts.breaches, found.breach]
    _refuse_duplicates(found, breaches, counts.rows, source, config)
    good, copies = found.set_aside(checked.judgments)
    counts = dataclasses.replace(counts, queries=queries, breaches=breaches)
    return dataclasses.replace(checked, judgments=good, judgment_counts=counts, rejected=(*checked.rejected, copies))


def _once(
    checked: Checked, found: Duplicates | None, runs: list[RunCounts], source: Source, config: EvaluationConfig
) -> Checked:
    """The checked tables without the rows of results that were `found`; `runs` are the counts of what is left."""
    if not found:
        return _with_runs(checked, runs)
    counts = checked.result_counts
    breaches = [*counts.breaches, found.breach]
    _refuse_duplicates(found, breaches, counts.rows, source, config)
    good, copies = found.set_aside(checked.results)
    counts = dataclasses.replace(counts, breaches=breaches)
    # What the ranks or the scores of a list prove was found with the duplicates in it.
    without = dataclasses.replace(
        checked, results=good, result_counts=counts, rejected=(*checked.rejected, copies), pruning=None, cut=None
    )
    return _with_runs(without, runs)


def _with_runs(checked: Checked, runs: list[RunCounts]) -> Checked:
    same = counting.of_the_same_runs(checked.result_counts.runs, runs)
    return dataclasses.replace(checked, result_counts=dataclasses.replace(checked.result_counts, runs=same))


def _refuse_coverage(checked: Checked, config: EvaluationConfig, place: str) -> None:
    thresholds.refuse_strangers(checked.result_counts, place)
    thresholds.refuse_gaps(
        checked.judgment_counts, checked.result_counts, config.max_missing_fraction, config.max_unjudged_fraction
    )


def _reason_of_judgment(table: DataFrame, convention: Convention) -> Column:
    types = dict(table.dtypes)
    relevance = F.coalesce(conforming.as_type(F.col("relevance"), DoubleType(), types["relevance"]), F.lit(0.0))
    return rules.reason_of(rules.broken_judgments(types, gains.gain(relevance, convention), convention))


def _reason_of_result(table: DataFrame, convention: Convention) -> Column:
    return rules.reason_of(rules.broken_results(dict(table.dtypes), convention))


def _refuse_duplicates(
    found: Duplicates, breaches: list[Breach], rows: int, source: Source, config: EvaluationConfig
) -> None:
    if config.max_rejected_fraction == 0:
        what, to_do = _TWICE[found.breach.reason]
        if source.name == "results" and len(source.files) > 1 and not source.runs:
            to_do += f"; if the {len(source.files):,} files are runs that share a name, --run-from file"
        raise DuplicatesError(f"{source.name}: {found.different} {what}, e.g. {found.breach.example}; {to_do}")
    thresholds.refuse_breaches(source.name, breaches, rows, source.place, config.max_rejected_fraction)


def _queries(judgments: DataFrame) -> DataFrame:
    return judgments.select(*schemas.query_key(judgments.columns)).distinct()
