"""Evaluations whose cost is counted rather than timed, in one process.

python -m scripts.benchmark.counted ENGINE CASES [SPARK]

CASES is JSON: the settings of every evaluation by its name, as `ndcg_spark.config` takes them, without the output.
SPARK is JSON too: settings of classic Spark.

Prints what each one cost, as JSON. On classic Spark the figures come from the event log. On the embedded engine
`plans` are the requests to execute one, and `bytes_read` is what the process has read from files.
"""

import contextlib
import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc

from ndcg_spark.config import validate
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.job.clock import Clock
from ndcg_spark.job.evaluating import run_on
from scripts.benchmark import event_log

Cost = dict[str, float]
Cases = Mapping[str, Mapping[str, Any]]


def costs(engine: str, cases: Cases, settings: Mapping[str, str]) -> dict[str, Cost]:
    """What each case costs on this engine; `settings` are those of classic Spark."""
    with tempfile.TemporaryDirectory() as scratch:
        if engine == "spark":
            return _on_classic(cases, Path(scratch), settings)
        return _on_embedded(cases, Path(scratch))


def _on_classic(cases: Cases, scratch: Path, settings: Mapping[str, str]) -> dict[str, Cost]:
    logs = scratch / "log"
    logs.mkdir()
    spans, found = {}, {}
    with _submitted_with({**_logged_to(logs), **settings}), open_engine("spark") as engine:
        for name, case in cases.items():
            start = time.time()
            found[name] = _evaluated(engine, name, case, scratch)
            spans[name] = (start, time.time())
    (log,) = logs.iterdir()
    for name, case in cases.items():
        read = event_log.read(log, *spans[name])
        results, judgments = (size_of(case[table]["path"]) for table in ("results", "judgments"))
        found[name] |= {
            "jobs": read.jobs,
            "stages": read.stages,
            "tasks": read.tasks,
            "scans_of_results": read.scans_of(results),
            "scans_of_judgments": read.scans_of(judgments),
            "exchanges": read.exchanges(),
            "exchanges_of_results": read.exchanges_of(results),
            "bytes_read": read.bytes_read,
            "rows_shuffled": read.rows_shuffled,
            "bytes_shuffled": read.bytes_shuffled,
            "bytes_spilled": read.bytes_spilled,
            "executor_cpu_seconds": read.executor_cpu_seconds,
            "longest_task_seconds": read.longest_task_seconds,
            "task_memory": read.task_memory,
        }
    return found


def _evaluated(engine: Engine, name: str, case: Mapping[str, Any], scratch: Path) -> Cost:
    """Evaluate as the job does; the results that it read, the bytes of all its files, and its seconds."""
    config = validate({**case, "output": str(scratch / "output" / name)}, name)
    start = time.perf_counter()
    outcome = run_on(engine, config, lambda *_: None, Clock())
    return {
        "results": outcome.counts["results"],
        "input_bytes": sum(size_of(case[table]["path"]) for table in ("results", "judgments")),
        "seconds": time.perf_counter() - start,
    }


def size_of(paths: Sequence[str]) -> int:
    """The bytes of all files in these folders, and of these files."""
    files = (file for path in map(Path, paths) for file in (path.iterdir() if path.is_dir() else [path]))
    return sum(file.stat().st_size for file in files)


def _logged_to(folder: Path) -> dict[str, str]:
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        # Bytes that Parquet reads in threads of its own are not counted.
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    }


@contextlib.contextmanager
def _submitted_with(settings: Mapping[str, str]) -> Iterator[None]:
    """Spark started in this block has these settings, unless the program that starts it has others."""
    arguments = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{arguments} pyspark-shell"
    try:
        yield
    finally:
        os.environ.pop("PYSPARK_SUBMIT_ARGS")
        if before is not None:
            os.environ["PYSPARK_SUBMIT_ARGS"] = before


def _on_embedded(cases: Cases, scratch: Path) -> dict[str, Cost]:
    found = {}
    with _counted_requests() as requests, open_engine("embedded") as engine:
        for name, case in cases.items():
            before, read, written = len(requests), *_moved()
            found[name] = _evaluated(engine, name, case, scratch)
            after, asked = _moved(), requests[before:]
            found[name] |= {
                "plans": asked.count("ExecutePlan"),
                "analyses": asked.count("AnalyzePlan"),
                "bytes_read": after[0] - read,
                "bytes_written": after[1] - written,
            }
    return found


def _moved() -> tuple[int, int]:
    """The bytes that this process has read and written, by calls for files; sockets have calls of their own."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    counts = {name: int(value) for name, value in (line.split(": ") for line in lines)}
    return counts["rchar"], counts["wchar"]


@contextlib.contextmanager
def _counted_requests() -> Iterator[list[str]]:
    """The names of the requests that channels opened in this block have sent."""
    counter, opened = _Counter(), grpc.insecure_channel

    def counted(*given: Any, **named: Any) -> Any:
        return grpc.intercept_channel(opened(*given, **named), counter)

    grpc.insecure_channel = counted
    try:
        yield counter.names
    finally:
        grpc.insecure_channel = opened


class _Counter(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
    def __init__(self) -> None:
        self.names: list[str] = []

    def _note(self, proceed: Any, details: Any, request: Any) -> Any:
        self.names.append(str(details.method).rpartition("/")[2])
        return proceed(details, request)

    intercept_unary_unary = _note
    intercept_unary_stream = _note


def main(arguments: Sequence[str]) -> None:
    """Count the cases and print."""
    engine, cases, *settings = arguments
    found = costs(engine, json.loads(cases), json.loads(settings[0]) if settings else {})
    sys.stdout.write(json.dumps({"cost": found}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
