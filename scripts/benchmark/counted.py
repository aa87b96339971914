"""Evaluations whose cost is counted rather than timed, in one process.

python -m scripts.benchmark.counted ENGINE CASES SPARK

CASES is JSON: the settings of every evaluation by its name, as `ndcg_spark.config` takes them, without the output; and
SPARK, settings of classic Spark.

Prints what each one cost, as JSON. On classic Spark the figures come from the event log. On the embedded engine
`plans` are the requests to execute one, and `bytes_read` is what the process has read from files.
"""

import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc

from ndcg_spark.config import validate
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.job.evaluate import evaluate_on
from ndcg_spark.job.progress import Clock
from scripts.benchmark import event_log

Cost = dict[str, float]
Cases = Mapping[str, Mapping[str, Any]]

_LOGGED = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    # Bytes that Parquet reads in threads of its own are not counted.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
}


def main(engine: str, cases: str, settings: str) -> None:
    """Count the cases and print."""
    with tempfile.TemporaryDirectory() as scratch:
        given = (json.loads(cases), Path(scratch))
        found = _on_classic(*given, json.loads(settings)) if engine == "spark" else _on_embedded(*given)
    sys.stdout.write(json.dumps({"cost": found}) + "\n")


def _on_classic(cases: Cases, scratch: Path, settings: Mapping[str, str]) -> dict[str, Cost]:
    logs = scratch / "log"
    logs.mkdir()
    logged = {**_LOGGED, "spark.eventLog.dir": logs.as_uri(), **settings}
    arguments = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in logged.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{arguments} pyspark-shell"
    spans, found = {}, {}
    with open_engine("spark") as engine:
        for name, case in cases.items():
            start = time.time()
            found[name] = _evaluated(engine, name, case, scratch)
            spans[name] = (start, time.time())
    (log,) = logs.iterdir()
    for name, case in cases.items():
        found[name] |= event_log.read(log, _sizes(case), *spans[name])
    return found


def _evaluated(engine: Engine, name: str, case: Mapping[str, Any], scratch: Path) -> Cost:
    """Evaluate as the job does; the results that it read, and the bytes of all its files."""
    config = validate({**case, "output": str(scratch / "output" / name)}, name)
    results = evaluate_on(engine, config, lambda *_: None, Clock()).counts["results"]
    return {"results": results, "millions": results / 1e6, "input_bytes": sum(_sizes(case).values())}


def _sizes(case: Mapping[str, Any]) -> dict[str, int]:
    """The bytes of each table: of all files below its folder, or of its file."""
    sizes = {}
    for table in ("results", "judgments"):
        path = Path(case[table]["path"])
        files = filter(Path.is_file, path.rglob("*")) if path.is_dir() else [path]
        sizes[table] = sum(file.stat().st_size for file in files)
    return sizes


def _on_embedded(cases: Cases, scratch: Path) -> dict[str, Cost]:
    found: dict[str, Cost] = {}
    requests, opened = _Requests(), grpc.insecure_channel
    grpc.insecure_channel = lambda *given, **named: grpc.intercept_channel(opened(*given, **named), requests)
    with open_engine("embedded") as engine:
        for name, case in cases.items():
            requests.names.clear()
            read, written = _moved()
            found[name] = _evaluated(engine, name, case, scratch)
            after = _moved()
            found[name] |= {
                "plans": requests.names.count("ExecutePlan"),
                "analyses": requests.names.count("AnalyzePlan"),
                "bytes_read": after[0] - read,
                "bytes_written": after[1] - written,
            }
    return found


def _moved() -> tuple[int, int]:
    """The bytes that this process has read and written, by calls for files; sockets have calls of their own."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    counts = {name: int(value) for name, value in (line.split(": ") for line in lines)}
    return counts["rchar"], counts["wchar"]


class _Requests(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
    """Keeps the names of the requests."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def _note(self, proceed: Any, details: Any, request: Any) -> Any:
        self.names.append(str(details.method).rpartition("/")[2])
        return proceed(details, request)

    intercept_unary_unary = intercept_unary_stream = _note


if __name__ == "__main__":
    main(*sys.argv[1:])
