"""One evaluation from its configuration to what it prints, publishes and records."""

import math
import os
import threading

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from evaluations import RUN, checked, evaluated
from kept_nights import only_night

from ndcg_spark.errors import InputError


def means(outcome, column="ndcg"):
    """The dataset scores by run and cutoff."""
    return {(row["run"], row["cutoff"]): row[column] for row in outcome.dataset_scores}


def test_counts(configured):
    outcome, told = evaluated(configured())
    expected = {
        "judgments": 3,
        "judged_queries": 2,
        "results": 3,
        "runs": 1,
        "unjudged_queries": 1,
        "results_of_unjudged_queries": 1,
        "excluded_results": 0,
        "missing_queries": 1,
        "datasets_without_results": 0,
        "rejected_judgments": 0,
        "rejected_results": 0,
        "query_scores": 1 * 2 * 2,
        "dataset_scores": 1 * 2,
    }
    assert (outcome.counts, [step for step, _ in told]) == (expected, ["engine", "read", "read"])


JUDGED = "query_id,item_id\nq1,a\nq1,b\nq2,c\n"
RANKED = "run,query_id,doc_id,score,rank\nr,q1,x,3,1\nr,q1,y,2,2\nr,q1,a,1,3\n"


@pytest.mark.parametrize(
    ("files", "settings", "label", "scores"),
    [
        # b is first of the ranks; q2 has no results.
        (
            {"msmarco.tsv": "q1\tb\t1\nq1\ta\t2\n"},
            {"results": "msmarco.tsv", "convention": "trec_eval_9"},
            "trec_eval_9 order=rank score_precision=float64",
            {("msmarco", 1): 0.0, ("msmarco", 3): 1 / math.log2(3) / 2},
        ),
        (
            {"r.tsv": "q1\ta\t1\nq1\tb\t2\n"},
            {"results": "r.tsv", "convention": "lightgbm"},
            "lightgbm ties=doc_id_desc order=rank",
            {("r", 1): 1.0, ("r", 3): 1.0},
        ),
        # One grade for all: q1 has both its documents on top.
        *(
            (
                {"train.csv": JUDGED},
                {"judgments": {"path": "train.csv"} | grade, "convention": gain},
                label,
                {("bm25", 3): 0.5},
            )
            for grade, gain, label in (
                ({"relevance": 1}, {}, "standard"),
                ({}, {"gain": "judged"}, "standard gain=judged"),
            )
        ),
        # a, of grade 2, is first; q2 has no relevant document and is left out.
        (
            {},
            {"convention": {"gain": "linear", "min_relevance": 2}},
            "standard gain=linear min_relevance=2",
            {("bm25", 3): 1},
        ),
        # a is first once x and y have left.
        (
            {"r.csv": RANKED, "train.csv": "query_id,doc_id\nq1,x\nq1,y\n"},
            {"results": "r.csv", "exclude": "train.csv"},
            "standard",
            {("r", 1): 0.5},
        ),
        *(
            (
                {
                    "run.txt": "".join(
                        f"q2 Q0 {doc} {rank} 0 bm25\n"
                        for doc, rank in zip("zcx", ranks, strict=True)
                    )
                },
                {"cutoffs": [2], "convention": {"order": "rank", "ties": "doc_id_desc"}},
                "standard order=rank",
                {("bm25", 2): (1 / math.log2(place + 1) if place <= 2 else 0) / 2},
            )
            for ranks, place in (((1, 2, 3), 2), ((1, 7, 9), 2), ((5, 6, 9), 2), ((2, 3, 1), 3))
        ),
    ],
)
def test_scores(configured, files, settings, label, scores):
    outcome, _ = evaluated(configured(files, **settings))
    assert outcome.convention == label
    assert {key: means(outcome)[key] for key in scores} == pytest.approx(scores)


