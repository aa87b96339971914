"""Runs against a baseline: which queries pair, what their differences are, and how sure one can be of them."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame


@dataclasses.dataclass(frozen=True)
class Compared:
    """What comparing found: plain data, as it is judged, printed and published."""

    #: Dictionaries with the columns of COMPARISONS, sorted by its key; all queries come before the slices.
    #: A row with weights follows the row without and has a `weight_effective_n`; that of every other row is null.
    rows: list[dict[str, Any]]
    #: dataset, run, baseline, measure, cutoff, baseline_status, status, queries, change: the change of the mean that
    #: queries of these two statuses make up (status None: the query is not there). The parts sum to the difference of
    #: the two means over each side's own queries, which are those of DATASET_SCORES.
    transitions: list[dict[str, Any]]
    #: Sentences for people: `what, how many, one example`.
    warnings: list[str]


def compare_tables(
    query_scores: DataFrame,
    baseline_scores: DataFrame | None = None,
    baseline_run: str | None = None,
    *,
    measures: Sequence[str] = ("ndcg",),
    runs: Sequence[str] | None = None,
    cutoffs: Iterable[int | None] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    test: str = "t",
    tie: float = 1e-9,
    large_loss: float = 0.2,
    attributes: DataFrame | None = None,
    weights: DataFrame | None = None,
    min_queries: int = 10,
    seed: int = 0,
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
    measures : sequence of str
        Columns of numbers in both tables.
    runs : sequence of str, optional
        The runs to compare; by default all but the baseline. One that is nowhere has a row of 0 queries.
    cutoffs : iterable of int or None, optional
        The cutoffs to compare; by default all. None among them is the whole ranking.
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
    raise NotImplementedError
