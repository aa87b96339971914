"""The mean NDCG of an evaluator's queries in engine expressions: one action, no Python.

It never refuses. A query is `odd` if it breaks a rule, or if SQL might score it differently from
the definition, such as one with a document twice; `ml_rows` then decides what is wrong.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import ml_sql, sql
from ndcg_spark.convention import presets
from ndcg_spark.convention.convention import Convention
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.scoring.ideal import is_user_function
from ndcg_spark.scoring.ranking import distinct

#: Larger cutoffs are not an int in SQL, and no list is as long.
_LONGEST = 10**9
#: A document is searched for among the judged ones one by one, and a tie in the whole list. Python
#: is faster for more than this: 1,000 among 1,000 took Spark 0.12 s, and Python 0.02 s.
_MOST_LOOKED_FOR = 500
_WHOLE = ("tinyint", "smallint", "int", "bigint")


class Mean(NamedTuple):
    """The mean NDCG over the judged queries that are not left out, or None; and grades."""

    ndcg: float | None
    #: The highest grade that is not a whole number, and the highest of all; None if there is none,
    #: or if the convention does not warn about grades.
    fractional: float | None = None
    highest: float | None = None


class Ranked(NamedTuple):
    """One row per query: is_query, answered, odd, judged and listed.

    `judged` has the gains of the judged documents, null for one that counts as unjudged; `listed`
    has the returned documents in the convention's order.
    """

    table: DataFrame
    #: The gain of an element `one` of `listed`, in SQL.
    gain: str


class QueryLists(Protocol):
    """A user's table, from which each query's lists are made."""

    def are_quick(self, convention: Convention, k: int) -> bool:
        """Whether SQL is as fast as Python for these lists, however long they are."""

    def ranked(self, convention: Convention) -> Ranked:
        """Each query's lists; also fractional and highest if a tool restricts grades."""


@dataclasses.dataclass(frozen=True)
class LongRows:
    """A row per query and document."""

    table: DataFrame
    #: The SQL for our columns query_id, doc_id, score, relevance and is_judged in this table.
    columns: Mapping[str, str]
    kinds: Mapping[str, str]

    def are_quick(self, convention: Convention, k: int) -> bool:
        return k <= _MOST_LOOKED_FOR or not _is_averaged(convention)

    def ranked(self, convention: Convention) -> Ranked:
        # Rows are tested and get their gains before they are grouped, where Spark compiles it.
        ids = self._type_of_ids(convention)
        query, document = self._id("query_id", ids), self._id("doc_id", ids)
        grade = ml_sql.as_double(self.columns["relevance"], self.kinds["relevance"])
        is_judged = self.columns["is_judged"]
        lists = {
            "documents": f"case when {self._counts()} then {document} end",
            "judged": f"case when {is_judged} then {ml_sql.gain_of(grade, convention)} end",
            "listed": self._listed(document, query, grade, convention),
        }
        columns = [f"collect_list({values}) as {name}" for name, values in lists.items()]
        columns.append(f"bool_or({self._odd(document, query, grade, ids, convention)}) as odd")
        columns.append(f"bool_or({is_judged}) as is_query")
        columns.append(f"bool_or({self.columns['is_returned']}) as answered")
        if warns_of_grades(convention):
            has_fraction = f"{is_judged} and {grade} % 1 != 0"
            columns.append(f"max(case when {has_fraction} then {grade} end) as fractional")
            columns.append(f"max(case when {is_judged} then {grade} end) as highest")
        grouped = self.table.groupBy(F.expr(f"{query} as query_id")).agg(*map(F.expr, columns))
        kept = {
            "is_query": "is_query",
            "answered": "answered",
            "odd": f"odd or {_repeats('documents')}",
            "judged": "judged",
            "listed": _sorted("listed", convention),
        }
        kept |= {name: name for name in _of_grades(convention)}
        return Ranked(_select(grouped, kept), "one.gain")

    def _type_of_ids(self, convention: Convention) -> str:
        kinds = {self.kinds["query_id"], self.kinds["doc_id"]}
        is_text = ml_sql.orders_by_id(convention) or not kinds <= {*_WHOLE}
        return "string" if is_text else "bigint"

    def _id(self, name: str, ids: str) -> str:
        if ids == "string":
            return ml_sql.whole_text(self.columns[name], self.kinds[name])
        return f"cast({self.columns[name]} as bigint)"

    def _counts(self) -> str:
        is_excluded = self.columns.get("is_excluded", "false")
        return f"({self.columns['is_judged']} or {self.columns['is_returned']} or {is_excluded})"

    def _listed(self, document: str, query: str, grade: str, convention: Convention) -> str:
        """The sort keys of a returned document and its gain; null for one that is not listed."""
        is_judged, is_returned = self.columns["is_judged"], self.columns["is_returned"]
        score = ml_sql.as_double(self.columns["score"], self.kinds["score"])
        own_gain = f"case when {is_judged} then {ml_sql.gain_of(grade, convention)} end"
        gain = f"coalesce({own_gain}, {_unjudged(convention)})"
        keys = ml_sql.order_keys(document, score, "", convention)
        fields = {**keys, **ml_sql.gain_tie_break(gain, convention), "gain": gain}
        stays = [is_returned]
        if convention.exclude_query_as_document:
            stays.append(f"{document} != {query}")
        stays += _stays(convention, is_judged, own_gain)
        return f"case when {' and '.join(stays)} then {_struct(fields)} end"

    def _odd(self, document: str, query: str, grade: str, ids: str, convention: Convention) -> str:
        """Whether a row is or may be refused. Never null."""
        score = ml_sql.as_double(self.columns["score"], self.kinds["score"])
        rules = [
            ml_sql.is_empty(query, ids),
            ml_sql.is_empty(document, ids),
            f"{self.columns['is_judged']} and {ml_sql.is_odd_grade(grade, convention)}",
            f"{self.columns['is_returned']} and not {ml_sql.is_finite(score)}",
        ]
        return f"{self._counts()} and ({' or '.join(rules)})"


