"""Rows that are refused while the scores are computed.

The engine raises an exception ``ndcg_spark refuses [code] sentence``.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark import sql
from ndcg_spark.convention.refused_queries import QueryRefusal
from ndcg_spark.rules import RowTest, Rule, is_text, named_by_user, shown_columns
from ndcg_spark.schemas import LABEL, LINE, OWN
from ndcg_spark.sql import quoted

#: Spark ends the first line of its message with an SQLSTATE.
_REFUSED = re.compile(
    r"ndcg_spark refuses \[(?P<code>\w+)\] (?P<sentence>[^\n]*?)( SQLSTATE: \w+)?\s*$", re.MULTILINE
)


_TO_DO = "correct the row"
#: Different advice for some rules, by code.
_OTHER_TO_DO = {"relevance_has_no_grade": "add the label to grades, or correct the row"}


def refused(error: BaseException) -> tuple[str, str] | None:
    """The code and the sentence of a refusal in an engine's exception.

    None if the engine failed for a different reason.
    """
    match = _REFUSED.search(str(error))
    return (match["code"], match["sentence"].strip()) if match else None


def refusal(
    why: QueryRefusal,
    key: Iterable[str],
    kind: str = "double",
    line: str | None = None,
) -> Column:
    return F.expr(refusal_sql(why, key, kind, line))


def refusal_sql(
    why: QueryRefusal,
    key: Iterable[str],
    kind: str = "double",
    line: str | None = None,
) -> str:
    """A value, in SQL, that raises when it is computed; the message shows these columns."""
    begins = sql.text(f"ndcg_spark refuses [{why.code}] {why.before_example}")
    example = _on_one_line(_example(key, line))
    sentence = f"concat({begins}, {example}, {sql.text(why.after_example)})"
    return f"cast(raise_error({sentence}) as {kind})"


def row_example(names: Iterable[str], line: str | None = None) -> Column:
    """These columns of a row as `name=value` pairs, or its column `line` if it is not null."""
    return F.expr(_example(names, line))


def _example(names: Iterable[str], line: str | None = None) -> str:
    pairs = ", ".join(map(_name_and_value, names))
    row = f"concat_ws(' ', {pairs})"
    return f"coalesce({quoted(line)}, {row})" if line else row


def _on_one_line(value: str) -> str:
    """The text in SQL with its line breaks escaped, because `refused` reads only one line."""
    for character, escaped in (("\n", "\\n"), ("\r", "\\r")):
        value = f"replace({value}, {sql.text(character)}, {sql.text(escaped)})"
    return value


def _name_and_value(column: str) -> str:
    shown = "relevance" if column == LABEL else column
    absent = "all" if column == "cutoff" else "null"
    value = f"coalesce(cast({quoted(column)} as string), {sql.text(absent)})"
    return f"{sql.text(f'{shown}=')} || {value}"


def refuse_rows(table: DataFrame, tests: Sequence[RowTest], name: str) -> DataFrame:
    """The table `name`, not yet checked: it raises when it computes a column that breaks its rule.

    A filter would be shorter, but the embedded engine evaluates all branches of a condition in a
    filter, and would raise at valid rows.
    """
    kinds = dict(table.dtypes)
    columns = named_by_user(kinds)
    # A test may be a user's function, which SQL text cannot call.
    breaks = {f"{OWN}{rule.code}": is_broken for rule, is_broken in tests}
    columns_with_rules = {rule.column for rule, _ in tests}
    guarded = {}
    for column in columns:
        rules = [rule for rule, _ in tests if _guards(rule, column, columns_with_rules)]
        refusals = {rule.code: _row_refusal(rule, name, column, kinds) for rule in rules}
        guarded[column] = _value_or_refusal(column, refusals)
    return table.withColumns(breaks).selectExpr(*sql.named(guarded))


def _guards(rule: Rule, column: str, columns_with_rules: Collection[str | None]) -> bool:
    """Whether the column raises in a row that breaks the rule.

    A rule without its own column is about a line that is not a row. An engine computes only the
    columns that it needs, so doc_id and every column with a rule raise in such a row.
    """
    if rule.column is None:
        return column == "doc_id" or column in columns_with_rules
    return rule.column == column


def _row_refusal(rule: Rule, table: str, column: str, kinds: Mapping[str, str]) -> str:
    """The value that raises instead of a column, in a row that breaks a rule."""
    to_do = _OTHER_TO_DO.get(rule.code, _TO_DO)
    if rule.code == "relevance_is_no_number" and is_text(kinds["relevance"]):
        to_do = f"{_TO_DO}, or give each label a grade, grades={{label: grade}}"
    why = QueryRefusal(rule.code, table, rule.words, to_do)
    line = LINE if LINE in kinds else None
    return refusal_sql(why, shown_columns(kinds), kinds[column], line)


def _value_or_refusal(column: str, refusals: Mapping[str, str]) -> str:
    """The column in SQL, or the refusal of the first rule that a row breaks.

    `refusals` has the refusals by the code of their rule.
    """
    cases = [f"when {OWN}{code} then {refusal}" for code, refusal in refusals.items()]
    if not cases:
        return quoted(column)
    return f"case {' '.join(cases)} else {quoted(column)} end"


def refuse_value(
    table: DataFrame,
    tests: Iterable[RowTest],
    column: tuple[str, str],
    shown: Iterable[str],
    where: str,
    counts: str,
) -> DataFrame:
    """The table with a text column that raises if a row that `counts` breaks a rule.

    `column` is the column's name and its value in SQL; it is null for all other rows. Messages show
    the columns `shown`.
    """
    words: Column | None = None
    for rule, breaks in tests:
        begins = F.lit(f"ndcg_spark refuses [{rule.code}] {where}: {rule.words}, e.g. ")
        words = F.when(breaks, begins) if words is None else words.when(breaks, begins)
    if words is None:
        raise ValueError("no rules")
    name, value = column
    example = _on_one_line(_example(shown))
    failure = f"cast(raise_error(concat(broken_rule, {example}, '; {_TO_DO}')) as string)"
    guarded = f"case when broken_rule is null then {value} else {failure} end"
    return table.withColumns({"broken_rule": words}).withColumns(
        {name: F.expr(f"case when {counts} then {guarded} end")}
    )
