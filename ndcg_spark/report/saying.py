"""Sentences on stdout, and whether steps are shown on stderr."""

from collections.abc import Iterable

from ndcg_spark.plain import message
from ndcg_spark.report.failing import is_merged
from ndcg_spark.report.streams import printing


def say(lines: Iterable[str]) -> None:
    """Print the lines."""
    with printing():
        print("\n".join(map(message, lines)))


def silent(style: str) -> bool:
    """Whether steps are not shown, because they would stand between the rows that a program reads."""
    return style != "table" and is_merged()
