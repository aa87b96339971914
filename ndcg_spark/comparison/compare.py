"""Runs compared with a baseline: which queries pair, what their differences are, and how certain they are."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark.comparison import pairing, second_pass
from ndcg_spark.comparison import slices as slicing
from ndcg_spark.comparison import table as comparisons
from ndcg_spark.comparison import weights as weighing
from ndcg_spark.comparison.aggregates import Aggregate, aggregated, aggregates
from ndcg_spark.comparison.options import MIN_QUERIES, ComparisonOptions
from ndcg_spark.comparison.simpson import SIMPSON, contradictions
from ndcg_spark.comparison.slices import ALL, Slices
from ndcg_spark.comparison.table import Estimate
from ndcg_spark.comparison.weights import Weights
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.errors import ConfigurationError


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The results of a comparison as plain data."""

    #: Dictionaries with the columns of COMPARISONS, sorted by its key; all queries come before the slices.
    #: A row with weights follows the row without and has a `weight_effective_n`; that of every other row is null.
    rows: list[dict[str, Any]]
    #: dataset, evaluated_on, run, baseline, measure, cutoff, baseline_status, status, queries, change: the change of
    #: the mean that queries of these two statuses make up (status None: the query is not there). The parts sum to the
    #: difference of the two means over each side's own queries, which are those of DATASET_SCORES.
    transitions: list[dict[str, Any]]
    #: dataset, evaluated_on, run, baseline, measure, cutoff, query_id, baseline_status, status, baseline_score, score,
    #: difference: of each run the queries that lost most, the largest loss first, then those that won most.
    queries: list[dict[str, Any]]
    #: Sentences for people: `what, how many, one example`.
    warnings: list[str]
    #: Of each of `rows`, how many queries lost so much or more, by the sizes of losses that were requested.
    losses: list[dict[float, int]] = dataclasses.field(default_factory=list)


def compare_tables(
    query_scores: DataFrame,
    baseline_scores: DataFrame | None = None,
    baseline_run: str | None = None,
    *,
    measures: Sequence[str] | Mapping[str, Collection[Cutoff] | None] = ("ndcg",),
    runs: Sequence[str] | None = None,
    cutoffs: Iterable[Cutoff] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    test: str = "t",
    tie: float = 1e-9,
    losses: Sequence[float] = (0.2,),
    attributes: DataFrame | None = None,
    weights: DataFrame | None = None,
    min_queries: int = MIN_QUERIES,
    seed: int = 0,
    queries: int = 0,
) -> Comparison:
    """Compare runs with a baseline, on all queries and on slices of them. Runs Spark jobs.

    Parameters
    ----------
    query_scores : DataFrame
        A table QUERY_SCORES of one night per dataset: columns run, query_id and the measures, and if there are any
        dataset, evaluated_on, cutoff, status, evaluation_id.
    baseline_scores : DataFrame, optional
        Such a table of another night. Without `baseline_run`, runs are paired by name.
    baseline_run : str, optional
        The run that every other one is compared with: of `baseline_scores` if there are any, else of `query_scores`.
    measures : sequence of str, or mapping of str to cutoffs
        Columns of numbers in both tables; and at which of the cutoffs each is compared, None for all.
    runs : sequence of str, optional
        The runs to compare; by default all but the baseline. One that is nowhere has a row of 0 queries.
    cutoffs : iterable of int or None, optional
        The cutoffs to compare; by default all at which a measure was evaluated. None is the whole ranking.
    correction : str
        `holm`, `bh` or `none`: how p values are adjusted, over all rows without weights, and over all with.
    test : str
        `t`, or `randomization` for all; with `t`, rows flagged few_changed or skewed are randomized too.
    tie : float
        Differences of at most this size are ties.
    losses : sequence of float
        The sizes of losses that are counted; the first is that of `large_losses`.
    attributes, weights : DataFrame, optional
        QUERY_ATTRIBUTES and QUERY_WEIGHTS.
    min_queries : int
        A slice of fewer paired queries is not tested.
    queries : int
        How many queries that lost most, and that won most, are named for each run, measure and cutoff.

    Returns
    -------
    Comparison
        One row per dataset, run, measure, cutoff and slice.

    Raises
    ------
    ConfigurationError
        An option has no such value, or a measure, run or cutoff is not there; the message names near ones.
    InputError
        A table holds several nights or queries twice, or breaks its contract.
    """
    at = measures if isinstance(measures, Mapping) else {}
    options = ComparisonOptions(tuple(measures), alpha, correction, test, tie, tuple(losses), min_queries, seed)
    chosen = None if cutoffs is None else list(cutoffs)
    slices = Slices() if attributes is None else slicing.read(attributes)
    weighing_ = Weights() if weights is None else weighing.read(weights)
    own = pairing.scores(query_scores, options.measures, "query_scores")
    other = None if baseline_scores is None else pairing.scores(baseline_scores, options.measures, "baseline")
    if other is None and baseline_run is None:
        raise ConfigurationError("baseline: there is none; name a run, or give the scores of another night")
    places = pairing.places(own, other, baseline_run, runs, chosen)
    if not places:
        return Comparison([], [], [], [])
    paired = pairing.paired(own, own if other is None else other, places, options.measures)
    if slices.names_datasets or weighing_.names_datasets:
        paired = pairing.with_dataset(paired, places)
    table = slices.cut(weighing_.put_on(paired))
    rows = aggregated(table, len(measures), tie, options.losses).collect()
    every = aggregates([row.asDict() for row in rows], places, len(measures))
    warnings = _unknown_queries(every, slices, weighing_)
    if chosen is None:
        every = _evaluated(every)
    every = [each for each in every if _is_requested(at, options.measures[each.measure], each.place.cutoff)]
    plain = [comparisons.unweighted(each, min_queries) for each in every]
    weighted = [] if weights is None else _weighted(table, plain, len(measures))
    _randomize(table, plain, weighted, options)
    for aggregate, sentence in contradictions(every, slices.names, options.measures):
        warnings.append(sentence)
        next(each for each in plain if each.aggregate is aggregate).flags.append(SIMPSON)
    of_kinds = [comparisons.rows(kind, slices.names, baseline_run, options) for kind in (plain, weighted)]
    extremes = second_pass.extremes(paired, places, options.measures, queries, baseline_run) if queries else []
    return Comparison(
        [row for both in zip_longest(*of_kinds) for row in both if row is not None],
        _transitions(every, options.measures, baseline_run),
        [row for row in extremes if _is_requested(at, row["measure"], row["cutoff"])],
        warnings,
        [
            {loss: int(each.aggregate.total(f"lost_{size}")) for size, loss in enumerate(options.losses)}
            for both in zip_longest(plain, weighted)
            for each in both
            if each is not None
        ],
    )


