"""Spark's own programs as processes beside a test: on loopback, and ended with it whatever becomes of it."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pyspark

SPARK_HOME = Path(pyspark.__file__).parent

#: Java options that shorten a test: much of a short Java process is the optimizing compiler and the collector.
QUICK_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: Spark's classes as Java keeps them in memory, by `class_archive.py`: a session starts in half of the processor time.
#: An archive of another Java or another Spark is ignored, in silence.
CLASSES = Path(os.environ.get("SPARK_CLASSES", "none"))
if CLASSES.exists():
    QUICK_OPTIONS += f" -XX:SharedArchiveFile={CLASSES} -Xlog:disable"

#: The same for what spark-submit starts, or a Python program, and for Spark's masters and workers.
QUICK_JAVA = {"SPARK_SUBMIT_OPTS": QUICK_OPTIONS}
_QUICK_DAEMONS = {"SPARK_DAEMON_JAVA_OPTS": QUICK_OPTIONS}

#: Settings of Spark with which a plan of a few rows is not compiled: half of the time of a Java machine that is new.
QUICK_PLANS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

#: The same for a Spark that a Python program starts.
QUICK_SPARK = {
    **QUICK_JAVA,
    "PYSPARK_SUBMIT_ARGS": " ".join(f"--conf {name}={value}" for name, value in QUICK_PLANS.items())
    + " pyspark-shell",
}

#: Ends its process group when its standard input does: also when the test that holds the other end is killed.
_WATCHED = '"$@" </dev/null & cat >/dev/null; kill -KILL -- -$$'

#: The same for a program that ends by itself: its exit code is the shell's.
WATCHED_JOB = (
    'exec 3<&0; "$@" </dev/null 3<&- & job=$!; '
    '{ cat <&3 >/dev/null; kill -KILL -- -$$; } & exec 3<&-; wait "$job"'
)


def environment(**more: object) -> dict[str, str]:
    """The environment of a machine that knows nothing of this project but where Spark is."""
    # Without the last two a script of ours would install the pinned Spark in place of the one that is tested.
    names = ("PATH", "HOME", "JAVA_HOME", "LANG", "TMPDIR", "SPARK_VERSION", "NDCG_SPARK_PYTHON")
    kept = {name: value for name, value in os.environ.items() if name in names}
    quick = {**QUICK_JAVA, **_QUICK_DAEMONS}
    return {
        **kept,
        **quick,
        "SPARK_LOCAL_IP": "127.0.0.1",
        **{name: str(value) for name, value in more.items()},
    }


@contextlib.contextmanager
def running(
    command: list[object], log: Path, environ: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """The program in a process group of its own, which is killed at the end; what it says goes to the log."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["bash", "-c", _WATCHED, "watched", *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=environ,
            cwd=log.parent,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to all of its process group: a machine that loses its power."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def says(log: Path, text: str) -> bool:
    return log.exists() and text in log.read_text(errors="replace")


def wait_until(condition: Callable[[], object], what: str, log: Path, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, (
            f"{what} took more than {seconds} s: {log.read_text(errors='replace')[-3000:]}"
        )
        time.sleep(0.1)


def score_tables(output: Path) -> dict[str, pd.DataFrame]:
    tables = {}
    for name in ("query_scores", "dataset_scores"):
        table = (
            pq.read_table(output / name).to_pandas().drop(columns="evaluation_id", errors="ignore")
        )
        keys = ["run", *(["query_id"] if name == "query_scores" else []), "cutoff"]
        tables[name] = table.sort_values(keys, ignore_index=True)
    return tables


def assert_same_scores(scores: dict[str, pd.DataFrame], expected: dict[str, pd.DataFrame]) -> None:
    for name, table in expected.items():
        assert len(table) > 0
        pd.testing.assert_frame_equal(
            scores[name][table.columns],
            table,
            check_exact=False,
            rtol=0,
            atol=1e-12,
            check_categorical=False,
        )
