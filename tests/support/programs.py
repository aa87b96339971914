"""Programs of the embedded engine in processes of their own, forked from one that has imported what they need.

Importing it takes a second, and an evaluation of three rows a tenth of that. A test of how the program starts starts
it, by its name.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PROCESSES = multiprocessing.get_context("forkserver")
#: Nothing else runs in the process that others are forked from.
PROCESSES.set_forkserver_preload(
    [
        "ndcg_spark.__main__",
        "ndcg_spark.job.check_inputs",
        "ndcg_spark.job.evaluate_inputs",
        "ndcg_spark.nights.reader",
        "pandas",
        "pyarrow.dataset",
        "pyarrow.orc",
        "pyarrow.parquet",
        "pysail.spark",
        "pyspark.sql.connect.session",
        # What an export to Iceberg imports, but its catalog, which reads the environment.
        "pyiceberg.table",
        "sqlalchemy.orm",
    ]
)


def forked(
    function: Callable[..., object], *arguments: object, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What a function prints and its exit code, in a process with this folder and this environment besides ours."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # By their paths, as a process that is forked elsewhere has none of our files open.
        streams = [f"/proc/{os.getpid()}/fd/{stream.fileno()}" for stream in (out, err)]
        process = PROCESSES.Process(
            target=_within,
            args=(streams, str(cwd), {**os.environ, **environment}, function, arguments),
        )
        process.start()
        process.join()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess([function.__name__, *arguments], process.exitcode, *texts)


def command_line(
    *arguments: object, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The program as `python -m ndcg_spark` with these arguments, but for its start."""
    return forked(_command_line, *map(str, arguments), cwd=cwd, **environment)


def _command_line(*arguments: str) -> None:
    from ndcg_spark.__main__ import main

    main([*arguments])


def _within(
    streams: list[str],
    cwd: str,
    environment: dict[str, str],
    function: Callable[..., object],
    arguments: list[object],
) -> None:
    for number, path in enumerate(streams, 1):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    # As of a program that is started: text is written out when it ends, messages at once.
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stderr.reconfigure(encoding="utf-8", line_buffering=True)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    function(*arguments)