class ListField(NamedTuple):
    """Documents or numbers in a column of lists."""

    column: str
    #: The field of the structs in the list; empty for a list without structs. Both are quoted.
    field: str
    kind: str

    @property
    def path(self) -> str:
        """The list of the values only."""
        # Not getField of the array, which the embedded engine takes for a position in it.
        return f"{self.column}.{self.field}" if self.field else self.column


@dataclasses.dataclass(frozen=True)
class ListRows:
    """A row per query with a list of documents on each side; one without labels is not a query."""

    table: DataFrame
    judged: ListField
    returned: ListField
    excluded: ListField | None
    relevance: ListField | None
    score: ListField | None
    rank: ListField | None

    def are_quick(self, convention: Convention, k: int) -> bool:
        return k <= _MOST_LOOKED_FOR and not needs_all_gains(convention)

    def ranked(self, convention: Convention) -> Ranked:
        table = _select(self.table, self._values(convention))
        lists = self._lists(convention)
        # Only the documents down to the cutoff are looked up.
        document = "one.doc" if self._keys(convention) else "one"
        position = f"cast(array_position(documents, {document}) as int) - 1"
        gain = f"coalesce(get(judged, {position}), {_unjudged(convention)})"
        return Ranked(_select(table, {**lists, "listed": self._listed(convention)}), gain)

    def _values(self, convention: Convention) -> dict[str, str]:
        """The user's arrays, each with a single element type; null is kept."""
        ids = self._type_of_ids(convention)
        columns = {"documents": _ids(self.judged, ids), "returned": _ids(self.returned, ids)}
        if self.relevance is not None:
            columns["grades"] = _doubles(self.relevance)
        if self.excluded is not None:
            columns["excluded"] = _ids(self.excluded, ids)
        if convention.needs_score and self.score is not None:
            columns["scores"] = _doubles(self.score)
        if convention.needs_rank and self.rank is not None:
            columns["ranks"] = _doubles(self.rank)
        return columns

    def _type_of_ids(self, convention: Convention) -> str:
        """Numbers are compared as numbers, unless their text breaks ties."""
        fields = [self.judged, self.returned]
        if self.excluded is not None:
            fields.append(self.excluded)
        kinds = {field.kind for field in fields}
        if ml_sql.orders_by_id(convention):
            return "string"
        if kinds <= {*_WHOLE}:
            return "bigint"
        return "double" if kinds <= {*_WHOLE, *ml_sql.FRACTIONAL} else "string"

    def _lists(self, convention: Convention) -> dict[str, str]:
        """The columns of a query except its ranking."""
        answered = "size(returned) > 0"
        if self.excluded is not None:
            answered = f"exists(returned, one -> not {_is_excluded('one')})"
        columns = {
            "is_query": "documents is not null",
            "answered": f"coalesce({answered}, false)",
            "odd": f"documents is not null and ({' or '.join(self._odd(convention))})",
        }
        if self.relevance is None:
            columns["documents"] = "array_distinct(documents)"
            # Not of 1.0 itself: the embedded engine then finds too late that no element is null.
            gain = f"case when one is not null then {ml_sql.gain_of('1.0D', convention)} end"
            columns["judged"] = f"transform({columns['documents']}, one -> {gain})"
        else:
            columns["documents"] = "documents"
            gain = ml_sql.gain_of("grade", convention)
            columns["judged"] = f"transform(grades, grade -> {gain})"
        if warns_of_grades(convention):
            grades = "grades" if self.relevance is not None else "array(1.0D)"
            columns["fractional"] = f"array_max(filter({grades}, grade -> grade % 1 != 0))"
            columns["highest"] = f"array_max({grades})"
        return columns

    def _odd(self, convention: Convention) -> list[str]:
        """SQL conditions, never null, for data that is or may be refused."""
        ids = self._type_of_ids(convention)
        odd = [_has_empty("documents", ids), _has_empty("returned", ids), _repeats("returned")]
        if self.relevance is not None:
            odd_grade = ml_sql.is_odd_grade("grade", convention)
            odd += [_repeats("documents"), f"exists(grades, grade -> {odd_grade})"]
        else:
            odd.append(ml_sql.is_odd_grade("1.0D", convention))
        if self.excluded is not None:
            odd.append(_has_empty("excluded", ids))
        if convention.needs_score and self.score is not None:
            odd.append(f"exists(scores, one -> not {ml_sql.is_finite('one')})")
        if convention.needs_rank and self.rank is not None:
            odd.append(f"exists(ranks, one -> not {ml_sql.is_rank('one')})")
            odd.append(_repeats("ranks"))
        return [f"coalesce({condition}, false)" for condition in odd]

    def _keys(self, convention: Convention) -> dict[str, str]:
        """The sort keys of the element `one` at the position `at` of `returned`."""
        if convention.ranks_decide and self.rank is None:
            return {}
        # Adding 0 turns -0.0 into 0.0; the embedded engine sorts -0.0 below 0.0.
        score = "(get(scores, at) + 0.0D)"
        rank = "cast(at + 1 as double)" if self.rank is None else "get(ranks, at)"
        return ml_sql.order_keys("one", score, rank, convention)

    def _entries(self, convention: Convention) -> str:
        """The returned documents, each with its sort keys."""
        entries = _transform("returned", {**self._keys(convention), "doc": "one"})
        if self.excluded is None:
            return entries
        return f"filter({entries}, one -> not {_is_excluded('one.doc')})"

    def _listed(self, convention: Convention) -> str:
        """The returned documents in their order, as structs if that is not the order given."""
        if self._keys(convention):
            return _sorted(self._entries(convention), convention)
        if self.excluded is None:
            return "returned"
        return f"filter(returned, one -> not {_is_excluded('one')})"


