"""In which format results are printed: a table for people, Markdown or LaTeX to paste, CSV or JSON for programs."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.measures import NOTHING_ELSE, Asked
from ndcg_spark.job.every_preset import Compared
from ndcg_spark.job.outcome import Outcome
from ndcg_spark.masking import masked
from ndcg_spark.plain import message
from ndcg_spark.report.records import CSV, print_csv
from ndcg_spark.report.streams import as_json
from ndcg_spark.report.terminal import MOST_ROWS, print_sheet
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.sheets.markup import latex, markdown
from ndcg_spark.sheets.papers import paper_sheet
from ndcg_spark.sheets.scores import preset_sheets, score_sheet
from ndcg_spark.sheets.sheet import Sheet
from ndcg_spark.sheets.sorting import Order, in_order
from ndcg_spark.sheets.verdicts import verdict_sheet


def print_outcome(
    outcome: Outcome, style: str, order: Order | None = None, more: Mapping[str, Any] | None = None
) -> None:
    """Print the dataset scores of an evaluation in the format; in JSON, everything there is to say about it.

    `more` is what JSON has beside it.
    """
    rows, asked = outcome.dataset_scores, outcome.asked
    ordered = [row for of_run in in_order(rows, order, asked) for row in of_run]
    if style == "json":
        shown = {"output": outcome.output and masked(outcome.output), "dataset_scores": ordered if order else rows}
        print(as_json({**dataclasses.asdict(outcome), **shown, **(more or {})}))
    elif style in CSV:
        print_csv(measure_first(DATASET_SCORES, asked.columns), ordered, style)
    else:
        words = [f"{outcome.convention}: {outcome.formula}"]
        scores = paper_sheet if style == "latex" else score_sheet
        verdicts = [verdict_sheet(verdict.as_json(), len(outcome.verdicts) > 1) for verdict in outcome.verdicts]
        print_sheets([scores(rows, order, words, asked)], style)
        if verdicts:
            print()
            print_sheets(verdicts, style, most=None)


def print_comparison(compared: Sequence[Compared], style: str, asked: Asked = NOTHING_ELSE) -> None:
    """Print the dataset scores under every preset in the format. In CSV, `refused` is why a preset scores nothing."""
    refusals = [f"{entry.preset} refuses: {message(entry.refused)}" for entry in compared if entry.refused]
    if style == "json":
        print(as_json([dataclasses.asdict(entry) for entry in compared]))
    elif style in CSV:
        rows = (
            {**row, "preset": entry.preset, "refused": entry.refused}
            for entry in compared
            for row in (entry.rows or [{}])
        )
        print_csv(["preset", *measure_first(DATASET_SCORES, asked.columns), "refused"], rows, style)
    else:
        *sheets, last = preset_sheets({entry.preset: entry.rows for entry in compared}, asked)
        print_sheets([*sheets, dataclasses.replace(last, notes=refusals)], style)


def print_sheets(sheets: Sequence[Sheet], style: str, most: int | None = MOST_ROWS) -> None:
    """Print sheets as `table`, which has at most so many rows, `markdown` or `latex`, a blank line between them."""
    writers: dict[str, Callable[[Sheet], list[str]]] = {"markdown": markdown, "latex": latex}
    for number, one in enumerate(sheets):
        if number:
            print()
        if style in writers:
            print("\n".join(writers[style](one)))
            continue
        short, lost = one.cut(len(one.rows) if most is None else most)
        print_sheet(short, [f"and {lost:,} more; --format csv has all"] if lost else [])
