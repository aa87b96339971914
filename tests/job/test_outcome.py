"""The record of an evaluation keeps where everything came from, and no secret."""

import json
from types import SimpleNamespace

from ndcg_spark.config import validate
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.read import Source
from ndcg_spark.job.inputs import Context
from ndcg_spark.job.publish import night_record


def test_a_record_names_paths_and_servers_without_their_secrets():
    paths = {"judgments": "s3://KEY:SECRET@bucket/qrels.txt", "results": "hdfs://SECRET@host/runs?key=SECRET"}
    config = validate(
        {
            **{table: {"path": path} for table, path in paths.items()},
            "output": "s3://KEY:SECRET@bucket/scores",
            "remote": "sc://host:15002/;token=SECRET;x-api-key=SECRET",
        },
        "test",
    )
    sources = [Source(None, table, "trec", [File(path, 7)], True) for table, path in paths.items()]
    counted = SimpleNamespace(rows=1, fingerprint="f", fingerprints={})
    checked = SimpleNamespace(
        judgment_counts=counted,
        result_counts=counted,
        breaches=[],
        counts=lambda _: {"results": 1},
        datasets=[None],
        datasets_without_results=[],
    )
    evaluation = SimpleNamespace(evaluation_id="id", cutoffs=(1,))
    engine = SimpleNamespace(name="Spark at sc://host:15002/;token=SECRET")
    clock = SimpleNamespace(with_total=lambda: {"read": 0.5})
    record = night_record(Context(engine, config, sources, checked, evaluation, clock))
    assert "SECRET" not in json.dumps(record)
    assert record["configuration"]["output"] == "s3://***@bucket/scores"
    assert record["configuration"]["remote"] == "sc://host:15002/;token=***;x-api-key=***"
    assert record["inputs"]["judgments"]["files"] == [{"path": "s3://***@bucket/qrels.txt", "size": 7}]
    assert record["datasets"] == ["default"]
    assert record["seconds"] == {"read": 0.5}
