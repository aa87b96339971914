"""One evaluation from its configuration, on the session of the tests."""

import json

import pyarrow.parquet as pq
import pytest

from ndcg_spark import config, job
from ndcg_spark.errors import ConfigurationError, InputError

QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\nq9 Q0 c 1 1.0 bm25\n"


@pytest.fixture
def configured(spark, tmp_path):
    """A configuration of two small files; what a test is about goes on top."""
    (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (tmp_path / "run.txt").write_text(RUN, encoding="utf-8")

    def with_(**settings):
        paths = {"judgments": {"path": str(tmp_path / "qrels.txt")}, "results": {"path": str(tmp_path / "run.txt")}}
        return config.validate({**paths, "cutoffs": [1, 3], "date": "2026-11-20", **settings}, "test")

    return with_


def run(settings):
    told = []
    return job.run(settings, lambda step, sentence: told.append((step, sentence))), told


def test_counts_say_what_was_read_and_what_came_out(configured):
    outcome, told = run(configured())
    assert outcome.counts == {
        "judgments": 3,
        "judged_queries": 2,
        "results": 3,
        "runs": 1,
        "unjudged_queries": 1,
        "missing_queries": 1,
        "datasets_without_results": 0,
        "query_scores": 1 * 2 * 2,
        "dataset_scores": 1 * 2,
    }
    assert [step for step, _ in told] == ["engine", "read", "read"]


def test_an_outcome_is_the_same_whether_it_is_printed_or_published(configured, tmp_path):
    printed, _ = run(configured())
    published, _ = run(configured(output=str(tmp_path / "out")))
    named = {"evaluation_id"}
    assert [{k: v for k, v in row.items() if k not in named} for row in printed.dataset_scores] == [
        {k: v for k, v in row.items() if k not in named} for row in published.dataset_scores
    ]


def test_a_publication_leaves_a_record_of_what_was_evaluated_how(configured, tmp_path):
    outcome, _ = run(configured(output=str(tmp_path / "out"), convention="trec_eval"))
    (record,) = (tmp_path / "out" / "_evaluations").rglob("*.json")
    found = json.loads(record.read_text(encoding="utf-8"))
    assert record.stem == found["evaluation_id"] == outcome.evaluation_id
    assert found["options"]["gain"] == "linear"
    assert found["configuration"]["cutoffs"] == [1, 3]
    assert found["inputs"]["results"] == [{"path": str(tmp_path / "run.txt"), "size": len(RUN)}]


def test_a_refused_input_leaves_nothing_behind(configured, tmp_path):
    (tmp_path / "run.txt").write_text(RUN + "q1 Q0 a 9 0.1 bm25\n", encoding="utf-8")
    with pytest.raises(InputError, match="returned twice for one query"):
        run(configured(output=str(tmp_path / "out")))
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def test_a_dataset_in_the_tables_and_in_the_configuration_is_refused(configured, tmp_path):
    import pyarrow as pa

    columns = {"dataset": ["d"], "query_id": ["q1"], "doc_id": ["a"]}
    pq.write_table(pa.table({**columns, "relevance": [1]}), tmp_path / "j.parquet")
    pq.write_table(pa.table({**columns, "run": ["r"], "score": [1.0]}), tmp_path / "r.parquet")
    paths = {"judgments": {"path": str(tmp_path / "j.parquet")}, "results": {"path": str(tmp_path / "r.parquet")}}
    outcome, _ = run(configured(**paths))
    assert {row["dataset"] for row in outcome.dataset_scores} == {"d"}
    with pytest.raises(ConfigurationError, match="the tables name their datasets"):
        run(configured(**paths, dataset="other"))


def test_several_datasets_are_published_into_a_partition_each(configured, tmp_path):
    (tmp_path / "j.csv").write_text("dataset,query_id,doc_id,relevance\none,q,a,1\ntwo,q,a,1\n", encoding="utf-8")
    (tmp_path / "r.csv").write_text("dataset,run,query_id,doc_id,score\none,r,q,a,1\ntwo,r,q,b,1\n", encoding="utf-8")
    paths = {"judgments": {"path": str(tmp_path / "j.csv")}, "results": {"path": str(tmp_path / "r.csv")}}
    outcome, _ = run(configured(**paths, output=str(tmp_path / "out"), cutoffs=[1]))
    assert [(row["dataset"], row["ndcg"]) for row in outcome.dataset_scores] == [("one", 1.0), ("two", 0.0)]
    folders = {path.parents[1].name for path in (tmp_path / "out" / "query_scores").rglob("*.parquet")}
    assert folders == {"dataset=one", "dataset=two"}
