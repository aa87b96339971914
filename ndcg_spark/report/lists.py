"""How comparisons of lists are printed."""

import dataclasses

from ndcg_spark.job.compare_lists import ListComparison
from ndcg_spark.report.console import print_result
from ndcg_spark.tables.table import TextTable, counted, name, number, text_table


def print_lists(found: ListComparison, style: str) -> None:
    """Print how much the lists changed. CSV has the rows of the summary alone, JSON is one object with everything."""
    print_result(style, lambda: _tables(found), lambda: dataclasses.asdict(found), list(found.rows[0]), found.rows)


def _tables(found: ListComparison) -> list[TextTable]:
    """How many queries of each run changed, and how much; and the queries that changed most, if they were requested."""
    columns = [
        *([name("dataset")] if len({row["dataset"] for row in found.rows}) > 1 else []),
        *(name("run"), name("baseline"), number("cutoff", form=str), number("queries", form=counted)),
        *(number(each, f"{each.replace(' ', '_')}_share", _percent) for each in ("changed", "top changed")),
        *(number(each, f"{each.replace(' ', '_')}_share", _percent) for each in ("lost all", "gained all")),
        *(number("rbo"), number("rbo 5 %", "rbo_q05"), number("moved", "moved_discount")),
        number("moved median", "moved_discount_q50"),
    ]
    note = "moved: the share of the discount that moved, the largest change of DCG that judgments could cause"
    of_query = [
        *(name("run"), number("cutoff", form=str), name("query", "query_id")),
        *(number(each, form=counted) for each in ("common", "entered", "left")),
        *(number("rbo"), number("moved", "moved_discount")),
    ]
    return [text_table(columns, found.rows, [note]), *([text_table(of_query, found.queries)] if found.queries else [])]


def _percent(share: float) -> str:
    return f"{share:.2%}"
