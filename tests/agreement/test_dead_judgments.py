"""Relevant documents that no run returns any more, and queries that every run answers perfectly."""

import json

import pytest
from staying import command_line

from ndcg_spark.agreement.dead_judgments import dead_in_words, dead_judgments
from ndcg_spark.nights.log import committed

#: d2 of q1 is returned in the first night alone, d9 of q3 in none: in the second it is an answer to q2.
QRELS = "q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d1 1\nq3 0 d9 1\n"
EVERY_NIGHT = [("q1", "d1", 3, "r"), ("q2", "d1", 3, "r"), ("q1", "d1", 3, "s"), ("q2", "d1", 3, "s")]
NIGHTS = {"2026-11-01": [("q1", "d2", 2, "s")], "2026-11-02": [("q2", "d9", 2, "s")], "2026-11-03": []}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dead")
    (folder / "qrels").write_text(QRELS)
    for date, more in NIGHTS.items():
        rows = (f"{query} Q0 {doc} 1 {score} {run}\n" for query, doc, score, run in [*EVERY_NIGHT, *more])
        (folder / "x.run").write_text("".join(rows))
        documents = [] if date == "2026-11-03" else ["--documents", "top"]
        done = command_line("evaluate", "qrels", "x.run", "--output", "out", "--date", date, *documents, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def dead(folder, date, most):
    known = committed(str(folder / "out"))
    (night,) = [each for each in known if each.evaluated_on == date]
    return dead_judgments(night, known, "ndcg", 10, most)


def test_a_document_is_spent_if_no_run_returned_it_for_its_query_in_any_of_the_nights(folder):
    found = dead(folder, "2026-11-02", 2)
    assert [(row["query_id"], row["doc_id"], row["relevance"]) for row in found.unreturned] == [("q3", "d9", 1.0)]
    # The document of grade 0 is not relevant.
    assert (found.nights, found.relevant) == (2, 4)
    one = dead(folder, "2026-11-02", 1)
    assert [row["doc_id"] for row in one.unreturned] == ["d2", "d9"]
    assert dead_in_words(one).startswith("2 of 4 relevant documents were returned by no run in this night, e.g. d2;")


def test_later_nights_do_not_count(folder):
    found = dead(folder, "2026-11-01", 7)
    assert (found.nights, [row["doc_id"] for row in found.unreturned]) == (1, ["d9"])


def test_a_night_without_its_documents_says_nothing_of_them(folder):
    found = dead(folder, "2026-11-03", 7)
    assert (found.nights, found.unreturned) == (0, [])
    # q1 lacks d2 and q3 is not answered.
    assert dead_in_words(found) == "1 of 3 queries are answered perfectly by every run."


def test_the_command_lists_them(folder):
    arguments = ["judgments", "out", "--date", "2026-11-02"]
    printed = command_line(*arguments, cwd=folder)
    assert "q3        d9         1.0000" in printed.stdout
    assert "1 of 4 relevant documents were returned by no run in 2 nights, e.g. d9" in printed.stdout
    assert command_line(*arguments, "--nights", "1", "--format", "csv", cwd=folder).stdout.splitlines()[1:] == [
        "default,q1,d2,1.0",
        "default,q3,d9,1.0",
    ]
    (found,) = json.loads(command_line(*arguments, "--format", "json", cwd=folder).stdout)
    assert (found["perfect"], found["queries"]) == (["q2"], 3)
    for wrong in (["out", "--cutoffs", "3"], ["qrels", "qrels", "--nights", "2"]):
        refused = command_line("judgments", *wrong, cwd=folder)
        assert (refused.returncode, f"{wrong[-2]} is for" in refused.stderr) == (2, True)
    refused = command_line("judgments", "qrels", "--results", "x.run", cwd=folder)
    assert (refused.returncode, "give the judgments A and B" in refused.stderr) == (2, True)
