"""Many inputs held to the contract on one engine: what was read of each, or the words in which it was refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

from ndcg_spark import config
from ndcg_spark.contract.check import check_tables
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import NdcgSparkError
from ndcg_spark.inputs import read

ROOT = Path(__file__).parents[2]


def check(engine: Engine, settings: dict) -> dict:
    """The rows of each run, or `error` and its `code`, of an evaluation's input."""
    try:
        wanted = config.validate(settings, "test")
        judgments = read.read_judgments(engine, wanted.judgments, wanted.judgments.path)
        results = read.read_results(engine, wanted.results, wanted.results.path)
        return {run.run: run.rows for run in check_tables(judgments, results, wanted).result_counts.runs}
    except NdcgSparkError as error:
        return {"error": str(error), "code": error.exit_code}


def on_one_engine(cases: dict[str, dict]) -> dict[str, dict]:
    """All cases on one embedded engine, in a process that has none."""
    with open_engine("embedded") as opened:
        return {name: check(opened, case) for name, case in cases.items()}


def on_embedded(cases: dict[str, dict], *command: str) -> dict[str, dict]:
    """All cases in one process of their own, begun by `command`, as a process is either classic or embedded."""
    done = subprocess.run(
        [*command, sys.executable, __file__],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(on_one_engine(json.load(sys.stdin))))  # noqa: T201