def _is_requested(at: Mapping[str, Collection[Cutoff] | None], measure: str, cutoff: Cutoff) -> bool:
    cutoffs = at.get(measure)
    return cutoffs is None or cutoff in cutoffs


def _evaluated(aggregates: Sequence[Aggregate]) -> list[Aggregate]:
    """Those at cutoffs at which any run has a score by their measure; all of a measure that no run has."""
    there = {(each.place.own.dataset, each.measure, each.place.cutoff) for each in aggregates if each.has_scores}
    somewhere = {(dataset, measure) for dataset, measure, _ in there}
    return [
        each
        for each in aggregates
        for dataset in [each.place.own.dataset]
        if (dataset, each.measure, each.place.cutoff) in there or (dataset, each.measure) not in somewhere
    ]


def _unknown_queries(aggregates: Sequence[Aggregate], slices: Slices, weights: Weights) -> list[str]:
    """How many queries of the attributes and of the weights are not compared: they have no scores, or were left out.

    Exact where every run has a score of every judged query, as QUERY_SCORES has it.
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
    squares = dict(zip(map(id, weighed), second_pass.squares(table, weighed, measures), strict=True))
    return [comparisons.weighted(each, squares.get(id(each.aggregate), 0.0)) for each in plain]


def _randomize(
    table: DataFrame, plain: Sequence[Estimate], weighted: Sequence[Estimate], options: ComparisonOptions
) -> None:
    """Give doubtful estimates, or all, the p value of the randomization test. Runs a job."""
    tested = [each for each in plain if each.is_tested and (options.test == "randomization" or each.is_doubtful)]
    aggregates = [each.aggregate for each in tested]
    p_values = second_pass.randomized(table, aggregates, len(options.measures), options.seed)
    found = dict(zip(map(id, aggregates), p_values, strict=True))
    for each in (*plain, *weighted):
        if id(each.aggregate) in found:
            each.randomized = found[id(each.aggregate)][each.weighted]


def _transitions(
    aggregates: Iterable[Aggregate], measures: Sequence[str], baseline: str | None
) -> list[dict[str, Any]]:
    return [
        {
            "dataset": each.place.own.dataset,
            "evaluated_on": each.place.night,
            "run": each.place.own.run,
            "baseline": baseline or each.place.own.run,
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