def _ids(field: ListField, ids: str) -> str:
    """A list of ids in a type; null for an invalid id, such as a number that is not whole."""
    if not ml_sql.is_fractional(field.kind):
        return f"cast({field.path} as array<{ids}>)"
    value = ml_sql.whole_text("one", field.kind)
    if ids == "double":
        value = (
            f"case when {ml_sql.is_whole('one', field.kind)} then cast(one as double) + 0.0D end"
        )
    return f"transform({field.path}, one -> {value})"


def _doubles(field: ListField) -> str:
    return f"transform({field.path}, one -> {ml_sql.as_double('one', field.kind)})"


def _has_empty(documents: str, ids: str) -> str:
    return f"exists({documents}, one -> {ml_sql.is_empty('one', ids)})"


def _is_excluded(document: str) -> str:
    return f"coalesce(array_contains(excluded, {document}), false)"


def _repeats(values: str) -> str:
    return f"not ({distinct(values)})"


def is_expressible(kinds: Mapping[str, str], convention: Convention) -> bool:
    """Whether SQL can score documents of these types by this convention.

    Users' functions are written in Python, text may not be a number, and a column without a type
    has no values.
    """
    if is_user_function(convention.gain) or is_user_function(convention.discount):
        return False
    if "void" in kinds.values():
        return False
    numbers = [kind for name, kind in kinds.items() if name in ("relevance", "score", "rank")]
    return all(map(ml_sql.is_numeric, numbers)) and kinds.get("rank", "int") in _WHOLE


