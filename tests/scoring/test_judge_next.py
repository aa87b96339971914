"""The documents that are to be judged next."""

import math

import pyarrow as pa
import pytest
from kept_nights import date
from page_nights import DEPTH, night
from programs import command_line

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job.explain_query import night_documents_to_judge
from ndcg_spark.job.to_judge import first_to_judge
from ndcg_spark.schemas import TO_JUDGE


def test_the_document_to_judge_next_is_the_unjudged_one_with_the_largest_discounts(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n", encoding="utf-8")
    lists = {"one": ["z", "a", "y"], "two": ["a", "z", "y"]}
    for run, documents in lists.items():
        rows = (f"q1 Q0 {doc} {at} {-at}.0 {run}\n" for at, doc in enumerate(documents, start=1))
        (tmp_path / f"{run}.run").write_text("".join(rows), encoding="utf-8")
    arguments = (
        "judge-next",
        "qrels.txt",
        "one.run",
        "two.run",
        "--cutoffs",
        "2",
        "--format",
        "csv",
    )
    printed = command_line(*arguments, cwd=tmp_path).stdout
    assert printed == (
        f"dataset,query_id,doc_id,runs,best_rank,weight\ndefault,q1,z,2,1,{1 + 1 / math.log2(3)!r}\n"
    )
    # A list that unjudged documents leave has the same ones to judge.
    assert command_line(*arguments, "--set", "unjudged=drop", cwd=tmp_path).stdout == printed
    # The lightest comes first by its name.
    table = command_line(*arguments[:5], "3", "--documents", "1", cwd=tmp_path).stdout
    assert table.splitlines()[1].split() == ["q1", "z", "2", "1", f"{1 + 1 / math.log2(3):.4f}"]
    assert "the first 1;" in table


def test_for_a_difference_what_stands_at_other_ranks_in_either_night_is_judged(tmp_path):
    # x0 moves from rank 3 to 1, x1 leaves, x2 comes in, and x3 stays.
    for number, listed in enumerate([["d0", "x1", "x0", "x3"], ["x0", "d0", "x2", "x3"]]):
        night(tmp_path, number, {"one": {"q1": listed}}, unjudged=DEPTH)
    rows = night_documents_to_judge(str(tmp_path), 9, baseline_date=date(0))
    assert {row["doc_id"]: row["weight"] for row in rows} == pytest.approx(
        {"x0": 1 / 2, "x1": 1 / math.log2(3), "x2": 1 / 2}
    )
    assert [row["doc_id"] for row in rows] == ["x1", "x0", "x2"]
    assert [row["best_rank"] for row in rows] == [2, 1, 3]
    with pytest.raises(ConfigurationError, match="itself"):
        night_documents_to_judge(str(tmp_path), 9, baseline_date=date(1))
    night(tmp_path, 2, {"one": {"q1": ["x0"]}}, judgments="j2")
    with pytest.raises(ConfigurationError, match="different judgments"):
        night_documents_to_judge(str(tmp_path), 9, baseline_date=date(1))
    refused = command_line(
        "judge-next", "qrels.txt", "one.run", "--baseline-date", date(0), cwd=tmp_path
    )
    assert refused.returncode == 2


def test_for_a_difference_of_two_runs_what_stands_at_other_ranks_in_either_is_judged(tmp_path):
    runs = {"one": {"q1": ["x0", "d0", "x2", "x3"]}, "two": {"q1": ["d0", "x1", "x0", "x3"]}}
    night(tmp_path, 0, runs, unjudged=DEPTH)
    weights = {"x0": 1 / 2, "x1": 1 / math.log2(3), "x2": 1 / 2}
    for chosen in ({"run": "one", "baseline": "two"}, {"baseline": "one"}, {"baseline": "two"}):
        rows = night_documents_to_judge(str(tmp_path), 9, **chosen)
        assert {row["doc_id"]: row["weight"] for row in rows} == pytest.approx(weights)
        assert {row["runs"] for row in rows} == {1}
    night(tmp_path, 1, {"three": runs["two"], **runs}, unjudged=DEPTH)
    other = {"run": "one", "baseline": "two", "baseline_date": date(0)}
    rows = night_documents_to_judge(str(tmp_path), 9, **other)
    assert {row["doc_id"]: row["weight"] for row in rows} == pytest.approx(weights)
    for chosen in ({"baseline": "two"}, {"run": "two", "baseline": "two"}, {"baseline": "none"}):
        with pytest.raises(ConfigurationError, match="baseline"):
            night_documents_to_judge(str(tmp_path), 9, **chosen)
    refused = command_line("judge-next", "qrels.txt", "one.run", "--baseline", "two", cwd=tmp_path)
    assert refused.returncode == 2


def test_the_same_discounts_added_in_another_order_weigh_the_same():
    weights = [0.3 + 0.2 + 0.1, 0.1 + 0.2 + 0.3]
    assert weights[0] < weights[1]
    rows = [
        {
            "dataset": "d",
            "query_id": "q",
            "doc_id": doc,
            "runs": 3,
            "best_rank": 1,
            "weight": weight,
        }
        for doc, weight in zip("ab", weights, strict=True)
    ]
    first = first_to_judge(pa.Table.from_pylist(rows, TO_JUDGE), 1)
    assert [row["doc_id"] for row in first] == ["a"]
