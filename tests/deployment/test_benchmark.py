import json
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ndcg_spark import evaluate

# The scripts are not installed with the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ndcg_spark.convention.measures import COLUMNS
from scripts.benchmark import __main__ as benchmark
from scripts.benchmark import data, programs, report, setting
from scripts.benchmark.measure import Measurement, ProgramError, measure

SIZE = data.Size(queries=200, results=12, judgments=6, runs=2, seed=3)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return data.make(SIZE, tmp_path_factory.mktemp("cache"))


def measurement(wall, **printed):
    return Measurement(wall, 2 * wall, 0.5, 0.0, printed)


def queries_of(path, **where):
    rows = pq.read_table(path).to_pylist()
    return {row["query_id"] for row in rows if all(row[name] == value for name, value in where.items())}


def number(query):
    return int(query.removeprefix("query-"))


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data(made, tmp_path):
    again = data.make(SIZE, tmp_path)
    other = data.make(data.Size(queries=200, results=12, judgments=6, runs=2, seed=4), tmp_path)
    for mine, same, another in zip(made.ranked, again.ranked, other.ranked, strict=True):
        assert pq.read_table(mine).equals(pq.read_table(same))
        assert not pq.read_table(mine).equals(pq.read_table(another))


def test_the_data_does_not_depend_on_how_much_is_made_at_a_time(made, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "CHUNK_ROWS", 24)
    chunked = data.make(SIZE, tmp_path)
    key = [("run", "ascending"), ("query_id", "ascending"), ("rank", "ascending")]
    assert pq.read_table(made.ranked.results).sort_by(key).equals(pq.read_table(chunked.ranked.results).sort_by(key))


def test_the_data_has_missing_unjudged_and_irrelevant_queries_as_documented(made):
    judged, returned = queries_of(made.ranked.judgments), queries_of(made.ranked.results, run="run-01")
    assert {number(query) for query in judged - returned} == {7, 107}
    assert {number(query) for query in returned - judged} == {11, 57, 111, 157}
    graded = pq.read_table(made.ranked.judgments)
    relevant = set(graded.filter(pc.field("relevance") > 0)["query_id"].to_pylist())
    assert {number(query) for query in judged - relevant} >= {23, 123}
    assert set(graded["relevance"].to_pylist()) == {0.0, 1.0, 2.0, 3.0}


def test_a_list_has_each_document_once_distinct_float_scores_and_ranks_in_their_order(made):
    lists = {}
    for row in pq.read_table(made.ranked.results).to_pylist():
        lists.setdefault((row["run"], row["query_id"]), []).append(row)
    assert len(lists) == 2 * 198
    for rows in lists.values():
        by_rank = sorted(rows, key=lambda row: row["rank"])
        assert [row["rank"] for row in by_rank] == list(range(1, 13))
        assert len({row["doc_id"] for row in rows}) == 12
        scores = pc.cast([row["score"] for row in by_rank], "float").to_pylist()
        assert scores == sorted(set(scores), reverse=True)


def test_half_of_the_judged_documents_are_returned(made):
    judged = {(row["query_id"], row["doc_id"]) for row in pq.read_table(made.ranked.judgments).to_pylist()}
    rows = pq.read_table(made.ranked.results).filter(pc.field("run") == "run-00").to_pylist()
    returned = {(row["query_id"], row["doc_id"]) for row in rows}
    assert len(judged) == 196 * 6
    assert len(judged & returned) == 194 * 3


@pytest.fixture(scope="module")
def ours(spark, made):
    """Both tables that the library gives, in memory."""
    scores = evaluate(*(spark.read.parquet(str(path)) for path in made.ranked), [5])
    return {name: getattr(scores, name).toArrow() for name in ("query_scores", "dataset_scores")}


