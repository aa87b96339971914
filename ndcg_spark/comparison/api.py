"""`compare` as a function of tables, for Python and notebooks."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.comparison.compare import Compared, Source
from ndcg_spark.comparison.differences import ComparisonOptions, measures_of
from ndcg_spark.comparison.slices import Attributes, Weights, ids, numbers
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.convention.measures import SCORES
from ndcg_spark.errors import ConfigurationError, InputError, first_line
from ndcg_spark.inputs.column_names import is_known, of_attributes
from ndcg_spark.inputs.memory import table_of
from ndcg_spark.pandas_tables import to_pandas
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.scores import Scores, SparkScores
from ndcg_spark.text import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

#: The name of the dataset of tables that name none.
DATASET = "default"
#: The columns of QUERY_SCORES that are used besides the measures.
KEY = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "evaluation_id", "judgments_hash")
#: What is shown, the first four and the last where they tell rows apart.
SHOWN = (
    *("dataset", "attribute", "value", "baseline", "run", "measure", "cutoff", "mean", "baseline_mean", "difference"),
    *("interval_low", "interval_high", "p_value", "p_adjusted", "wins", "losses", "conclusion", "weight_effective_n"),
)


def compare(
    query_scores: Any,
    baseline: Any,
    *,
    measures: Any = "ndcg",
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
        What `evaluate` returns, QUERY_SCORES of `read_scores`, a dictionary {run: table}, or any table with the columns
        run, query_id and the measure, and optionally dataset, evaluated_on, cutoff, evaluation_id and judgments_hash.
        Each query occurs once per run, cutoff and night.
    baseline : str, several of them, or table
        The name of the run that every other run is compared with; a list of several such runs, each of which all others
        are compared with; or such a table of another night, whose runs are paired by name.
    measures : str or several of them
        Measures as on the command line, optionally with a cutoff: `ndcg@10,dcg`, `P@5 AP`; those of ir_measures; or a
        column of numbers. Without a cutoff, a measure is compared at all at which it has values.
    runs : several str, optional
        The runs to compare; by default all.
    alpha : float
        The significance level; intervals cover 1 - alpha.
    correction : str
        How p values are adjusted for the number of runs and slices: `holm`, `bonferroni`, `bh` (Benjamini-Hochberg),
        `none`.
    attributes : table, optional
        For slices: query_id, attribute and value, or query_id and a column for each attribute; dataset is optional.
    weights : table, optional
        query_id and weight; dataset is optional. Every comparison then has a second row, with `weight_effective_n`.
    margin : float
        The largest difference that does not matter: runs that certainly differ by less are concluded to be the same.
    unchanged_queries : bool
        Whether to leave out queries whose judgments differ from those of another night (columns judgments_hash).
    full : bool
        Whether to return all columns and the order of the table COMPARISONS (REFERENCE.md).

    Returns
    -------
    DataFrame
        A row of pandas per measure, run and baseline, the best run first; of slices too, after all queries.

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
    listed = measures if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]
    written = " ".join(map(str, listed))
    names = [baseline] if isinstance(baseline, str) else list(baseline) if isinstance(baseline, list | tuple) else []
    # All columns that may have scores, so that a message can name those that exist.
    wanted = list(dict.fromkeys([*KEY, written, *_places(written), *SCORES]))
    scores = _arrow(query_scores, wanted, "query_scores")
    places = {written: None} if written in scores.column_names else _places(written)
    compared = Compared(
        ComparisonOptions(places, alpha, correction, margin=margin, unchanged_queries=unchanged_queries),
        names,
        None if runs is None else list(runs),
        None if attributes is None else Attributes(_arrow(attributes, None, "query_attributes")),
        None if weights is None else Weights(_arrow(weights, ["dataset", "query_id", "weight"], "query_weights")),
    )
    others: dict[str, Source] | None = None
    if not names:
        nights = sources(_arrow(baseline, wanted, "baseline"), list(places), "baseline")
        others = {source.dataset: source for source in nights}
        if len(others) < len(nights):
            dates = sorted(source.evaluated_on for source in nights if source.evaluated_on)
            raise InputError(f"baseline: scores of {len(nights)} nights, e.g. {dates[0]} and {dates[-1]}; give one")
    rows = compared.with_sources(sources(scores, list(places), "query_scores"), others).rows
    if not rows:
        raise ConfigurationError("query_scores: there is no run to compare with the baseline; give another")
    table = to_pandas(pa.Table.from_pylist(rows, COMPARISONS)).assign(flags=[row["flags"] for row in rows])
    return table if full else _shown(table)


def _shown(table: "pd.DataFrame") -> "pd.DataFrame":
    """The columns that people read, the best difference first."""
    tells = {name for name in ("dataset", "baseline") if table[name].nunique() > 1}
    tells |= {name for name in ("attribute", "value", "weight_effective_n") if table[name].notna().any()}
    optional = {"dataset", "attribute", "value", "baseline", "weight_effective_n"} - tells
    place = table.groupby(["dataset", "evaluated_on", "measure", "cutoff"], dropna=False, sort=False).ngroup()
    ordered = table.assign(place=place, weighted=table["weight_effective_n"].notna()).sort_values(
        ["place", "attribute", "value", "weighted", "difference"],
        ascending=[True, True, True, True, False],
        na_position="first",
        ignore_index=True,
    )
    return ordered[[name for name in SHOWN if name not in optional]]


def _places(measures: str) -> dict[str, list[Cutoff] | None]:
    """The columns of measures, each with its cutoffs; an unknown name may be a user's own column."""
    try:
        return measures_of(measures)
    except ConfigurationError:
        if measures.isidentifier():
            return {measures: None}
        raise


