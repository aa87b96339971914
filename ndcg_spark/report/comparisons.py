"""Comparisons as they are printed: tables for people, Markdown and LaTeX to paste, CSV and JSON for programs."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.comparing import Compared
from ndcg_spark.report.formats import print_sheets
from ndcg_spark.report.records import print_csv
from ndcg_spark.report.streams import as_json
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.sheets.comparisons import PLAIN_SIGNS, SIGNS, comparison_sheet, query_sheet, transition_sheet
from ndcg_spark.sheets.sheet import Sheet


def print_compared(found: Compared, style: str, correction: str, alpha: float) -> None:
    """Print what a comparison found. CSV has the rows of COMPARISONS alone, JSON is one object with everything."""
    if style == "json":
        print(as_json(as_object(found)))
    elif style == "csv":
        print_csv(COMPARISONS.names, flat(found.rows))
    else:
        print_sheets(sheets_of(found, style, correction, alpha), style)


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
