"""What Spark's event log tells of an evaluation: its jobs, what it scanned, moved and spilled. No clock is involved.

The log must be one file of plain text: spark.eventLog.rolling.enabled and spark.eventLog.compress are false.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]

_SQL = "org.apache.spark.sql.execution.ui."
#: The metric of a scan that has the size of all its files.
_SIZE = "size of files read"


@dataclasses.dataclass(frozen=True)
class Node:
    """An operator of a plan: its name, the ids of its metrics by their names, and the operators below it."""

    name: str
    metrics: Mapping[str, int]
    below: tuple["Node", ...]

    @property
    def key(self) -> frozenset[int]:
        """What tells it from every other operator of the application."""
        return frozenset(self.metrics.values())

    def walk(self) -> Iterator["Node"]:
        """The operator and all below it."""
        yield self
        for node in self.below:
            yield from node.walk()


@dataclasses.dataclass
class Log:
    """The totals of a stretch of time in an event log, and the operators that did work in it."""

    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    bytes_read: int = 0
    bytes_shuffled: int = 0
    rows_shuffled: int = 0
    bytes_spilled: int = 0
    executor_cpu_seconds: float = 0.0
    longest_task_seconds: float = 0.0
    #: The most execution memory that one task held.
    task_memory: int = 0
    plans: list[Node] = dataclasses.field(default_factory=list)
    #: The value of every metric of every operator, by its id.
    values: dict[int, int] = dataclasses.field(default_factory=dict)

    def operators(self) -> list[Node]:
        """Every operator that did work, once, even if several plans name it."""
        found: dict[frozenset[int], Node] = {}
        for plan in self.plans:
            for node in plan.walk():
                if node.key & self.values.keys():
                    found.setdefault(node.key, node)
        return list(found.values())

    def scans_of(self, size: int) -> int:
        """How often files of this size in all, which tells a table from the others, were scanned."""
        return sum(self._scans(node, size) for node in self.operators())

    def exchanges(self) -> int:
        """How many shuffles there were."""
        return sum(node.name == "Exchange" for node in self.operators())

    def exchanges_of(self, size: int) -> int:
        """How many shuffles moved rows of the files of this size, and not only what an aggregate made of them."""
        return sum(node.name == "Exchange" and self._carries(node, size) for node in self.operators())

    def _scans(self, node: Node, size: int) -> bool:
        # Not by their path: the evaluation may have linked the files into a folder of its own.
        return node.name.startswith("Scan ") and self.values.get(node.metrics.get(_SIZE, -1)) == size

    def _carries(self, node: Node, size: int) -> bool:
        return any(
            self._scans(below, size) or ("Aggregate" not in below.name and self._carries(below, size))
            for below in node.below
        )


def read(path: Path, start: float = 0.0, end: float = float("inf")) -> Log:
    """What began between two times in seconds since 1970."""
    log, plans = Log(), {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            kind = event["Event"].removeprefix(_SQL)
            if kind == "SparkListenerSQLExecutionStart" and start <= event["time"] / 1000 <= end:
                plans[event["executionId"]] = event["sparkPlanInfo"]
            elif kind == "SparkListenerSQLAdaptiveExecutionUpdate" and event["executionId"] in plans:
                # The last of them is the plan that was run to its end.
                plans[event["executionId"]] = event["sparkPlanInfo"]
            elif kind == "SparkListenerDriverAccumUpdates" and event["executionId"] in plans:
                log.values.update(event["accumUpdates"])
            elif kind == "SparkListenerJobStart":
                log.jobs += start <= event["Submission Time"] / 1000 <= end
            elif kind == "SparkListenerStageCompleted":
                log.stages += start <= event["Stage Info"]["Submission Time"] / 1000 <= end
            elif kind == "SparkListenerTaskEnd" and start <= event["Task Info"]["Launch Time"] / 1000 <= end:
                _add_task(log, event)
    log.plans = [_node(plan) for plan in plans.values()]
    return log


def _add_task(log: Log, event: Event) -> None:
    log.tasks += 1
    used = event.get("Task Metrics") or {}
    if used:
        written = used["Shuffle Write Metrics"]
        log.bytes_read += used["Input Metrics"]["Bytes Read"]
        log.bytes_shuffled += written["Shuffle Bytes Written"]
        log.rows_shuffled += written["Shuffle Records Written"]
        log.bytes_spilled += used["Disk Bytes Spilled"]
        log.executor_cpu_seconds += (used["Executor CPU Time"] + used["Executor Deserialize CPU Time"]) / 1e9
        log.longest_task_seconds = max(log.longest_task_seconds, used["Executor Run Time"] / 1000)
        log.task_memory = max(log.task_memory, used["Peak Execution Memory"])
    for change in event["Task Info"]["Accumulables"]:
        if change.get("Metadata") == "sql" and str(change.get("Update", "")).lstrip("-").isdigit():
            log.values[change["ID"]] = log.values.get(change["ID"], 0) + int(change["Update"])


def _node(plan: Mapping[str, Any]) -> Node:
    metrics = {metric["name"]: metric["accumulatorId"] for metric in plan["metrics"]}
    return Node(plan["nodeName"], metrics, tuple(map(_node, plan["children"])))
