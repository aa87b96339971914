"""One evaluation from its configuration to what it prints and publishes."""

import math

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from evaluations import RUN, checked, evaluated
from kept_nights import only_night

from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.nights.log import committed


def test_counts_say_what_was_read_and_what_came_out(configured):
    outcome, told = evaluated(configured())
    assert outcome.counts == {
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
    assert [step for step, _ in told] == ["engine", "read", "read", "note"]


def test_a_dataset_that_is_judged_but_has_no_results_is_told(configured, tmp_path):
    (tmp_path / "qrels.csv").write_text("dataset,query_id,doc_id,relevance\nd,q1,a,1\ne,q1,a,1\ne,q2,a,1\n")
    (tmp_path / "run.csv").write_text("dataset,run,query_id,doc_id,score\nd,r,q1,a,1\n")
    settings = configured(judgments={"path": f"{tmp_path}/qrels.csv"}, results={"path": f"{tmp_path}/run.csv"})
    outcome, told = evaluated(settings)
    found, told_by_check = checked(settings)
    assert outcome.datasets_without_results == found["datasets_without_results"] == ["e"]
    for warnings in ([words for step, words in steps if step == "warning"] for steps in (told, told_by_check)):
        assert [words.split(";")[0] for words in warnings] == [
            "1 dataset(s) judged but without results, e.g. e with 2 queries"
        ]


def test_an_outcome_is_the_same_whether_it_is_printed_or_published(configured, tmp_path):
    printed, _ = evaluated(configured())
    published, _ = evaluated(configured(output=str(tmp_path / "out")))
    named = {"evaluation_id"}
    assert [{k: v for k, v in row.items() if k not in named} for row in printed.dataset_scores] == [
        {k: v for k, v in row.items() if k not in named} for row in published.dataset_scores
    ]


def test_a_publication_leaves_a_record_of_what_was_evaluated_how(configured, tmp_path):
    outcome, _ = evaluated(configured(output=str(tmp_path / "out"), convention="trec_eval"))
    found = only_night(tmp_path / "out").record
    assert (found["evaluation_id"], found["number"], found["revision"]) == (outcome.evaluation_id, 1, 0)
    assert found["options"]["gain"] == "linear"
    assert found["configuration"]["cutoffs"] == [1, 3]
    files = [{"path": str(tmp_path / "run.txt"), "size": len(RUN)}]
    fingerprint, by_dataset = (found["inputs"]["results"].pop(name) for name in ("fingerprint", "fingerprints"))
    assert found["inputs"]["results"] == {"format": "trec", "rows": 3, "files": files, "recognised": []}
    assert int(fingerprint, 16) > 0
    assert by_dataset == {"default": fingerprint}
    assert found["rejected"] == []


def test_a_refused_input_leaves_a_row_of_the_log_alone(configured, tmp_path):
    (tmp_path / "run.txt").write_text(RUN + "q1 Q0 a 9 0.1 bm25\n", encoding="utf-8")
    with pytest.raises(InputError, match="returned twice for one query"):
        evaluated(configured(output=str(tmp_path / "out")))
    (file,) = (path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert file.parts[-3] == "evaluations"
    (row,) = committed(str(tmp_path / "out")).attempts
    assert (row["status"], row["exit_code"]) == ("refused", 3)


def test_a_dataset_in_the_tables_and_in_the_configuration_is_refused(configured, tmp_path):
    import pyarrow as pa

    columns = {"dataset": ["d"], "query_id": ["q1"], "doc_id": ["a"]}
    pq.write_table(pa.table({**columns, "relevance": [1]}), tmp_path / "j.parquet")
    pq.write_table(pa.table({**columns, "run": ["r"], "score": [1.0]}), tmp_path / "r.parquet")
    paths = {"judgments": {"path": str(tmp_path / "j.parquet")}, "results": {"path": str(tmp_path / "r.parquet")}}
    outcome, _ = evaluated(configured(**paths))
    assert {row["dataset"] for row in outcome.dataset_scores} == {"d"}
    with pytest.raises(ConfigurationError, match="the tables name their datasets"):
        evaluated(configured(**paths, dataset="other"))


def published(folder, table):
    """The rows of a table that a plain reader of the folder finds."""
    return ds.dataset(folder / table, partitioning="hive").to_table().to_pylist()


def test_rows_within_the_budget_are_set_aside_and_the_rest_is_scored(run, configured, tmp_path):
    (tmp_path / "run.txt").write_text(RUN + "q1 Q0 z\nq1 Q0 d 9 high bm25\n", encoding="utf-8")
    outcome, told = run(configured(output=str(tmp_path / "out"), max_rejected_fraction=0.4))
    assert [(row["reason"], row["rows"]) for row in outcome.rejected] == [("broken_line", 1), ("score_is_no_number", 1)]
    assert (outcome.counts["results"], outcome.counts["rejected_results"]) == (5, 2)
    rows = published(tmp_path / "out", "rejected_rows")
    assert {(row["reason"], row["line"], row["score"]) for row in rows} == {
        ("broken_line", "q1 Q0 z", None),
        ("score_is_no_number", "q1 Q0 d 9 high bm25", None),
    }
    assert {(row["dataset"], row["table"], row["evaluation_id"]) for row in rows} == {
        ("default", "results", outcome.evaluation_id)
    }
    (tmp_path / "run.txt").write_text(RUN, encoding="utf-8")
    without, _ = evaluated(configured())
    expected = [pytest.approx(row["ndcg"], abs=1e-12) for row in without.dataset_scores]
    assert [row["ndcg"] for row in outcome.dataset_scores] == expected
    assert "2 rows of results: 1 line(s) that are not rows, e.g. q1 Q0 z" in dict(told)["rejected"]


@pytest.mark.slow
def test_a_rejected_row_of_another_dataset_replaces_none_of_its_nights(configured, tmp_path):
    (tmp_path / "j.csv").write_text("dataset,query_id,doc_id,relevance\nweb,q,a,1\n", encoding="utf-8")
    header = "dataset,run,query_id,doc_id,score\n"
    for name, bad in (("shop", ""), ("web", "shop,r,q,b,x\n,r,q,c,1\nweb,r,q,d,x\n")):
        (tmp_path / "j.csv").write_text(f"dataset,query_id,doc_id,relevance\n{name},q,a,1\n", encoding="utf-8")
        (tmp_path / "r.csv").write_text(f"{header}{name},r,q,a,1\n{bad}", encoding="utf-8")
        paths = {"judgments": {"path": str(tmp_path / "j.csv")}, "results": {"path": str(tmp_path / "r.csv")}}
        evaluated(configured(**paths, output=str(tmp_path / "out"), cutoffs=[1], max_rejected_fraction=0.9))
    assert {row["dataset"] for row in published(tmp_path / "out", "query_scores")} == {"shop", "web"}
    rows = published(tmp_path / "out", "rejected_rows")
    assert {(row["dataset"], row["dataset_read"], row["doc_id"]) for row in rows} == {
        ("web", "shop", "b"),
        ("web", None, "c"),
        ("web", "web", "d"),
    }


def test_results_that_are_judged_too_little_are_refused_and_not_published(configured, tmp_path):
    (tmp_path / "run.txt").write_text(RUN + "q1 Q0 x 3 1 bm25\n", encoding="utf-8")
    evaluated(configured(min_judged_rate=2 / 3))
    with pytest.raises(InputError, match=r"judged_rate@3 below min_judged_rate=0\.7, e\.g\. run=bm25 with 0\.6667"):
        evaluated(configured(min_judged_rate=0.7, output=str(tmp_path / "out")))
    assert {path.parts[-3] for path in (tmp_path / "out").rglob("*.parquet")} == {"evaluations"}


def test_gaps_past_their_limits_are_refused(configured):
    evaluated(configured(max_missing_fraction=0.5, max_unjudged_fraction=0.5))
    with pytest.raises(InputError, match=r"run=bm25 lacks 1 of 2; 1 run.* run=bm25 has 1 of 2; complete"):
        evaluated(configured(max_missing_fraction=0.4, max_unjudged_fraction=0.4))


def test_a_check_counts_the_rejected_and_the_judged_rate(configured, tmp_path):
    (tmp_path / "run.txt").write_text(RUN + "q1 Q0 z\nq1 Q0 x 3 1 bm25\n", encoding="utf-8")
    found, _ = checked(configured(max_rejected_fraction=0.2))
    assert [(row["reason"], row["rows"]) for row in found["rejected"]] == [("broken_line", 1)]
    assert found["judged_rate"] == [{"dataset": "default", "run": "bm25", "cutoff": 3, "judged_rate": 2 / 3}]
    with pytest.raises(InputError, match="judged_rate@3"):
        checked(configured(max_rejected_fraction=0.2, min_judged_rate=0.9))


@pytest.mark.parametrize(
    ("ranks", "rank_of_the_relevant"), [((1, 2, 3), 2), ((1, 7, 9), 2), ((5, 6, 9), 2), ((2, 3, 1), 3)]
)
def test_results_in_the_order_of_ranks_are_scored_whether_ranks_have_gaps_or_not(
    configured, tmp_path, ranks, rank_of_the_relevant
):
    rows = "".join(f"q2 Q0 {doc} {rank} 0 bm25\n" for doc, rank in zip("zcx", ranks, strict=True))
    (tmp_path / "run.txt").write_text(rows, encoding="utf-8")
    outcome, _ = evaluated(configured(cutoffs=[2], convention={"order": "rank", "ties": "doc_id_desc"}))
    dcg = 1 / math.log2(rank_of_the_relevant + 1) if rank_of_the_relevant <= 2 else 0.0
    assert outcome.dataset_scores[0]["ndcg"] == pytest.approx(dcg / 2)
    assert outcome.dataset_scores[0]["judged_rate"] == (0.5 if rank_of_the_relevant <= 2 else 0.0)


def test_what_is_hardly_meant_is_told_and_changes_nothing(configured, tmp_path):
    (tmp_path / "run.txt").write_text("q1 Q0 x 1 1.0 r\nq1 Q0 y 2 1.0 r\n", encoding="utf-8")
    outcome, told = evaluated(configured(convention="standard"))
    # Who names the convention needs no note.
    assert [step for step, _ in told] == ["engine", "read", "read", "warning", "warning"]
    assert "same score, e.g. run=r" in told[3][1]
    assert "no judged document within the cutoff 3, e.g. run=r" in told[4][1]
    assert [row["ndcg"] for row in outcome.dataset_scores] == [0.0, 0.0]
