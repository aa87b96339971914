"""Runs compared with a baseline: which queries are paired, how they differ, and how certain the differences are."""

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark import slices as slicing
from ndcg_spark.comparison import pairing, second_pass
from ndcg_spark.comparison import table as comparisons
from ndcg_spark.comparison import weights as weighing
from ndcg_spark.comparison.aggregates import Aggregate, aggregated, aggregates
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.comparison.partitions import SIMPSON, contradictions, slices_differ
from ndcg_spark.comparison.places import places
from ndcg_spark.comparison.table import Estimate
from ndcg_spark.comparison.weights import Weights
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.slices import ALL, Slices

_DEFAULT = ComparisonOptions()


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The results of a comparison as plain data."""

    #: Dictionaries with the columns of COMPARISONS, sorted by its key; all queries come before the slices.
    #: A weighted row follows the unweighted one and has a `weight_effective_n`, which is null in all other rows.
    rows: list[dict[str, Any]]
    #: dataset, evaluated_on, run, baseline, measure, cutoff, baseline_status, status, queries, change: the change of
    #: the mean that queries with these two statuses cause (status None: the query is missing). The parts sum to the
    #: difference of the two means over each side's own queries, which are those of DATASET_SCORES.
    transitions: list[dict[str, Any]]
    #: dataset, evaluated_on, run, baseline, measure, cutoff, query_id, baseline_status, status, baseline_score, score,
    #: difference: for each run the queries that lost most, the largest loss first, then those that won most.
    queries: list[dict[str, Any]]
    #: Sentences for people: `what, how many, one example`.
    warnings: list[str]
    #: dataset, evaluated_on, run, baseline, measure, cutoff, attribute, slices, p_value: whether the differences vary
    #: between the slices of an attribute, if each query is in one; slices that are too small do not take part.
    slices_differ: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: For each of `rows`, the number of queries that lost at least so much, by the requested sizes of losses.
    losses: list[dict[float, int]] = dataclasses.field(default_factory=list)


def compare_tables(
    query_scores: DataFrame,
    baseline_scores: DataFrame | None = None,
    baseline_runs: Sequence[str] = (),
    options: ComparisonOptions = _DEFAULT,
    *,
    runs: Sequence[str] | None = None,
    attributes: DataFrame | None = None,
    weights: DataFrame | None = None,
    queries: int = 0,
) -> Comparison:
    """Compare runs with a baseline, on all queries and on slices of them. Runs Spark jobs.

    Parameters
    ----------
    query_scores : DataFrame
        A table QUERY_SCORES of one night per dataset: columns run, query_id and the measures, and, if they exist,
        dataset, evaluated_on, cutoff, status, evaluation_id.
    baseline_scores : DataFrame, optional
        Such a table of another night. Without `baseline_runs`, runs are paired by name.
    baseline_runs : sequence of str
        The runs that the others are compared with, each in turn: runs of `baseline_scores` if it is given, else of
        `query_scores`.
    runs : sequence of str, optional
        The runs to compare; by default all but the baselines.
    attributes, weights : DataFrame, optional
        QUERY_ATTRIBUTES and QUERY_WEIGHTS.
    queries : int
        How many of the queries that lost most, and that won most, to name for each run, measure and cutoff.

    Returns
    -------
    Comparison
        One row per dataset, run, baseline, measure, cutoff and slice.

    Raises
    ------
    ConfigurationError
        A measure, run or cutoff does not exist; the message names similar ones.
    InputError
        A table holds several nights or queries twice, or breaks its contract.
    """
    slices = Slices() if attributes is None else slicing.read(attributes)
    of_queries = Weights() if weights is None else weighing.read(weights)
    measures = options.names
    own = pairing.scores(query_scores, measures, "query_scores")
    other = None if baseline_scores is None else pairing.scores(baseline_scores, measures, "baseline")
    if other is None and not baseline_runs:
        raise ConfigurationError("baseline: there is none; name a run, or give the scores of another night")
    found = places(own, other, baseline_runs, runs, options.cutoffs)
    if not found:
        return Comparison([], [], [], [])
    paired = pairing.paired(own, other, found, measures, options.unchanged_queries)
    if slices.names_datasets or of_queries.names_datasets:
        paired = pairing.with_dataset(paired, found)
    table = slices.cut(of_queries.put_on(paired))
    rows = aggregated(table, len(measures), options.tie, options.losses).collect()
    every = aggregates([row.asDict() for row in rows], found, len(measures))
    warnings = _unknown_queries(every, slices, of_queries)
    if options.cutoffs is None:
        every = _evaluated(every)
    every = [each for each in every if options.has(measures[each.measure], each.place.cutoff)]
    plain = [comparisons.unweighted(each, options.min_queries) for each in every]
    weighted = [] if weights is None else _weighted(table, plain, len(measures))
    _randomize(table, plain, weighted, options)
    warnings += _other_judgments(every)
    for aggregate, sentence in contradictions(every, slices.names, measures):
        warnings.append(sentence)
        next(each for each in plain if each.aggregate is aggregate).flags.append(SIMPSON)
    of_kinds = [comparisons.rows(kind, slices.names, options) for kind in (plain, weighted)]
    extremes = second_pass.extremes(paired, found, measures, queries) if queries else []
    return Comparison(
        [row for both in zip_longest(*of_kinds) for row in both if row is not None],
        _transitions(every, measures),
        [row for row in extremes if options.has(row["measure"], row["cutoff"])],
        warnings,
        slices_differ(every, slices.names, measures, options.min_queries),
        [
            {loss: int(each.aggregate.total(f"lost_{size}")) for size, loss in enumerate(options.losses)}
            for both in zip_longest(plain, weighted)
            for each in both
            if each is not None
        ],
    )


def _evaluated(aggregates: Sequence[Aggregate]) -> list[Aggregate]:
    """The places at cutoffs where any run has a value of their measure; all places of a measure that no run has."""
    there = {(each.place.own.dataset, each.measure, each.place.cutoff) for each in aggregates if each.has_scores}
    somewhere = {(dataset, measure) for dataset, measure, _ in there}
    return [
        each
        for each in aggregates
        for dataset in [each.place.own.dataset]
        if (dataset, each.measure, each.place.cutoff) in there or (dataset, each.measure) not in somewhere
    ]


def _unknown_queries(aggregates: Sequence[Aggregate], slices: Slices, weights: Weights) -> list[str]:
    """Sentences on the queries of attributes and weights that are not compared: without scores, or left out.

    The count is exact if every run has a score for every judged query, as in QUERY_SCORES.
    """
    whole = [each for each in aggregates if each.slice == ALL and each.measure == 0]
    sentences = []
    for where, queries, name in (
        (slicing.WHERE, slices.queries, "attributed"),
        (weighing.WHERE, weights.queries, "weighed"),
    ):
        known: dict[str, int] = {}
        for each in whole:
            dataset, count = each.place.own.dataset, sum(row[name] for row in each.rows)
            known[dataset] = max(known.get(dataset, 0), count)
        missing = sum(
            max(count - (sum(known.values()) if dataset is None else known.get(dataset, 0)), 0)
            for dataset, count in queries.items()
        )
        if missing:
            total = sum(queries.values())
            sentences.append(f"{where}: {missing:,} of its {total:,} queries have no scores here and were ignored")
    return sentences


def _weighted(table: DataFrame, plain: Sequence[Estimate], measures: int) -> list[Estimate]:
    """Each estimate with its weights. Runs a job."""
    weighed = [each.aggregate for each in plain if each.aggregate.total("weight")]
    spreads = dict(zip(map(id, weighed), second_pass.spreads(table, weighed, measures), strict=True))
    return [comparisons.weighted(each, *spreads.get(id(each.aggregate), (0.0, 0.0))) for each in plain]


def _randomize(
    table: DataFrame, plain: Sequence[Estimate], weighted: Sequence[Estimate], options: ComparisonOptions
) -> None:
    """Give doubtful estimates, or all of them, the p value of the randomization test. Runs a job."""
    tested = [each for each in (*plain, *weighted) if each.needs_randomization(options.test)]
    aggregates = list({id(each.aggregate): each.aggregate for each in tested}.values())
    p_values = second_pass.randomized(table, aggregates, len(options.measures), options.seed)
    found = dict(zip(map(id, aggregates), p_values, strict=True))
    for each in tested:
        each.randomized = found[id(each.aggregate)][each.weighted]


def _other_judgments(aggregates: Iterable[Aggregate]) -> list[str]:
    """Sentences that say how many queries of each dataset are judged differently than in the baseline's night."""
    sentences: dict[str, str] = {}
    for each in aggregates:
        left_out, rejudged = sum(row["rejudged"] for row in each.rows) - each.rejudged, each.rejudged
        if each.slice == ALL and (left_out or rejudged):
            what = "and were left out" if left_out else "which changes scores, too; unchanged_queries leaves them out"
            sentences.setdefault(
                each.place.own.dataset,
                f"{each.place.own.dataset}: {left_out or rejudged:,} of {each.queries:,} queries have other judgments "
                f"than on {each.place.baseline_night}, {what}",
            )
    return [*sentences.values()]


def _transitions(aggregates: Iterable[Aggregate], measures: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "dataset": each.place.own.dataset,
            "evaluated_on": each.place.night,
            "run": each.place.own.run,
            "baseline": each.place.baseline_run,
            "measure": measures[each.measure],
            "cutoff": each.place.cutoff,
            "baseline_status": theirs,
            "status": ours,
            "queries": queries,
            "change": change,
        }
        for each in aggregates
        if each.slice == ALL
        for theirs, ours, queries, change in each.transitions()
    ]
