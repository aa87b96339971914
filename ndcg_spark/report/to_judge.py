"""The documents that are to be judged next, as they are printed."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.report.formats import print_sheets
from ndcg_spark.report.records import CSV, print_csv
from ndcg_spark.report.streams import as_json
from ndcg_spark.schemas import TO_JUDGE
from ndcg_spark.sheets.sheet import rounded, sheet

_NOTE = "weight: the sum of the discounts of the document's ranks, over the runs that return it within the cutoff"

_NOTHING = "every document that a run returns within the cutoff is judged"


def print_documents(rows: Sequence[Mapping[str, Any]], style: str) -> None:
    """Print rows of TO_JUDGE in the format; a table has the note that says what the weight is."""
    several = len({row["dataset"] for row in rows}) > 1
    names = [name for name in TO_JUDGE.names if several or name != "dataset"]
    if style == "json":
        print(as_json(list(rows)))
    elif style in CSV:
        print_csv(TO_JUDGE.names, rows, style)
    else:
        cells = ([rounded(row[name]) if name == "weight" else str(row[name]) for name in names] for row in rows)
        numbers = [names.index(name) for name in ("runs", "best_rank", "weight")]
        headings = [name.replace("_", " ") for name in names]
        print_sheets([sheet(headings, cells, numbers, [_NOTE if rows else _NOTHING])], style, most=None)
