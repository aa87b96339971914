"""Runs against a baseline: which queries pair, what their differences are, and how sure one can be of them."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.comparison import aggregation, pairing, second_look, warning
from ndcg_spark.comparison import slices as slicing
from ndcg_spark.comparison import weights as weighing
from ndcg_spark.comparison.asked import MIN_QUERIES, Asked
from ndcg_spark.comparison.given import refuse_absent, sides_of
from ndcg_spark.comparison.rows import DOUBTED, Judged, date_of, rows_of, with_weights, without_weights
from ndcg_spark.comparison.slices import ALL
from ndcg_spark.comparison.tallies import Row, Tally, evaluated, identify, tallied


@dataclasses.dataclass(frozen=True)
class Compared:
    """What comparing found: plain data, as it is judged, printed and published."""

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


def compare_tables(
    query_scores: DataFrame,
    baseline_scores: DataFrame | None = None,
    baseline_run: str | None = None,
    *,
    measures: Sequence[str] | Mapping[str, Collection[int | None] | None] = ("ndcg",),
    runs: Sequence[str] | None = None,
    cutoffs: Iterable[int | None] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    test: str = "t",
    tie: float = 1e-9,
    large_loss: float = 0.2,
    attributes: DataFrame | None = None,
    weights: DataFrame | None = None,
    min_queries: int = MIN_QUERIES,
    seed: int = 0,
    queries: int = 0,
) -> Compared:
    """Compare runs with a baseline, on all queries and on slices of them. An action.

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
    tie, large_loss : float
        A difference of at most `tie` is a tie, and a loss of at least `large_loss` a large one.
    attributes, weights : DataFrame, optional
        QUERY_ATTRIBUTES and QUERY_WEIGHTS.
    min_queries : int
        A slice of fewer paired queries is not tested.
    queries : int
        How many queries that lost most, and that won most, are named for each run, measure and cutoff.

    Returns
    -------
    Compared
        One row per dataset, run, measure, cutoff and slice.

    Raises
    ------
    ConfigurationError
        An option has no such value, or a measure, run or cutoff is not there; the message names near ones.
    InputError
        A table holds several nights or queries twice, or breaks its contract.
    """
    at = measures if isinstance(measures, Mapping) else {}
    asked = Asked(tuple(measures), alpha, correction, test, tie, large_loss, min_queries, seed)
    chosen = None if cutoffs is None else list(cutoffs)
    cut = slicing.whole() if attributes is None else slicing.read(attributes)
    weighed = weighing.Weights() if weights is None else weighing.read(weights)
    sides = sides_of(query_scores, baseline_scores, baseline_run, asked.measures, runs, chosen)
    paired = pairing.paired(sides.runs, sides.baseline, sides.key, asked.measures)
    table = cut.cut(weighed.put_on(paired))
    rows, counted = _collected(
        aggregation.aggregated(table, asked.measures, asked.tie, asked.large_loss), aggregation.counted(sides.runs)
    )
    refuse_absent(rows, sides, baseline_run, chosen)
    every = tallied(rows, sides.key, runs, len(asked.measures))
    identify(every, counted)
    if chosen is None:
        # A measure may have been evaluated at some of the cutoffs only.
        every = evaluated(every)
    tallies = [t for t in every if _is_asked(at, asked.measures[t.measure], t.place.cutoff or None)]
    judged = _judged(table, tallies, asked, weights is not None)
    warnings = warning.of_unknown(rows, cut, weighed)
    for tally, sentence in warning.of_simpson(tallies, cut, asked.measures):
        warnings.append(sentence)
        for each in judged:
            if each.tally is tally and not each.weighted:
                each.flags.append(warning.SIMPSON)
    described = (cut.names, asked.measures, baseline_run, asked.correction, asked.alpha, sides.same_night)
    plain = rows_of([each for each in judged if not each.weighted], *described)
    weighted = rows_of([each for each in judged if each.weighted], *described)
    together = [row for both in zip_longest(plain, weighted) for row in both if row is not None]
    furthest = second_look.furthest(paired, asked.measures, queries) if queries else []
    named = [
        row | {"baseline": baseline_run or row["run"]}
        for row in furthest
        if _is_asked(at, row["measure"], row["cutoff"])
    ]
    return Compared(together, _transitions(tallies, asked.measures, baseline_run), named, warnings)


def _is_asked(at: Mapping[str, Collection[int | None] | None], measure: str, cutoff: int | None) -> bool:
    cutoffs = at.get(measure)
    return cutoffs is None or cutoff in cutoffs


def _collected(aggregated: DataFrame, counted: DataFrame) -> tuple[list[Row], list[Row]]:
    """The rows of both tables, in one job. An action."""
    one = aggregated.withColumns({"before": F.lit(False), "evaluation_id": F.lit(None).cast("string")})
    kinds = dict(one.dtypes)
    more = counted.withColumns(
        {name: F.lit(None).cast(kind) for name, kind in kinds.items() if name not in counted.columns}
        | {"before": F.lit(True)}
    )
    found: list[Row] = [row.asDict() for row in one.union(more.select(*kinds)).collect()]
    return [row for row in found if not row["before"]], [row for row in found if row["before"]]


def _judged(table: DataFrame, tallies: Sequence[Tally], asked: Asked, weigh: bool) -> list[Judged]:
    """Each tally without weights and, if asked to `weigh`, with them; the doubtful ones randomized. May act twice."""
    plain = [without_weights(tally, asked.min_queries) for tally in tallies]
    judged = list(plain)
    if weigh:
        heavy = [each for each in plain if each.tally.sums["weight"]]
        squares = second_look.squares(table, [each.tally for each in heavy], asked.measures)
        by_place = {id(each): square for each, square in zip(heavy, squares, strict=True)}
        judged += [with_weights(each, by_place.get(id(each), 0.0)) for each in plain]
    doubtful = [
        each
        for each in plain
        if each.has_answer and (asked.test == "randomization" or DOUBTED.intersection(each.flags))
    ]
    p_values = second_look.randomized(table, [each.tally for each in doubtful], asked.measures, asked.seed)
    found = {id(each.tally): both for each, both in zip(doubtful, p_values, strict=True)}
    for each in judged:
        if id(each.tally) in found:
            each.randomized = found[id(each.tally)][each.weighted]
    return judged


def _transitions(tallies: Iterable[Tally], measures: Sequence[str], baseline: str | None) -> list[dict[str, Any]]:
    return [
        {
            "dataset": tally.place.dataset,
            "evaluated_on": date_of(tally.place.night),
            "run": tally.place.run,
            "baseline": baseline or tally.place.run,
            "measure": measures[tally.measure],
            "cutoff": tally.place.cutoff or None,
            "baseline_status": statuses[0],
            "status": statuses[1],
            "queries": queries,
            "change": change,
        }
        for tally in tallies
        if tally.place.slice == ALL
        for statuses, queries, change in tally.parts()
    ]