@pytest.mark.parametrize("name", ["duckdb", "duckdb, checked", "polars"])
def test_a_peer_that_writes_gives_our_numbers_and_our_columns(name, ours, made, tmp_path):
    pytest.importorskip(programs.PEER_PROGRAMS[name][0])
    command = [str(tmp_path) if part == "OUTPUT" else part for part in programs.peer(name, made.ranked, None).command]
    command[-1] = "5"
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    means = {}
    for row in ours["dataset_scores"].to_pylist():
        means.setdefault(str(row["cutoff"]), []).append(row["ndcg"])
    assert printed["ndcg"] == pytest.approx({cutoff: sum(of) / len(of) for cutoff, of in means.items()}, abs=1e-9)
    for table, mine in ours.items():
        written = pq.read_table(tmp_path / table, partitioning="hive")
        # Neither measures beside NDCG nor slices were asked for, and the hash of the judgments is for the gate.
        beside = {*COLUMNS, "relevant_queries", "judgments_hash", "attribute", "value"}
        assert sorted(written.column_names) == sorted({*mine.column_names} - beside)
        assert written.num_rows == mine.num_rows
    counts = ["missing_queries", "no_relevant_queries", "unjudged_queries", "queries", "judged_rate", "ndcg_pooled"]
    key = ["run", "cutoff", *counts]
    theirs, mine = (sorted(tuple(row[k] for k in key) for row in table.to_pylist()) for table in (written, mine))
    assert theirs == [pytest.approx(row) for row in mine]


def test_a_process_is_measured_with_everything_it_starts():
    work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(300_000_000)'])"
    found = measure([sys.executable, "-c", work + "; print('{\"ndcg\": {}}')"], {}, 60)
    assert found.peak_gb > 0.3
    assert found.cpu_seconds > 0
    assert found.printed == {"ndcg": {}}


@pytest.mark.slow
def test_what_making_the_data_took_does_not_count_as_memory_of_a_program(tmp_path):
    held = b"x" * 1_500_000_000
    assert benchmark.main(["--scenario", "example", "--rounds", "1", "--output", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "benchmark.json").read_text(encoding="utf-8"))
    assert found["scenarios"]["example"]["rounds"]["example"][0]["peak_gb"] < len(held) / 1e9


def test_a_process_that_fails_or_does_not_end_is_a_program_error():
    with pytest.raises(ProgramError, match="exit code 3"):
        measure([sys.executable, "-c", "raise SystemExit(3)"], {}, 60)
    with pytest.raises(ProgramError, match="exit code -9"):
        measure([sys.executable, "-c", "import time; time.sleep(60)"], {}, 0.3)


def test_the_table_has_medians_and_multiples_of_the_first():
    rows = report.medians({"b": [measurement(1.5)], "a": [measurement(2.0), measurement(9.0), measurement(3.0)]})
    lines = report.table(rows)
    assert lines[2] == "| b | 1.50 | 1.00 | 3.00 | 0.50 | 1 |"
    assert lines[3] == "| a | 3.00 | 2.00 | 6.00 | 0.50 | 3 |"


def test_what_is_measured_inside_a_process_leaves_out_the_first_and_is_shown_apart():
    rows = report.medians({"warm": [measurement(9.0, inside={"evaluation": [8.0, 2.0, 4.0], "sort": [5.0, 1.0, 3.0]})]})
    assert rows["evaluation"]["seconds"] == 3.0
    assert rows["evaluation, first"]["seconds"] == 8.0
    assert rows["sort"]["seconds"] == 2.0


def test_a_target_is_met_missed_or_not_measured():
    rows = report.medians({"a": [measurement(2.0)], "b": [measurement(1.0)]})
    targets = [
        setting.Target("a", 2.0, "b"),
        setting.Target("b", 0.4, "a"),
        setting.Target("a", 0.6, figure="peak_gb"),
        setting.Target("a", 0.4, figure="busy"),
        setting.Target("a", 1.0, "c"),
    ]
    said = {what: (row["measured"], row["verdict"]) for what, row in report.verdicts(targets, rows).items()}
    assert said == {
        "a: seconds, against b": (2.0, "met"),
        "b: seconds, against a": (0.5, "missed"),
        "a: peak gb": (0.5, "met"),
        "a: busy": (0.5, "missed"),
        "a: seconds, against c": (None, "not measured"),
    }


def test_programs_that_differ_are_told():
    like = [programs.Program("ours", []), programs.Program("peer", [], "ours")]
    scenario = setting.Scenario("t", like)
    ours = [measurement(1.0, dataset_scores=[{"cutoff": 10, "ndcg": 0.25}, {"cutoff": 10, "ndcg": 0.75}])]
    assert report.disagreements(scenario, {"ours": ours, "peer": [measurement(1.0, ndcg={"10": 0.5})]}) == []
    assert report.disagreements(scenario, {"ours": ours, "peer": [measurement(1.0, ndcg={"10": 0.5001})]})
    assert report.disagreements(scenario, {"ours": ours, "peer": [measurement(1.0)]})
