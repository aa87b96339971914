"""What Spark's event log tells of an evaluation: its jobs, what it scanned, moved and spilled. No clock is involved.

The log must be one file of plain text: spark.eventLog.rolling.enabled and spark.eventLog.compress are false.
"""

import collections
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

#: An event, or an operator of a plan with those below it, as the log has them.
Event = Mapping[str, Any]
#: The value of every metric of every operator, by its id.
Values = Mapping[int, int]

_PROCESSOR = ("Executor CPU Time", "Executor Deserialize CPU Time")
_SQL = "org.apache.spark.sql.execution.ui."


def read(path: Path, tables: Mapping[str, int], start: float = 0.0, end: float = math.inf) -> dict[str, float]:
    """What was done of that which began between two times in seconds since 1970.

    There are totals of jobs, stages, exchanges (shuffles), bytes_read, bytes_shuffled, bytes_spilled and
    executor_cpu_seconds; of tasks the longest_task_seconds, and in task_memory the most execution memory that one held.

    A table is told from the others by the size of all its files. For each of `tables`, scans_of_ says how often it was
    scanned, and exchanges_of_ how many shuffles moved its rows, and not only what an aggregate made of them.
    """

    def is_within(milliseconds: float) -> bool:
        return start <= milliseconds / 1000 <= end

    events: dict[str, list[Event]] = collections.defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        events[event["Event"].removeprefix(_SQL).removeprefix("SparkListener")].append(event)
    tasks = [event for event in events["TaskEnd"] if is_within(event["Task Info"]["Launch Time"])]
    plans = {of["executionId"]: of["sparkPlanInfo"] for of in events["SQLExecutionStart"] if is_within(of["time"])}
    updates = events["SQLAdaptiveExecutionUpdate"]
    # The last of them is the plan that was run to its end.
    plans |= {of["executionId"]: of["sparkPlanInfo"] for of in updates if of["executionId"] in plans}
    values = _values([of for of in events["DriverAccumUpdates"] if of["executionId"] in plans], tasks)
    # Every operator that did work, once, even if several plans name it: its metrics tell it from the others.
    nodes = {frozenset(_metrics(node).values()): node for plan in plans.values() for node in _walk(plan)}
    operators = [node for ids, node in nodes.items() if ids & values.keys()]
    exchanges = [node for node in operators if node["nodeName"] == "Exchange"]
    return {
        "jobs": sum(is_within(event["Submission Time"]) for event in events["JobStart"]),
        "stages": sum(is_within(event["Stage Info"]["Submission Time"]) for event in events["StageCompleted"]),
        "exchanges": len(exchanges),
        **{f"scans_of_{name}": sum(_scans(of, size, values) for of in operators) for name, size in tables.items()},
        **{f"exchanges_of_{name}": sum(_moves(of, size, values) for of in exchanges) for name, size in tables.items()},
        **_totals([event["Task Metrics"] for event in tasks if event.get("Task Metrics")]),
    }


def _totals(tasks: Sequence[Event]) -> dict[str, float]:
    return {
        "bytes_read": sum(of["Input Metrics"]["Bytes Read"] for of in tasks),
        "bytes_shuffled": sum(of["Shuffle Write Metrics"]["Shuffle Bytes Written"] for of in tasks),
        "bytes_spilled": sum(of["Disk Bytes Spilled"] for of in tasks),
        "executor_cpu_seconds": sum(of[name] for of in tasks for name in _PROCESSOR) / 1e9,
        "longest_task_seconds": max(of["Executor Run Time"] for of in tasks) / 1000,
        "task_memory": max(of["Peak Execution Memory"] for of in tasks),
    }


def _values(by_driver: Sequence[Event], tasks: Sequence[Event]) -> Values:
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


def _scans(node: Event, size: int, values: Values) -> bool:
    # Not by their path: the evaluation may have linked the files into a folder of its own.
    return node["nodeName"].startswith("Scan ") and values.get(_metrics(node).get("size of files read", -1)) == size


def _moves(node: Event, size: int, values: Values) -> bool:
    return any(
        _scans(below, size, values) or ("Aggregate" not in below["nodeName"] and _moves(below, size, values))
        for below in node["children"]
    )
