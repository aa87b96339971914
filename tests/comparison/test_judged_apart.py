"""Runs of which a different share is judged: a comparison says so, and only where it can matter."""

import dataclasses

import pyarrow as pa
import pytest

from ndcg_spark import compare, evaluate
from ndcg_spark.comparison.judged_apart import MIN_GAP, NAMED, about_judged, largest_gaps
from ndcg_spark.comparison.score_tables import sources
from ndcg_spark.comparison.sources import ScoreSource

RETURNED = 100


def source(**judged):
    """The scores of runs with these numbers of judged documents."""
    rows = []
    for run, many in judged.items():
        counts = {"returned": RETURNED, "judged": many}
        rows.append({"run": run, "query_id": "q", "cutoff": 10, "ndcg": 0.5, **counts})
    (found,) = sources(pa.Table.from_pylist(rows), ["ndcg"], "query_scores")
    return found


def row(run="new", **more):
    metric = {"measure": "ndcg", "cutoff": 10, "side": None, "difference": 0.1}
    return {"run": run, "baseline": "old", **metric, **more}


def said(rows, own, other=None):
    return [str(notice) for notice in about_judged(rows, own, other)]


def test_a_table_with_counts_tells_the_judged_rates():
    assert source(new=43).judged_rates == {("new", 10): 43 / RETURNED}
    without = pa.table({"run": ["a"], "query_id": ["q"], "cutoff": [10], "ndcg": [0.5]})
    (found,) = sources(without, ["ndcg"], "query_scores")
    assert found.judged_rates == {}


def test_a_column_of_shares_called_judged_is_no_count():
    rows = {"run": ["a"], "query_id": ["q"], "cutoff": [10], "ndcg": [0.5]}
    table = pa.table({**rows, "returned": [10], "judged": [0.5]})
    (found,) = sources(table, ["ndcg"], "query_scores")
    assert found.judged_rates == {}


@pytest.mark.parametrize(
    ("own", "baseline", "many"), [(80, 90, 1), (90, 80, 1), (81, 90, 0), (90, 90, 0), (100, 100, 0)]
)
def test_rates_are_apart_from_a_tenth(own, baseline, many):
    assert MIN_GAP == 0.1
    assert len(said([row()], source(new=own, old=baseline))) == many


@pytest.mark.parametrize(
    "change",
    [
        {"cutoff": None},
        {"measure": "bpref"},
        {"measure": "judged_share"},
        {"measure": "novelty"},
        {"side": "old"},
        {"difference": None},
        {"run": "unknown"},
    ],
)
def test_what_unjudged_documents_cannot_explain_has_no_note(change):
    own = source(new=43, old=90)
    own = dataclasses.replace(
        own, judged_rates={**own.judged_rates, ("new", None): 0.0, ("old", None): 1.0}
    )
    assert (len(said([row()], own)), said([row(**change)], own)) == (1, [])


def test_both_rates_the_rank_and_the_command_are_named():
    (sentence,) = said([row(), row(cutoff=10, measure="dcg")], source(new=43, old=90))
    for text in ("rank 10", "43% for new", "90% for old", "judge-next"):
        assert text in sentence


def test_another_night_has_its_own_rate():
    own, other = source(new=90, old=90), source(new=43, old=43)
    assert (len(said([row()], own, other)), said([row()], own)) == (1, [])


def test_of_many_runs_those_with_the_largest_gaps_are_named():
    judged = {f"r{at}": 10 * at for at in range(NAMED + 2)}
    rows = [row(run) for run in judged]
    (sentence,) = said(rows, source(old=90, **judged))
    assert [f"for r{at}" in sentence for at in range(NAMED + 2)] == [True] * NAMED + [False] * 2
    assert "2 more runs" in sentence
    rates = {"b": (0.1, 0.9), "a": (0.9, 0.1), "c": (0.0, 0.9)}
    assert largest_gaps(rates) == ["c", "a", "b"]


@pytest.fixture(scope="module")
def lists():
    judgments = {f"q{at}": {"d0": 1, "d1": 0} for at in range(12)}
    old = {query: {"d1": 2.0, "d0": 1.0} for query in judgments}
    new = {query: {"d0": 2.0, "new": 1.0} for query in judgments}
    return judgments, {"old": old, "new": new}


def test_python_warns_unless_the_convention_drops_unjudged_documents(lists):
    with pytest.warns(UserWarning, match=r"100% for old, but 50% for new"):
        compare(evaluate(*lists), "old")
    compare(evaluate(*lists, unjudged="drop"), "old")


def test_a_source_of_unknown_rates_says_nothing():
    own = ScoreSource("web", None, None, ["new", "old"], [("ndcg", 10)], pa.table({}), "scores")
    assert said([row()], own) == []
