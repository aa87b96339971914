"""SQL texts for the evaluator: ids, numbers, gains, discounts and orders of lists.

They are texts, because on classic Spark a function call makes several calls to the JVM. Gains and
discounts come from `scoring`.
"""

import math
import re

from ndcg_spark import rules, sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import MAX_GAIN, TIES
from ndcg_spark.reference import discounts
from ndcg_spark.scoring.ideal import discount_sql, gain_sql
from ndcg_spark.scoring.ranking import at_precision

#: Fractional types that ids may have, each with the bound below which it has all whole numbers.
FRACTIONAL = {"double": 2.0**53, "float": 2.0**24}
_DECIMAL = re.compile(r"decimal\(\d+,[1-9]\d*\)")
_NUMBERS = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal\(.*\)")
_NAN = "cast('NaN' as double)"


def is_fractional(kind: str) -> bool:
    return kind in FRACTIONAL or bool(_DECIMAL.fullmatch(kind))


def is_whole(name: str, kind: str) -> str:
    if kind in FRACTIONAL:
        return f"abs({name}) < {FRACTIONAL[kind]:.0f}D and {name} = floor({name})"
    return f"{name} % 1 = 0"


def whole_text(name: str, kind: str) -> str:
    """An id as text in SQL, 7.0 as 7; null if it has a fraction, or is not an exact number."""
    if not is_fractional(kind):
        return f"cast({name} as string)"
    whole = "bigint" if kind in FRACTIONAL else "decimal(38,0)"
    return f"cast(cast(case when {is_whole(name, kind)} then {name} end as {whole}) as string)"


def is_numeric(kind: str) -> bool:
    return bool(_NUMBERS.fullmatch(kind))


def as_double(name: str, kind: str) -> str:
    """A number as a double, with 0.0 for -0.0."""
    return f"(cast({rules.castable(name, kind)} as double) + 0.0D)"


def is_finite(name: str) -> str:
    """Whether a number is finite. Never null."""
    return f"coalesce({sql.is_finite(name)}, false)"


def is_rank(name: str) -> str:
    """Whether a double is a rank. Never null."""
    return f"coalesce({name} >= 1 and {name} <= {2**31 - 1} and {name} = floor({name}), false)"


def is_empty(document: str, kind: str) -> str:
    """Whether an id in text or in a number is missing. Never null."""
    return f"coalesce({document}, '') = ''" if kind == "string" else f"{document} is null"


def gain_of(grade: str, convention: Convention) -> str:
    """The gain of a grade; null without a grade, and for a negative grade that is not kept."""
    counts = f"{grade} is not null" if convention.negative == "keep" else f"{grade} >= 0"
    return f"case when {counts} then {gain_sql(grade, convention)} end"


def is_odd_grade(grade: str, convention: Convention) -> str:
    """Whether a grade is, or may be, refused. Never null.

    A negative gain is also odd: its sums may differ from 0 because of rounding.
    """
    worth = gain_of(grade, convention)
    is_good = f"coalesce({worth} between 0 and {sql.number(MAX_GAIN)}, false)"
    if convention.negative in ("as_unjudged", "drop"):
        is_good = f"({grade} < 0 or {is_good})"
    highest = convention.max_grade
    if isinstance(highest, float) and convention.min_relevance == "none":
        is_good += f" and {grade} <= {sql.number(highest)}"
    return f"not (coalesce({is_finite(grade)} and {is_good}, false))"


def weight(position: str, convention: Convention) -> str:
    """The discount at a position, counted from 0."""
    # Over empty lists, the embedded engine computes it for lower positions, and divides by zero.
    rank = f"greatest({position} + 1, 1)"
    return discount_sql(rank, convention)


def discounted_sum(array: str, gain: str, k: int | str, convention: Convention) -> str:
    """The sum over the first k elements of an array: the gain of `one` times its discount.

    A null gain is 0.
    """
    # Cut first: the embedded engine computes both sides of a condition, here for a whole list.
    term = f"coalesce({gain} * {weight('at', convention)}, 0D)"
    terms = f"transform({first_of(array, k)}, (one, at) -> {term})"
    return f"coalesce(aggregate({terms}, 0D, (total, term) -> total + term), 0D)"


def best_sum(k: int, convention: Convention) -> str:
    """The DCG of k documents with gain 1."""
    return sql.number(math.fsum(discounts(k, convention.discount)))


def order_keys(document: str, score: str, rank: str, convention: Convention) -> dict[str, str]:
    """A list's sort keys by field name, ascending or, if `is_descending`, descending.

    Gains that break ties follow.
    """
    if convention.ranks_decide:
        return {"first": rank}
    rule = TIES[convention.ties]
    score = at_precision(score, convention)
    keys = {"first": score if is_descending(convention) else f"-{score}"}
    if rule.by == "rank":
        keys["second"] = rank
    if rule.by == "number":
        last = "2147483647" if rule.ascending else "-1"
        is_number = f"translate({document}, '0123456789', '') = ''"
        digits = f"ltrim('0', {document})"
        keys["second"] = f"case when {is_number} then length({digits}) else {last} end"
        keys["third"] = f"case when {is_number} then {digits} else '' end"
    if rule.by in ("doc_id", "number"):
        keys["document"] = document
    return keys


def orders_by_id(convention: Convention) -> bool:
    return not convention.ranks_decide and TIES[convention.ties].by in ("doc_id", "number")


def is_descending(convention: Convention) -> bool:
    rule = TIES[convention.ties]
    return orders_by_id(convention) and not rule.ascending


def gain_tie_break(gain: str, convention: Convention) -> dict[str, str]:
    """The column that breaks ties in an ascending order, or empty if gains do not break them."""
    if convention.ranks_decide:
        return {}
    if convention.ties == "worst":
        return {"by_gain": gain}
    if convention.ties == "best":
        # The order is ascending, so the largest gain comes first.
        return {"by_gain": f"-{gain}"}
    return {}


def first_of(values: str, depth: int | str) -> str:
    """The first values of an array."""
    # Not slice, which the embedded engine refuses for elements that are never null.
    return f"filter({values}, (one, at) -> at < {depth})"


def gains_of_ranks(listed: str, k: int) -> str:
    """The gains of the first k ranks, each the mean of the documents that are tied there."""
    tied = f"filter({listed}, other -> other.first = one.first)"
    total = f"aggregate({tied}, 0D, (total, other) -> total + other.gain)"
    return f"transform({first_of(listed, k)}, one -> {total} / greatest(size({tied}), 1))"


def ndcg_of(convention: Convention) -> str:
    """A query's NDCG, from its answered, dcg and ideal_dcg; null if it is not in the mean."""
    without_gain = {"zero": "0D", "one": "1D"}.get(convention.no_relevant, sql.null("double"))
    value = f"when ideal_dcg = 0 then {without_gain} else dcg / nullif(ideal_dcg, 0D)"
    if convention.missing_query != "zero":
        value = f"when not answered then {sql.null('double')} {value}"
    return f"case {value} end"


def checked_ndcg(convention: Convention) -> str:
    """The NDCG of a row that `is_query`, null for others; NaN if it is, or may be, refused."""
    refused = [f"not {is_finite('dcg')}", f"not {is_finite('ideal_dcg')}"]
    if convention.missing_query == "error":
        refused.append("not answered")
    if convention.no_relevant == "error":
        refused.append("ideal_dcg = 0")
    is_refused = f"odd or is_query and ({' or '.join(refused)})"
    return f"case when {is_refused} then {_NAN} when is_query then {ndcg_of(convention)} end"
