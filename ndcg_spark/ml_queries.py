"""The mean NDCG of an evaluator's queries in expressions of the engine: one action, no Python.

It never refuses. A query that breaks a rule, and one that SQL might score in another way than the
definition, such as one with a document twice, is `odd`; `ml_rows` then decides what is wrong.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple, Protocol

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
    fractional: float | None
    highest: float | None


class QueryLists(Protocol):
    """A user's table, from which each query's lists are made."""

    @property
    def has_grades(self) -> bool:
        """Whether returned documents know their grades, and need not look them up in `documents`."""

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

    def queries(self, convention: Convention) -> DataFrame:
        columns = {"documents": _each(self.judged), "returned": self._returned(convention)}
        columns["grades"] = "documents"
        if self.relevance is not None:
            grade = sql.number(self.relevance.of("one"), self.relevance.kind)
            columns["grades"] = f"transform({self.relevance.column}, one -> {grade})"
        if self.excluded is not None:
            columns["excluded"] = _each(self.excluded)
        if self.relevance is None:
            del columns["grades"]
        table = self.table.selectExpr(*(f"{value} as {name}" for name, value in columns.items()))
        odd = [_has_empty("documents"), _has_empty("returned.doc"), _repeats("returned.doc")]
        grades, documents, returned = "grades", "documents", "returned"
        if self.relevance is None:
            documents = "array_distinct(documents)"
            grades = f"transform({documents}, one -> 1.0D)"
        else:
            odd_grade = sql.is_odd_grade("grade", convention)
            odd += [_repeats("documents"), f"exists(grades, grade -> {odd_grade})"]
        if self.excluded is not None:
            odd.append(_has_empty("excluded"))
            is_excluded = "coalesce(array_contains(excluded, one.doc), false)"
            returned = f"filter(returned, one -> not {is_excluded})"
        if convention.needs_score:
            odd.append(f"coalesce(exists(returned, one -> not {sql.is_finite('one.score')}), false)")
        if convention.needs_rank and self.rank is not None:
            odd.append(f"coalesce(exists(returned, one -> not {sql.is_rank('one.rank')}), false)")
            odd.append(_repeats("returned.rank"))
        return table.selectExpr(
            f"{grades} as grades",
            f"{documents} as documents",
            f"{returned} as returned",
            f"coalesce(size({returned}), 0) > 0 as answered",
            f"{' or '.join(odd)} as odd",
        )

    def _returned(self, convention: Convention) -> str:
        fields = [f"{sql.whole_text(self.returned.of('one'), self.returned.kind)} as doc"]
        if convention.needs_score and self.score is not None:
            fields.append(f"{sql.number(self.score.of('one'), self.score.kind)} as score")
        if convention.needs_rank:
            rank = "cast(at + 1 as double)"
            if self.rank is not None:
                rank = sql.number(self.rank.of("one"), self.rank.kind)
            fields.append(f"{rank} as rank")
        return f"transform({self.returned.column}, (one, at) -> struct({', '.join(fields)}))"


def _each(ids: ListField) -> str:
    return f"transform({ids.column}, one -> {sql.whole_text(ids.of('one'), ids.kind)})"


def _has_empty(documents: str) -> str:
    return f"coalesce(exists({documents}, one -> {sql.is_empty('one')}), false)"


def _repeats(values: str) -> str:
    return f"coalesce(size(array_distinct({values})) < size({values}), false)"


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
    ranked = _ranked(queries, lists.has_grades, convention, depth)
    sums = _sums(ranked, convention, depth)
    ndcg = sql.ndcg_of(convention)
    scores = sums.selectExpr("*", f"{ndcg} as ndcg")
    odd = f"odd or {sql.is_odd_query(convention)}"
    # Of a row that is null, nothing is known.
    row = scores.selectExpr(
        "avg(ndcg) as ndcg",
        f"bool_or(coalesce({odd}, true)) as odd",
        "max(fractional) as fractional",
        "max(highest) as highest",
    ).collect()[0]
    if row["odd"]:
        return None
    return Mean(row["ndcg"], row["fractional"], row["highest"])


def _ranked(table: DataFrame, has_grades: bool, convention: Convention, k: int) -> DataFrame:
    """The gains of the judged documents, and the list that is scored with the gain of each."""
    returned = "returned"
    entry = dict(sql.order_keys("one.doc", "one.score", "one.rank", convention))
    judged = f"transform(grades, grade -> {sql.gain_of('grade', convention)})"
    columns = {
        "answered": "answered",
        "odd": "odd",
        "judged": f"filter({judged}, worth -> worth is not null)",
        **_doubtful_grades(convention),
    }
    if not has_grades and not _needs_all_gains(convention):
        # Only the documents down to the cutoff are looked up.
        entry["doc"] = "one.doc"
        columns["documents"] = "documents"
        columns["grades"] = "grades"
        columns["listed"] = _sorted(_structs(returned, entry), convention, k)
        first = _select(table, columns)
        worth = _own_gain(_looked_up("one.doc"), convention)
        columns = {name: name for name in columns if name not in ("documents", "grades")}
        columns["listed"] = _structs("listed", {"gain": worth})
        return _select(first, columns)
    if not has_grades:
        kept = {name: f"one.{name}" for name in _names_of_numbers(convention)}
        graded = {"doc": "one.doc", **kept, "grade": _looked_up("one.doc")}
        names = {name: name for name in ("grades", "documents", "answered", "odd")}
        table = _select(table, {**names, "returned": _structs(returned, graded)})
    worth = _own_gain("one.grade", convention)
    entry |= sql.gain_key(worth, convention)
    entry["gain"] = worth
    if stays := _stays(convention):
        returned = f"filter(returned, one -> {stays})"
    columns["listed"] = _sorted(_structs(returned, entry), convention, _LONGEST)
    return _select(table, columns)


def _select(table: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    return table.selectExpr(*(f"{value} as {name}" for name, value in columns.items()))


def _structs(array: str, fields: Mapping[str, str]) -> str:
    values = ", ".join(f"{value} as {name}" for name, value in fields.items())
    return f"transform({array}, one -> struct({values}))"


def _sorted(entries: str, convention: Convention, k: int) -> str:
    """The best k entries, in the order of the convention."""
    is_ascending = str(not sql.is_descending(convention)).lower()
    ordered = f"sort_array({entries}, {is_ascending})"
    return ordered if k == _LONGEST else sql.first_of(ordered, k)


def _names_of_numbers(convention: Convention) -> list[str]:
    names = ["score"] if convention.needs_score else []
    return [*names, "rank"] if convention.needs_rank else names


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


def _doubtful_grades(convention: Convention) -> dict[str, str]:
    """The highest grade that is no whole number, and the highest, if the tool has limits."""
    limits = presets.PRESETS[convention.based_on].grades
    if limits == presets.Grades() or convention.min_relevance != "none":
        return {"fractional": "cast(null as double)", "highest": "cast(null as double)"}
    return {
        "fractional": "array_max(filter(grades, grade -> grade % 1 != 0))",
        "highest": "array_max(grades)",
    }


def _sums(table: DataFrame, convention: Convention, k: int) -> DataFrame:
    """DCG and ideal DCG of each query."""
    gains = sql.first_of("listed.gain", k)
    if convention.ties == "average" and not convention.ranks_decide:
        gains = sql.averaged("listed", k)
    kept = ("answered", "odd", "fractional", "highest", "judged")
    columns = {name: name for name in kept}
    columns["gains"] = gains
    columns["ideal"] = _ideal(convention, k)
    table = _select(table, columns)
    sums = {name: name for name in kept}
    sums["dcg"] = sql.discounted_sum("gains", convention)
    sums["ideal_dcg"] = sql.discounted_sum("ideal", convention)
    if convention.ideal == "k_relevant":
        has_relevant = "exists(judged, worth -> worth > 0)"
        best = sql.best_sum(k, convention)
        sums["ideal_dcg"] = f"case when {has_relevant} then {best} else 0D end"
    return _select(table, sums)


def _ideal(convention: Convention, k: int) -> str:
    """The gains of the ideal ranking, the largest first."""
    depth = str(k)
    candidates = "judged"
    if convention.ideal == "judged_capped":
        depth = f"least({k}, coalesce(greatest(size(listed), 0), 0))"
    if convention.ideal == "retrieved":
        candidates = "listed.gain"
    if convention.ideal == "retrieved_at_k":
        candidates = sql.first_of("listed.gain", k)
    return sql.first_of(f"sort_array({candidates}, false)", depth)
