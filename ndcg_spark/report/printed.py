"""How rows that need no words of their own are printed: agreement, changes of lists, a check, documents to judge."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.report.console import print_result
from ndcg_spark.schemas import AGREEMENTS, TO_JUDGE
from ndcg_spark.tables.table import make_table

if TYPE_CHECKING:
    import pandas as pd

    from ndcg_spark.job.compare_inputs import ListComparison

_WEIGHT = "weight: the sum of the discounts of the document's ranks, over the runs that return it within the cutoff"
_ALL_JUDGED = "every document that a run returns within the cutoff is judged"
_MOVED = "moved: the share of the discount that moved, the largest change of DCG that judgments could cause"
_LISTS = (
    *("dataset", "run", "baseline", "cutoff", "queries", "changed_share", "top_changed_share", "lost_all_share"),
    *("gained_all_share", "rbo", "rbo_q05", "moved_discount", "moved_discount_q50"),
)
_QUERIES = ("run", "cutoff", "query_id", "common", "entered", "left", "rbo", "moved_discount")


def print_judgments(compared: "pd.DataFrame", style: str) -> None:
    """Print a comparison of judgments, one row per dataset."""
    rows = pa.Table.from_pandas(compared, preserve_index=False).to_pylist()
    print_result(style, lambda: [make_table(rows, AGREEMENTS.names)], lambda: rows, AGREEMENTS.names, rows)


def print_lists(compared: "ListComparison", style: str) -> None:
    """Print how much the lists changed. CSV has the rows of the summary alone, JSON is one object with everything."""
    tables = [make_table(compared.rows, _LISTS, [_MOVED])]
    tables += [make_table(compared.queries, _QUERIES)] if compared.queries else []
    print_result(style, lambda: tables, lambda: dataclasses.asdict(compared), list(compared.rows[0]), compared.rows)


def print_check(checked: Mapping[str, Any], style: str) -> None:
    """Print the counts of a check and the judged rate of each run."""
    counts = [{"counted": name.replace("_", " "), "number": count} for name, count in checked["counts"].items()]
    rates = make_table(checked["judged_rate"], ("dataset", "run", "cutoff", "judged_rate"))
    print_result(style, lambda: [make_table(counts), rates], lambda: checked)


def print_documents(rows: Sequence[Mapping[str, Any]], style: str) -> None:
    """Print rows of TO_JUDGE; a table has a note that says what the weight is."""
    table = make_table(rows, TO_JUDGE.names, [_WEIGHT if rows else _ALL_JUDGED], is_whole=True)
    print_result(style, lambda: [table], lambda: list(rows), TO_JUDGE.names, rows)