def mean_of_queries(lists: QueryLists, convention: Convention, k: int) -> Mean | None:
    """The mean, or None if a query is odd and SQL does not decide it."""
    table, gain = lists.ranked(convention)
    of_grades = _of_grades(convention)
    sums = {name: name for name in ("is_query", "answered", "odd", *of_grades)}
    depth = min(k, _LONGEST)
    sums["dcg"] = _dcg(gain, convention, depth)
    sums["ideal_dcg"] = _ideal_dcg(gain, convention, depth)
    columns = [f"{ml_sql.checked_ndcg(convention)} as ndcg"]
    for name in of_grades:
        columns.append(f"case when is_query then {name} end as {name}")
    # The mean is taken here: shuffling the scores to one task is a second job, which costs classic
    # Spark as much as all of a small evaluation; a score has eight bytes.
    fetched = _select(table, sums).selectExpr(*columns).toArrow()
    mean = pc.mean(fetched["ndcg"]).as_py()
    if mean is not None and not math.isfinite(mean):
        return None
    grades = {name: pc.max(fetched[name]).as_py() for name in of_grades}
    return Mean(mean, **grades)


def _select(table: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    return table.selectExpr(*sql.named(columns))


def _struct(fields: Mapping[str, str]) -> str:
    return f"struct({', '.join(sql.named(fields))})"


def _transform(array: str, fields: Mapping[str, str]) -> str:
    return f"transform({array}, (one, at) -> {_struct(fields)})"


def _sorted(entries: str, convention: Convention) -> str:
    """The entries in the convention's order."""
    is_ascending = str(not ml_sql.is_descending(convention)).lower()
    return f"sort_array({entries}, {is_ascending})"


def _unjudged(convention: Convention) -> str:
    return sql.number(unjudged_gain(convention))


def needs_all_gains(convention: Convention) -> bool:
    """Whether the gains of a whole list decide what is within the cutoff, or its ideal."""
    is_tied = not convention.ranks_decide
    by_gain = is_tied and convention.ties in ("average", "best", "worst")
    drops = "drop" in (convention.unjudged, convention.negative)
    return by_gain or drops or convention.ideal in ("retrieved", "retrieved_at_k")


def _stays(convention: Convention, is_judged: str, own_gain: str) -> list[str]:
    """Conditions for a returned document to stay in the list."""
    conditions = []
    if convention.unjudged == "drop":
        conditions.append(f"{own_gain} is not null")
    if convention.negative == "drop":
        conditions.append(f"({own_gain} is not null or not {is_judged})")
    return conditions


def warns_of_grades(convention: Convention) -> bool:
    """Whether the tool of the preset restricts grades."""
    limits = presets.PRESETS[convention.based_on].grades
    # With a threshold, the tool would be given grades of 1 and 0.
    return limits != presets.Grades() and convention.min_relevance == "none"


def _of_grades(convention: Convention) -> tuple[str, ...]:
    """The columns of a query's grades that are fetched for a warning."""
    return ("fractional", "highest") if warns_of_grades(convention) else ()


def _is_averaged(convention: Convention) -> bool:
    return convention.ties == "average" and not convention.ranks_decide


def _dcg(gain: str, convention: Convention, k: int) -> str:
    if _is_averaged(convention):
        return ml_sql.discounted_sum(ml_sql.gains_of_ranks("listed", k), "one", k, convention)
    return ml_sql.discounted_sum("listed", gain, k, convention)


def _ideal_dcg(gain: str, convention: Convention, k: int) -> str:
    """The DCG of the ideal ranking."""
    if convention.ideal == "k_relevant":
        best = ml_sql.best_sum(k, convention)
        return f"case when exists(judged, gain -> gain > 0) then {best} else 0D end"
    depth = str(k)
    candidates = "judged"
    if convention.ideal == "judged_capped":
        depth = f"least({k}, coalesce(size(listed), 0))"
    if convention.ideal == "retrieved":
        candidates = "listed.gain"
    if convention.ideal == "retrieved_at_k":
        candidates = ml_sql.first_of("listed.gain", k)
        if _is_averaged(convention):
            candidates = ml_sql.gains_of_ranks("listed", k)
    return ml_sql.discounted_sum(f"sort_array({candidates}, false)", "one", depth, convention)
