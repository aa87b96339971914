"""Warnings about doubtful input that the scores show. They change nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.contract.doubts import (
    WRITE_ALIKE,
    about_empty_runs,
    about_strangers,
    about_unmatched,
    run_example,
)
from ndcg_spark.convention.convention import Convention, why_no_value
from ndcg_spark.convention.measures import (
    CATALOG_COLUMNS,
    MEASURES,
    Cutoff,
    MeasureSet,
    by_depth,
    format_cutoff,
    measure_heading,
)
from ndcg_spark.schemas import NO_VALUE
from ndcg_spark.voices import Notice

#: A row of DATASET_SCORES.
Row = Mapping[str, Any]


def about_attributes(rows: Iterable[Row], attributes: pa.Table | None) -> Iterator[Notice]:
    """The warning that no query of the attributes has a score, if no slice has a value."""
    if attributes is None:
        return
    values = {row["value"] for row in rows}
    if values.issubset({None, NO_VALUE}):
        yield about_unmatched("query_attributes", attributes)


def about_judged_rates(rows: Iterable[Row], cutoff: Cutoff, advice: str) -> Iterator[str]:
    """The warning about runs that return no judged document within a cutoff."""
    at_cutoff = [row for row in rows if row["cutoff"] == cutoff]
    unjudged = [row["run"] for row in at_cutoff if row["judged_rate"] == 0]
    if unjudged:
        what = f"returned no judged document within the cutoff {format_cutoff(cutoff)}"
        yield f"{len(unjudged)} run(s) {what}, e.g. run={unjudged[0]}; {advice}"


def about_no_values(rows: Iterable[Row], measures: MeasureSet) -> Iterator[str]:
    """The reasons why measures have no value for any run of a dataset."""
    datasets: dict[str, list[Row]] = {}
    for row in rows:
        datasets.setdefault(row["dataset"], []).append(row)
    several = len(datasets) > 1
    for dataset, own in datasets.items():
        where = f" in dataset={dataset}" if several else ""
        for (reason, advice), without_values in _without_values(own, measures).items():
            shown = ", ".join(dict.fromkeys(without_values))
            yield f"measures: no value for {shown}{where}: {reason}; {advice}"


def _without_values(rows: Sequence[Row], measures: MeasureSet) -> dict[tuple[str, str], list[str]]:
    """The measures and cutoffs that are null in all rows of a dataset, by reason and advice."""
    convention = Convention.parse(rows[0]["convention"])
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, cutoff in measures.pairs or [("ndcg", row["cutoff"]) for row in rows]:
        column = MEASURES[name].column
        values = [row[column] for row in rows if row["cutoff"] == cutoff]
        if all(value is None for value in values):
            of_catalog = column in CATALOG_COLUMNS
            advice = "check the item ids" if of_catalog else "check the grades"
            reason = why_no_value(column, convention), advice
            reasons.setdefault(reason, []).append(measure_heading(name, cutoff))
    return reasons


def about_runs(rows: Sequence[Row], runs: Sequence[str]) -> Iterator[str | Notice]:
    """The warnings about probable mistakes in the tables; `runs` are the runs that should have
    rows.
    """
    scored = {row["run"] for row in rows}
    empty = [run for run in runs if run not in scored]
    if empty:
        yield about_empty_runs(len(empty), run_example(empty[0]))
    if not any(_has_queries(row) for row in rows):
        yield "judgments: no query is judged; check the job that fills the table"
    # However the convention treats missing queries, there is no rate without documents.
    elif all(row["judged_rate"] is None for row in rows):
        yield f"results: no run has results for a judged query; {WRITE_ALIKE}"
    else:
        yield from _about_missing(rows)
    deepest = max((row["cutoff"] for row in rows), key=by_depth)
    yield from about_judged_rates(rows, deepest, "write document ids the same way in both tables")


def _has_queries(row: Row) -> bool:
    counted: int = row["queries"] + row["missing_queries"] + row["no_relevant_queries"]
    return counted > 0


def _about_missing(rows: Sequence[Row]) -> Iterator[Notice]:
    """The warning about runs that probably answer different queries.

    They answer fewer judged queries than they lack, and fewer judged queries than unjudged ones.
    """
    few = [row for row in rows if _most_answered_queries(row) < _other_queries(row)]
    if not few:
        return
    runs = {row["run"] for row in few}
    first = few[0]
    answered = _most_answered_queries(first)
    judged = answered + first["missing_queries"]
    example = run_example(first["run"])
    yield about_strangers(len(runs), example, answered, judged, first["unjudged_queries"])


def _other_queries(row: Row) -> int:
    other: int = min(row["missing_queries"], row["unjudged_queries"])
    return other


def _most_answered_queries(row: Row) -> int:
    """The largest possible number of judged queries with results.

    Some queries without gain may be missing.
    """
    options = Convention.parse(row["convention"])
    answered: int = row["queries"]
    if options.no_relevant == "skip":
        answered += row["no_relevant_queries"]
    if options.missing_query == "zero":
        answered -= row["missing_queries"]
    return answered
