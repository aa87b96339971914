"""Means and tests over different queries: the tables say how many each covers."""

import re

import pytest

from ndcg_spark import evaluate, latex
from ndcg_spark.report.printed_scores import paper_table
from ndcg_spark.report.query_counts import differing_counts, note_on_unpaired, notes_on_pairs

QUERIES = 30


def lists(answered, order):
    return {f"q{at}": {f"d{order(at)}": 2.0, "x": 1.0} for at in range(answered)}


@pytest.fixture(scope="module")
def scores():
    """`new` answers two queries less, and is better where it answers."""
    judgments = {f"q{at}": {"d0": 1, "d1": 0, "x": 0} for at in range(QUERIES)}
    runs = {
        "new": lists(QUERIES - 2, lambda at: 0),
        "old": lists(QUERIES, lambda at: 0 if at >= QUERIES - 2 else 1),
    }
    return evaluate(judgments, runs, convention="pytrec_eval", measures="ndcg@10")


def mean_row(run, queries, **more):
    return {"dataset": "web", "run": run, "cutoff": 10, "ndcg": 0.5, "queries": queries, **more}


def test_a_paper_shows_the_queries_of_its_means_where_they_differ():
    same = paper_table([mean_row("a", 80), mean_row("b", 80)])
    other = paper_table([mean_row("a", 80), mean_row("b", 75)])
    assert (same.headings, other.headings) == (["run", "nDCG@10"], ["run", "nDCG@10", "queries"])
    assert sorted(row["queries"] for row in other.rows) == [75, 80]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([mean_row("a", 80), mean_row("b", 75, dataset="shop")], []),
        ([mean_row("a", 80), mean_row("b", 0, ndcg=None)], []),
        ([mean_row("a", 80), mean_row("b", 75, cutoff=5)], []),
        ([mean_row("a", 80), mean_row("b", 75)], ["queries"]),
    ],
)
def test_only_means_in_one_column_and_dataset_can_differ(rows, found):
    assert differing_counts(rows, [("ndcg", 10)]) == found


def test_each_measure_is_counted_in_its_own_column():
    few = {"relevant_queries": 70, "ap": 0.5}
    rows = [mean_row("a", 80, **few), mean_row("b", 80, **{**few, "relevant_queries": 60})]
    assert differing_counts(rows, [("ndcg", 10), ("ap", 10)]) == ["relevant_queries"]


def test_a_paper_names_the_queries_and_means_of_the_test(scores):
    text = latex(scores, "old")
    (note,) = [line for line in text.splitlines() if "the test uses only" in line]
    paired = QUERIES - 2
    assert re.findall(r"\d+(?:\.\d+)?", note.partition("ndcg@")[0]) == [
        str(paired),
        "1.0000",
        "0.0000",
    ]
    assert f"& {paired} \\\\" in text
    assert "the test uses only" not in latex(scores)


def compared(**more):
    key = {"dataset": "web", "run": "new", "baseline": "old", "measure": "ndcg", "cutoff": 10}
    rest = {"attribute": None, "weight_effective_n": None, "mean": 0.5, "baseline_mean": 0.4}
    return {**key, **rest, "queries": 75, **more}


@pytest.mark.parametrize(
    ("row", "many"),
    [
        (compared(), 1),
        (compared(queries=80), 0),
        (compared(mean=None, queries=0), 0),
        (compared(attribute="language"), 0),
        (compared(weight_effective_n=3.0), 0),
    ],
)
def test_a_note_is_only_about_tests_of_all_queries_that_leave_some_out(row, many):
    means = [mean_row("new", 80), mean_row("old", 80)]
    assert len(notes_on_pairs([row], means)) == many


def test_compared_runs_name_the_queries_that_only_one_side_has():
    rows = [compared(unpaired_queries=5), compared(run="same", unpaired_queries=0)]
    (note,) = note_on_unpaired(rows)
    assert ("5 for new" in note, "same" in note) == (True, False)
    assert note_on_unpaired([compared(mean=None, unpaired_queries=5), *rows[1:]]) == []
