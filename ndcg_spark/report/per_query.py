"""Query scores as they come from the engine: never all of them at once."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ndcg_spark.plain import printable
from ndcg_spark.report.records import print_csv, print_json_lines
from ndcg_spark.schemas import QUERY_SCORES, measure_first
from ndcg_spark.sheets.sheet import at, rounded

#: So many rows decide how wide the columns of the text are.
_LOOKED_AT = 500
_NAMES = ("dataset", "run", "query_id")
_COLUMNS = (*_NAMES, "cutoff", "ndcg", "dcg", "ideal_dcg", "returned", "judged", "status")


def print_query_scores(rows: Iterable[Mapping[str, Any]], style: str) -> None:
    """Print rows of QUERY_SCORES as `table`, `csv` or `json` (one object on each line), ndcg after the key."""
    if style == "csv":
        print_csv(measure_first(QUERY_SCORES), rows)
    elif style == "json":
        print_json_lines({name: row[name] for name in measure_first(QUERY_SCORES)} for row in rows)
    else:
        for line in _lines(iter(rows)):
            print(line)


def _lines(rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of text with aligned columns; a name that is wider than all of the first rows pushes its line."""
    first = [_cells(row) for row in itertools.islice(rows, _LOOKED_AT)]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *first, strict=True)]
    for cells in itertools.chain([list(_COLUMNS)], first, map(_cells, rows)):
        aligned = (
            cell.ljust(width) if name in (*_NAMES, "status") else cell.rjust(width)
            for name, cell, width in zip(_COLUMNS, cells, widths, strict=True)
        )
        yield "  ".join(aligned).rstrip()


def _cells(row: Mapping[str, Any]) -> list[str]:
    values = (at(row[name]) if name == "cutoff" else row[name] for name in _COLUMNS)
    return [printable(v) if isinstance(v, str) else str(v) if isinstance(v, int) else rounded(v) for v in values]
