"""Explaining a query, as a person or a program asks for it."""

import json
import math
from collections import defaultdict
from pathlib import Path

import pytest
from commands import command_line

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"


def explain(*arguments, cwd=ROOT):
    return command_line("explain", "--engine", "embedded", *arguments, cwd=cwd)


def explain_example(*arguments):
    return explain("--config", "conf/example.toml", *arguments)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels.txt").write_text(
        "q1 0 a 3\nq1 0 b 1\nq1 0 c 2\nq1 0 d 0\nq1 0 e 2\nq2 0 a 1\n", "utf-8"
    )
    ranks = "".join(f"q1 Q0 {doc} {rank} {-rank} mine\n" for rank, doc in enumerate("abcde", 1))
    (tmp_path / "run.txt").write_text(ranks + "q9 Q0 a 1 1.0 mine\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("style", "golden"), [("table", "explain.txt"), ("markdown", "explain.md")]
)
def test_an_explanation_of_the_example_is_as_it_was_agreed(style, golden):
    done = explain_example(
        "--query", "wireless-mouse", "--run", "hybrid", "--baseline", "bm25", "--format", style
    )
    assert done.stdout == (GOLDEN / golden).read_text(encoding="utf-8")


def test_the_worked_example_of_the_guide_is_explained_as_it_is_worked_by_hand(folder):
    (explained,) = json.loads(
        explain(
            "qrels.txt", "run.txt", "--query", "q1", "--cutoff", "5", "--format", "json", cwd=folder
        ).stdout
    )
    discounts = [1 / math.log2(rank + 1) for rank in range(1, 6)]
    gains, ideal = [7, 1, 3, 0, 3], [7, 3, 3, 1, 0]
    for at, line in enumerate(explained["lines"]):
        assert line["gain"] == gains[at]
        assert line["contribution"] == pytest.approx(gains[at] * discounts[at])
        assert line["ideal_contribution"] == pytest.approx(ideal[at] * discounts[at])
    assert explained["ndcg"] == pytest.approx(0.950849602851865)
    # b is at rank 2 and belongs at 4; c and e gain the same, and c comes first already.
    losses = {row["doc_id"]: row["loss"] for row in explained["losses"]}
    assert losses == {
        "c": pytest.approx(3 * (discounts[1] - discounts[2])),
        "e": pytest.approx(3 * (discounts[2] - discounts[4])),
        "b": pytest.approx(1 * (discounts[3] - discounts[1])),
    }


def test_without_a_run_all_are_explained_the_best_first():
    explained = json.loads(explain_example("--query", "wireless-mouse", "--format", "json").stdout)
    assert [row["run"] for row in explained] == ["hybrid", "dense", "bm25"]
    assert explained == sorted(explained, key=lambda row: -row["ndcg"])


def test_a_query_without_results_shows_what_could_have_been_returned(folder):
    done = explain("qrels.txt", "run.txt", "--query", "q2", "--format", "json", cwd=folder)
    (explained,) = json.loads(done.stdout)
    assert (explained["status"], explained["ndcg"], explained["returned"]) == ("missing", 0.0, 0)
    assert [(row["doc_id"], row["where"]) for row in explained["absent"]] == [("a", "not returned")]
    assert (
        "no results for this query"
        in explain("qrels.txt", "run.txt", "--query", "q2", cwd=folder).stdout
    )


def test_a_query_of_one_of_several_datasets_is_explained_from_its_own_rows(tmp_path):
    judged = "dataset,query_id,doc_id,relevance\nweb,q,a,1\nshop,q,a,2\nshop,q,b,1\n"
    (tmp_path / "j.csv").write_text(judged, encoding="utf-8")
    (tmp_path / "r.csv").write_text(
        "dataset,run,query_id,doc_id,score\nweb,r,q,a,1\nshop,r,q,b,1\nshop,r,q,a,0.5\n", "utf-8"
    )
    asked = ["j.csv", "r.csv", "--query", "q", "--format", "json"]
    (explained,) = json.loads(explain(*asked, "--dataset", "shop", cwd=tmp_path).stdout)
    assert (explained["dataset"], [line["doc_id"] for line in explained["lines"]]) == (
        "shop",
        ["b", "a"],
    )
    assert "there are 2, e.g. 'shop'" in explain(*asked, cwd=tmp_path).stderr


@pytest.mark.slow
def test_the_scores_that_trec_eval_prints_for_its_own_tests_are_explained(shared_data):
    folder = shared_data / "trec-eval-tests"
    printed = defaultdict(dict)
    for line in (folder / "out.test.aql").read_text(encoding="utf-8").splitlines():
        measure, query, value = line.split()
        if measure.startswith("ndcg_cut_"):
            printed[query][int(measure.removeprefix("ndcg_cut_"))] = value
    files = [
        str(folder / "qrels.rel_level"),
        str(folder / "results.test"),
        "--convention",
        "trec_eval_9",
    ]
    for query in sorted({*printed} - {"all"}):
        (explained,) = json.loads(
            explain(*files, "--query", query, "--cutoff", "1000", "--format", "json").stdout
        )
        at = {line["rank"]: f"{line['ndcg']:.4f}" for line in explained["lines"]}
        last = explained["lines"][-1]["rank"]
        # Below the end of both lists nothing changes.
        assert printed[query] == {cutoff: at[min(cutoff, last)] for cutoff in printed[query]}
        assert math.fsum(row["loss"] for row in explained["losses"]) == pytest.approx(
            explained["ideal_dcg"] - explained["dcg"]
        )
