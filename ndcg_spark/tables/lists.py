"""Comparisons of lists as tables: a row per run and cutoff, and the queries that changed most."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.tables.table import TextTable, counted, name, number, text_table

Rows = Sequence[Mapping[str, Any]]


def _percent(share: float) -> str:
    return f"{share:.2%}"


def changes_table(rows: Rows) -> TextTable:
    """How many queries of each run changed, and how much."""
    columns = [
        *([name("dataset")] if len({row["dataset"] for row in rows}) > 1 else []),
        *(name("run"), name("baseline"), number("cutoff", form=str), number("queries", form=counted)),
        *(number(heading, f"{heading.replace(' ', '_')}_share", _percent) for heading in ("changed", "top changed")),
        *(number(heading, f"{heading.replace(' ', '_')}_share", _percent) for heading in ("lost all", "gained all")),
        *(number("rbo"), number("rbo 5 %", "rbo_q05"), number("moved", "moved_discount")),
        number("moved median", "moved_discount_q50"),
    ]
    notes = ["moved: the share of the discount that moved, the largest change of DCG that judgments could cause"]
    return text_table(columns, rows, notes)


def most_changed_table(rows: Rows) -> TextTable:
    """The queries that changed most."""
    columns = [
        *(name("run"), number("cutoff", form=str), name("query", "query_id"), number("common", form=counted)),
        *(number(each, form=counted) for each in ("entered", "left")),
        *(number("rbo"), number("moved", "moved_discount")),
    ]
    return text_table(columns, rows)
