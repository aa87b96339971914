"""`compare` as a function of tables, for Python and notebooks."""

import dataclasses
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.api.evaluations import (
    EvaluatedScores,
    common_measures,
    evaluations_in,
    refuse_other_arguments,
    refuse_other_conventions,
    shared_attributes,
    tables_of,
)
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.human_grades import HumanGrades
from ndcg_spark.comparison.moved_in_nights import pair_of
from ndcg_spark.comparison.over_datasets import COLUMNS
from ndcg_spark.comparison.runs import (
    Comparison,
    compare_nights,
    compare_sources,
    parse_metrics,
    refuse_no_comparison_over_datasets,
)
from ndcg_spark.comparison.sample_file import read_sample
from ndcg_spark.comparison.score_tables import (
    ANSWERS,
    JUDGED,
    KEY,
    number_columns,
    sources,
    with_means,
)
from ndcg_spark.comparison.sources import ScoreSource
from ndcg_spark.convention.measures import RUN_COLUMNS, SCORES, Cutoff
from ndcg_spark.convention.parsing import listed
from ndcg_spark.errors import ConfigurationError, about
from ndcg_spark.inputs.memory import is_frame, run_name, to_arrow
from ndcg_spark.inputs.query_tables import attribute_rows, weight_rows
from ndcg_spark.nights.log import committed
from ndcg_spark.schemas import COMPARISONS, QUERY_WEIGHTS
from ndcg_spark.tables.writers import to_pandas
from ndcg_spark.tolerance import DECIMALS

if TYPE_CHECKING:
    import pandas as pd

#: The numbers of answered queries; shown if a run or its baseline answered few.
_COUNTS = ("judged_queries", "answered_queries", "baseline_answered_queries")
#: The columns that are shown, unless they are hidden; see `_hidden_columns`.
_SHOWN = (
    "dataset",
    "attribute",
    "value",
    "baseline",
    "run",
    "measure",
    "cutoff",
    "mean",
    "baseline_mean",
    "difference",
    "interval_low",
    "interval_high",
    "p_value",
    "p_adjusted",
    "wins",
    "losses",
    "conclusion",
    "flags",
    "minimum_detectable",
    "weight_effective_n",
    *_COUNTS,
)


def compare(
    query_scores: Any,
    baseline: Any = None,
    *,
    measures: Any = None,
    runs: Iterable[str] | None = None,
    alpha: float = 0.05,
    correction: str = "holm",
    attributes: Any = None,
    weights: Any = None,
    margin: float = 0.01,
    full: bool = False,
    over_datasets: bool = False,
    human: Any = None,
    assume_missing_at_random: bool = False,
) -> "pd.DataFrame":
    """Compare runs with a baseline, query by query: differences of means, confidence intervals and
    p values.

    Each table may be a Spark, pandas or Polars DataFrame, a pyarrow Table, or a dictionary of
    columns. Only a Spark DataFrame needs an engine; its rows are fetched into this process.

    Parameters
    ----------
    query_scores : table
        The result of `evaluate`, `query_scores` of `read_scores`, {run: table}, or any table with
        the columns run, query_id and the measure, for one night. Each query occurs once per run
        and cutoff. All evaluations must have the same convention. With `human`, the folder of
        published nights.
    baseline : str, several of them, or table
        The run, or each of the runs, that all others are compared with; a list of all runs compares
        all pairs. A table with the scores of another night pairs the runs by name; queries whose
        judgments differ (column judgments_hash) are left out, and a warning says how many. Leave it
        out with `human`: the sample names the nights and runs that it was drawn for.
    measures : str or several of them
        As on the command line, `ndcg@10,dcg` or `P@5 AP`; ir_measures' own measures; or a column
        of numbers. Without a cutoff, a measure is compared at every cutoff for which it has values.
        The default is the measures given to `evaluate`, or the only column of numbers, or NDCG.
    runs : several str, optional
        The runs to compare; by default all.
    alpha, correction
        The significance level, and how p values are adjusted for the number of runs and slices:
        `holm`, `bonferroni`, `bh`, `none`.
    attributes, weights : table, optional
        `attributes` defines slices: query_id, attribute and value, or query_id and a column for
        each attribute. The default is those given to `evaluate`. `weights` adds a second row to
        every comparison: query_id and weight. A column dataset is optional in both.
    margin : float
        The largest difference that does not matter. Runs whose difference is certainly smaller are
        concluded to be the same.
    full : bool
        Whether to return all columns in the order of the table COMPARISONS (REFERENCE.md).
    over_datasets : bool
        Whether to compare over the datasets instead, with each dataset as one observation. The
        result has a row per run with the mean of its differences and p of Wilcoxon's signed-rank
        test. A warning names each run that is missing from a dataset and so has no row.
    human : path or DataFrame
        A sample from `judge_next` with human grades. The sample's nights are compared, and an
        extra row, `difference_at_judges_ideal`, corrects the difference for a machine's errors
        judge (CORRECTED.md). `attrs["human"]` contains all of its numbers.
    assume_missing_at_random : bool
        Whether `human` may have blank grades, which are assumed to be like the others.

    Returns
    -------
    DataFrame
        A pandas row per dataset, measure, cutoff, run and baseline, the best run first. Rows of
        slices, and weighted rows, follow the rows of all queries.

    Raises
    ------
    ConfigurationError
        An option has an invalid value, or a measure, cutoff or run does not exist.
    InputError
        The kind of a table is not supported, or a table contains a query twice or breaks its
        contract.

    Examples
    --------
    >>> import pandas as pd
    >>> ours, theirs = [0.5, 0.7, 0.9, 0.4], [0.4, 0.5, 0.9, 0.1]
    >>> keys = {"run": ["new"] * 4 + ["old"] * 4, "query_id": list("abcd") * 2}
    >>> scores = pd.DataFrame({**keys, "ndcg": ours + theirs})
    >>> row = compare(scores, "old").iloc[0]
    >>> counts = f"{row['wins']} won, {row['losses']} lost"
    >>> print(f"{row['difference']:+.4f}, p {row['p_value']:.4f}: {counts}")
    +0.1500, p 0.1027: 3 won, 0 lost
    """
    attribute_table = weight_table = None
    if attributes is not None:
        attribute_table = attribute_rows(_table(attributes, None, "query_attributes"))
    if weights is not None:
        weight_table = weight_rows(_table(weights, QUERY_WEIGHTS.names, "query_weights"))
    options = ComparisonOptions(
        runs=[] if runs is None else list(listed(runs)),
        alpha=alpha,
        correction=correction,
        margin=margin,
        attributes=attribute_table,
        weights=weight_table,
    )
    if human is not None and over_datasets:
        raise ConfigurationError("human: it covers one dataset; leave out over_datasets")
    if human is not None:
        grades = HumanGrades(human, assume_missing_at_random)
        comparison = _of_sample(query_scores, baseline, grades, measures, options)
    elif baseline is None:
        raise ConfigurationError("baseline: it is missing; name a run, or give a table")
    else:
        comparison = compare_tables(query_scores, baseline, measures, options)
    if over_datasets:
        return _over_datasets(comparison)
    rows = comparison.all_rows
    flags = [row["flags"] for row in rows]
    table = to_pandas(pa.Table.from_pylist(rows, COMPARISONS)).assign(flags=flags)
    shown = table if full else _shown(table)
    if comparison.human is not None:
        shown.attrs["human"] = comparison.human.value()
    return shown


