"""In which format results are printed: a table for people, Markdown or LaTeX to paste, CSV or JSON for programs."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.measures import NDCG_ONLY, MeasureSet
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job.compare_presets import PresetScores
from ndcg_spark.job.outcome import Outcome
from ndcg_spark.masking import masked
from ndcg_spark.plain import did_you_mean, message
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

FORMATS = ("table", "json", *CSV, "markdown", "latex")
#: What query scores are printed in: they are too many for a page.
OF_QUERIES = ("table", "json", *CSV)

#: What --format meant before it said how results are printed.
_OF_FILES = ("trec", "parquet", "orc", "tsv", "jsonl")


def chosen(given: str | None, json_: bool, known: Sequence[str] = FORMATS) -> str:
    """The format that `--format` and `--json` ask for. ConfigurationError if there is no such format, or two."""
    if given is None:
        return "json" if json_ else "table"
    if given in _OF_FILES:
        raise ConfigurationError(
            f"format: {given!r} is a format of files, and --format says how results are printed "
            f"({', '.join(known)}); give --input-format {given}"
        )
    if given not in known:
        raise ConfigurationError(
            f"format: {given!r} is not a format{did_you_mean(given, known)}; one of {', '.join(known)}"
        )
    if json_ and given != "json":
        raise ConfigurationError(f"arguments: --json is --format json, and --format {given} is given; leave one out")
    return given


def print_outcome(
    outcome: Outcome, style: str, order: Order | None = None, more: Mapping[str, Any] | None = None
) -> None:
    """Print the dataset scores of an evaluation in the format; in JSON, everything there is to say about it.

    `more` is what JSON has beside it.
    """
    rows, asked = outcome.dataset_scores, outcome.measure_set
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


def print_comparison(compared: Sequence[PresetScores], style: str, asked: MeasureSet = NDCG_ONLY) -> None:
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
