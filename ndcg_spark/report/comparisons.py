"""Comparisons as they are printed: tables for people, Markdown and LaTeX to paste, CSV and JSON for programs."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.compare import Comparison as Compared
from ndcg_spark.comparison.options import ComparisonOptions as Asked
from ndcg_spark.job.outcome import Outcome
from ndcg_spark.report.formats import print_outcome, print_sheets
from ndcg_spark.report.records import CSV, print_csv
from ndcg_spark.report.streams import as_json
from ndcg_spark.schemas import COMPARISONS, DATASET_SCORES, measure_first
from ndcg_spark.sheets.comparisons import (
    PLAIN_SIGNS,
    SIGNS,
    comparison_sheet,
    notes_of_test,
    query_sheet,
    transition_sheet,
)
from ndcg_spark.sheets.papers import compared_paper_sheet, marks_of, paper_sheet
from ndcg_spark.sheets.sheet import Sheet
from ndcg_spark.sheets.sorting import Order, in_order

#: The columns of COMPARISONS that stand beside a run's scores.
_BESIDE = (
    *(
        "baseline",
        "measure",
        "difference",
        "relative_difference",
        "interval_low",
        "interval_high",
        "p_value",
        "p_adjusted",
    ),
    *("test", "effect_size", "minimum_detectable", "wins", "ties", "losses", "flags"),
)


def print_compared(found: Compared, style: str, correction: str, alpha: float, measures: Sequence[str] = ()) -> None:
    """Print what a comparison of these measures found. LaTeX has them as columns, in this order.

    CSV has the rows of COMPARISONS alone, JSON is one object with everything.
    """
    if style == "json":
        print(as_json(as_object(found)))
    elif style in CSV:
        print_csv(COMPARISONS.names, flat(found.rows), style)
    else:
        paper = compared_paper_sheet(found.rows, correction, measures) if style == "latex" else None
        print_sheets([*([paper] if paper else []), *sheets_of(found, style, correction, alpha)], style)


def print_beside_scores(outcome: Outcome, found: Compared, style: str, order: Order | None) -> None:
    """Print the dataset scores of an evaluation, and what its runs are beside one of them.

    In CSV every row of the scores has the columns of its comparison by the first measure that was asked for at its
    cutoff, which are empty for the baseline itself.
    """
    if style in CSV:
        # Of several measures at a cutoff, the first that was asked for.
        compared = {_key(row): row for row in reversed(flat(found.rows))}
        rows = [row for of_run in in_order(outcome.dataset_scores, order, outcome.asked) for row in of_run]
        nothing: dict[str, Any] = dict.fromkeys(_BESIDE)
        print_csv(
            [*measure_first(DATASET_SCORES, outcome.asked.columns), *_BESIDE],
            ({**{name: compared.get(_key(row), nothing)[name] for name in _BESIDE}, **row} for row in rows),
            style,
        )
        return
    if style == "latex":
        notes = [f"{outcome.convention}: {outcome.formula}", *notes_of_test(found.rows, found.rows, Asked.correction)]
        scores = paper_sheet(outcome.dataset_scores, order, notes, outcome.asked, marks_of(found.rows))
        print_sheets([scores, *sheets_of(found, style, Asked.correction, Asked.alpha)], style)
        return
    print_outcome(outcome, style, order, as_object(found))
    if style != "json":
        print()
        print_sheets(sheets_of(found, style, Asked.correction, Asked.alpha), style)


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["dataset"], row["run"], row["cutoff"]


def as_object(found: Compared) -> dict[str, Any]:
    """Everything that was found, for JSON."""
    return {
        "comparisons": found.rows,
        **{name: getattr(found, name) for name in ("transitions", "queries", "warnings")},
    }


def flat(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of COMPARISONS whose flags are one field of text."""
    return [{**row, "flags": " ".join(row["flags"])} for row in rows]


def sheets_of(found: Compared, style: str, correction: str, alpha: float) -> list[Sheet]:
    """The comparisons, the queries that were asked for, and what queries of another status do to the means."""
    signs = _signs() if style == "table" else None
    sheets = [comparison_sheet(found.rows, correction, alpha, signs)]
    if found.queries:
        sheets.append(query_sheet(found.queries))
    changed = transition_sheet(found.transitions)
    return [*sheets, *([changed] if changed else [])]


def _signs() -> str:
    """What bars are drawn with: what stdout can show."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower()
    return SIGNS if encoding.startswith("utf") else PLAIN_SIGNS