def _of_sample(
    output: Any, baseline: Any, human: HumanGrades, measures: Any, options: ComparisonOptions
) -> Comparison:
    """The comparison of a sample's nights, corrected with its human grades."""
    if baseline is not None or not isinstance(output, str | os.PathLike):
        what = "the sample names the published nights; give their folder, and no baseline"
        raise ConfigurationError(f"human: {what}")
    pair = pair_of(committed(str(output)), read_sample(human.source).header)
    text = "" if measures is None else " ".join(map(str, listed(measures)))
    options = dataclasses.replace(
        options,
        measures=parse_metrics(text) if text else {},
        baselines=[] if pair.run == pair.baseline else [pair.baseline],
        runs=options.runs or [pair.run],
    )
    other_date = None if pair.night == pair.other else pair.other.evaluated_on
    night = pair.night
    return compare_nights(
        str(output), options, night.evaluated_on, night.dataset, other_date, human
    )


def compare_tables(
    query_scores: Any,
    baseline: Any,
    measures: Any,
    options: ComparisonOptions,
) -> Comparison:
    """The comparison of tables, for `compare` and the charts.

    The measures and baselines in the options are ignored. Warnings point at the code that called
    the caller of this function.
    """
    evaluations = evaluations_in(query_scores)
    if options.attributes is None:
        options = dataclasses.replace(options, attributes=shared_attributes(evaluations))
    common = common_measures(evaluations)
    requested = measures
    if measures is None:
        requested = common.texts or "ndcg"
    text = " ".join(map(str, listed(requested)))
    # All columns that may contain scores, so that a message can name them.
    wanted = list(dict.fromkeys([*KEY, *ANSWERS, JUDGED, text, *SCORES]))
    scores = _table(tables_of(query_scores), wanted, "query_scores")
    if measures is None and not evaluations:
        text = _only_number_column(scores) or text
    metrics: dict[str, list[Cutoff] | None] = {text: None}
    if text not in scores.column_names:
        metrics = parse_metrics(text, common.options)
    names = _baseline_runs(baseline)
    other_evaluations = [] if names else evaluations_in(baseline)
    refuse_other_conventions(evaluations, other_evaluations)
    refuse_other_arguments([*evaluations, *other_evaluations], metrics)
    others = None if names else _other_scores(baseline, wanted, list(metrics))
    options = dataclasses.replace(options, measures=metrics, baselines=names)
    own = _sources(query_scores, scores, list(metrics), "query_scores")
    comparison = compare_sources(own, others, options)
    for notice in comparison.warnings:
        warnings.warn(str(notice), stacklevel=3)
    if not comparison.rows:
        sentence = "there is no run to compare with the baseline; give a different one"
        raise ConfigurationError(f"query_scores: {sentence}")
    return comparison


