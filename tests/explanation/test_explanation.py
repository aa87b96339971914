"""Explanations of random rankings: their sums are the scores."""

import functools
import itertools
import math

import pytest
from explained_cases import OTHERS, conventions, found

from ndcg_spark.convention.convention import Convention
from ndcg_spark.explanation.build import contributions, explain
from ndcg_spark.explanation.diff import changed_documents
from ndcg_spark.explanation.model import Facts, JudgedDocument, ReturnedDocument, Score

QUICK = ("standard", "averaged", "unjudged 1")
#: Other presets are other mixtures of the same options.
VARIED = ("standard", "mllib", "replay", *OTHERS)
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in VARIED]


@pytest.fixture(scope="module")
def answers():
    """What is found of a convention, evaluated when it is asked for."""
    return functools.cache(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_documents_add_up_to_the_score_of_the_evaluation(answers, name):
    for facts in answers(name).values():
        explanation, score = explain(facts), facts.score
        within = [line.contribution or 0.0 for line in explanation.lines]
        ideal = [line.ideal_contribution or 0.0 for line in explanation.lines]
        assert math.fsum(within) == pytest.approx(score.dcg, abs=1e-12)
        assert math.fsum(ideal) == pytest.approx(score.ideal_dcg, abs=1e-12)
        assert math.fsum(contributions(facts).values()) == pytest.approx(score.dcg, abs=1e-12)
        if score.status == "scored" and explanation.lines and score.ideal_dcg > 0:
            assert explanation.lines[-1].ndcg == pytest.approx(score.ndcg, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_losses_sum_to_the_ideal_dcg_less_the_dcg(answers, name):
    for facts in answers(name).values():
        lost = math.fsum(each.loss for each in explain(facts).losses)
        assert lost == pytest.approx(facts.score.ideal_dcg - facts.score.dcg, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_ndcg_at_every_rank_is_the_score_at_that_cutoff(answers, name):
    found_at = answers(name)
    # The ideal of k relevant documents is another one for the whole ranking, which has no k.
    cutoffs = [(5, 1), (None, 5)] if conventions()[name].ideal != "k_relevant" else [(5, 1)]
    for query, deep, rank in ((query, *both) for query, _ in found_at for both in cutoffs):
        lines, at_rank = explain(found_at[query, deep]).lines, found_at[query, rank].score
        if len(lines) >= rank and at_rank.status == "scored" and at_rank.ideal_dcg > 0:
            assert lines[rank - 1].ndcg == pytest.approx(at_rank.ndcg, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_changes_between_two_lists_sum_to_the_change_of_the_dcg(answers, name):
    found_at = answers(name)
    queries = sorted({query for query, _ in found_at})
    for one, other in itertools.pairwise(queries):
        run, baseline = found_at[one, 5], found_at[other, 5]
        changed = math.fsum(each.change for each in changed_documents(run, baseline))
        assert changed == pytest.approx(run.score.dcg - baseline.score.dcg, abs=1e-12)


def test_a_relevant_document_says_where_it_is():
    documents = [returned("x", 1, 0.0, relevance=None), returned("a", 2, 1.0), returned("q", None, 0.0, relevance=2.0)]
    convention = Convention(exclude_query_as_document=True)
    facts = facts_of_one(documents, {"a": 1.0, "q": 3.0, "z": 7.0}, convention, cutoff=1)
    assert [(each.doc_id, each.where) for each in explain(facts).absent] == [
        ("z", "not returned"),
        ("q", "taken off the list: it is the query"),
        ("a", "rank 2, beyond the cutoff"),
    ]


@pytest.mark.parametrize(
    ("cutoff", "dropped", "expected"),
    [
        (1, False, [("x", 1)]),
        (3, False, [("x", 1), ("y", 3)]),
        (1, True, [("x", None)]),
        (2, True, [("x", None), ("y", None)]),
    ],
)
def test_unjudged_documents_are_those_that_a_judgment_would_count(cutoff, dropped, expected):
    ranks = (None, 1, None) if dropped else (1, 2, 3)
    documents = [
        returned(doc, rank, gain, place=place, relevance=gain or None)
        for place, (doc, rank, gain) in enumerate(zip("xay", ranks, (0.0, 1.0, 0.0), strict=True), 1)
    ]
    convention = Convention(unjudged="drop" if dropped else "zero")
    found = explain(facts_of_one(documents, {"a": 1.0}, convention, cutoff)).unjudged
    assert [(each.doc_id, each.rank) for each in found] == expected


def returned(doc_id, rank, gain, *, place=None, relevance=1.0):
    place = place or rank or 9
    return ReturnedDocument(doc_id, rank, place, place, 1.0, relevance, gain, gain, tied=False)


def facts_of_one(documents, gains, convention, cutoff=None):
    """The facts of one small list of the query q."""
    discounts = [1 / math.log2(rank + 1) for rank in range(1, 6)]
    score = Score("scored", None, 0.0, 0.0, 0, 0)
    judged = [JudgedDocument(document, 1.0, gain) for document, gain in gains.items()]
    return Facts("d", "r", "q", cutoff, convention, score, documents, judged, discounts)
