import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import servers

# The scripts are not installed with the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmark import __main__ as benchmark
from scripts.benchmark import data
from scripts.benchmark.measure import measure
from scripts.benchmark.scenarios import Program

#: The programs of every scenario that need no Java.
QUICK = {
    "peers": ["embedded", "embedded, no ranks", "duckdb", "duckdb_checked", "embedded, pytrec_eval", "pytrec_eval"],
    "text": ["gzipped", "plain", *data.ONE_FILE, "zcat", "pytrec_eval, gzipped", "pytrec_eval, plain"],
    "runs": ["10 runs", "10 runs, no ranks", "duckdb_checked, 10 runs"],
    "library": ["embedded"],
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
def test_a_scenario_runs_and_peers_give_our_numbers(scenario, capsys, tmp_path):
    pytest.importorskip("pytrec_eval")
    assert run(scenario, QUICK[scenario], capsys, tmp_path) >= {*QUICK[scenario]}


@pytest.mark.spark
def test_mllib_gives_our_numbers(capsys, tmp_path, monkeypatch):
    # As a program outside of pyspark's mode of Connect.
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    for name, value in servers.QUICK_SPARK.items():
        monkeypatch.setenv(name, value)
    assert run("peers", ["embedded, mllib_binary", "mllib"], capsys, tmp_path) >= {"mllib"}


def says(name, code, like=None):
    return Program(name, [sys.executable, "-c", code], like)


def test_programs_take_turns_and_those_that_fail_or_differ_are_told():
    programs = [
        says("ours", 'print(\'{"dataset_scores": [{"ndcg": 0.25}, {"ndcg": 0.75}]}\')'),
        says("same", "print('{\"ndcg\": 0.5000000005}')", "ours"),
        says("other", "print('{\"ndcg\": 0.500000002}')", "ours"),
        says("silent", "", "ours"),
        says("broken", "raise SystemExit(3)"),
    ]
    with ThreadPoolExecutor(1) as measuring:
        rows, problems = benchmark.run_rounds(programs, 2, measuring)
    assert [row["program"] for row in rows] == ["ours", "same", "other", "silent", "ours", "same"]
    assert [problem.split()[0] for problem in problems] == ["other", "silent", "broken:"]


def test_a_process_is_measured_with_what_it_starts_and_its_failure_is_told():
    work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(300_000_000)'])"
    took, printed = measure([sys.executable, "-c", work + "; print('{\"ndcg\": 1}')"], {})
    assert took["memory, GB"] > 0.3
    assert min(took.values()) > 0
    assert printed == {"ndcg": 1}
    with pytest.raises(subprocess.CalledProcessError) as failed:
        measure([sys.executable, "-c", "raise SystemExit('no')"], {})
    assert (failed.value.returncode, failed.value.stderr.strip()) == (1, "no")


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data(tmp_path):
    settings = [data.Setting(tmp_path / str(at), seed=seed) for at, seed in enumerate((3, 3, 4))]
    made, again, other = (pq.read_table(setting.parquet(200)[0].results) for setting in settings)
    assert made.equals(again)
    assert not made.equals(other)
