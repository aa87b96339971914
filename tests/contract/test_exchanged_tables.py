"""Results that are given as judgments: their scores would be grades."""

import pytest
from evaluations import configuration, evaluated

from ndcg_spark.rules import missing_columns
from ndcg_spark.voices import Do, Either, Give, NameGrades, SetOption

RESULTS = "query-id,corpus-id,score\nq1,a,9.25\nq1,b,8.5\n"
GRADES = "query-id,corpus-id,score\nq1,a,2\nq1,b,1\n"
NAMED = {"path": "r.csv", "columns": {"relevance": "score"}}


@pytest.mark.parametrize(
    ("judgments", "results", "is_doubtful"),
    [("r.csv", "g.csv", True), ("g.csv", "r.csv", False), (NAMED, "g.csv", False)],
    ids=["exchanged", "as they are", "named by the user"],
)
def test_scores_that_are_read_as_grades_are_warned_of(
    tmp_path, monkeypatch, judgments, results, is_doubtful
):
    monkeypatch.chdir(tmp_path)
    files = {"r.csv": RESULTS, "g.csv": GRADES}
    _, told = evaluated(configuration(tmp_path)(files, judgments=judgments, results=results))
    doubts = [sentence for step, sentence in told if step == "warning" and "9.25" in sentence]
    assert len(doubts) == is_doubtful


@pytest.mark.parametrize(
    ("missing", "known", "first"),
    [
        ("relevance", "run query_id doc_id score", Give),
        ("relevance", "system qid docno position", Give),
        ("relevance", "qid docno sim", NameGrades),
        ("score or rank", "qid docno label", Do),
        ("score or rank", "qid docno points", SetOption),
    ],
)
def test_what_the_other_table_has_may_have_been_given_in_its_place(missing, known, first):
    where = "judgments" if missing == "relevance" else "results"
    advice = missing_columns([missing], known.split(), where).advice
    ways = advice.ways if isinstance(advice, Either) else (advice,)
    assert isinstance(ways[0], first)
    # Whatever the columns are called, one way is to exchange the tables.
    assert [way for way in ways if isinstance(way, Do | Give)]
