"""Explanations of random rankings: their sums are the scores."""

import dataclasses
import math
from statistics import fmean as mean

import pytest
from explained_cases import CONVENTIONS, CUTOFFS, facts_of

from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.query import (
    ExplainRequest,
    Facts,
    JudgedDocument,
    ReturnedDocument,
    changed_documents,
    contributions,
    explain,
    explain_runs,
)
from ndcg_spark.reference import Score

QUICK = ("standard", "averaged", "unjudged 1")
NAMES = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CONVENTIONS
]


def sums(values):
    return pytest.approx(math.fsum(values), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_sums(name):
    facts_at = facts_of(name)
    for (query, cutoff), facts in facts_at.items():
        explanation, score = explain(facts), facts.score
        assert score.dcg == sums(line["contribution"] or 0.0 for line in explanation.lines)
        assert score.dcg == sums(contributions(facts).values())
        assert score.ideal_dcg == sums(
            line["ideal_contribution"] or 0.0 for line in explanation.lines
        )
        assert score.ideal_dcg - score.dcg == sums(row["loss"] for row in explanation.losses)
        # The ideal of k relevant documents is another one for the whole ranking, which has no k.
        if CONVENTIONS[name].ideal != "k_relevant" or cutoff is not None:
            for rank in CUTOFFS[:2]:
                at_rank = facts_at[query, rank].score
                if (
                    rank <= min(len(explanation.lines), cutoff or rank)
                    and at_rank.status == "scored"
                ):
                    ndcg = explanation.lines[rank - 1]["ndcg"]
                    assert ndcg == pytest.approx(
                        at_rank.ndcg if at_rank.ideal_dcg else None, abs=1e-12
                    )
    lists = [facts for (_, cutoff), facts in facts_at.items() if cutoff == 5]
    for run, *baseline in zip(*[iter(lists)] * 4, strict=False):
        for nights in (baseline[:1], baseline):
            changes, scores = changed_documents(run, nights), [facts.score for facts in nights]
            assert run.score.dcg - mean(s.dcg for s in scores) == sums(
                row["change"] for row in changes
            )
            ndcg = [
                score.dcg / score.ideal_dcg if score.ideal_dcg else 0.0
                for score in (run.score, *scores)
            ]
            assert ndcg[0] - mean(ndcg[1:]) == sums(row["part"] for row in changes)


def test_changes_against_a_mean_of_nights():
    lists = ["abc", "abc", "bad", "bdac"]
    *nights, run = (
        facts_of_one(
            [returned(doc, rank, 1.0) for rank, doc in enumerate(docs, 1)],
            dict.fromkeys("abcd", 1.0),
            cutoff=3,
        )
        for docs in lists
    )
    changes = {row["doc_id"]: row for row in changed_documents(run, nights)}
    assert {
        doc: (row["what"], row["baseline_rank"], row["moved_up"]) for doc, row in changes.items()
    } == {
        "a": ("down", 2, -1),
        "b": ("up", 1, 0),
        "c": ("left", None, None),
        "d": ("came_in", 3, 1),
    }
    assert {row["what"] for row in changed_documents(run, [run, run])} == {"same_rank"}


def test_a_document_moves_by_its_rank_whatever_it_adds():
    """One without a gain, one with a negative gain, and one whose gain has fallen."""
    gains = {"zero": 0.0, "bad": -1.0, "good": 1.0, "fell": 3.0}
    orders = ["good", "zero", "bad", "fell"], ["zero", "good", "fell", "bad"]
    before, run = (
        facts_of_one([returned(doc, rank, of[doc]) for rank, doc in enumerate(docs, 1)], of)
        for docs, of in zip(orders, (gains, {**gains, "fell": 0.5}), strict=True)
    )
    changes = {row["doc_id"]: row for row in changed_documents(run, [before])}
    moved = {"zero": 1, "bad": -1, "good": -1, "fell": 1}
    assert {doc: row["moved_up"] for doc, row in changes.items()} == moved
    for doc, places in moved.items():
        assert changes[doc]["what"] == ("up" if places > 0 else "down")


def test_a_document_at_the_newest_rank_moves_by_the_mean_of_its_ranks():
    lists = ["xyab", "abxy", "axby", "abxy"]
    *nights, run = (
        facts_of_one(
            [returned(doc, rank, 1.0) for rank, doc in enumerate(docs, 1)], dict.fromkeys(docs, 1.0)
        )
        for docs in lists
    )
    changes = {row["doc_id"]: row["what"] for row in changed_documents(run, [*nights, run])}
    # The mean ranks were (3 + 1 + 1 + 1) / 4, (4 + 2 + 3 + 2) / 4, (1 + 3 + 2 + 3) / 4 and 3.5.
    assert changes == {"a": "up", "b": "up", "x": "down", "y": "down"}


def test_without_a_run_there_is_nothing_to_explain():
    with pytest.raises(ConfigurationError, match=r"^run: "):
        ExplainRequest("q").runs([])
    with pytest.raises(ConfigurationError, match=r"^baseline: 'a' "):
        ExplainRequest("q", baseline="a").runs(["a"])


def test_runs_whose_scores_are_the_same_sums_in_another_order_are_explained_by_name():
    scores = {"b": 0.1 + 0.2 + 0.3, "a": 0.3 + 0.2 + 0.1, "c": 0.7}
    assert scores["b"] > scores["a"]
    facts = {}
    for run, ndcg in scores.items():
        one = facts_of_one([returned("d", 1, 1.0)], {"d": 1.0})
        score = dataclasses.replace(one.score, ndcg=ndcg)
        facts[run] = dataclasses.replace(one, run=run, score=score)
    explained = explain_runs(facts, list(facts), ExplainRequest("q")).explanations
    assert [explanation.facts.run for explanation in explained] == ["c", "a", "b"]


def test_where_an_absent_document_is():
    documents = [
        returned("x", 1, 0.0, relevance=None),
        returned("a", 2, 1.0),
        returned("q", None, 0.0, relevance=2.0),
    ]
    facts = facts_of_one(
        documents, {"a": 1.0, "q": 3.0, "z": 7.0}, 1, exclude_query_as_document=True
    )
    assert [(row["doc_id"], row["where"]) for row in explain(facts).absent] == [
        ("z", "not returned"),
        ("q", "removed from the list: it is the query"),
        ("a", "rank 2, beyond the cutoff"),
    ]


@pytest.mark.parametrize(("cutoff", "expected"), [(1, ["x"]), (3, ["x", "y"])])
def test_unjudged(cutoff, expected):
    gains = enumerate(zip("xay", (0.0, 1.0, 0.0), strict=True), 1)
    documents = [returned(doc, rank, gain, relevance=gain or None) for rank, (doc, gain) in gains]
    assert [
        row.doc_id for row in explain(facts_of_one(documents, {"a": 1.0}, cutoff)).unjudged
    ] == expected


def returned(doc_id, rank, gain, *, relevance=1.0):
    return ReturnedDocument(doc_id, rank, rank or 9, 1.0, relevance, gain, gain, tied=False)


def facts_of_one(documents, gains, cutoff=None, **options):
    """The facts of one small list of the query q."""
    score = Score("scored", 0, 0, 0.0, 1.0, None)
    judged = {document: JudgedDocument(1.0, gain) for document, gain in gains.items()}
    return Facts("d", "r", "q", cutoff, Convention(**options), score, documents, judged)
