import sys
from pathlib import Path

import pytest
import servers

# The scripts are not installed with the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmark import __main__ as benchmark
from scripts.benchmark import data

#: Programs of every scenario that need no Java, one of each kind.
QUICK = {
    "peers": ["duckdb_checked", "embedded, pytrec_eval", "pytrec_eval"],
    "text": ["gzipped"],
    "runs": ["10 runs"],
    "library": ["embedded"],
}
#: The others, with --thorough.
MORE = {
    "peers": ["embedded", "embedded, no ranks", "duckdb"],
    "text": ["plain", "zcat", *data.ONE_FILE, "pytrec_eval, gzipped", "pytrec_eval, plain"],
    "runs": ["duckdb_checked, 10 runs", "10 runs, no ranks"],
}


def run(scenario, programs, capsys, tmp_path):
    """What the rows of the scenario's table begin with, on tiny data; its exit code is 0."""
    size = ["--scale", "0.002", "--rounds", "1", "--cache", str(tmp_path)]
    code = benchmark.main(["--scenario", scenario, "--only", *programs, *size])
    out = capsys.readouterr().out
    assert code == 0, out
    return {line.split("  ")[0] for line in out.splitlines()}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", QUICK)
def test_a_scenario_runs_and_peers_give_our_numbers(scenario, capsys, tmp_path, thorough):
    pytest.importorskip("pytrec_eval")
    programs = QUICK[scenario] + (MORE.get(scenario, []) if thorough else [])
    assert run(scenario, programs, capsys, tmp_path) >= {*programs}


@pytest.mark.spark
def test_mllib_gives_our_numbers(capsys, tmp_path, monkeypatch, thorough):
    if not thorough:
        pytest.skip("starts Spark; test_ml.py compares with MLlib, too: --thorough")
    # As a program outside of pyspark's mode of Connect.
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    for name, value in servers.QUICK_SPARK.items():
        monkeypatch.setenv(name, value)
    assert run("peers", ["embedded, mllib_binary", "mllib"], capsys, tmp_path) >= {"mllib"}
