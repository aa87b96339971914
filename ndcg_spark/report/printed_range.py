"""Prints a range of dates that were evaluated one after the other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.convention.measures import MEASURES, measure_heading
from ndcg_spark.report.console import print_view
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.tables.macro import DATASETS, macro_means
from ndcg_spark.tables.table import make_table, sorted_runs, verdict_in_words
from ndcg_spark.tables.writers import View
from ndcg_spark.text import masked
from ndcg_spark.voices import OPTIONS

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome
    from ndcg_spark.job.evaluate_range import Evaluated

Row = Mapping[str, Any]
_SHOWN = ("dataset", "date", "exit_code", "result", "reason", "best_run", "measure", "best")


def print_range(evaluated: Sequence["Evaluated"], style: str | None) -> None:
    """Print a row per date and dataset.

    CSV has the rows of DATASET_SCORES, and JSON has the outcome of each date.
    """
    shown: list[Row] = []
    csv_rows: list[Row] = []
    macro_rows: list[Row] = []
    measure_columns: Sequence[str] = ()
    for one in evaluated:
        if one.outcome is None:
            word = "no input" if one.has_no_input else "refused"
            line = {"date": one.date, "exit_code": one.exit_code, "result": word}
            shown.append({**dict.fromkeys(_SHOWN), **line})
        else:
            scores = one.outcome.dataset_scores
            shown += _lines(one, one.outcome)
            csv_rows += scores
            macro_rows += macro_means(scores, one.outcome.datasets_without_results).rows
            # All dates are evaluated with the same measures.
            measure_columns = one.outcome.measures.columns_of_means
    columns = measure_first(DATASET_SCORES, measure_columns)
    if macro_rows:
        csv_rows += macro_rows
        columns = (*columns, DATASETS)
    values = [_value(one) for one in evaluated]
    table = make_table(shown, (), _notes(evaluated), kept=["best"])
    print_view(View([table], values, columns, csv_rows), style)


def _notes(evaluated: Sequence["Evaluated"]) -> list[str]:
    """The dates without input, and why the range was stopped early."""
    notes = []
    missing = [one.date for one in evaluated if one.has_no_input]
    if missing:
        dates = ", ".join(missing)
        notes.append(f"{len(missing):,} of {len(evaluated):,} dates have no input: {dates}")
    for one in evaluated:
        if one.stopped:
            notes.append(f"stopped after {one.date}, because its acceptance has ended")
    return notes


def _lines(one: "Evaluated", outcome: "EvaluationOutcome") -> Iterator[Row]:
    """A row for each dataset of a date, with its verdict and its best run."""
    verdicts = {verdict.dataset: verdict.as_json() for verdict in outcome.verdicts}
    for dataset in outcome.datasets:
        rows = [row for row in outcome.dataset_scores if row["dataset"] == dataset]
        measure, cutoff = outcome.measures.headline(row["cutoff"] for row in rows)
        best = [row for row in sorted_runs(rows, outcome.measures)[0] if row["cutoff"] == cutoff]
        verdict = verdicts.get(dataset)
        yield {
            "dataset": dataset,
            "date": one.date,
            "exit_code": one.exit_code,
            "result": "published" if verdict is None else verdict_in_words(verdict),
            "reason": None if verdict is None else verdict["reason"],
            "best_run": best[0]["run"] if best else None,
            "measure": measure_heading(measure, cutoff),
            "best": best[0].get(MEASURES[measure].column) if best else None,
        }


def _value(one: "Evaluated") -> dict[str, Any]:
    """The JSON value of a date: its outcome, or why it has none."""
    value = {"evaluated_on": one.date, "exit_code": one.exit_code}
    if one.refusal is not None:
        error = {"code": one.refusal.code, "message": masked(one.refusal.worded(OPTIONS))}
        return {**value, "error": error}
    if one.outcome is None:
        return value
    return {
        **value,
        "evaluation_id": one.outcome.evaluation_id,
        "output": one.outcome.output and masked(one.outcome.output),
        "verdicts": [verdict.as_json() for verdict in one.outcome.verdicts],
        "dataset_scores": one.outcome.dataset_scores,
    }
