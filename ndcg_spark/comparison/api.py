"""`compare` as a function of tables, for Python and notebooks."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.comparison.compare import ScoreSource, compare_sources, parse_metrics
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.matrix import answered_rows
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import NDCG_ONLY, SCORES
from ndcg_spark.convention.parsing import listed
from ndcg_spark.errors import ConfigurationError, InputError, about
from ndcg_spark.inputs.memory import is_number, to_arrow
from ndcg_spark.inputs.query_tables import attribute_rows, column, weight_rows
from ndcg_spark.schemas import COMPARISONS, QUERY_SCORES, QUERY_WEIGHTS
from ndcg_spark.scores import Scores, SparkScores
from ndcg_spark.tables.writers import to_pandas

if TYPE_CHECKING:
    import pandas as pd

#: The columns of QUERY_SCORES that are used besides the measures.
_KEY = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "evaluation_id", "judgments_hash")
#: Those that tell whether a run returned anything for a query, where a table has them.
_ANSWERS = ("status", "returned")
#: How many queries were answered; shown if a run or its baseline answered few.
_COUNTS = ("judged_queries", "answered_queries", "baseline_answered_queries")
#: What is shown; some columns only where they tell rows apart.
_SHOWN = (
    *("dataset", "attribute", "value", "baseline", "run", "measure", "cutoff", "mean", "baseline_mean", "difference"),
    *("interval_low", "interval_high", "p_value", "p_adjusted", "wins", "losses", "conclusion", "flags"),
    *("minimum_detectable", "weight_effective_n"),
    *_COUNTS,
)


def compare(
    query_scores: Any,
    baseline: Any,
    *,
    measures: Any = None,
    runs: Iterable[str] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    attributes: Any = None,
    weights: Any = None,
    margin: float = 0.01,
    unchanged_queries: bool = False,
    full: bool = False,
) -> "pd.DataFrame":
    """Compare runs with a baseline, query by query: differences of their means, confidence intervals, p values.

    Each table may be a Spark, pandas or Polars DataFrame, a pyarrow Table, or a dictionary of columns. Nothing but a
    table of Spark needs an engine; it is fetched into this process.

    Parameters
    ----------
    query_scores : table
        What `evaluate` returns, `query_scores` of `read_scores`, {run: table}, or any table with the columns run,
        query_id and the measure, of one night. A query occurs once per run and cutoff.
    baseline : str, several of them, or table
        The run, or each of the runs, that all others are compared with, and a list of all runs for all pairs; or such a
        table of another night, whose runs are paired by name.
    measures : str or several of them
        As on the command line, `ndcg@10,dcg` or `P@5 AP`; those of ir_measures; or a column of numbers. Without a
        cutoff, a measure is compared at all at which it has values. By default those that `evaluate` was asked for, or
        the only column of numbers, or NDCG.
    runs : several str, optional
        The runs to compare; by default all.
    alpha, correction
        The significance level, and how p values are adjusted for the number of runs and slices: `holm`, `bonferroni`,
        `bh`, `none`.
    attributes, weights : table, optional
        For slices: query_id, attribute and value, or query_id and a column for each attribute; by default those that
        `evaluate` was given. For a second row of every comparison: query_id and weight. In both, dataset is optional.
    margin : float
        The largest difference that does not matter: runs that certainly differ by less are concluded to be the same.
    unchanged_queries : bool
        Whether to leave out queries whose judgments differ from those of another night (columns judgments_hash).
    full : bool
        Whether to return all columns and the order of the table COMPARISONS (REFERENCE.md).

    Returns
    -------
    DataFrame
        A row of pandas per dataset, measure, cutoff, run and baseline, the best run first; of slices, and with weights,
        too, after all queries.

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
    is_ours = isinstance(query_scores, Scores | SparkScores)
    asked, kept = (query_scores.measures, query_scores.attributes) if is_ours else (NDCG_ONLY, None)
    text = " ".join(map(str, listed((asked.texts or "ndcg") if measures is None else measures)))
    names = [baseline] if isinstance(baseline, str) else list(baseline) if isinstance(baseline, list | tuple) else []
    # All columns that may have scores, so that a message can name those that exist.
    wanted = list(dict.fromkeys([*_KEY, *_ANSWERS, text, *SCORES]))
    scores = _table(_unwrapped(query_scores), wanted, "query_scores")
    if measures is None and not is_ours and len(known := _numbers(scores)) == 1:
        text = known[0]
    metrics = {text: None} if text in scores.column_names else parse_metrics(text, asked.options)
    others: dict[str, ScoreSource] | None = None
    if not names:
        if isinstance(query_scores, Scores) and isinstance(baseline, Scores):
            _refuse_other_convention(query_scores, baseline)
        nights = sources(_table(_unwrapped(baseline), wanted, "baseline"), list(metrics), "baseline")
        others = {source.dataset: source for source in nights}
    options = ComparisonOptions(
        metrics,
        names,
        list(listed(runs or ())),
        alpha,
        correction,
        margin=margin,
        unchanged_queries=unchanged_queries,
        attributes=kept if attributes is None else attribute_rows(_table(attributes, None, "query_attributes")),
        weights=None if weights is None else weight_rows(_table(weights, QUERY_WEIGHTS.names, "query_weights")),
    )
    comparison = compare_sources(sources(scores, list(metrics), "query_scores"), others, options)
    rows = comparison.rows
    for notice in comparison.warnings:
        warnings.warn(str(notice), stacklevel=2)
    if not rows:
        raise ConfigurationError("query_scores: there is no run to compare with the baseline; give another")
    table = to_pandas(pa.Table.from_pylist(rows, COMPARISONS)).assign(flags=[row["flags"] for row in rows])
    return table if full else _shown(table)


