"""Nights in tables of Delta that classic Spark writes with its jars, beside those that deltalake has written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sinks import by_others

from ndcg_spark.nights.records import committed

pytest.importorskip("deltalake")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.skipif(
        "DELTA_JARS" not in os.environ,
        reason="needs DELTA_JARS, a folder with the jars of Delta: mvn dependency:copy-dependencies of delta-spark",
    ),
]
GOLDEN = Path(__file__).parents[1] / "golden"


def program(folder, *arguments):
    """The program with a Spark that has Delta; its stdout."""
    command = [sys.executable, "-m", "ndcg_spark", *map(str, arguments)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, "SPARK_CONF_DIR": str(folder)}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_spark_and_deltalake_evaluate_and_read_each_others_nights(tmp_path):
    jars = ("delta-", "unitycatalog-", "RoaringBitmap-")
    found = [str(path) for path in Path(os.environ["DELTA_JARS"]).glob("*.jar") if path.name.startswith(jars)]
    settings = {
        "spark.jars": ",".join(found),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.codegen.wholeStage": "false",
    }
    text = "\n".join(f"{name} {value}" for name, value in settings.items())
    (tmp_path / "spark-defaults.conf").write_text(text, encoding="utf-8")
    output = f"delta:{tmp_path}/tables"
    files = (GOLDEN / "tiny.qrels", GOLDEN / "tiny.run", "--output", output)
    program(tmp_path, "init", output, "--engine", "spark")
    for date, engine in (("2026-11-19", "embedded"), ("2026-11-20", "spark"), ("2026-11-19", "spark")):
        program(tmp_path, "evaluate", *files, "--date", date, "--engine", engine)
    nights = committed(output)
    assert [night.record["engine"].partition(" ")[0] for night in nights] == ["Spark", "Spark"]
    keys = [(night.dataset, night.evaluated_on, night.evaluation_id) for night in nights]
    assert by_others(output, "dataset_scores") == dict.fromkeys(keys, 4)
    program(tmp_path, "evaluate", *files, "--date", "2026-11-20", "--engine", "embedded")
    compared = program(
        tmp_path, "compare", output, "--baseline-date", "2026-11-19", "--engine", "spark", "--format", "json"
    )
    assert {row["difference"] for row in json.loads(compared)["comparisons"]} == {0.0}
