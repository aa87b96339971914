"""Rows that are refused while the scores are computed: an exception ``ndcg_spark refuses [code] sentence``."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.rules import RowTest, named_by_user
from ndcg_spark.schemas import LINE

#: Spark ends the first line of its message with a state of SQL.
_REFUSED = re.compile(r"ndcg_spark refuses \[(?P<code>\w+)\] (?P<sentence>[^\n]*?)( SQLSTATE: \w+)?\s*$", re.MULTILINE)


class Refusal(NamedTuple):
    code: str
    #: The table that it is about, or `convention`.
    table: str
    what: str
    to_do: str

    @property
    def words(self) -> str:
        """What a message begins with."""
        return f"{self.table}: {self.what}"


JUDGED_TWICE = Refusal(
    "judged_twice",
    "judgments",
    "a document judged twice",
    "keep one row each, or set judgment_duplicates=max",
)
RETURNED_TWICE = Refusal(
    "returned_twice",
    "results",
    "a document returned, or judged, twice",
    "keep one row each, or set duplicates=best",
)
RANK_TWICE = Refusal(
    "rank_twice",
    "results",
    "a rank with two rows",
    "remove repeated rows, number each list from 1, or set order=score",
)
MERGED = Refusal(
    "two_lists_in_one",
    "results",
    "a list with two results of rank 1 and different scores",
    "give each run a name of its own, or write order=score in convention if scores alone decide",
)
NO_RELEVANT = Refusal(
    "no_relevant",
    "judgments",
    "a query without a relevant document",
    "judge one, or set no_relevant=skip",
)
MISSING_QUERY = Refusal(
    "missing_query",
    "results",
    "a judged query without results",
    "complete the run, or set missing_query=zero",
)
MEAN_WITHOUT_GAIN = Refusal(
    "mean_without_gain",
    "judgments",
    "the mean of a document's grades has no finite gain",
    "set another gain, or set judgment_duplicates=max",
)
NOT_FINITE = Refusal(
    "dcg_is_not_finite",
    "convention",
    "a DCG or an NDCG that is not a finite number",
    "correct the gains or the discounts",
)

#: What the convention refuses of a query, by code.
OF_QUERIES = {
    refusal.code: refusal
    for refusal in (
        JUDGED_TWICE,
        RETURNED_TWICE,
        RANK_TWICE,
        NO_RELEVANT,
        MISSING_QUERY,
        MEAN_WITHOUT_GAIN,
        NOT_FINITE,
    )
}
_TO_DO = "correct the row"


def refused(error: BaseException) -> tuple[str, str] | None:
    """The code and the sentence of a refusal in an engine's exception; None if the engine failed for another reason."""
    match = _REFUSED.search(str(error))
    return (match["code"], match["sentence"].strip()) if match else None


def counted(why: Refusal, sentence: str, rows: int) -> str:
    """The sentence of a refusal, which shows one row, with the number of rows like it."""
    example = sentence.removeprefix(why.words)
    return f"{why.words}, {rows} of them{example}"


def refusal(why: Refusal, key: Iterable[str], kind: str = "double", line: str | None = None) -> Column:
    refuses = F.lit(f"ndcg_spark refuses [{why.code}] {why.words}, e.g. ")
    return F.raise_error(F.concat(refuses, row_example(key, line), F.lit(f"; {why.to_do}"))).cast(kind)


def row_example(names: Iterable[str], line: str | None = None) -> Column:
    """These columns of a row as `name=value` pairs, or its column `line` where it has one."""
    row = F.expr(_example(names))
    return F.coalesce(F.col(line), row) if line else row


def _example(names: Iterable[str]) -> str:
    # As SQL, because on classic Spark every function call is a round trip to the JVM, and there are many refusals.
    pairs = (
        f"'{name}=' || coalesce(cast(`{name}` as string), '{'all' if name == 'cutoff' else 'null'}')" for name in names
    )
    return f"concat_ws(' ', {', '.join(pairs)})"


def refuse_rows(table: DataFrame, tests: Iterable[RowTest], name: str) -> DataFrame:
    """The table `name`, unchecked: it fails when a row's column is computed that breaks its rule.

    A filter would be shorter, but the embedded engine evaluates all branches of a condition in a filter, and would fail
    at good rows.
    """
    kinds, columns = dict(table.dtypes), named_by_user(table.columns)
    line = LINE if LINE in kinds else None
    guarded: dict[str, Column] = {}
    for rule, breaks in reversed(list(tests)):
        why = Refusal(rule.code, name, rule.words, _TO_DO)
        for column in [rule.column] if rule.column else {"doc_id": None, **guarded}:
            kept = guarded.get(column, F.col(column))
            guarded[column] = F.when(breaks, refusal(why, columns, kinds[column], line)).otherwise(kept)
    return table.withColumns(guarded).select(*columns)


def refuse_value(
    table: DataFrame,
    tests: Iterable[RowTest],
    column: tuple[str, str],
    shown: Iterable[str],
    where: str,
    counts: str,
) -> DataFrame:
    """The table with a column of text, which fails where a row that `counts` breaks a rule.

    `column` is its name and its value in SQL, null for the other rows; messages show `shown`.
    """
    words: Column | None = None
    for rule, breaks in tests:
        begins = F.lit(f"ndcg_spark refuses [{rule.code}] {where}: {rule.words}, e.g. ")
        words = F.when(breaks, begins) if words is None else words.when(breaks, begins)
    if words is None:
        raise ValueError("no rules")
    name, value = column
    failure = f"cast(raise_error(concat(broken_rule, {_example(shown)}, '; {_TO_DO}')) as string)"
    guarded = f"case when broken_rule is null then {value} else {failure} end"
    return table.withColumns({"broken_rule": words}).withColumns(
        {name: F.expr(f"case when {counts} then {guarded} end")}
    )
