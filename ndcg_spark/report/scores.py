"""How scores are printed: of an evaluation, of every query, under every preset; and what was found in the input."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.convention.measures import NDCG_ONLY, MeasureSet
from ndcg_spark.report.console import print_result, printing
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES, measure_first
from ndcg_spark.tables.scores import paper_table, preset_tables, score_table
from ndcg_spark.tables.sorting import Order, sorted_runs
from ndcg_spark.tables.table import TextTable, cells, counted, name, number
from ndcg_spark.tables.verdicts import verdict_table
from ndcg_spark.tables.writers import aligned, as_json, print_csv
from ndcg_spark.text import masked, message

if TYPE_CHECKING:
    from ndcg_spark.job.compare_inputs import PresetScores
    from ndcg_spark.job.evaluate import EvaluationOutcome


def print_outcome(outcome: "EvaluationOutcome", style: str, order: Order | None = None) -> None:
    """Print the dataset scores of an evaluation and the verdicts of its gate; in JSON, all there is to say about it."""
    columns = measure_first(DATASET_SCORES, outcome.measure_set.columns)
    value = functools.partial(outcome_value, outcome, order)
    rows = [*ordered(outcome, order), *outcome.slice_scores]
    print_result(style, lambda: outcome_tables(outcome, style, order), value, columns, rows)


def ordered(outcome: "EvaluationOutcome", order: Order | None) -> list[Mapping[str, Any]]:
    """The dataset scores of an evaluation in this order, by default by the headline."""
    return [row for of_run in sorted_runs(outcome.dataset_scores, order, outcome.measure_set) for row in of_run]


def outcome_value(outcome: "EvaluationOutcome", order: Order | None) -> dict[str, Any]:
    """Everything there is to say about an evaluation, for JSON."""
    value = dataclasses.asdict(dataclasses.replace(outcome, comparison=None))
    # It is printed beside the scores.
    del value["comparison"]
    rows = ordered(outcome, order) if order else outcome.dataset_scores
    return {**value, "output": outcome.output and masked(outcome.output), "dataset_scores": rows}


def outcome_tables(outcome: "EvaluationOutcome", style: str, order: Order | None) -> list[TextTable]:
    """The dataset scores of an evaluation, and a table per verdict."""
    table = paper_table if style == "latex" else score_table
    notes = [f"{outcome.convention}: {outcome.formula}"]
    verdicts = [verdict_table(verdict.as_json(), len(outcome.verdicts) > 1) for verdict in outcome.verdicts]
    sliced = [score_table(outcome.slice_scores, order, (), outcome.measure_set)] if outcome.slice_scores else []
    return [table(outcome.dataset_scores, order, notes, outcome.measure_set), *sliced, *verdicts]


def print_presets(compared: Sequence["PresetScores"], style: str, asked: MeasureSet = NDCG_ONLY) -> None:
    """Print the dataset scores under every preset. In CSV, `refused` is why a preset scores nothing."""

    def tables() -> list[TextTable]:
        refusals = [f"{entry.preset} refuses: {message(entry.refused)}" for entry in compared if entry.refused]
        *others, last = preset_tables({entry.preset: entry.rows for entry in compared}, asked)
        return [*others, dataclasses.replace(last, notes=refusals)]

    rows = (
        {**row, "preset": entry.preset, "refused": entry.refused} for entry in compared for row in (entry.rows or [{}])
    )
    columns = ["preset", *measure_first(DATASET_SCORES, asked.columns), "refused"]
    print_result(style, tables, lambda: [dataclasses.asdict(entry) for entry in compared], columns, rows)


def print_query_scores(rows: Iterable[Mapping[str, Any]], style: str, measures: Sequence[str] = ()) -> None:
    """Print rows of QUERY_SCORES as they come from the engine, never all at once; in JSON an object on each line.

    `measures` are the columns of the measures beside NDCG that are printed after it.
    """
    shown = measure_first(QUERY_SCORES, measures)
    with printing():
        if style == "csv":
            print_csv(shown, rows)
            return
        scores = [number(score) for score in ("ndcg", *measures, "dcg", "ideal_dcg")]
        columns = [*map(name, ("dataset", "run", "query_id")), number("cutoff", form=format_cutoff), *scores]
        columns += [number("returned", form=counted), number("judged", form=counted), name("status")]
        numbers = [place for place, column in enumerate(columns) if column.is_number]
        headings = [column.heading for column in columns]
        lines: Iterable[str] = aligned(headings, (cells(columns, row) for row in rows), numbers)
        if style == "json":
            lines = (as_json({column: row[column] for column in shown}) for row in rows)
        for line in lines:
            print(line)
