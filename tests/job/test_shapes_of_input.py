"""What an evaluation does with input of other shapes: ranks alone, one grade for all, documents left out, pipes."""

import os
import threading

import pytest
from evaluations import RUN, checked, evaluated
from kept_nights import only_night

from ndcg_spark.errors import InputError


def at(outcome, cutoff):
    return next(row for row in outcome.dataset_scores if row["cutoff"] == cutoff)


def written(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_results_without_scores_are_ranked_by_their_ranks_and_the_record_says_so(configured, tmp_path):
    path = written(tmp_path, "msmarco.tsv", "q1\tb\t1\nq1\ta\t2\n")
    settings = configured(results={"path": path}, convention="trec_eval_9", output=str(tmp_path / "out"))
    outcome, told = evaluated(settings)
    assert outcome.convention == "trec_eval_9 order=rank score_precision=float64"
    assert dict(told)["adapted"].endswith("ranked by their ranks: order=rank, score_precision=float64")
    assert at(outcome, 1)["ndcg"] == 0.0
    assert at(outcome, 1)["run"] == "msmarco"
    found = only_night(tmp_path / "out").record
    assert (found["options"]["order"], found["convention"]) == ("rank", outcome.convention)
    assert "lines read as query_id doc_id rank" in found["inputs"]["results"]["recognised"]


def test_ties_by_rank_give_way_where_there_are_only_ranks(configured, tmp_path):
    path = written(tmp_path, "r.tsv", "q1\ta\t1\nq1\tb\t2\n")
    outcome, _ = evaluated(configured(results={"path": path}, convention="lightgbm"))
    assert outcome.convention == "lightgbm ties=doc_id_desc order=rank"


def test_judgments_without_grades_have_the_one_that_is_given_or_need_none(configured, tmp_path):
    path = written(tmp_path, "train.csv", "user_id,item_id\nq1,a\nq1,b\nq2,c\n")
    with pytest.raises(InputError, match=r"1 column\(s\) missing, relevance"):
        evaluated(configured(judgments={"path": path}))
    given, told = evaluated(configured(judgments={"path": path, "relevance": 1}))
    assert dict(told)["read"]
    needless, _ = evaluated(configured(judgments={"path": path}, convention={"gain": "judged"}))
    # q1 has both its items on top, q2 has none: the mean of 1 and 0.
    assert [at(found, 3)["ndcg"] for found in (given, needless)] == [0.5, 0.5]


def test_grades_below_the_least_relevant_one_are_not_relevant(configured):
    outcome, _ = evaluated(configured(convention={"gain": "linear", "min_relevance": 2}))
    # a, of grade 2, is first; q2 has no relevant document and is left out.
    assert (at(outcome, 3)["ndcg"], at(outcome, 3)["no_relevant_queries"]) == (1.0, 1)
    assert outcome.convention == "standard gain=linear min_relevance=2"


def test_excluded_documents_leave_the_lists_before_these_are_ranked(configured, tmp_path):
    path = written(tmp_path, "train.csv", "user_id,item_id\nq1,a\nq1,a\nq7,b\n")
    settings = configured(exclude={"path": path}, output=str(tmp_path / "out"))
    outcome, told = evaluated(settings)
    assert dict(told)["excluded"] == f"1 results, by {path}"
    assert outcome.counts["excluded_results"] == 1
    assert (at(outcome, 1)["ndcg"], at(outcome, 1)["judged_rate"]) == (0.0, 1.0)
    excluded = only_night(tmp_path / "out").record["inputs"]["exclude"]
    assert excluded["files"] == [{"path": path, "size": len("user_id,item_id\nq1,a\nq1,a\nq7,b\n")}]
    settings = settings.model_copy(update={"engine": "embedded"})
    assert checked(settings)[0]["counts"]["excluded_results"] == 1


def test_ranks_do_not_cut_a_list_before_documents_leave_it(configured, tmp_path):
    ranked = "run,query_id,doc_id,score,rank\nr,q1,x,3,1\nr,q1,y,2,2\nr,q1,a,1,3\n"
    path = written(tmp_path, "r.csv", ranked)
    train = written(tmp_path, "train.csv", "query_id,doc_id\nq1,x\nq1,y\n")
    outcome, _ = evaluated(configured(results={"path": path}, exclude={"path": train}, cutoffs=[1]))
    # a is first once x and y have left; q2 has no results: the mean of 1 and 0.
    assert at(outcome, 1)["ndcg"] == 0.5


def test_a_run_that_loses_all_its_documents_scores_0(configured, tmp_path):
    train = written(tmp_path, "train.csv", "query_id,doc_id\nq1,a\nq1,b\n")
    two = written(tmp_path, "two.txt", RUN.replace("bm25", "dense").replace("q1 Q0 a", "q1 Q0 c"))
    outcome, _ = evaluated(configured(results={"path": [two, str(tmp_path / "run.txt")]}, exclude={"path": train}))
    scores = {row["run"]: (row["ndcg"], row["missing_queries"]) for row in outcome.dataset_scores if row["cutoff"] == 3}
    assert scores == {"bm25": (0.0, 2), "dense": (0.0, 1)}


@pytest.mark.parametrize(("rows", "excluded"), [("q1,a\nq1,b\nq9,c\n", 3), ("q1,a\nq1,b\n", 2)])
def test_a_table_that_excludes_every_result_of_a_judged_query_is_named(configured, tmp_path, rows, excluded):
    path = written(tmp_path, "train.csv", f"query_id,doc_id\n{rows}")
    with pytest.raises(InputError, match=f"without {excluded} results that .*train.csv excludes"):
        evaluated(configured(exclude={"path": path}))


def test_a_pipe_is_read_once_and_evaluated(configured, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(RUN, encoding="utf-8"))
    writer.start()
    outcome, _ = evaluated(configured(results={"path": str(pipe)}))
    writer.join()
    assert at(outcome, 3) | {"evaluation_id": ""} == at(evaluated(configured())[0], 3) | {"evaluation_id": ""}
