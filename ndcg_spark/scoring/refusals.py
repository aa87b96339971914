"""What a plan refuses while it runs, because it can only be known then, or because nobody has checked the tables.

Such a refusal reaches the caller as the engine's exception, with the text ``ndcg_spark refuses [code] sentence``. What
is done about it is decided by the code; the sentence is for people.
"""

import dataclasses
import re
from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.rules import TWICE, Broken

_REFUSED = re.compile(r"ndcg_spark refuses \[(?P<code>\w+)\] (?P<sentence>[^\n]*)")


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why a plan refuses: `what` is wrong in which table, and what is to be done about it."""

    code: str
    what: str
    to_do: str


JUDGED_TWICE = Refusal(
    TWICE["judgments"].code,
    "judgments: a document judged twice",
    "keep one row each, or --set judgment_duplicates=max",
)
RETURNED_TWICE = Refusal(
    TWICE["results"].code,
    "results: a document returned, or judged, twice",
    "keep one row each, or --set duplicates=best",
)
NO_RELEVANT = Refusal(
    "no_relevant", "judgments: a query without a relevant document", "judge one, or --set no_relevant=skip"
)
MISSING_QUERY = Refusal(
    "missing_query", "results: a judged query without results", "complete the run, or --set missing_query=zero"
)
MEAN_WITHOUT_GAIN = Refusal(
    "mean_without_gain",
    "judgments: the mean of a document's grades has no finite gain",
    "set another gain, or --set judgment_duplicates=max",
)
NOT_FINITE = Refusal(
    "dcg_is_not_finite", "convention: a DCG that is no finite number", "correct the gains or the discounts"
)


@dataclasses.dataclass(frozen=True)
class Refused:
    """What a plan has refused: the code, and a sentence with one example."""

    code: str
    sentence: str


def refused(error: BaseException) -> Refused | None:
    """The refusal that an engine's exception carries, None where it is the engine's own failure."""
    found = _REFUSED.search(str(error))
    return Refused(found["code"], found["sentence"].strip()) if found else None


def refusal(why: Refusal, key: Sequence[str]) -> Column:
    """A column of double that fails the plan when a row reaches it, with the row's `key` as the example."""
    # As text: on classic Spark each call of a function is a round trip to the JVM, and there are many refusals.
    row = (f"'{name}=' || coalesce(cast({name} as string), '{'all' if name == 'cutoff' else 'null'}')" for name in key)
    words = F.expr(f"concat_ws(' ', {', '.join(row)})")
    message = F.concat(F.lit(f"ndcg_spark refuses [{why.code}] {why.what}, e.g. "), words, F.lit(f"; {why.to_do}"))
    return F.raise_error(message).cast("double")


def refuse_rows(table: DataFrame, broken: Iterable[Broken], where: str) -> DataFrame:
    """The table in its schema, whose plan fails at a row that breaks a rule. For tables that nobody has checked.

    Each rule guards its own column, so that a row is refused only for what is used of it. A filter would be shorter,
    but the embedded engine evaluates every branch of a condition in a filter, and would fail at good rows.
    """
    kinds = dict(table.dtypes)
    guarded: dict[str, Column] = {}
    for rule, breaks in broken:
        if rule.column is not None:
            why = Refusal(rule.code, f"{where}: {rule.words}", "correct the row")
            failing = refusal(why, table.columns).cast(kinds[rule.column])
            guarded[rule.column] = F.when(breaks, failing).otherwise(guarded.get(rule.column, F.col(rule.column)))
    return table.withColumns(guarded)
