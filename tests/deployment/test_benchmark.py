import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.compute as pc
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


def test_the_table_has_medians_and_multiples_of_the_first():
    rows = [("b", 1.5), ("a", 2.0), ("a", 9.0), ("a", 3.0), ("c", 1.0)]
    table = benchmark.medians([{"program": name, "seconds": seconds} for name, seconds in rows])
    assert table["seconds"].to_dict() == {"c": 1.0, "b": 1.5, "a": 3.0}
    assert table["times b"].to_dict() == {"c": 0.67, "b": 1.0, "a": 2.0}


def test_a_process_is_measured_with_what_it_starts_and_its_failure_is_told():
    work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(300_000_000)'])"
    took, printed = measure([sys.executable, "-c", work + "; print('{\"ndcg\": 1}')"], {})
    assert took["memory, GB"] > 0.3
    assert min(took.values()) > 0
    assert printed == {"ndcg": 1}
    with pytest.raises(subprocess.CalledProcessError) as failed:
        measure([sys.executable, "-c", "raise SystemExit('no')"], {})
    assert (failed.value.returncode, failed.value.stderr.strip()) == (1, "no")


def content(cache, seed):
    """The bytes of all data by the name of its file."""
    setting = data.Setting(cache, seed=seed)
    setting.parquet(200)
    setting.text(2, 3)
    files = [path for path in cache.rglob("*") if path.is_file() and path.name != "done"]
    return {path.relative_to(cache).parts[1:]: path.read_bytes() for path in files}


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data(tmp_path):
    made, again, other = (content(tmp_path / str(at), seed) for at, seed in enumerate((3, 3, 4)))
    assert made == again
    assert made.keys() == other.keys()
    assert all(made[name] != other[name] for name in made)


def test_the_data_is_as_documented(tmp_path):
    ranked, unranked = data.Setting(tmp_path).parquet(200)
    judgments, results = (pq.read_table(path) for path in ranked)
    assert pq.read_table(unranked.results).equals(results.drop_columns("rank"))
    judged, returned = ({*table["query_id"].to_pylist()} for table in (judgments, results))
    assert judged - returned == {"query-0000007", "query-0000107"}
    assert returned - judged == {f"query-{number:07d}" for number in (11, 57, 111, 157)}
    relevant = judgments.filter(pc.field("relevance") > 0)
    assert judged - {*relevant["query_id"].to_pylist()} == {"query-0000023", "query-0000123"}
    lists = results.to_pandas().sort_values("rank").groupby("query_id")
    assert all(of["rank"].to_list() == [*range(1, 101)] and of["score"].is_monotonic_decreasing for _, of in lists)
    assert lists["doc_id"].nunique().eq(100).all()
    assert lists["score"].nunique().eq(100).all()
    assert judgments.join(results, ["query_id", "doc_id"], join_type="inner").num_rows == 194 * 20 / 2
