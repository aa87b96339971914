"""Converts a table of scores in memory to a comparison's score sources, one per dataset."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.comparison.matrix import answered_rows
from ndcg_spark.comparison.sources import ScoreSource
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import ConfigurationError, InputError, about
from ndcg_spark.inputs.memory import is_number
from ndcg_spark.inputs.query_tables import column
from ndcg_spark.schemas import QUERY_SCORES

#: The columns of QUERY_SCORES that are used in addition to the measures.
KEY = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "evaluation_id", "judgments_hash")
#: The columns that show whether a run returned anything for a query, if a table has them.
ANSWERS = ("status", "returned")
#: The column that shows, with `returned`, which share of the documents is judged.
JUDGED = "judged"


def number_columns(table: pa.Table) -> list[str]:
    """The columns that may contain scores."""
    columns = []
    for field in table.schema:
        if is_number(field.type) and field.name not in (*KEY, *ANSWERS):
            columns.append(field.name)
    return columns


def sources(table: pa.Table, measures: Sequence[str], name: str) -> list[ScoreSource]:
    """Each dataset's scores in a table with some QUERY_SCORES columns, from one night.

    `name` is the table's name: `query_scores` or `baseline`. InputError or ConfigurationError
    if a column or one of the measures is missing.
    """
    with about(name):
        _refuse_absent_keys(table)
        _refuse_absent_measures(table, measures, name)
        rows = _cast_to_schema(table, measures)
        dates = rows["evaluated_on"].unique().to_pylist()
        if len(dates) > 1:
            nights = f"{len(dates)} nights, e.g. {dates[0]} and {dates[-1]}"
            raise InputError(f"the scores come from {nights}; give one night")
    found = []
    for dataset in rows["dataset"].unique().to_pylist():
        own = rows.filter(pc.field("dataset") == dataset)
        found.append(_source(dataset, dates[0], own, measures, name))
    return found


def with_means(
    source: ScoreSource, rows: Sequence[Mapping[str, Any]], measures: Sequence[str]
) -> ScoreSource:
    """The scores, with the means of these measures of runs added from DATASET_SCORES rows."""
    mean_rows = []
    for row in rows:
        if row["attribute"] is None and row["dataset"] == source.dataset:
            mean_rows.append(row)
    metrics = dict.fromkeys(source.metrics)
    for measure in measures:
        with_value = [row for row in mean_rows if row[measure] is not None]
        # A measure without values is still compared, and reported as empty, as for queries.
        for row in with_value or mean_rows:
            metrics[measure, row["cutoff"]] = None
    return dataclasses.replace(source, mean_rows=mean_rows, metrics=list(metrics))


def _refuse_absent_keys(table: pa.Table) -> None:
    """Raise InputError if the run or the query is missing."""
    has = table.column_names
    for name in ("run", "query_id"):
        if name not in has:
            advice = "give the columns run, query_id and a measure"
            raise InputError(f"there is no column {name}; it has {', '.join(has)}; {advice}")


def _refuse_absent_measures(table: pa.Table, measures: Sequence[str], name: str) -> None:
    """Raise ConfigurationError if a measure is not a column of numbers."""
    known = number_columns(table)
    usable = [*known, "returned"] if "returned" in table.column_names else known
    for measure in measures:
        if measure not in usable:
            place = "the table" if name == "query_scores" else name
            what = f"{place} has no column of numbers {measure!r}"
            choices = ", ".join(known) or "none"
            raise ConfigurationError(f"measures: {what}; it has {choices}; name one with measures=")


def _cast_to_schema(table: pa.Table, measures: Sequence[str]) -> pa.Table:
    """The rows with the types of QUERY_SCORES, with nulls for columns that the table lacks."""
    kinds = {name: QUERY_SCORES.field(name).type for name in KEY}
    kinds |= dict.fromkeys(measures, pa.float64())
    columns = {}
    for name, kind in kinds.items():
        is_there = name in table.column_names
        columns[name] = column(table, name, kind) if is_there else pa.nulls(len(table), kind)
    columns |= _answer_columns(table)
    if JUDGED in table.column_names and pa.types.is_integer(table[JUDGED].type):
        columns.setdefault(JUDGED, table[JUDGED])
    columns["dataset"] = pc.fill_null(columns["dataset"], "default")
    return pa.table(columns)


def _source(
    dataset: str,
    evaluated_on: datetime.date | None,
    rows: pa.Table,
    measures: Sequence[str],
    name: str,
) -> ScoreSource:
    """The scores of one dataset in a table."""
    counts = rows.group_by("cutoff").aggregate([(measure, "count") for measure in measures])
    metrics = []
    for measure in measures:
        with_value = counts.filter(pc.field(f"{measure}_count") > 0)
        # A measure without values is compared wherever there are rows, and reported as empty.
        compared = with_value if len(with_value) else counts
        metrics += [(measure, cutoff) for cutoff in compared["cutoff"].to_pylist()]
    runs = {run for run in rows["run"].unique().to_pylist() if run is not None}
    answered = rows.filter(pa.array(answered_rows(rows)))
    silent = runs - set(answered["run"].unique().to_pylist())
    return ScoreSource(
        dataset=dataset,
        evaluated_on=evaluated_on,
        evaluation_id=rows["evaluation_id"][0].as_py(),
        runs=sorted(runs - silent),
        metrics=metrics,
        rows=rows,
        name=name,
        silent=sorted(silent),
        judged_rates=_judged_rates(rows),
    )


def _judged_rates(rows: pa.Table) -> dict[tuple[str, Cutoff], float]:
    """The share of judged documents by run and cutoff; empty if the rows do not have it."""
    if JUDGED not in rows.column_names:
        return {}
    sums = [(JUDGED, "sum"), ("returned", "sum")]
    rates = {}
    for row in rows.group_by(["run", "cutoff"]).aggregate(sums).to_pylist():
        if row["judged_sum"] is not None and row["returned_sum"]:
            rates[row["run"], row["cutoff"]] = row["judged_sum"] / row["returned_sum"]
    return rates


def _answer_columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """The columns that show which queries were answered; null if a table does not have them."""
    columns = {}
    for name in ANSWERS:
        kind = QUERY_SCORES.field(name).type
        columns[name] = pa.nulls(len(table), kind)
        # A column with the same name may be something else, such as a status as a number.
        if name in table.column_names and is_number(table[name].type) == is_number(kind):
            columns[name] = column(table, name, kind)
    return columns