def _over_datasets(comparison: Comparison) -> "pd.DataFrame":
    """The rows over datasets, the best run of each measure first."""
    import pandas as pd

    refuse_no_comparison_over_datasets(comparison)
    rows, sentences = comparison.over_datasets
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=3)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table["cutoff"] = table["cutoff"].astype("Int64")
    # The largest difference comes first, but runs with equal differences are in ascending order.
    table["negated"] = -table["difference"].round(DECIMALS)
    table = table.sort_values(["measure", "cutoff", "negated", "run"], ignore_index=True)
    unused = [name for name in ("baseline_night", "side") if table[name].isna().all()]
    return table.drop(columns=["negated", *unused])


def _only_number_column(scores: pa.Table) -> str | None:
    """The only column of numbers, or None if there are several or none."""
    names = number_columns(scores)
    return names[0] if len(names) == 1 else None


def _baseline_runs(baseline: Any) -> list[str]:
    """The names of the runs that are the baseline; empty if the baseline is a table."""
    if isinstance(baseline, Mapping | EvaluatedScores) or is_frame(baseline):
        return []
    names = list(listed(baseline))
    if not names:
        raise ConfigurationError("baseline: it is empty; name a run, or give a table")
    # Any other sequence is names only if it has text; a Series of scores is a table.
    are_names = isinstance(baseline, list | tuple) or any(isinstance(name, str) for name in names)
    return [run_name(name) for name in names] if are_names else []


def _other_scores(
    baseline: Any, wanted: Sequence[str], measures: Sequence[str]
) -> dict[str, ScoreSource]:
    """Another night's scores, by dataset."""
    table = _table(tables_of(baseline), wanted, "baseline")
    return {source.dataset: source for source in _sources(baseline, table, measures, "baseline")}


def _sources(
    given: Any, query_scores: pa.Table, measures: Sequence[str], name: str
) -> list[ScoreSource]:
    """Each dataset's scores. `given` is the argument that the table comes from.

    A measure of a run, such as coverage, has no value for a query, so the means of runs are needed;
    only what `evaluate` returns has them.
    """
    of_queries = [measure for measure in measures if measure not in RUN_COLUMNS]
    of_runs = [measure for measure in measures if measure in RUN_COLUMNS]
    found = sources(query_scores, of_queries, name)
    if not of_runs:
        return found
    evaluations = evaluations_in(given)
    # A dictionary may mix what `evaluate` returns with tables, which have no means of runs.
    is_mixed = isinstance(given, Mapping) and len(evaluations) < len(given)
    if not evaluations or is_mixed:
        what = f"{of_runs[0]} is one number for all lists of a run"
        raise ConfigurationError(f"{name}: {what}; give what evaluate returns")
    columns = ["dataset", "run", "cutoff", "attribute", "lists", *of_runs]
    table = _table(tables_of(given, "dataset_scores"), columns, name)
    absent = [measure for measure in of_runs if measure not in table.column_names]
    if absent:
        has = ", ".join(common_measures(evaluations).texts)
        raise ConfigurationError(f"measures: {absent[0]} was not evaluated; {name} has {has}")
    rows = table.to_pylist()
    return [with_means(source, rows, of_runs) for source in found]


def _shown(table: "pd.DataFrame") -> "pd.DataFrame":
    """The columns to show. The best run comes first, and all queries come before slices."""
    hidden = _hidden_columns(table)
    # The groups keep their order, so the rows are first sorted by the number of their group.
    groups = table.groupby(["dataset", "measure", "cutoff"], dropna=False, sort=False)
    keyed = table.assign(
        group=groups.ngroup(),
        is_weighted=table["weight_effective_n"].notna(),
        negated_mean=-table["mean"].fillna(-math.inf).round(DECIMALS),
    )
    order = ["group", "attribute", "value", "is_weighted", "negated_mean"]
    ordered = keyed.sort_values(order, na_position="first", ignore_index=True)
    return ordered[[name for name in _SHOWN if name not in hidden]]


def _hidden_columns(table: "pd.DataFrame") -> set[str]:
    """The columns that have nothing to show, or the same value in every row."""
    hidden = {name for name in ("dataset", "baseline") if table[name].nunique() < 2}
    for name in ("attribute", "value", "weight_effective_n"):
        if table[name].isna().all():
            hidden.add(name)
    if not table["flags"].str.len().any():
        hidden.add("flags")
    if not any("few_answered" in flags for flags in table["flags"]):
        hidden.update(_COUNTS)
    return hidden


def _table(table: Any, wanted: Sequence[str] | None, name: str) -> pa.Table:
    with about(name):
        return to_arrow(table, wanted)
