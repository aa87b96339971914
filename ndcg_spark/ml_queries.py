"""The mean NDCG of an evaluator's queries in expressions of the engine: one action, no Python.

It never refuses. A query that breaks a rule, and one that SQL might score in another way than the
definition, such as one with a document twice, is `odd`; `ml_rows` then decides what is wrong.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import ml_sql as sql
from ndcg_spark.convention import presets
from ndcg_spark.convention.convention import Convention
from ndcg_spark.reference import unjudged_gain

#: Larger cutoffs are no int in SQL, and no list is as long.
_LONGEST = 10**9
_WHOLE = ("tinyint", "smallint", "int", "bigint")


class Mean(NamedTuple):
    """The mean NDCG over the judged queries that count, None without one; and grades."""

    ndcg: float | None
    #: The highest grade that is no whole number, and the highest of all; None without one, and
    #: where the convention warns of none.
    fractional: float | None = None
    highest: float | None = None


class QueryLists(Protocol):
    """A user's table, from which each query's lists are made."""

    @property
    def has_grades(self) -> bool:
        """Whether returned documents have their grades, which else are looked up in `documents`."""

    def is_in_order(self, convention: Convention) -> bool:
        """Whether lists are in the order of the convention as they are."""

    def queries(self, convention: Convention) -> DataFrame:
        """One row per query: grades, of the judged documents, returned, and whether it is odd.

        A document in `returned` is a struct of doc, score or rank, and grade or none; `answered`
        is whether there is one.
        """


@dataclasses.dataclass(frozen=True)
class LongRows:
    """A row per query and document."""

    table: DataFrame
    #: What the table calls what we call query_id, doc_id, score, relevance, is_judged, in SQL.
    columns: Mapping[str, str]
    kinds: Mapping[str, str]
    has_grades = True

    def is_in_order(self, convention: Convention) -> bool:  # rows have no order
        return False

    def queries(self, convention: Convention) -> DataFrame:
        columns = self.columns
        query = sql.whole_text(columns["query_id"], self.kinds["query_id"])
        document = sql.whole_text(columns["doc_id"], self.kinds["doc_id"])
        grade = sql.number(columns["relevance"], self.kinds["relevance"])
        score = sql.number(columns["score"], self.kinds["score"])
        is_judged, is_returned = columns["is_judged"], columns["is_returned"]
        counts = f"({is_judged} or {is_returned} or {columns.get('is_excluded', 'false')})"
        odd_grade = sql.is_odd_grade(grade, convention)
        is_odd = (
            f"{counts} and ({sql.is_empty(query)} or {sql.is_empty(document)}"
            f" or {is_judged} and {odd_grade}"
            f" or {is_returned} and not {sql.is_finite(score)})"
        )
        stays = is_returned
        if convention.exclude_query_as_document:
            stays = f"{is_returned} and {document} != {query}"
        fields = (
            f"{document} as doc, {score} as score, case when {is_judged} then {grade} end as grade,"
            f" {is_returned} as is_returned, {stays} as stays"
        )
        rows = self.table.groupBy(F.expr(f"{query} as query_id")).agg(
            F.expr(f"collect_list(case when {counts} then struct({fields}) end) as documents"),
            F.expr(f"bool_or({is_odd}) as odd"),
        )
        listed = rows.selectExpr(
            "filter(documents.grade, grade -> grade is not null) as grades",
            "filter(documents, one -> one.stays) as returned",
            "exists(documents, one -> one.is_returned) as answered",
            "odd or size(array_distinct(documents.doc)) < size(documents) as odd",
        )
        return listed.where("size(grades) > 0 or odd")


class ListField(NamedTuple):
    """Documents or numbers in a column of lists."""

    column: str
    #: The field of the structs in the list; empty for a list without structs. Both are quoted.
    field: str
    kind: str

    @property
    def path(self) -> str:
        """The list of the values alone."""
        # Not getField of the array, which the embedded engine takes for a position in it.
        return f"{self.column}.{self.field}" if self.field else self.column

    def of(self, element: str) -> str:
        return f"{element}.{self.field}" if self.field else element


@dataclasses.dataclass(frozen=True)
class ListRows:
    """A row per query with a list of documents on each side."""

    table: DataFrame
    judged: ListField
    returned: ListField
    excluded: ListField | None
    relevance: ListField | None
    score: ListField | None
    rank: ListField | None
    has_grades = False

    def is_in_order(self, convention: Convention) -> bool:
        return convention.ranks_decide and self.rank is None

    def queries(self, convention: Convention) -> DataFrame:
        columns = self._columns(convention)
        table = _select(self.table, columns)
        documents, returned, grades = "documents", "returned", "grades"
        if self.relevance is None:
            documents = "array_distinct(documents)"
            grades = f"transform({documents}, one -> 1.0D)"
        if self.excluded is not None:
            is_excluded = "coalesce(array_contains(excluded, one.doc), false)"
            returned = f"filter(returned, one -> not {is_excluded})"
        return table.selectExpr(
            f"{grades} as grades",
            f"{documents} as documents",
            f"{returned} as returned",
            f"coalesce(size({returned}), 0) > 0 as answered",
            f"{' or '.join(self._odd(convention))} as odd",
        )

    def _columns(self, convention: Convention) -> dict[str, str]:
        """The lists in one type each; null stays null."""
        ids = self._type_of_ids(convention)
        columns = {
            "documents": _each(self.judged, ids),
            "returned": self._returned(convention, ids),
        }
        if self.relevance is not None:
            grade = sql.number(self.relevance.of("one"), self.relevance.kind)
            columns["grades"] = f"transform({self.relevance.column}, one -> {grade})"
        if self.excluded is not None:
            columns["excluded"] = _each(self.excluded, ids)
        return columns

    def _odd(self, convention: Convention) -> list[str]:
        """Conditions in SQL, never null, for what is or may be refused."""
        ids = self._type_of_ids(convention)
        odd = [_has_empty("documents", ids), _has_empty("returned.doc", ids)]
        odd.append(_repeats("returned.doc"))
        if self.relevance is not None:
            odd_grade = sql.is_odd_grade("grade", convention)
            odd += [_repeats("documents"), f"exists(grades, grade -> {odd_grade})"]
        if self.excluded is not None:
            odd.append(_has_empty("excluded", ids))
        if convention.needs_score:
            odd.append(f"exists(returned, one -> not {sql.is_finite('one.score')})")
        if convention.needs_rank and self.rank is not None:
            odd.append(f"exists(returned, one -> not {sql.is_rank('one.rank')})")
            odd.append(_repeats("returned.rank"))
        return [f"coalesce({condition}, false)" for condition in odd]

    def _type_of_ids(self, convention: Convention) -> str:
        """Numbers are compared as numbers, unless their text breaks ties."""
        fields = [self.judged, self.returned]
        if self.excluded is not None:
            fields.append(self.excluded)
        kinds = {field.kind for field in fields}
        if sql.orders_by_id(convention):
            return "string"
        if kinds <= {*_WHOLE}:
            return "bigint"
        return "double" if kinds <= {*_WHOLE, *sql.FRACTIONAL} else "string"

    def _returned(self, convention: Convention, ids: str) -> str:
        fields = [f"{_id_as(ids, self.returned)} as doc"]
        if convention.needs_score and self.score is not None:
            fields.append(f"{sql.number(self.score.of('one'), self.score.kind)} as score")
        if convention.needs_rank and self.rank is not None:
            fields.append(f"{sql.number(self.rank.of('one'), self.rank.kind)} as rank")
        elif convention.needs_rank and not self.is_in_order(convention):
            fields.append("cast(at + 1 as double) as rank")
        return f"transform({self.returned.column}, (one, at) -> struct({', '.join(fields)}))"


def _each(field: ListField, ids: str) -> str:
    return f"transform({field.column}, one -> {_id_as(ids, field)})"


def _id_as(ids: str, field: ListField) -> str:
    """The id of the element `one` in a type; null if it is none, or no whole number."""
    value = field.of("one")
    if ids == "string":
        return sql.whole_text(value, field.kind)
    if sql.is_fractional(field.kind):
        value = f"case when {sql.is_whole(value, field.kind)} then {value} + 0.0D end"
    return f"cast({value} as {ids})"


def _has_empty(documents: str, ids: str) -> str:
    is_empty = sql.is_empty("one") if ids == "string" else "one is null"
    return f"exists({documents}, one -> {is_empty})"


def _repeats(values: str) -> str:
    return f"size(array_distinct({values})) < size({values})"


def is_expressible(kinds: Mapping[str, str], convention: Convention) -> bool:
    """Whether SQL scores documents of these types by this convention.

    The functions of users are Python's, text may be no number, and a column without a type has no
    values.
    """
    for rule in (convention.gain, convention.discount):
        if isinstance(rule, str) and rule.startswith("python:"):
            return False
    if "void" in kinds.values():
        return False
    numbers = [kind for name, kind in kinds.items() if name in ("relevance", "score", "rank")]
    return all(map(sql.is_numeric, numbers)) and kinds.get("rank", "int") in _WHOLE


def mean_of_queries(lists: QueryLists, convention: Convention, k: int) -> Mean | None:
    """The mean; None if a query is odd, which SQL does not decide."""
    depth = min(k, _LONGEST)
    queries = lists.queries(convention)
    ranked = _ranked(queries, lists, convention, depth)
    gains = _gains(lists.has_grades, convention, depth)
    sums = _sums(ranked, gains, convention, depth)
    ndcg = sql.ndcg_of(convention)
    scores = sums.selectExpr("*", f"{ndcg} as ndcg")
    odd = f"odd or {sql.is_odd_query(convention)}"
    # Of a query that is null, nothing is known.
    columns = ["ndcg", f"coalesce({odd}, true) as odd"]
    if warns_of_grades(convention):
        columns += ["fractional", "highest"]
    # The mean is taken here: to shuffle the scores to one task is a second job, and costs classic
    # Spark half as much again; a score has nine bytes.
    fetched = scores.selectExpr(*columns).toArrow()
    if pc.any(fetched["odd"]).as_py():
        return None
    highest = {name: pc.max(fetched[name]).as_py() for name in fetched.column_names[2:]}
    return Mean(pc.mean(fetched["ndcg"]).as_py(), **highest)


def _ranked(table: DataFrame, lists: QueryLists, convention: Convention, k: int) -> DataFrame:
    """The gains of the judged documents, and the list that is scored with the gain of each."""
    judged = f"transform(grades, grade -> {sql.gain_of('grade', convention)})"
    columns = {
        "answered": "answered",
        "odd": "odd",
        "judged": f"filter({judged}, worth -> worth is not null)",
    }
    if warns_of_grades(convention):
        columns["fractional"] = "array_max(filter(grades, grade -> grade % 1 != 0))"
        columns["highest"] = "array_max(grades)"
    is_in_order = lists.is_in_order(convention)
    keys = sql.order_keys("one.doc", "one.score", "one.rank", convention)
    if is_in_order:
        keys = {}
    if not lists.has_grades and not _needs_all_gains(convention):
        # Only the documents down to the cutoff are looked up.
        columns["documents"] = "documents"
        columns["grades"] = "grades"
        listed = _structs("returned", {**keys, "doc": "one.doc"})
        if not is_in_order:
            listed = _sorted(listed, convention)
        columns["listed"] = sql.first_of(listed, k)
        return _select(table, columns)
    if not lists.has_grades:
        table = _with_grades(table, convention, is_in_order)
    worth = _own_gain("one.grade", convention)
    entry = {**keys, **sql.gain_key(worth, convention), "gain": worth}
    stays = _stays(convention)
    returned = f"filter(returned, one -> {stays})" if stays else "returned"
    listed = _structs(returned, entry)
    columns["listed"] = listed if is_in_order else _sorted(listed, convention)
    return _select(table, columns)


def _with_grades(table: DataFrame, convention: Convention, is_in_order: bool) -> DataFrame:
    """The queries with the grade of each returned document."""
    columns = {name: name for name in ("grades", "documents", "answered", "odd")}
    fields = {"doc": "one.doc"}
    if convention.needs_score:
        fields["score"] = "one.score"
    if convention.needs_rank and not is_in_order:
        fields["rank"] = "one.rank"
    fields["grade"] = _looked_up("one.doc")
    columns["returned"] = _structs("returned", fields)
    return _select(table, columns)


def _select(table: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    return table.selectExpr(*(f"{value} as {name}" for name, value in columns.items()))


def _structs(array: str, fields: Mapping[str, str]) -> str:
    values = ", ".join(f"{value} as {name}" for name, value in fields.items())
    return f"transform({array}, one -> struct({values}))"


def _sorted(entries: str, convention: Convention) -> str:
    """The entries in the order of the convention."""
    is_ascending = str(not sql.is_descending(convention)).lower()
    return f"sort_array({entries}, {is_ascending})"


def _looked_up(document: str) -> str:
    """The grade of a document among the judged ones, null if it is not."""
    return f"get(grades, cast(array_position(documents, {document}) as int) - 1)"


def _own_gain(grade: str, convention: Convention) -> str:
    unjudged = sql.constant(unjudged_gain(convention))
    return f"coalesce({sql.gain_of(grade, convention)}, {unjudged})"


def _needs_all_gains(convention: Convention) -> bool:
    """Whether the gains of a whole list decide what is within the cutoff, or its ideal."""
    by_gain = convention.ties in ("average", "best", "worst")
    return by_gain or convention.ideal == "retrieved" or bool(_stays(convention))


def _stays(convention: Convention) -> str:
    """Whether a returned document stays on the list; empty if all do."""
    rules = []
    if convention.unjudged == "drop":
        rules.append(f"{sql.gain_of('one.grade', convention)} is not null")
    if convention.negative == "drop":
        rules.append("coalesce(one.grade >= 0, true)")
    return " and ".join(rules)


def warns_of_grades(convention: Convention) -> bool:
    """Whether the tool of the preset does not take every grade."""
    limits = presets.PRESETS[convention.based_on].grades
    return limits != presets.Grades() and convention.min_relevance == "none"


def _gains(has_grades: bool, convention: Convention, k: int) -> str:
    """The gains of the list that is scored, by rank down to k."""
    if not has_grades and not _needs_all_gains(convention):
        worth = _own_gain(_looked_up("one.doc"), convention)
        return f"transform(listed, one -> {worth})"
    if convention.ties == "average" and not convention.ranks_decide:
        return sql.averaged("listed", k)
    return sql.first_of("listed.gain", k)


def _sums(table: DataFrame, gains: str, convention: Convention, k: int) -> DataFrame:
    """DCG and ideal DCG of each query."""
    kept = ["answered", "odd"]
    if warns_of_grades(convention):
        kept += ["fractional", "highest"]
    columns = {name: name for name in kept}
    columns["judged"] = "judged"
    columns["gains"] = gains
    columns["ideal"] = _ideal(convention, gains, k)
    table = _select(table, columns)
    sums = {name: name for name in kept}
    sums["dcg"] = sql.discounted_sum("gains", convention)
    sums["ideal_dcg"] = sql.discounted_sum("ideal", convention)
    if convention.ideal == "k_relevant":
        has_relevant = "exists(judged, worth -> worth > 0)"
        best = sql.best_sum(k, convention)
        sums["ideal_dcg"] = f"case when {has_relevant} then {best} else 0D end"
    return _select(table, sums)


def _ideal(convention: Convention, gains: str, k: int) -> str:
    """The gains of the ideal ranking, the largest first."""
    depth = str(k)
    candidates = "judged"
    if convention.ideal == "judged_capped":
        depth = f"least({k}, coalesce(greatest(size(listed), 0), 0))"
    if convention.ideal == "retrieved":
        candidates = "listed.gain"
    if convention.ideal == "retrieved_at_k":
        candidates = gains
    return sql.first_of(f"sort_array({candidates}, false)", depth)
