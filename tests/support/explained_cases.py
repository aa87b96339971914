"""The facts of random rankings under every preset and some other conventions, as the embedded engine finds them."""

from collections.abc import Mapping
from typing import Any

from cases import make
from pyspark.sql import SparkSession
from staying import returned
from tables import Row, judgment, judgments, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.explanation.build import explain
from ndcg_spark.explanation.from_rows import facts_of
from ndcg_spark.explanation.model import Explanation, Facts
from ndcg_spark.scoring.documents import returned_documents
from ndcg_spark.scoring.ideal import judged_documents

CUTOFFS = [1, 5, None]
#: What no preset has.
OTHERS = {
    "drop": {"unjudged": "drop"},
    "drop both": {"unjudged": "drop", "negative": "drop", "exclude_query_as_document": True},
    "unjudged 1": {"unjudged": 1.0},
    "averaged": {"ties": "average"},
    "averaged, retrieved": {"ties": "average", "ideal": "retrieved", "gain": "linear"},
    "best": {"ties": "best", "negative": "keep"},
    "k_relevant": {"ideal": "k_relevant", "gain": "binary"},
    "capped": {"ideal": "judged_capped"},
    "table": {"gain": {-1.0: 0.0, 0.0: 0.5, 1.0: 1.0, 2.0: 4.0, 3.0: 5.0, 4.0: 9.0}, "discount": [1.0, 0.5, 0.25]},
    "python": {"gain": "python:numpy.square", "discount": "python:numpy.reciprocal"},
    "binary": {"min_relevance": 2.0, "discount": "jarvelin"},
}


def conventions() -> dict[str, Convention]:
    """Every preset, but one of those that are the same, and the others."""
    named = {Convention.preset(name): name for name in reversed(PRESETS)}
    return {name: each for each, name in named.items()} | {name: Convention(**each) for name, each in OTHERS.items()}


def found(name: str) -> dict[str, Any]:
    """Of a convention: `facts` by query and cutoff, and what the evaluation says `if_best`, `if_worst` and `moved`."""
    return returned(_found, name)


def _found(name: str) -> dict[str, Any]:
    return _answers(SparkSession.active(), conventions()[name])


def _answers(session: SparkSession, convention: Convention) -> dict[str, Any]:
    case = make([1], negative=convention.negative != "error")
    judged = {query: {doc: float(grade) for doc, grade in grades.items()} for query, grades in case.judged.items()}
    listed = case.returned
    facts = _facts(session, convention, judged, listed)
    explanations = {query: explain(each) for (query, k), each in facts.items() if k == 5}
    worst = -1.0 if convention.negative == "keep" else 0.0
    with_unjudged = {query: each.unjudged[0].doc_id for query, each in explanations.items() if each.unjudged}
    helped = {query: each for query, each in explanations.items() if each.would_help}
    moved = listed | {query: _moved(each, listed.get(query, [])) for query, each in helped.items()}
    variants = {
        "if_best": (_with(judged, with_unjudged, 4.0), listed),
        "if_worst": (_with(judged, with_unjudged, worst), listed),
        "moved": (judged, moved),
    }
    scores = _scores(session, convention, variants)
    asked = {"if_best": with_unjudged, "if_worst": with_unjudged, "moved": helped}
    return {"facts": facts} | {name: {query: scores[name, query] for query in asked[name]} for name in variants}


def _with(judged: Mapping[str, Any], documents: Mapping[str, str], grade: float) -> dict[str, dict[str, float]]:
    """The judgments, and one document more of each query with this grade."""
    more = {query: {document: grade} for query, document in documents.items()}
    return {query: {**grades, **more.get(query, {})} for query, grades in judged.items()}


def _moved(explanation: Explanation, rows: list[tuple[str, float, int]]) -> list[tuple[str, float, int]]:
    """The results in the order that the best move of the explanation leads to, without a tie."""
    best = explanation.would_help[0]
    order = [each.doc_id for each in explanation.facts.listed if each.doc_id != best.doc_id]
    order.insert(best.ideal_rank - 1, best.doc_id)
    order += [doc for doc, _, _ in rows if doc not in order]
    return [(doc, -float(rank), rank) for rank, doc in enumerate(order, 1)]


def _rows(judged: Mapping[str, Any], returned: Mapping[str, Any], **more: str) -> tuple[list[Row], list[Row]]:
    grades = [judgment(doc, grade, query, **more) for query, rows in judged.items() for doc, grade in rows.items()]
    rows = [result(doc, s, query, rank=at, **more) for query, listed in returned.items() for doc, s, at in listed]
    return grades, rows


def _scores(session: SparkSession, convention: Convention, variants: Mapping[str, Any]) -> dict[Any, float | None]:
    """NDCG@5 by variant, each of which is a dataset, and query."""
    both = [_rows(*variant, dataset=name) for name, variant in variants.items()]
    judged, returned = ([row for variant in both for row in variant[at]] for at in (0, 1))
    scores = evaluate(judgments(session, judged), results(session, returned), 5, convention).query_scores
    return {(row["dataset"], row["query_id"]): row["ndcg"] for row in scores.collect()}


def _facts(session: SparkSession, convention: Convention, judged: Any, returned: Any) -> dict[Any, Facts]:
    grades_of, rows_of = _rows(judged, returned)
    graded, listed = judgments(session, grades_of), results(session, rows_of)
    documents = judged_documents(graded, ["query_id"], convention)
    known = [row.asDict() for row in documents.collect()]
    rows = [row.asDict() for row in returned_documents(listed, documents, ["query_id"], convention).collect()]
    grades = [grade for of_query in judged.values() for grade in of_query.values()]
    return {
        (score["query_id"], score["cutoff"]): facts_of(
            score.asDict(),
            [row for row in rows if row["query_id"] == score["query_id"]],
            [row for row in known if row["query_id"] == score["query_id"]],
            (max(grades), min(grades)),
            convention,
        )
        for score in evaluate(graded, listed, CUTOFFS, convention).query_scores.collect()
    }
