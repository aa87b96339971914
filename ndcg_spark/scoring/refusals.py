"""Rows that are refused while the scores are computed: an exception ``ndcg_spark refuses [code] sentence``."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.rules import RowTest, named_by_user
from ndcg_spark.schemas import LINE

_REFUSED = re.compile(r"ndcg_spark refuses \[(?P<code>\w+)\] (?P<sentence>[^\n]*)")


class Refusal(NamedTuple):
    code: str
    what: str
    to_do: str


JUDGED_TWICE = Refusal(
    "judged_twice", "judgments: a document judged twice", "keep one row each, or set judgment_duplicates=max"
)
RETURNED_TWICE = Refusal(
    "returned_twice", "results: a document returned, or judged, twice", "keep one row each, or set duplicates=best"
)
RANK_TWICE = Refusal(
    "rank_twice", "results: a rank with two rows", "remove repeated rows, number each list from 1, or set order=score"
)
MERGED = Refusal(
    "two_lists_in_one",
    "results: a list with two results of rank 1 and different scores",
    "give each run a name of its own, or write order=score in convention if scores alone decide",
)
NO_RELEVANT = Refusal(
    "no_relevant", "judgments: a query without a relevant document", "judge one, or set no_relevant=skip"
)
MISSING_QUERY = Refusal(
    "missing_query", "results: a judged query without results", "complete the run, or set missing_query=zero"
)
MEAN_WITHOUT_GAIN = Refusal(
    "mean_without_gain",
    "judgments: the mean of a document's grades has no finite gain",
    "set another gain, or set judgment_duplicates=max",
)
NOT_FINITE = Refusal(
    "dcg_is_not_finite",
    "convention: a DCG or an NDCG that is not a finite number",
    "correct the gains or the discounts",
)


def refused(error: BaseException) -> tuple[str, str] | None:
    """The code and the sentence of a refusal in an engine's exception; None if the engine failed for another reason."""
    match = _REFUSED.search(str(error))
    return (match["code"], match["sentence"].strip()) if match else None


def refusal(why: Refusal, key: Iterable[str], kind: str = "double", line: str | None = None) -> Column:
    refuses = F.lit(f"ndcg_spark refuses [{why.code}] {why.what}, e.g. ")
    return F.raise_error(F.concat(refuses, row_example(key, line), F.lit(f"; {why.to_do}"))).cast(kind)


def row_example(names: Iterable[str], line: str | None = None) -> Column:
    """These columns of a row as `name=value` pairs, or its column `line` where it has one."""
    # As SQL, because on classic Spark every function call is a round trip to the JVM, and there are many refusals.
    pairs = (
        f"'{name}=' || coalesce(cast(`{name}` as string), '{'all' if name == 'cutoff' else 'null'}')" for name in names
    )
    row = F.expr(f"concat_ws(' ', {', '.join(pairs)})")
    return F.coalesce(F.col(line), row) if line else row


def refuse_rows(table: DataFrame, tests: Iterable[RowTest], where: str) -> DataFrame:
    """An unchecked table, which fails when a column is computed for a row that breaks that column's rule.

    A filter would be shorter, but the embedded engine evaluates all branches of a condition in a filter, and would fail
    at good rows.
    """
    kinds, columns = dict(table.dtypes), named_by_user(table.columns)
    line = LINE if LINE in kinds else None
    guarded: dict[str, Column] = {}
    for rule, breaks in reversed(list(tests)):
        why = Refusal(rule.code, f"{where}: {rule.words}", "correct the row")
        for column in [rule.column] if rule.column else {"doc_id": None, **guarded}:
            kept = guarded.get(column, F.col(column))
            guarded[column] = F.when(breaks, refusal(why, columns, kinds[column], line)).otherwise(kept)
    return table.withColumns(guarded).select(*columns)
