"""The facts of explanations, made from rows of an engine or rows of a published night."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.explanation.build import explain
from ndcg_spark.explanation.model import Facts, JudgedDocument, ReturnedDocument, Score
from ndcg_spark.explanation.request import Explained, ExplainRequest
from ndcg_spark.tables.sorting import best_first

Row = Mapping[str, Any]


def facts_of(
    score: Row,
    returned: Iterable[Row],
    judged: Iterable[Row],
    convention: Convention,
    whole: bool = True,
) -> Facts:
    """The facts of one run.

    Parameters
    ----------
    score : row
        Of QUERY_SCORES, at the cutoff to explain.
    returned : rows
        Of `scoring.documents.returned_documents`, of this run and perhaps of others.
    judged : rows
        doc_id, relevance and gain of the judged documents of the query.
    """
    documents = [_returned(row) for row in returned if row["run"] == score["run"]]
    judged_documents = [JudgedDocument(row["doc_id"], row["relevance"], row["gain"]) for row in judged]
    ranks = max(len(documents), len(judged_documents)) + 1
    if convention.ideal == "k_relevant":
        ranks = max(ranks, score["cutoff"] or 0)
    return Facts(
        **{name: score[name] for name in ("dataset", "run", "query_id", "cutoff")},
        convention=convention,
        score=Score(*(score[name] for name in ("status", "ndcg", "dcg", "ideal_dcg", "returned", "judged"))),
        returned=documents,
        judged=judged_documents,
        discounts=reference.discounts(ranks, convention.discount),
        whole=whole,
    )


def explained_of(facts: Mapping[str, Facts], runs: Sequence[str], request: ExplainRequest) -> Explained:
    """The explanations of the runs, the best first, and the facts of the baseline."""
    explanations = [explain(facts[run]) for run in runs if run != request.baseline]
    explanations.sort(key=lambda each: best_first(each.facts.score.ndcg, each.facts.run))
    return Explained(explanations, None if request.baseline is None else facts[request.baseline])


def _returned(row: Row) -> ReturnedDocument:
    fields = {name: row[name] for name in ("doc_id", "place", "tie_group", "score", "relevance", "own_gain", "gain")}
    on_list = row["on_list"]
    return ReturnedDocument(**fields, rank=row["rank"] if on_list else None, tied=row["tied"] and on_list)
