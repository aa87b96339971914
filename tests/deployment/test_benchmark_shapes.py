import gzip
import json
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

# The scripts are not installed with the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmark import __main__ as benchmark
from scripts.benchmark import data, event_log, giant, tables, trec_text
from scripts.benchmark.scenarios import SCENARIOS
from scripts.benchmark.setting import Setting

#: The programs of each scenario that are enough to see that it runs: ours, and a peer where there is one.
PROGRAMS = {
    "text": ["zcat", "embedded, pytrec_eval", "pytrec_eval_text"],
    "deep": ["lists of 10,000"],
    "short": ["embedded"],
    "many-runs": ["embedded", "duckdb"],
    "grades": ["embedded", "duckdb"],
    "broken-ranks": ["all ranks in order", "1 % broken"],
    "skew": ["one run of 99 %", "one query of 10 M"],
    "cost": ["embedded"],
}


#: Of those that differ in their data alone, one.
VARIED = {"text", "broken-ranks", "cost"}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", PROGRAMS)
def test_a_scenario_runs_at_a_small_scale(scenario, tmp_path, capsys, thorough):
    if not thorough and scenario not in VARIED:
        pytest.skip("differs from another one in its data alone; with --thorough")
    only = ["--only", *PROGRAMS[scenario], "--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "out")]
    code = benchmark.main(["--scenario", scenario, "--scale", "0.001", "--rounds", "1", *only])
    assert code == 0, capsys.readouterr().err
    page = (tmp_path / "out" / "benchmark.md").read_text(encoding="utf-8")
    assert f"| {PROGRAMS[scenario][-1]} |" in page or "not installed" in page


#: What a program that measures inside itself gives figures of.
INSIDE = {"evaluation", "evaluation, no ranks", "mllib", "sort"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_programs_have_names_of_their_own_and_targets_name_them(name, tmp_path):
    scenario = SCENARIOS[name](Setting(data.Size(queries=100), "10", tmp_path, 1, 0.001))
    programs = [program.name for program in scenario.programs]
    counted = [program for program in scenario.programs if "scripts.benchmark.counted" in program.command]
    cases = {case for program in counted for case in json.loads(program.command[4])}
    assert len(set(programs)) == len(programs)
    assert not cases & {*programs}
    known = {*programs, *cases, *INSIDE, *scenario.skipped}
    absent = {target.what for target in scenario.targets if not {target.of, target.against or target.of} <= known}
    assert not absent or scenario.skipped
    assert {program.like for program in scenario.programs} <= {*programs, None}


def test_programs_that_take_minutes_are_left_out_where_time_is_short(tmp_path, capsys):
    only = ["--only", "classic", "--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "out")]
    benchmark.main(["--scenario", "skew", "--scale", "0.001", "--minutes", "1", *only])
    assert "Left out: classic, takes minutes; run without --minutes." in capsys.readouterr().out


def test_ranks_are_broken_in_one_list_of_a_hundred_and_the_scores_stay(tmp_path):
    good = data.make(data.Size(queries=200, results=12, judgments=6), tmp_path)
    broken = data.make(data.Size(queries=200, results=12, judgments=6, broken=1), tmp_path)
    before, after = pq.read_table(good.results), pq.read_table(broken.results)
    assert before.drop_columns("rank").equals(after.drop_columns("rank"))
    changed = pc.not_equal(before["rank"], after["rank"])
    assert pc.sum(changed).as_py() == 2 * 12
    assert set(pc.add(before["rank"], after["rank"]).filter(changed).to_pylist()) == {13}


def test_wide_grades_go_from_zero_to_the_best(tmp_path):
    made = data.make(data.Size(queries=200, judgments=20, best=100), tmp_path)
    grades = pq.read_table(made.judgments)["relevance"].to_pylist()
    assert min(grades) == 0
    assert max(grades) == 100
    assert len(set(grades)) == 101


def test_thin_runs_answer_few_queries(tmp_path):
    made = data.make(data.Size(queries=600, results=10, runs=2, thin=300), tmp_path)
    rows = pq.read_table(made.results)["run"].value_counts().to_pylist()
    assert {row["values"]: row["counts"] for row in rows} == {"run-00": 594 * 10, "run-01": 2 * 10}


def test_a_giant_list_has_every_document_and_every_rank_once(tmp_path):
    made = giant.make_giant(5_000, data.Size(queries=100, results=10, judgments=4), tmp_path)
    rows = pq.read_table(made.results).filter(pc.field("query_id") == giant.QUERY)
    assert sorted(rows["rank"].to_pylist()) == list(range(1, 5_001))
    assert len(set(rows["doc_id"].to_pylist())) == 5_000
    judged = pq.read_table(made.judgments).filter(pc.field("query_id") == giant.QUERY)
    assert judged.num_rows == giant.JUDGED
    assert set(judged["doc_id"].to_pylist()) < set(rows["doc_id"].to_pylist())


def test_text_has_the_same_bytes_for_the_same_seed_and_the_traps_that_it_names(tmp_path):
    size = trec_text.TextSize(runs=20, queries=6, results=50)
    made, again = (trec_text.make_text(size, tmp_path / name) for name in ("a", "b"))
    runs = {path.stem: path.read_bytes() for path in sorted(made.results.iterdir())}
    assert runs == {path.stem: path.read_bytes() for path in sorted(again.results.iterdir())}
    lines = {name: gzip.decompress(text).decode().splitlines() for name, text in runs.items()}
    assert all(len(line.split()) == 6 for of in lines.values() for line in of)
    assert {name for name, of in lines.items() if "\t" in of[0]} == {f"run-{odd:03d}" for odd in range(1, 20, 2)}
    assert {name for name, of in lines.items() if of[0].split()[3] == "0"} == {"run-007", "run-017"}
    scores = [line.split()[4] for line in lines["run-003"]]
    assert len(set(scores)) < len(scores)
    ranks = {name: [line.split()[3] for line in of if line.split()[0] == "4"][:2] for name, of in lines.items()}
    assert {name for name, first in ranks.items() if first in (["2", "1"], ["1", "0"])} == {"run-016"}


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
    log = event_log.read(path, 0.5, 5.0)
    assert (log.jobs, log.stages, log.tasks) == (1, 1, 1)
    assert (log.scans_of(900), log.scans_of(40), log.scans_of(7)) == (1, 1, 0)
    # The third exchange did not run.
    assert (log.exchanges(), log.exchanges_of(900), log.exchanges_of(40)) == (2, 0, 1)
    assert (log.bytes_read, log.bytes_shuffled, log.rows_shuffled, log.bytes_spilled) == (100, 70, 7, 5)
    assert (log.executor_cpu_seconds, log.longest_task_seconds, log.task_memory) == (2.0, 2.5, 64)


def test_the_plan_that_was_run_to_its_end_counts(tmp_path):
    update = "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate"
    final = {"Event": update, "executionId": 0, "sparkPlanInfo": over("Exchange", 12, scan(1, 2))}
    first = over("Exchange", 12, over("Exchange", 14, scan(1, 2)))
    log = event_log.read(logged(tmp_path / "log", first, final, task(1_200, m2=1, m12=1, m14=1)))
    assert log.exchanges() == 1


def test_a_night_is_expected_to_cost_what_the_growth_between_two_sizes_says():
    cost = {"task_memory": 5e6, "longest_task_seconds": 1.0, "bytes_spilled": 0}
    small = {"results": 10**6, "bytes_read": 60e6, "bytes_shuffled": 20e6, "executor_cpu_seconds": 15.0, **cost}
    large = {"results": 10**7, "bytes_read": 510e6, "bytes_shuffled": 110e6, "executor_cpu_seconds": 105.0, **cost}
    lines = tables.sizing({"1,000,000": small, "10,000,000": large})
    # 10 million of 510 MB and 990 million more at 50 bytes each, 10 bytes shuffled and 10 microseconds.
    assert "| 1,000,000,000 results, with ranks | 50 | 10 | 2.8 |" in lines
