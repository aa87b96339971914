"""Explanations of random rankings: their sums are the scores, and what would be, would be."""

import dataclasses
import functools
import itertools
import math

import pytest
from explained_cases import OTHERS, conventions, found

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import TIES
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
    for facts in answers(name)["facts"].values():
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
    for facts in answers(name)["facts"].values():
        lost = math.fsum(each.loss for each in explain(facts).losses)
        assert lost == pytest.approx(facts.score.ideal_dcg - facts.score.dcg, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_ndcg_at_every_rank_is_the_score_at_that_cutoff(answers, name):
    found_at = answers(name)["facts"]
    # The ideal of k relevant documents is another one for the whole ranking, which has no k.
    cutoffs = [(5, 1), (None, 5)] if conventions()[name].ideal != "k_relevant" else [(5, 1)]
    for query, deep, rank in ((query, *both) for query, _ in found_at for both in cutoffs):
        lines, at_rank = explain(found_at[query, deep]).lines, found_at[query, rank].score
        if len(lines) >= rank and at_rank.status == "scored" and at_rank.ideal_dcg > 0:
            assert lines[rank - 1].ndcg == pytest.approx(at_rank.ndcg, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("grade", ["if_best", "if_worst"])
def test_an_unjudged_document_would_change_the_score_to_that_of_an_evaluation_with_it_judged(answers, name, grade):
    scores = answers(name)[grade]
    for query, score in scores.items():
        said = getattr(explain(answers(name)["facts"][query, 5]).unjudged[0], f"ndcg_{grade}")
        assert said == (pytest.approx(score, abs=1e-12) if said is not None else said)
    assert scores or name in ("mllib", "replay")


# The ties that a move leaves cannot be written as scores.
@pytest.mark.parametrize("name", [each for each in NAMES if TIES[conventions()[each.values[0]].ties].by != "gain"])
def test_a_document_at_its_ideal_rank_gives_the_score_of_an_evaluation_with_it_there(answers, name):
    for query, score in answers(name)["moved"].items():
        assert explain(answers(name)["facts"][query, 5]).would_help[0].ndcg == pytest.approx(score, abs=1e-12)
    assert len(answers(name)["moved"]) > 5


@pytest.mark.parametrize("name", NAMES)
def test_the_changes_between_two_lists_sum_to_the_change_of_the_dcg(answers, name):
    found_at = answers(name)["facts"]
    queries = sorted({query for query, _ in found_at})
    for one, other in itertools.pairwise(queries):
        run, baseline = found_at[one, 5], found_at[other, 5]
        changed = math.fsum(each.change for each in changed_documents(run, baseline))
        assert changed == pytest.approx(run.score.dcg - baseline.score.dcg, abs=1e-12)


def test_a_document_that_leaves_its_tie_leaves_the_others_averaged_as_before():
    documents = [returned("a", 1, 1.0, group=1), returned("b", 2, 0.0, group=1), returned("c", 3, 3.0, group=1)]
    mean, discounts = 4 / 3, [1.0, 1 / math.log2(3), 0.5, 0.43]
    facts = facts_of_one(documents, {"a": 1.0, "b": 0.0, "c": 3.0}, Convention(ties="average"), mean)
    ideal = 3.0 + 1 / math.log2(3)
    best = explain(facts).would_help[0]
    # c comes first, and a and b share the ranks 2 and 3.
    assert (best.doc_id, best.rank, best.ideal_rank) == ("c", 3, 1)
    assert best.ndcg == pytest.approx((3.0 + 0.5 * (discounts[1] + 0.5)) / ideal)
    assert best.change == pytest.approx(best.ndcg - mean * sum(discounts[:3]) / ideal)


def test_a_relevant_document_says_where_it_is():
    documents = [returned("x", 1, 0.0, relevance=None), returned("a", 2, 1.0), returned("q", None, 0.0, relevance=2.0)]
    convention = Convention(exclude_query_as_document=True)
    facts = facts_of_one(documents, {"a": 1.0, "q": 3.0, "z": 7.0}, convention, cutoff=1)
    assert [(each.doc_id, each.where) for each in explain(facts).absent] == [
        ("z", "not returned"),
        ("q", "taken off the list: it is the query"),
        ("a", "rank 2, beyond the cutoff"),
    ]
    # What is taken off the list cannot be moved on it.
    assert [each.doc_id for each in explain(facts).would_help] == ["z"]


def returned(doc_id, rank, gain, *, group=None, relevance=1.0):
    place = rank or 9
    return ReturnedDocument(doc_id, rank, place, group or place, 1.0, relevance, gain, gain, tied=group is not None)


def facts_of_one(documents, gains, convention, mean=None, cutoff=None):
    """The facts of one small list of the query q, each document of which gains `mean` if ties are averaged."""
    discounts = [1 / math.log2(rank + 1) for rank in range(1, 6)]
    listed = [dataclasses.replace(each, gain=each.gain if mean is None else mean) for each in documents]
    score = Score("scored", None, 0.0, 0.0, 0, 0)
    judged = [JudgedDocument(document, 1.0, gain) for document, gain in gains.items()]
    return Facts("d", "r", "q", cutoff, convention, score, listed, judged, discounts, 0.0, None, None)
