"""The cost of evaluations in jobs, plans, scans and bytes, counted in one process, without a clock.

python -m scripts.benchmark.cost ENGINE CASES SPARK prints what each of CASES cost, as JSON. These are the settings of
evaluations by name, as `ndcg_spark.config` takes them, without the output; SPARK are further settings of classic Spark.
On classic Spark the figures come from the event log. On the embedded engine `plans` are the requests to execute one,
`analyses` those about one, `settings` those that read or make settings, and `bytes_read` is what the process has read
from files.
"""

import collections
import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import grpc
import psutil

from ndcg_spark.config import validate
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.job.evaluate_inputs import evaluate

Cost = dict[str, float]
#: The settings of evaluations by name; an event of the log, or an operator of a plan with the operators below it.
Cases = Event = Mapping[str, Any]

_SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    # Bytes that Parquet reads in its own threads are not counted.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    # As small for this data as Spark's own 10 MB for a night of 10^9 results. Otherwise Spark would send the judgments
    # of small data to every task, which no cluster does with the judgments of a large night.
    "spark.sql.autoBroadcastJoinThreshold": "10k",
}


def _on_classic(cases: Cases, scratch: Path, settings: Mapping[str, str]) -> dict[str, Cost]:
    logs = scratch / "log"
    logs.mkdir()
    logged = {**_SETTINGS, "spark.eventLog.dir": logs.as_uri(), **settings}
    arguments = " ".join(
        f"--conf {shlex.quote(f'{name}={value}')}" for name, value in logged.items()
    )
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{arguments} pyspark-shell"
    spans, costs = {}, {}
    with open_engine("spark") as engine:
        for name, case in cases.items():
            start = time.time()
            costs[name] = _evaluated(engine, name, case, scratch)
            spans[name] = (start, time.time())
    (log,) = logs.iterdir()
    return {
        name: costs[name] | read_event_log(log, _sizes(case), *spans[name])
        for name, case in cases.items()
    }


class _Requests(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    names: ClassVar[list[str]] = []

    def _note(self, proceed: Any, details: Any, request: Any) -> Any:
        self.names.append(str(details.method).rpartition("/")[2])
        return proceed(details, request)

    intercept_unary_unary = intercept_unary_stream = _note


def _on_embedded(cases: Cases, scratch: Path) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}
    opened, process = grpc.insecure_channel, psutil.Process()
    grpc.insecure_channel = lambda *given, **named: grpc.intercept_channel(
        opened(*given, **named), _Requests()
    )
    with open_engine("embedded") as engine:
        for name, case in cases.items():
            _Requests.names.clear()
            # With calls for files; sockets have other calls.
            read = process.io_counters().read_chars
            costs[name] = _evaluated(engine, name, case, scratch)
            costs[name]["bytes_read"] = process.io_counters().read_chars - read
            costs[name]["plans"] = _Requests.names.count("ExecutePlan")
            costs[name]["analyses"] = _Requests.names.count("AnalyzePlan")
            costs[name]["settings"] = _Requests.names.count("Config")
    return costs


def _evaluated(engine: Engine, name: str, case: Mapping[str, Any], scratch: Path) -> Cost:
    """Evaluate as the job does; return the results that it read, and the bytes of all its files."""
    config = validate({**case, "output": str(scratch / "output" / name)}, name)
    results = evaluate(config, engine=engine).counts["results"]
    return {"results": results, "input_bytes": sum(_sizes(case).values())}


def _sizes(case: Mapping[str, Any]) -> dict[str, int]:
    """The bytes of each table: the size of all files below its folder, or of its file."""
    sizes = {}
    for table in ("results", "judgments"):
        path = Path(case[table]["path"])
        sizes[table] = sum(
            file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file()
        )
    return sizes


