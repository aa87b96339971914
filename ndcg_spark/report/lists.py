"""How comparisons of lists are printed."""

import dataclasses

from ndcg_spark.job.compare_lists import ListComparison
from ndcg_spark.report.console import print_result
from ndcg_spark.tables.lists import changes_table, most_changed_table


def print_lists(found: ListComparison, style: str) -> None:
    """Print how much the lists changed. CSV has the rows of the summary alone, JSON is one object with everything."""
    tables = [changes_table(found.rows), *([most_changed_table(found.queries)] if found.queries else [])]
    print_result(style, lambda: tables, lambda: dataclasses.asdict(found), list(found.rows[0]), found.rows)