def _arrow(table: Any, wanted: Sequence[str] | None, where: str) -> pa.Table:
    """The table with those `wanted` columns that it has under any name, or with all. Runs a job for one of Spark."""
    if isinstance(table, Mapping):
        table = {name: _fetched(one, wanted) for name, one in table.items()}
    rows = table_of(_fetched(table, wanted), wanted, where)
    if wanted is not None:
        return rows.select([name for name in wanted if name in rows.column_names])
    names = {theirs: ours for ours, theirs in of_attributes({}, rows.column_names, where).items()}
    return rows.rename_columns([names.get(name, name) for name in rows.column_names])


def _fetched(table: Any, wanted: Sequence[str] | None) -> Any:
    """A table of Spark in this process; anything else as it is."""
    table = table.query_scores if isinstance(table, Scores | SparkScores) else table
    if not type(table).__module__.startswith("pyspark."):
        return table
    names = (name for name in table.columns if wanted is None or any(is_known(ours, name) for ours in wanted))
    return table.select(*names).toArrow()


def sources(table: pa.Table, measures: Sequence[str], where: str) -> list[Source]:
    """The scores of every dataset and night of a table with some columns of KEY and these measures.

    ConfigurationError if a measure is not a column of numbers; InputError if another column is missing or wrong.
    """
    has = table.column_names
    absent = [name for name in ("run", "query_id") if name not in has]
    if absent:
        raise InputError(f"{where}: no column {absent[0]}; it has {', '.join(has)}; give a table of query scores")
    known = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    for name in measures:
        if name not in known and not (name in has and pa.types.is_integer(table[name].type)):
            near = did_you_mean(name, known)
            raise ConfigurationError(f"measures: no numbers {name!r} in {where}{near}; it has {', '.join(known)}")
    columns = {name: ids(table, name, where) for name in ("run", "query_id")}
    columns |= {name: numbers(table, name, where) for name in measures}
    kinds = {"cutoff": pa.int32(), "judgments_hash": pa.int64(), "evaluated_on": pa.date32()}
    for name, kind in (kinds | {"dataset": pa.string(), "evaluation_id": pa.string()}).items():
        try:
            # Of a time, as pandas has for a date, the day counts.
            is_time = name in has and pa.types.is_timestamp(table[name].type)
            columns[name] = table[name].cast(kind, safe=not is_time) if name in has else pa.nulls(len(table), kind)
        except pa.ArrowException as error:
            raise InputError(f"{where}: {name} is not {kind}, {first_line(error)}") from None
    columns["dataset"] = pc.fill_null(columns["dataset"], DATASET)
    rows = pa.table(columns)
    nights = rows.group_by(["dataset", "evaluated_on"], use_threads=False).aggregate([("evaluation_id", "max")])
    return [_source(rows, night, len(nights) > 1, measures, where) for night in nights.to_pylist()]


def _source(rows: pa.Table, night: Mapping[str, Any], is_part: bool, measures: Sequence[str], where: str) -> Source:
    dataset, date = night["dataset"], night["evaluated_on"]
    if is_part:
        dates = rows["evaluated_on"]
        same = pc.is_null(dates) if date is None else pc.fill_null(pc.equal(dates, date), False)
        rows = rows.filter(pc.and_(pc.equal(rows["dataset"], dataset), same))
    counts = rows.group_by("cutoff").aggregate([(measure, "count") for measure in measures]).to_pylist()
    there = [(name, row["cutoff"]) for row in counts for name in measures if row[f"{name}_count"]]
    # A measure without any value is compared wherever there are rows, and says so.
    empty = {*measures}.difference(name for name, _ in there)
    there += [(name, row["cutoff"]) for row in counts for name in empty]
    runs = sorted(name for name in rows["run"].unique().to_pylist() if name is not None)
    batches, size = functools.partial(_batches, rows), len(rows) // len(counts)
    return Source(dataset, date, night["evaluation_id_max"], runs, there, size, batches, where)


def _batches(rows: pa.Table, names: Sequence[str], *_: object) -> Iterator[pa.RecordBatch]:
    yield from rows.select(list(names)).to_batches()
