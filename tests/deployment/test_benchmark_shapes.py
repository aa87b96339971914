import gzip
import json
import sys
from pathlib import Path

import pytest

# The scripts are not installed with the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmark import __main__ as benchmark
from scripts.benchmark import event_log, report, tables, trec_text
from scripts.benchmark.programs import Program
from scripts.benchmark.scenarios import SCENARIOS
from scripts.benchmark.setting import Scenario, Setting

#: Of scenarios that differ in more than their data, the programs that are enough to see that they run.
PROGRAMS = {
    "text": ["zcat", "pytrec_eval, plain", "aligned.txt", "one.jsonl"],
    "large-text": ["check", "conversion"],
    "cost": ["embedded"],
    "runs": ["10 runs", "duckdb, checked, 10 runs"],
}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", PROGRAMS)
def test_a_scenario_runs_at_a_small_scale(scenario, tmp_path, capsys):
    only = ["--only", *PROGRAMS[scenario], "--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "out")]
    code = benchmark.main(["--scenario", scenario, "--scale", "0.001", "--rounds", "1", *only])
    assert code == 0, capsys.readouterr().err
    page = (tmp_path / "out" / "benchmark.md").read_text(encoding="utf-8")
    assert all(
        f"| {name} |" in page or f"Left out: {name}," in page for name in PROGRAMS[scenario] if name != "embedded"
    )


#: What a program that measures inside itself gives figures of.
OURS = ("evaluation", "evaluation, no ranks")
INSIDE = {*OURS, *(f"{name}, unchecked" for name in OURS), "mllib", "sort"}
INSIDE |= {f"{engine}, {call}" for engine in ("embedded", "spark") for call in ("evaluate", "compare")}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_programs_have_names_of_their_own_and_targets_name_them(name, tmp_path):
    scenario = SCENARIOS[name](Setting(tmp_path, scale=0.001))
    programs = [program.name for program in scenario.programs]
    counted = [program for program in scenario.programs if "scripts.benchmark.counted" in program.command]
    cases = {case for program in counted for case in json.loads(program.command[4])}
    assert len(set(programs)) == len(programs)
    assert not cases & {*programs}
    known = {*programs, *cases, *INSIDE}
    assert {name for target in scenario.targets for name in (target.of, target.against or target.of)} <= known
    assert len({target.what for target in scenario.targets}) == len(scenario.targets)
    assert {program.like for program in scenario.programs} <= {*programs, None}


def test_a_program_that_cannot_run_here_is_left_out_with_the_reason():
    absent = Program("peer", [], needs="no_such_module")
    lines = report.section(Scenario("t", [absent]), {}, [])
    assert "Left out: peer, not installed; pip install --group bench." in lines


def lines_of(text):
    """The six fields of every line of TREC text, but how scores are written."""
    return [
        (query, fixed, doc, rank, float(score), run) for query, fixed, doc, rank, score, run in map(str.split, text)
    ]


@pytest.mark.slow
def test_text_has_the_same_bytes_for_the_same_seed_and_the_traps_that_it_names(tmp_path):
    made, again = (trec_text.make_text(20, 6, 0, tmp_path / name) for name in ("a", "b"))
    runs = {path.stem: path.read_bytes() for path in sorted(made["gzipped"].results.iterdir())}
    assert runs == {path.stem: path.read_bytes() for path in sorted(again["gzipped"].results.iterdir())}
    lines = {name: gzip.decompress(text).decode().splitlines() for name, text in runs.items()}
    assert all(len(line.split()) == 6 for of in lines.values() for line in of)
    assert {name for name, of in lines.items() if "\t" in of[0]} == {f"run-{odd:03d}" for odd in range(1, 20, 2)}
    assert {name for name, of in lines.items() if of[0].split()[3] == "0"} == {"run-007", "run-017"}
    scores = [line.split()[4] for line in lines["run-003"]]
    assert len(set(scores)) < len(scores)
    ranks = {name: [line.split()[3] for line in of if line.split()[0] == "4"][:2] for name, of in lines.items()}
    assert {name for name, first in ranks.items() if first in (["2", "1"], ["1", "0"])} == {"run-016"}


def test_every_shape_of_text_has_the_same_rows(tmp_path):
    made = trec_text.make_text(3, 4, 0, tmp_path)
    texts = {shape: files.results.read_bytes().decode() for shape, files in made.items() if files.results.is_file()}
    plain = "".join(path.read_text() for path in sorted(made["plain"].results.iterdir()))
    rows = lines_of(plain.splitlines())
    assert len(rows) > 3 * 1_000
    for shape in ("one.txt", "aligned.txt", "crlf.txt"):
        assert lines_of(texts[shape].splitlines()) == rows
    assert texts["crlf.txt"].count("\r\n") == len(rows)
    assert "    " in texts["aligned.txt"].splitlines()[0]
    header = ["query_id", "doc_id", "rank", "score", "run"]
    for shape, separator in (("one.csv", ","), ("one.tsv", "\t")):
        names, *table = (line.split(separator) for line in texts[shape].splitlines())
        assert names == header
        assert [(query, doc, rank, float(score), run) for query, doc, rank, score, run in table] == [
            (row[0], *row[2:]) for row in rows
        ]
    objects = [json.loads(line) for line in texts["one.jsonl"].splitlines()]
    assert [tuple(of[name] for name in header) for of in objects] == [
        (query, doc, int(rank), score, run) for query, _, doc, rank, score, run in rows
    ]


def scan(size_metric, rows_metric):
    metrics = [{"name": "size of files read", "accumulatorId": size_metric, "metricType": "size"}]
    metrics.append({"name": "number of output rows", "accumulatorId": rows_metric, "metricType": "sum"})
    return {"nodeName": "Scan parquet ", "children": [], "metrics": metrics}


def over(name, metric, *children):
    metrics = [{"name": "m", "accumulatorId": metric, "metricType": "sum"}]
    return {"nodeName": name, "children": list(children), "metrics": metrics}


def task(launched, **changed):
    """A task that wrote 70 bytes to a shuffle and changed these metrics, m1 the first."""
    updates = [{"ID": int(name[1:]), "Update": str(value), "Metadata": "sql"} for name, value in changed.items()]
    return {
        "Event": "SparkListenerTaskEnd",
        "Task Info": {"Launch Time": launched, "Accumulables": updates},
        "Task Metrics": {
            "Executor CPU Time": 2_000_000_000,
            "Executor Deserialize CPU Time": 0,
            "Executor Run Time": 2_500,
            "Peak Execution Memory": 64,
            "Disk Bytes Spilled": 5,
            "Input Metrics": {"Bytes Read": 100},
            "Shuffle Write Metrics": {"Shuffle Bytes Written": 70, "Shuffle Records Written": 7},
        },
    }


def logged(path, plan, *more):
    sql = "org.apache.spark.sql.execution.ui.SparkListener"
    events = [
        {"Event": f"{sql}SQLExecutionStart", "executionId": 0, "time": 1_000, "sparkPlanInfo": plan},
        {"Event": f"{sql}DriverAccumUpdates", "executionId": 0, "accumUpdates": [[1, 900], [3, 40]]},
        {"Event": "SparkListenerJobStart", "Submission Time": 1_000},
        {"Event": "SparkListenerStageCompleted", "Stage Info": {"Submission Time": 1_100}},
        *more,
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def test_an_event_log_tells_tables_apart_by_their_size_and_rows_from_sums(tmp_path):
    sums = over("Exchange", 12, over("HashAggregate", 11, scan(1, 2)))
    rows = over("Exchange", 14, over("Project", 13, scan(3, 4)))
    plan = over("SortMergeJoin", 10, sums, rows, over("Exchange", 99, scan(98, 97)))
    path = logged(tmp_path / "log", plan, task(1_200, m2=9, m4=8, m12=1, m14=1), task(9_000, m2=9))
    log = event_log.read(path, {"large": 900, "small": 40, "other": 7}, 0.5, 5.0)
    assert (log["jobs"], log["stages"]) == (1, 1)
    assert [log[f"scans_of_{table}"] for table in ("large", "small", "other")] == [1, 1, 0]
    # The third exchange did not run.
    assert (log["exchanges"], log["exchanges_of_large"], log["exchanges_of_small"]) == (2, 0, 1)
    assert (log["bytes_read"], log["bytes_shuffled"], log["bytes_spilled"]) == (100, 70, 5)
    assert (log["executor_cpu_seconds"], log["longest_task_seconds"], log["task_memory"]) == (2.0, 2.5, 64)


def test_the_plan_that_was_run_to_its_end_counts(tmp_path):
    update = "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate"
    final = {"Event": update, "executionId": 0, "sparkPlanInfo": over("Exchange", 12, scan(1, 2))}
    first = over("Exchange", 12, over("Exchange", 14, scan(1, 2)))
    log = event_log.read(logged(tmp_path / "log", first, final, task(1_200, m2=1, m12=1, m14=1)), {})
    assert log["exchanges"] == 1


def test_a_night_is_expected_to_cost_what_the_growth_between_two_sizes_says():
    cost = {"task_memory": 5e6, "longest_task_seconds": 1.0, "bytes_spilled": 0}
    small = {"results": 10**6, "bytes_read": 60e6, "bytes_shuffled": 20e6, "executor_cpu_seconds": 15.0, **cost}
    large = {"results": 10**7, "bytes_read": 510e6, "bytes_shuffled": 110e6, "executor_cpu_seconds": 105.0, **cost}
    lines = tables.expected({"1,000,000": small, "10,000,000": large})
    # 10 million of 510 MB and 990 million more at 50 bytes each, 10 bytes shuffled and 10 microseconds.
    assert "| 1,000,000,000 results, with ranks | 50 | 10 | 2.8 |" in lines
