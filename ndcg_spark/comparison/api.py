"""`compare` as a function of tables, for Python and notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.comparison.compare import Compared
from ndcg_spark.comparison.options import SCORES, ComparisonOptions, measures_of
from ndcg_spark.comparison.tables import KEY, arrow, attributes_of, night_of, sources, weights_of
from ndcg_spark.convention.cutoffs import Cutoff, as_list, ascending
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.pandas_tables import to_pandas
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.scores import Scores, SparkScores

if TYPE_CHECKING:
    import pandas as pd


def compare(
    query_scores: Any,
    baseline: Any,
    *,
    measure: str | Iterable[object] = "ndcg",
    cutoffs: int | Iterable[int | None] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    tie: float = 1e-9,
    attributes: Any = None,
    weights: Any = None,
    seed: int = 0,
    margin: float = 0.01,
    unchanged_queries: bool = False,
) -> "pd.DataFrame":
    """Compare runs with a baseline, query by query: differences of their means, confidence intervals, p values.

    Each table may be a Spark, pandas or Polars DataFrame, a pyarrow Table, or a dictionary of columns. Nothing but a
    table of Spark needs an engine; it is fetched into this process.

    Parameters
    ----------
    query_scores : table
        What `evaluate` returns, QUERY_SCORES of `read_scores`, a dictionary {run: table}, or any table with the columns
        run, query_id and the measure, and optionally dataset, evaluated_on, cutoff, evaluation_id and judgments_hash.
        Each query occurs once per run, cutoff and night.
    baseline : str, several of them, or table
        The name of the run that every other run is compared with; a list of several such runs, each of which all others
        are compared with; or such a table of another night, whose runs are paired by name.
    measure : str or several of them
        A column of numbers, or measures as on the command line, optionally each with its own cutoff: `ndcg@10,dcg`,
        `P@5 AP`; also the measures of ir_measures.
    cutoffs : int, None or several of them
        The cutoffs to compare, None in a list being the whole ranking; by default those that `measure` names, or all at
        which the measure has values.
    alpha : float
        The significance level; intervals cover 1 - alpha.
    correction : str
        How p values are adjusted for the number of runs and slices: `holm`, `bonferroni`, `bh` (Benjamini-Hochberg),
        `none`.
    tie : float
        Queries whose scores differ by at most this are ties.
    attributes : table, optional
        For slices: query_id, attribute and value, or query_id and a column for each attribute; dataset is optional. In
        every table, columns may have the names that other tools give them (qid, user_id; slice; frequency).
    weights : table, optional
        query_id and weight; dataset is optional. Every comparison then has a second row, with `weight_effective_n`.
    seed : int
        The seed of the random signs.
    margin : float
        The largest difference that does not matter: runs that certainly differ by less are concluded to be the same.
    unchanged_queries : bool
        Whether to leave out queries whose judgments differ from those of another night (columns judgments_hash).

    Returns
    -------
    DataFrame
        The table COMPARISONS of pandas, one row per dataset, date, measure, cutoff, run, baseline and slice, in this
        order; its columns are described in REFERENCE.md. All queries come before the slices.

    Raises
    ------
    ConfigurationError
        An option has an invalid value, or a measure, cutoff or run does not exist.
    InputError
        A table is not of a known kind, contains a query twice, or breaks its contract.

    Examples
    --------
    >>> import pandas as pd
    >>> ours, theirs = [0.5, 0.7, 0.9, 0.4], [0.4, 0.5, 0.9, 0.1]
    >>> scores = pd.DataFrame({"run": ["new"] * 4 + ["old"] * 4, "query_id": list("abcd") * 2, "ndcg": ours + theirs})
    >>> row = compare(scores, "old").iloc[0]
    >>> print(f"{row['difference']:+.4f}, p {row['p_value']:.4f}: {row['wins']} won, {row['losses']} lost")
    +0.1500, p 0.1027: 3 won, 0 lost
    """
    # The scores of `evaluate` have both tables.
    query_scores, baseline = (
        table.query_scores if isinstance(table, Scores | SparkScores) else table for table in (query_scores, baseline)
    )
    if not isinstance(measure, str):
        measure = " ".join(map(str, measure if isinstance(measure, Iterable) else [measure]))
    baseline_runs = _names(baseline)
    # All columns that may have scores, so that a message can name those that exist.
    wanted = list(dict.fromkeys([*KEY, measure, *_measures(measure), *SCORES]))
    scores = arrow(query_scores, wanted, "query_scores")
    measures: Mapping[str, Sequence[Cutoff] | None] = (
        {measure: None} if measure in scores.column_names else _measures(measure)
    )
    if cutoffs is not None and any(measures.values()):
        raise ConfigurationError(f"cutoffs: measure={measure!r} names its own cutoff; leave cutoffs out")
    if cutoffs is not None:
        measures = dict.fromkeys(measures, ascending(as_list(cutoffs)))
    options = ComparisonOptions(
        measures, alpha, correction, tie, seed=seed, margin=margin, unchanged_queries=unchanged_queries
    )
    own = sources(scores, options.names, "query_scores")
    others = None if baseline_runs else sources(arrow(baseline, wanted, "baseline"), options.names, "baseline")
    compared = Compared(
        options,
        baseline_runs,
        attributes=None if attributes is None else attributes_of(arrow(attributes, None, "query_attributes")),
        weights=None
        if weights is None
        else weights_of(arrow(weights, ["dataset", "query_id", "weight"], "query_weights")),
    )
    rows = compared.with_sources(own, None if others is None else night_of(others)).rows
    if not rows:
        raise ConfigurationError(
            "query_scores: there is no run to compare with the baseline; give the scores of another"
        )
    frame = to_pandas(pa.Table.from_pylist(rows, COMPARISONS))
    return frame.assign(flags=[row["flags"] for row in rows])


_OF_WEIGHTS = ("dataset", "query_id", "weight")


def _names(baseline: Any) -> list[str]:
    """The names of runs that are given as the baseline; none if it is a table."""
    names = [baseline] if isinstance(baseline, str) else baseline
    is_list = isinstance(names, list | tuple) and bool(names) and all(isinstance(name, str) for name in names)
    return list(dict.fromkeys(names)) if is_list else []


def _measures(measure: str) -> dict[str, list[Cutoff] | None]:
    """The columns that a measure stands for, each with its cutoffs; an unknown name may be a user's own column."""
    try:
        return measures_of(measure)
    except ConfigurationError:
        if measure.isidentifier():
            return {measure: None}
        raise
