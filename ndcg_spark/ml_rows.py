"""The mean NDCG of an evaluator's rows, with the same rules as for the tables of `evaluate`.

There are two ways. `ml_queries` scores in engine expressions and never refuses. What it does not
decide is scored in Python by `reference`, which the steps of `evaluate` are tested against; its
rows are tested by the rules of `rules`. These are queries that break a rule or have a document
twice, functions that users write, and numbers that are text.
"""

import dataclasses
import functools
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from ndcg_spark import reference, rules, user_functions
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.refused_queries import NOT_FINITE, RANK_TWICE
from ndcg_spark.engine import failures
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.ml_queries import Mean, QueryLists, is_expressible, mean_of_queries
from ndcg_spark.ml_sql import is_fractional, is_whole, whole_text
from ndcg_spark.rules import RowTest, Rule
from ndcg_spark.scoring.prepare import judgment_tests, ordered
from ndcg_spark.scoring.refusals import refuse_value, refused

#: A row's documents: a judged one, a returned one, and one to leave out.
JUDGED, RETURNED, EXCLUDED = "judged", "returned", "excluded"
#: The code for a user's function that fails, where a refusal has the code of a rule.
_CONVENTION = "convention"
#: A document with its score and its rank.
_Returned = tuple[str, float | None, int | None]
_Tests = Callable[[Mapping[str, str]], list[RowTest]]


@dataclasses.dataclass(frozen=True)
class DocumentRows:
    """One row per document, with the user's values unchanged.

    The result of `make_table` has, for each of JUDGED, RETURNED and, if documents are excluded,
    EXCLUDED, a column with the document, and a boolean such as `is_judged`, false if the row has no
    such document. It also has `query_id`, `relevance`, and `score` or `rank` or both.
    """

    make_table: Callable[[], DataFrame]
    #: The same documents by query, for scoring without Python.
    lists: QueryLists
    #: The types of the columns, as Spark writes them.
    kinds: Mapping[str, str]
    #: The names of the document columns in messages.
    where: Mapping[str, str]
    #: Whether query ids come from the user, and are not generated numbers.
    are_named: bool
    #: Whether a document that is judged twice counts once, for example purchases without grades.
    judged_once: bool = False


def mean_ndcg(rows: DocumentRows, convention: Convention, k: int) -> Mean:
    """The mean of the rows. Raises InputError for data that `evaluate` refuses."""
    names = [name for name in ("score", "rank") if name in rows.kinds]
    convention = ordered(convention, names)
    if is_expressible(rows.kinds, convention) and rows.lists.are_quick(convention, k):
        mean = mean_of_queries(rows.lists, convention, k)
        if mean is not None:
            return mean
    return _mean_in_python(rows, convention, k)


def _mean_in_python(rows: DocumentRows, convention: Convention, k: int) -> Mean:
    """The mean by the definition, which reports what is wrong and runs users' functions."""
    queries = _queries(_checked(rows, convention), rows.kinds, convention)
    ndcg_of_query = _ndcg_function(queries.columns, rows, convention, k)
    scores = queries.select(
        ndcg_of_query.alias("ndcg"),
        F.expr("array_max(filter(grades, grade -> grade % 1 != 0)) as fractional"),
        F.expr("array_max(grades) as highest"),
    )
    try:
        mean = F.expr("avg(case when not isnan(ndcg) then ndcg end)")
        means = scores.agg(mean, F.max("fractional"), F.max("highest"))
        ((ndcg, fractional, highest),) = means.collect()
    except failures() as error:
        refusal = refused(error)
        if refusal is None:
            raise
        code, sentence = refusal
        if code in (NOT_FINITE.code, _CONVENTION):
            raise ConventionError(sentence) from error
        raise InputError(sentence) from error
    return Mean(None if ndcg is None else float(ndcg), fractional, highest)


def _checked(rows: DocumentRows, convention: Convention) -> DataFrame:
    """The rows with documents as text, null if there is none; a row that breaks a rule fails."""
    of_judgments = functools.partial(judgment_tests, convention=convention)
    of_results = functools.partial(rules.result_rules, convention=convention)
    table = _with_documents(rows.make_table(), rows, JUDGED, ["relevance"], of_judgments)
    table = _with_documents(table, rows, RETURNED, ["score", "rank"], of_results)
    if EXCLUDED in rows.kinds:
        of_excluded = functools.partial(rules.name_rules, names=("query_id", "doc_id"))
        table = _with_documents(table, rows, EXCLUDED, [], of_excluded)
    return table


def _with_documents(
    table: DataFrame,
    rows: DocumentRows,
    side: str,
    numbers: Sequence[str],
    tests_of: _Tests,
) -> DataFrame:
    ids = ["query_id"] if rows.are_named else []
    kinds = {name: rows.kinds[name] for name in ids}
    kinds["doc_id"] = rows.kinds[side]
    kinds |= {name: rows.kinds[name] for name in numbers if name in rows.kinds}
    tests = tests_of(kinds)
    for name in [*ids, "doc_id"]:
        tests += _whole_test(name, kinds[name])
    document = whole_text("doc_id", kinds["doc_id"])
    table = table.withColumn("doc_id", F.col(side))
    return refuse_value(table, tests, (side, document), kinds, rows.where[side], f"is_{side}")