def _table(table: Any, wanted: Sequence[str] | None, name: str) -> pa.Table:
    with about(name):
        return to_arrow(table, wanted)


def _refuse_other_convention(scores: Scores, baseline: Scores) -> None:
    ours, theirs = (str(one.dataset_scores["convention"].iloc[0]) for one in (scores, baseline))
    # Presets of two names may have the same options.
    if Convention.parse(ours).options() != Convention.parse(theirs).options():
        raise ConfigurationError(f"baseline: its convention is {theirs}, and that of the scores {ours}; choose one")


def _shown(table: "pd.DataFrame") -> "pd.DataFrame":
    hidden = [name for name in ("dataset", "baseline") if table[name].nunique() < 2]
    hidden += [name for name in ("attribute", "value", "weight_effective_n") if table[name].isna().all()]
    hidden += [] if table["flags"].str.len().any() else ["flags"]
    if not any("few_answered" in flags for flags in table["flags"]):
        hidden += _COUNTS
    group = table.groupby(["dataset", "measure", "cutoff"], dropna=False, sort=False).ngroup()
    best = -table["mean"].fillna(-math.inf)
    ordered = table.assign(group=group, weighted=table["weight_effective_n"].notna(), best=best)
    order = ["group", "attribute", "value", "weighted", "best"]
    ordered = ordered.sort_values(order, na_position="first", ignore_index=True)
    return ordered[[name for name in _SHOWN if name not in hidden]]


def _unwrapped(table: Any) -> Any:
    if isinstance(table, Mapping):
        return {name: _unwrapped(one) for name, one in table.items()}
    return table.query_scores if isinstance(table, Scores | SparkScores) else table


def _numbers(table: pa.Table) -> list[str]:
    hidden = {*_KEY, *_ANSWERS}
    return [field.name for field in table.schema if is_number(field.type) and field.name not in hidden]


def sources(table: pa.Table, measures: Sequence[str], where: str) -> list[ScoreSource]:
    """The scores of every dataset in a table with some columns of QUERY_SCORES and these measures, of one night."""
    has = {field.name: field.type for field in table.schema}
    for name in ("run", "query_id"):
        if name not in has:
            raise InputError(
                f"{where}: no column {name}; it has {', '.join(has)}; give the columns run, query_id and a measure"
            )
    known = _numbers(table)
    for name in {*measures}.difference([*known, "returned"] if "returned" in has else known):
        place = "the table" if where == "query_scores" else where
        choices = ", ".join(known) or "none"
        raise ConfigurationError(f"measures: no numbers {name!r} in {place}; it has {choices}; name one, measures=")
    kinds = {name: QUERY_SCORES.field(name).type for name in _KEY} | dict.fromkeys(measures, pa.float64())
    columns = {
        name: column(table, name, kind, where) if name in has else pa.nulls(len(table), kind)
        for name, kind in kinds.items()
    }
    columns |= _answer_columns(table, where)
    rows = pa.table(columns | {"dataset": pc.fill_null(columns["dataset"], "default")})
    dates = rows["evaluated_on"].unique().to_pylist()
    if len(dates) > 1:
        raise InputError(f"{where}: scores of {len(dates)} nights, e.g. {dates[0]} and {dates[-1]}; give one")
    datasets = []
    for dataset in rows["dataset"].unique().to_pylist():
        own = rows.filter(pc.field("dataset") == dataset)
        counts = own.group_by("cutoff").aggregate([(measure, "count") for measure in measures]).to_pylist()
        metrics = []
        for measure in measures:
            valued = [row["cutoff"] for row in counts if row[f"{measure}_count"]]
            # A measure without any value is compared wherever there are rows, and says so.
            metrics += [(measure, cutoff) for cutoff in valued or [row["cutoff"] for row in counts]]
        runs = {name for name in own["run"].unique().to_pylist() if name is not None}
        answered = {*own.filter(pa.array(answered_rows(own)))["run"].unique().to_pylist()}
        evaluation_id = own["evaluation_id"][0].as_py()
        datasets.append(
            ScoreSource(
                dataset,
                dates[0],
                evaluation_id,
                sorted(runs & answered),
                metrics,
                own,
                where,
                sorted(runs - answered),
            )
        )
    return datasets


def _answer_columns(table: pa.Table, where: str) -> dict[str, pa.ChunkedArray]:
    """The columns that tell which queries were answered; null where a table has none such."""
    columns = {}
    for name in _ANSWERS:
        kind = QUERY_SCORES.field(name).type
        is_ours = name in table.column_names and is_number(table[name].type) == is_number(kind)
        columns[name] = column(table, name, kind, where) if is_ours else pa.nulls(len(table), kind)
    return columns