def read_event_log(path: Path, tables: Mapping[str, int], start: float, end: float) -> Cost:
    """The work that began between two times in seconds since 1970.

    A table is identified by the size of all its files. For each of `tables`, scans_of_ says how often it was
    scanned, and exchanges_of_ how many shuffles moved its rows, and not only what an aggregate made of them.
    task_memory is the most execution memory that a task held.
    """
    events: dict[str, list[Event]] = collections.defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        events[event["Event"].rpartition(".")[2].removeprefix("SparkListener")].append(event)

    def is_within(milliseconds: float) -> bool:
        return start <= milliseconds / 1000 <= end

    ended = [event for event in events["TaskEnd"] if is_within(event["Task Info"]["Launch Time"])]
    # The last update of a plan is the plan that was run to its end.
    started = [event for event in events["SQLExecutionStart"] if is_within(event["time"])]
    known = {event["executionId"] for event in started}
    shown = [
        *started,
        *(event for event in events["SQLAdaptiveExecutionUpdate"] if event["executionId"] in known),
    ]
    plans = {event["executionId"]: event["sparkPlanInfo"] for event in shown}
    values = _values(
        [event for event in events["DriverAccumUpdates"] if event["executionId"] in plans], ended
    )
    # Every operator that did work, once, even if several plans name it: its metrics identify it.
    nodes = {
        frozenset(_metrics(node).values()): node for plan in plans.values() for node in _walk(plan)
    }
    operators = [node for ids, node in nodes.items() if ids & values.keys()]
    exchanges = [node for node in operators if node["nodeName"] == "Exchange"]
    tasks = [event["Task Metrics"] for event in ended]
    return {
        "jobs": sum(is_within(event["Submission Time"]) for event in events["JobStart"]),
        "exchanges": len(exchanges),
        **{
            f"scans_of_{name}": sum(_scans(node, size, values) for node in operators)
            for name, size in tables.items()
        },
        **{
            f"exchanges_of_{name}": sum(_moves(at, size, values) for at in exchanges)
            for name, size in tables.items()
        },
        "bytes_read": sum(task["Input Metrics"]["Bytes Read"] for task in tasks),
        "bytes_shuffled": sum(
            task["Shuffle Write Metrics"]["Shuffle Bytes Written"] for task in tasks
        ),
        "bytes_spilled": sum(task["Disk Bytes Spilled"] for task in tasks),
        "executor_cpu_seconds": sum(task["Executor CPU Time"] for task in tasks) / 1e9,
        "task_memory": max(task["Peak Execution Memory"] for task in tasks),
    }


def _values(by_driver: list[Event], tasks: list[Event]) -> Mapping[int, int]:
    values: dict[int, int] = collections.defaultdict(int)
    for event in by_driver:
        values.update(event["accumUpdates"])
    for change in (change for task in tasks for change in task["Task Info"]["Accumulables"]):
        if change.get("Metadata") == "sql" and str(change.get("Update", "")).lstrip("-").isdigit():
            values[change["ID"]] += int(change["Update"])
    return values


def _walk(node: Event) -> Iterator[Event]:
    yield node
    for below in node["children"]:
        yield from _walk(below)


def _metrics(node: Event) -> dict[str, int]:
    return {metric["name"]: metric["accumulatorId"] for metric in node["metrics"]}


def _scans(node: Event, size: int, values: Mapping[int, int]) -> bool:
    # Not by their path: the evaluation may have linked the files into its own folder.
    return (
        node["nodeName"].startswith("Scan ")
        and values.get(_metrics(node).get("size of files read", -1)) == size
    )


def _moves(node: Event, size: int, values: Mapping[int, int]) -> bool:
    return any(
        _scans(below, size, values)
        or ("Aggregate" not in below["nodeName"] and _moves(below, size, values))
        for below in node["children"]
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        engine, cases, settings = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
        costs = (
            _on_classic(cases, Path(scratch), settings)
            if engine == "spark"
            else _on_embedded(cases, Path(scratch))
        )
    sys.stdout.write(json.dumps({"cost": costs}) + "\n")
