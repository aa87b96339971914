"""The DAG, run by Airflow itself: scripts/check.sh --thorough installs it into an environment of its own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ndcg_spark.nights.log import committed

ROOT = Path(__file__).parents[2]
TINY = ROOT / "tests/golden/tiny"


@pytest.mark.slow
def test_airflow_publishes_a_night_and_does_not_retry_one_whose_input_is_refused(tmp_path):
    airflow = os.environ.get("AIRFLOW")
    if airflow is None:
        pytest.skip("set AIRFLOW to the program of Airflow, as check.sh --thorough does")
    home, config, output = tmp_path / "home", tmp_path / "night.toml", str(tmp_path / "nights")
    (home / "dags").mkdir(parents=True)
    shutil.copy(ROOT / "conf/airflow/ndcg_spark_dag.py", home / "dags")
    of_airflow = {"AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    environment = {
        **os.environ,
        **of_airflow,
        "NDCG_SPARK_PROJECT": str(ROOT),
        "NDCG_SPARK_CONFIG": str(config),
    }

    def run(*arguments):
        return subprocess.run(
            [airflow, *arguments], capture_output=True, text=True, check=False, env=environment
        )

    assert run("db", "migrate").returncode == 0
    codes, logs = [], []
    for date, results in (("2026-11-20", f"{TINY}.run"), ("2026-11-21", tmp_path / "none.run")):
        config.write_text(
            f'judgments = "{TINY}.qrels"\nresults = "{results}"\noutput = "{output}"\n',
            encoding="utf-8",
        )
        done = run("dags", "test", "ndcg_spark", date)
        codes.append(done.returncode)
        logs.append(done.stdout + done.stderr)
    assert codes == [0, 1], logs
    assert "ndcg-spark ended with 3: the input is refused; no retry, see the log above" in logs[1]
    assert [night.evaluated_on for night in committed(output)] == ["2026-11-20"]
