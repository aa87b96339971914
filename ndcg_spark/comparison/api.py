"""`compare` as a function of tables, for Python and notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from ndcg_spark.comparison.compare import compare_tables
from ndcg_spark.comparison.options import SCORES, ComparisonOptions, measures_of
from ndcg_spark.convention.cutoffs import Cutoff, ascending
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.dataframes import frame
from ndcg_spark.library import as_list, session_of
from ndcg_spark.pandas_tables import Table, with_html
from ndcg_spark.schemas import COMPARISONS, QUERY_WEIGHTS
from ndcg_spark.scores import Scores
from ndcg_spark.tables.comparisons import comparison_table
from ndcg_spark.tables.writers import html

#: A notebook shows this many rows.
_MOST_ROWS = 100
#: The columns of QUERY_SCORES that are used besides the measure.
_COLUMNS = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "status", "evaluation_id", "judgments_hash")


def compare(
    query_scores: Any,
    baseline: Any,
    *,
    measure: str | Iterable[object] = "ndcg",
    cutoffs: int | Iterable[int | None] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    test: str = "t",
    tie: float = 1e-9,
    attributes: Any = None,
    weights: Any = None,
    seed: int = 0,
    margin: float | None = None,
    unchanged_queries: bool = False,
) -> Table:
    """Compare runs with a baseline, query by query: differences of their means, confidence intervals, p values.

    Each table may be a Spark, pandas or Polars DataFrame, a pyarrow Table, or a dictionary of columns. This function is
    not lazy: it aggregates all queries and, for doubtful comparisons, makes a second pass over their differences.

    Parameters
    ----------
    query_scores : table
        What `evaluate` returns, QUERY_SCORES of `read_scores`, a dictionary {run: table}, or any table with the columns
        run, query_id and the measure, and optionally dataset, evaluated_on, cutoff, status, evaluation_id and
        judgments_hash. Each query occurs once per run, cutoff and night.
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
        How p values are adjusted for the number of comparisons in a family: `holm`, `bh` (Benjamini-Hochberg), `none`.
    test : str
        `t`: the paired t test, or where its assumptions are doubtful (flags) the randomization test or a t test that is
        corrected for skewness; `randomization`: that test everywhere.
    tie : float
        Queries whose scores differ by at most this are ties.
    attributes : table, optional
        For slices: query_id, attribute and value, or query_id and a column for each attribute; dataset is optional. In
        every table, columns may have the names that other tools give them (qid, user_id; slice; frequency).
    weights : table, optional
        query_id and weight; dataset is optional. Every comparison then has a second row, with `weight_effective_n`.
    seed : int
        The seed of the random signs.
    margin : float, optional
        The largest difference that does not matter: rows whose interval is within it are concluded to be the same.
    unchanged_queries : bool
        Whether to leave out queries whose judgments differ from those of another night (columns judgments_hash).

    Returns
    -------
    Table
        The table COMPARISONS, one row per dataset, date, run, baseline, measure, cutoff and slice; its columns are
        described in COMPARING.md. Sorted by these, all queries before the slices. A notebook shows it with its
        intervals drawn; `to_pandas` and `to_arrow` return all rows.

    Raises
    ------
    ConfigurationError
        An option has an invalid value, or a measure, cutoff or run does not exist.
    InputError
        A table is not of a known kind, contains a query twice, or breaks its contract.
    EngineError
        A session is needed, but no engine is available.

    Examples
    --------
    >>> import pandas as pd
    >>> ours, theirs = [0.5, 0.7, 0.9, 0.4], [0.4, 0.5, 0.9, 0.1]
    >>> scores = pd.DataFrame({"run": ["new"] * 4 + ["old"] * 4, "query_id": list("abcd") * 2, "ndcg": ours + theirs})
    >>> row = compare(scores, "old").first()
    >>> round(row["difference"], 4), row["wins"], row["ties"], row["losses"], row["test"]
    (0.15, 3, 1, 0, 'randomization')
    """
    query_scores, baseline = (
        table.query_scores if isinstance(table, Scores) else table for table in (query_scores, baseline)
    )
    tables = [query_scores, attributes, weights]
    if not isinstance(measure, str):
        measure = " ".join(map(str, measure if isinstance(measure, Iterable) else [measure]))
    baseline_runs = _names(baseline)
    session = session_of(*tables, *([] if baseline_runs else [baseline]))
    # All columns that may have scores, so that a message can name those that exist.
    wanted = list(dict.fromkeys([*_COLUMNS, measure, *_measures(measure), *SCORES]))
    scores = frame(query_scores, wanted, session, "query_scores")
    measures: Mapping[str, Sequence[Cutoff] | None] = (
        {measure: None} if measure in scores.columns else _measures(measure)
    )
    if cutoffs is not None and any(measures.values()):
        raise ConfigurationError(f"cutoffs: measure={measure!r} names its own cutoff; leave cutoffs out")
    if cutoffs is not None:
        measures = dict.fromkeys(measures, ascending(as_list(cutoffs)))
    found = compare_tables(
        scores,
        None if baseline_runs else frame(baseline, wanted, session, "baseline"),
        baseline_runs,
        ComparisonOptions(
            measures, alpha, correction, test, tie, seed=seed, margin=margin, unchanged_queries=unchanged_queries
        ),
        attributes=None if attributes is None else frame(attributes, None, session, "query_attributes"),
        weights=None if weights is None else frame(weights, QUERY_WEIGHTS.names, session, "query_weights"),
    )
    if not found.rows:
        raise ConfigurationError(
            "query_scores: there is no run to compare with the baseline; give the scores of another"
        )
    # The table is small and computed, so a notebook shows it at once.
    table = comparison_table(found.rows, correction, alpha).first(_MOST_ROWS, "rows")
    return with_html(as_table(found.rows, session), lambda _: html(table))


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


def as_table(rows: list[dict[str, Any]], session: SparkSession) -> DataFrame:
    """Rows of COMPARISONS as a DataFrame of the session."""
    return session.createDataFrame(pa.Table.from_pylist(rows, to_arrow_schema(COMPARISONS)))