def _whole_test(name: str, kind: str) -> list[RowTest]:
    if not is_fractional(kind):
        return []
    rule = Rule(f"{name}_is_not_whole", f"{name}(s) that are not whole numbers", name)
    return [(rule, F.expr(f"not coalesce({is_whole(name, kind)}, false)"))]


def _queries(table: DataFrame, kinds: Mapping[str, str], convention: Convention) -> DataFrame:
    """One row per query: its documents, and in the same order their scores, ranks and grades."""
    query = whole_text("query_id", kinds["query_id"])
    numbers = {"relevance": rules.typed("relevance", kinds)}
    if convention.needs_score:
        numbers["score"] = rules.typed("score", kinds)
    if convention.needs_rank:
        numbers["rank"] = rules.typed("rank", kinds)
    lists = {
        "judged": JUDGED,
        "grades": "case when is_judged then relevance end",
        "returned": RETURNED,
        "scores": "case when is_returned then score end",
        "ranks": "case when is_returned then rank end",
        "excluded": EXCLUDED,
    }
    if "score" not in numbers:
        del lists["scores"]
    if "rank" not in numbers:
        del lists["ranks"]
    if EXCLUDED not in kinds:
        del lists["excluded"]
    columns = [F.expr(f"collect_list({values}) as {name}") for name, values in lists.items()]
    return table.withColumns(numbers).groupBy(F.expr(f"{query} as query_id")).agg(*columns)


def _ndcg_function(
    names: Sequence[str],
    rows: DocumentRows,
    convention: Convention,
    k: int,
) -> Column:
    """A double column: each query's NDCG, null for one that is not in the mean."""
    scorer = _Scorer(convention, k, dict(rows.where), rows.are_named, rows.judged_once)
    packed = _packed_functions(convention)

    def ndcg(*columns: pd.Series) -> pd.Series:
        scores = []
        with user_functions.replaced(_unpacked_functions(packed)):
            for values in zip(*columns, strict=True):
                query = dict(zip(names, values, strict=True))
                scores.append(scorer.ndcg(query))
        return pd.Series(scores, dtype="float64")

    # Its stub has no default kind.
    function: Callable[..., Column] = pandas_udf(ndcg, "double")  # type: ignore[call-overload]
    return function(*names)


def _packed_functions(convention: Convention) -> dict[str, bytes]:
    """The user's functions that a convention names, for the processes that score."""
    packed = {}
    for rule in (str(convention.gain), str(convention.discount)):
        if rule.startswith("python:"):
            packed[rule] = user_functions.pack_function(rule)
    return packed


def _unpacked_functions(packed: Mapping[str, bytes]) -> dict[str, Callable[..., Any]]:
    functions = {}
    for name, function in packed.items():
        functions[name] = pickle.loads(function)  # noqa: S301  # our own
    return functions


@dataclasses.dataclass(frozen=True)
class _Scorer:
    """Scores queries by the definition, in a process of the engine."""

    convention: Convention
    k: int
    #: Like the fields of DocumentRows, which this process does not have.
    where: Mapping[str, str]
    are_named: bool
    judged_once: bool

    def ndcg(self, query: Mapping[str, Any]) -> float | None:
        """The NDCG of a row of `_queries`; None if the query is not in the mean."""
        graded = list(zip(query["judged"], query["grades"], strict=True))
        if self.are_named and not graded:
            return None
        if self.judged_once:
            graded = list(dict(graded).items())
        name = query["query_id"] if self.are_named else ""
        try:
            returned = _returned(query, self.convention)
            return reference.score(name, graded, returned, self.convention, self.k).ndcg
        except reference.RefusedQueryError as error:
            raise InputError(_refusal(error, self.where)) from error
        except ConventionError as error:
            raise InputError(f"ndcg_spark refuses [{_CONVENTION}] {error}") from error


def _returned(query: Mapping[str, Any], convention: Convention) -> list[_Returned]:
    """The returned documents with scores and ranks, without the excluded ones."""
    documents = query["returned"]
    nothing = [None] * len(documents)
    scores, ranks = query.get("scores", nothing), query.get("ranks", nothing)
    excluded = set(query.get("excluded", ()))
    rows = [row for row in zip(documents, scores, ranks, strict=True) if row[0] not in excluded]
    if convention.ranks_decide and len({rank for _, _, rank in rows}) < len(rows):
        raise reference.RefusedQueryError(RANK_TWICE, "a query")
    return rows


def _refusal(error: reference.RefusedQueryError, where: Mapping[str, str]) -> str:
    """The exception's text for a refusal by the definition, worded like the engine's steps."""
    refusal = error.refusal
    columns = {"judgments": where[JUDGED], "results": where[RETURNED]}
    side = columns.get(refusal.table, refusal.table)
    sentence = refusal._replace(table=side).sentence(error.example)
    return f"ndcg_spark refuses [{refusal.code}] {sentence}"
