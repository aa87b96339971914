"""Query scores as they come from the engine: never all of them at once."""

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.plain import printable
from ndcg_spark.report.records import CSV, print_csv, print_json_lines
from ndcg_spark.schemas import QUERY_SCORES, measure_first
from ndcg_spark.sheets.sheet import at, rounded

#: So many rows decide how wide the columns of the text are.
_LOOKED_AT = 500
_NAMES = ("dataset", "run", "query_id")
_KEY = (*_NAMES, "cutoff")
_OTHERS = ("dcg", "ideal_dcg", "returned", "judged", "status")


def print_query_scores(rows: Iterable[Mapping[str, Any]], style: str, companions: Sequence[str] = ()) -> None:
    """Print rows of QUERY_SCORES in a format, in JSON one object on each line; ndcg after the key.

    `companions` are the columns of the measures beside NDCG that are printed after it.
    """
    shown = measure_first(QUERY_SCORES, companions)
    if style in CSV:
        print_csv(shown, rows, style)
    elif style == "json":
        print_json_lines({name: row[name] for name in shown} for row in rows)
    else:
        for line in _lines(iter(rows), [*_KEY, "ndcg", *companions, *_OTHERS]):
            print(line)


def _lines(rows: Iterator[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """Lines of text with aligned columns; a name that is wider than all of the first rows pushes its line."""
    cells_of = functools.partial(_cells, columns=columns)
    first = [cells_of(row) for row in itertools.islice(rows, _LOOKED_AT)]
    widths = [max(map(len, column)) for column in zip(columns, *first, strict=True)]
    for cells in itertools.chain([list(columns)], first, map(cells_of, rows)):
        aligned = (
            cell.ljust(width) if name in (*_NAMES, "status") else cell.rjust(width)
            for name, cell, width in zip(columns, cells, widths, strict=True)
        )
        yield "  ".join(aligned).rstrip()


def _cells(row: Mapping[str, Any], columns: Sequence[str]) -> list[str]:
    values = (at(row[name]) if name == "cutoff" else row[name] for name in columns)
    return [printable(v) if isinstance(v, str) else str(v) if isinstance(v, int) else rounded(v) for v in values]