def test_a_dataset_that_is_judged_but_has_no_results(configured):
    files = {
        "qrels.csv": "dataset,query_id,doc_id,relevance\nd,q1,a,1\ne,q1,a,1\ne,q2,a,1\n",
        "run.csv": "dataset,run,query_id,doc_id,score\nd,r,q1,a,1\n",
    }
    settings = configured(files, judgments="qrels.csv", results="run.csv", output="out")
    outcome, told = evaluated(settings)
    # Where the gate finds it.
    assert only_night("out").record["datasets_without_results"] == ["e"]
    check_outcome, told_by_check = checked(settings)
    assert outcome.datasets_without_results == check_outcome["datasets_without_results"] == ["e"]
    for steps in (told, told_by_check):
        (warning,) = (words for step, words in steps if step == "warning")
        assert warning.startswith(
            "1 dataset(s) have judgments but no results, e.g. e with 2 queries"
        )


NOTHING = pa.schema(
    [("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float64())]
).empty_table()


@pytest.mark.parametrize(
    ("end", "files", "table"),
    [
        ("run", {"a.run": "q1 Q0 a 1 9 x\n", "b.run": ""}, {"run_from": "file"}),
        ("json", {"a.json": '{"q1": {"a": 1.5}}', "b.json": "{}"}, {}),
        ("parquet", {}, {}),
    ],
)
def test_a_run_that_arrived_empty_lacks_every_query(configured, end, files, table):
    if end == "parquet":
        pq.write_table(pa.table({"query_id": ["q1"], "doc_id": ["a"], "score": [1.5]}), "a.parquet")
        pq.write_table(NOTHING, "b.parquet")
    results = {"path": [f"a.{end}", f"b.{end}"], **table}
    outcome, told = evaluated(configured(files, results=results))
    assert {run: score for (run, cutoff), score in means(outcome).items() if cutoff == 3} == {
        "a": 0.5,
        "b": 0.0,
    }
    assert (
        "1 run(s) have no results, e.g. run=b; all their queries are missing"
        in dict(told)["warning"]
    )
    with pytest.raises(InputError, match="run=b lacks 2 of 2"):
        evaluated(configured(results=results, max_missing_fraction=0.5))


def test_what_is_published_is_what_is_printed(configured):
    printed, published = (evaluated(configured(**more))[0] for more in ({}, {"output": "out"}))
    for rows in zip(printed.dataset_scores, published.dataset_scores, strict=True):
        one, other = ({**row, "evaluation_id": None} for row in rows)
        assert one == other


def test_the_record(configured, tmp_path):
    files = {"train.csv": "user_id,item_id\nq1,a\nq1,a\nq7,b\n"}
    settings = {
        "output": "out",
        "convention": "trec_eval",
        "exclude": "train.csv",
        "on_end": "true s3://KEY:SECRET@b/x",
    }
    outcome, told = evaluated(configured(files, **settings))
    record = only_night(tmp_path / "out").record
    assert (record["evaluation_id"], record["number"], record["revision"]) == (
        outcome.evaluation_id,
        1,
        0,
    )
    assert (record["options"]["gain"], record["configuration"]["cutoffs"]) == ("linear", [1, 3])
    assert record["configuration"]["on_end"] == "true ***"
    files = [{"path": str(tmp_path / "run.txt"), "size": len(RUN)}]
    results = record["inputs"]["results"]
    fingerprint, by_dataset = (results.pop(name) for name in ("fingerprint", "fingerprints"))
    assert results == {"format": "trec", "rows": 3, "files": files, "recognised": []}
    assert int(fingerprint, 16) > 0
    assert (by_dataset, record["rejected"]) == ({"default": fingerprint}, [])
    assert (outcome.counts["excluded_results"], dict(told)["excluded"]) == (
        1,
        f"1 results, by {tmp_path}/train.csv",
    )
    assert [file["path"] for file in record["inputs"]["exclude"]["files"]] == [
        str(tmp_path / "train.csv")
    ]


def published(table):
    """The rows of a table that a plain reader of the folder finds."""
    return ds.dataset(f"out/{table}", partitioning="hive").to_table().to_pylist()


def test_rows_within_the_budget_are_set_aside_and_the_rest_is_scored(session, configured):
    files = {"run.txt": RUN + "q1 Q0 z\nq1 Q0 d 9 high bm25\n"}
    outcome, told = evaluated(configured(files, output="out", max_rejected_fraction=0.4))
    assert [(row["reason"], row["rows"]) for row in outcome.rejected] == [
        ("broken_line", 1),
        ("score_is_no_number", 1),
    ]
    assert (outcome.counts["results"], outcome.counts["rejected_results"]) == (5, 2)
    named = ("dataset", "table", "evaluation_id", "reason", "line", "score")
    always = ("default", "results", outcome.evaluation_id)
    assert {tuple(row[name] for name in named) for row in published("rejected_rows")} == {
        (*always, "broken_line", "q1 Q0 z", None),
        (*always, "score_is_no_number", "q1 Q0 d 9 high bm25", None),
    }
    assert "2 rows of results: 1 line(s) that are not rows, e.g. q1 Q0 z" in dict(told)["rejected"]
    without, _ = evaluated(configured({"run.txt": RUN}))
    assert means(outcome) == pytest.approx(means(without), abs=1e-12)


@pytest.mark.slow
def test_a_rejected_row_of_another_dataset_replaces_none_of_its_nights(configured):
    header = "dataset,run,query_id,doc_id,score\n"
    for name, bad in (("shop", ""), ("web", "shop,r,q,b,x\n,r,q,c,1\nweb,r,q,d,x\n")):
        files = {
            "j.csv": f"dataset,query_id,doc_id,relevance\n{name},q,a,1\n",
            "r.csv": f"{header}{name},r,q,a,1\n{bad}",
        }
        paths = {"judgments": "j.csv", "results": "r.csv"}
        evaluated(configured(files, **paths, output="out", cutoffs=[1], max_rejected_fraction=0.9))
    assert {row["dataset"] for row in published("query_scores")} == {"shop", "web"}
    rows = {
        (row["dataset"], row["dataset_read"], row["doc_id"]) for row in published("rejected_rows")
    }
    assert rows == {("web", "shop", "b"), ("web", None, "c"), ("web", "web", "d")}


def test_a_check_counts_the_rejected_the_excluded_and_the_judged_rate(configured):
    files = {"run.txt": RUN + "q1 Q0 z\nq1 Q0 x 3 1 bm25\n", "train.csv": "query_id,doc_id\nq1,b\n"}
    check_outcome, _ = checked(configured(files, max_rejected_fraction=0.2, exclude="train.csv"))
    assert [(row["reason"], row["rows"]) for row in check_outcome["rejected"]] == [
        ("broken_line", 1)
    ]
    assert check_outcome["judged_rate"] == [
        {"dataset": "default", "run": "bm25", "cutoff": 3, "judged_rate": 1 / 2}
    ]
    assert check_outcome["counts"]["excluded_results"] == 1


def test_a_pipe_is_read_once_and_evaluated(configured, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(RUN, encoding="utf-8"))
    writer.start()
    piped, _ = evaluated(configured(results="pipe"))
    writer.join()
    assert means(piped) == means(evaluated(configured())[0])


def test_what_is_hardly_meant_is_told_and_changes_nothing(configured):
    outcome, told = evaluated(
        configured({"run.txt": "q1 Q0 x 1 1.0 r\nq1 Q0 y 2 1.0 r\n"}, convention="standard")
    )
    assert [step for step, _ in told] == ["engine", "read", "read", "warning", "warning"]
    assert "same score, e.g. run=r" in told[3][1]
    assert "no judged document within the cutoff 3, e.g. run=r" in told[4][1]
    assert "judgments (doc_id=a) and results (doc_id=x)" in told[4][1]
    assert set(means(outcome).values()) == {0.0}
