"""Rows that are refused while the scores are computed: an exception ``ndcg_spark refuses [code]
sentence``.
"""

import re
from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.refused_queries import QueryRefusal
from ndcg_spark.rules import RowTest, is_text, named_by_user, shown_columns
from ndcg_spark.schemas import LABEL, LINE

#: Spark ends the first line of its message with a state of SQL.
_REFUSED = re.compile(
    r"ndcg_spark refuses \[(?P<code>\w+)\] (?P<sentence>[^\n]*?)( SQLSTATE: \w+)?\s*$", re.MULTILINE
)


_TO_DO = "correct the row"
#: By code of a rule, what else helps.
_OTHER_TO_DO = {"relevance_has_no_grade": "add the label to grades, or correct the row"}


def refused(error: BaseException) -> tuple[str, str] | None:
    """The code and the sentence of a refusal in an engine's exception; None if the engine failed
    for another reason.
    """
    match = _REFUSED.search(str(error))
    return (match["code"], match["sentence"].strip()) if match else None


def refusal(
    why: QueryRefusal,
    key: Iterable[str],
    kind: str = "double",
    line: str | None = None,
) -> Column:
    begins = F.lit(f"ndcg_spark refuses [{why.code}] {why.before_example}")
    return F.raise_error(F.concat(begins, row_example(key, line), F.lit(why.after_example))).cast(
        kind
    )


def row_example(names: Iterable[str], line: str | None = None) -> Column:
    """These columns of a row as `name=value` pairs, or its column `line` where it has one."""
    row = F.expr(_example(names))
    return F.coalesce(F.col(line), row) if line else row


def _example(names: Iterable[str]) -> str:
    # As SQL, because on classic Spark every function call is a round trip to the JVM, and there are
    # many refusals.
    pairs = (
        f"'{'relevance' if name == LABEL else name}=' || coalesce(cast(`{name}` as string), "
        f"'{'all' if name == 'cutoff' else 'null'}')"
        for name in names
    )
    return f"concat_ws(' ', {', '.join(pairs)})"


def refuse_rows(table: DataFrame, tests: Iterable[RowTest], name: str) -> DataFrame:
    """The table `name`, unchecked: it fails when a row's column is computed that breaks its rule.

    A filter would be shorter, but the embedded engine evaluates all branches of a condition in a
    filter, and would fail at good rows.
    """
    kinds, columns = dict(table.dtypes), named_by_user(table.columns)
    shown = shown_columns(table.columns)
    line = LINE if LINE in kinds else None
    guarded: dict[str, Column] = {}
    for rule, breaks in reversed(list(tests)):
        to_do = _OTHER_TO_DO.get(rule.code, _TO_DO)
        if rule.code == "relevance_is_no_number" and is_text(kinds["relevance"]):
            to_do = f"{_TO_DO}, or give labels their grades, grades={{label: grade}}"
        why = QueryRefusal(rule.code, name, rule.words, to_do)
        for column in [rule.column] if rule.column else {"doc_id": None, **guarded}:
            kept = guarded.get(column, F.col(column))
            guarded[column] = F.when(breaks, refusal(why, shown, kinds[column], line)).otherwise(
                kept
            )
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
