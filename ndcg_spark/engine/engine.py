"""An open engine: its session, and what the rest of the program must know about it."""

import contextlib
import dataclasses
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Literal

from pyspark.sql import SparkSession

from ndcg_spark.engine.errors import failures, reason_of
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.errors import EngineError, first_line
from ndcg_spark.text import masked

#: Whose way of writing paths, formats and plans is needed: Sail's, classic Spark's, or that of a Spark Connect server.
Kind = Literal["embedded", "spark", "connect"]

#: The share of the machine's memory that an engine may use before it spills; the rest is for Python and others.
MEMORY_SHARE = 0.6

CONTROL_GROUPS = Path("/sys/fs/cgroup")

#: Whether every Column records the line of code that made it, which takes a quarter of a small evaluation's time.
#: A server refuses to change it.
CALL_SITES = "spark.python.sql.dataFrameDebugging.enabled"


@dataclasses.dataclass(frozen=True)
class Engine:
    """A session, and what the rest of the program must know about it."""

    session: SparkSession
    kind: Kind
    #: Its name and version as they are printed and recorded, without secrets: 'embedded (pysail 0.7.2)'.
    name: str
    #: Whether it reads the files that this process sees.
    sees_local_files: bool
    #: What it puts before a path without a scheme, such as hdfs://host:port; empty for the files of a machine.
    default_storage: str = ""
    #: Stops everything that was started for it; a second call does nothing.
    close: Callable[[], None] = lambda: None
    #: Temporary folders that it reads from.
    scratch: Scratch = dataclasses.field(default_factory=Scratch, compare=False, repr=False)

    @property
    def reads_lakehouses(self) -> bool:
        """Whether it may have readers of Delta and Iceberg that know versions."""
        return self.kind != "embedded"

    def addressed(self, path: str) -> str:
        """The path with the engine's default storage, if it names none."""
        return f"{self.default_storage}{path}" if self.default_storage and path.startswith("/") else path


def start_session(builder: SparkSession.Builder, what: str) -> SparkSession:
    """The builder's session; EngineError if it does not start."""
    try:
        return builder.getOrCreate()
    except Exception as error:  # a JVM and a gRPC channel raise many kinds while they start
        raise EngineError(
            f"engine: {masked(what)} does not start, {masked(first_line(error))}; check its address, Java and logs"
        ) from error


def keep_partition_names(session: SparkSession) -> None:
    """Read the folder run=007 as the run 007, not as the number 7; EngineError where that cannot be set."""
    name = "spark.sql.sources.partitionColumnTypeInference.enabled"
    try:
        session.conf.set(name, "false")
    except failures() as error:
        raise EngineError(
            f"engine: {name} cannot be set, {reason_of(error)}; serverless compute is not supported"
        ) from error


def join_in_place(session: SparkSession) -> None:
    """Join without a shuffle where all rows of a query are in one partition already, if the session lets us say so."""
    with contextlib.suppress(*failures()):
        session.conf.set("spark.sql.requireAllClusterKeysForCoPartition", "false")


def machine_memory() -> int:
    """The memory that this process may use, in bytes: the machine's, or the limit of its control group if lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int((CONTROL_GROUPS / limit).read_text(encoding="ascii")))
    return total


def usable_cores() -> int:
    """The processor cores that this process may use: its affinity, or the quota of its control groups if lower."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in _control_groups():
        for names in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
            # Without a limit, the quota is "max" or -1.
            with contextlib.suppress(OSError, ValueError):
                quota, period = map(int, " ".join((folder / name).read_text("ascii") for name in names).split())
                cores = min(cores, math.ceil(quota / period)) if quota > 0 else cores
    return cores


def _control_groups() -> Iterator[Path]:
    """The folders of the control groups that limit this process's time, of version 2 and of version 1.

    In a container, those of the machine may not be there, and its own group is the root.
    """
    groups = {PurePath("/")}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            if {"", "cpu"} & set(controllers.split(",")):
                groups |= {PurePath(group), *PurePath(group).parents}
    for place in (CONTROL_GROUPS, CONTROL_GROUPS / "cpu"):
        yield from (place / group.relative_to("/") for group in groups)


def suppressing(function: Callable[[], object]) -> Callable[[], None]:
    """The function without its exceptions, for the end, when an evaluation already has its result or its error."""

    def call() -> None:
        with contextlib.suppress(Exception):
            function()

    return call
