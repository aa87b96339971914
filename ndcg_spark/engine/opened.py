"""An engine that is open: its session, and what the rest of the program must know of it."""

import contextlib
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pyspark.sql import SparkSession

from ndcg_spark.errors import EngineError, first_line
from ndcg_spark.masking import masked

#: How paths, formats and plans must be written: as Sail takes them, as classic Spark does, or as a Connect server does.
Kind = Literal["embedded", "spark", "connect"]

#: Of the machine's memory, what an engine may use before it spills; Python and the rest have the remainder.
MEMORY_SHARE = 0.6

#: Whether every Column notes the line that made it: a quarter of a small evaluation's time. A server's cannot be set.
CALL_SITES = "spark.python.sql.dataFrameDebugging.enabled"

BOTH_WAYS = (
    "install the embedded engine with: pip install 'ndcg-spark[embedded]', or Java 17 for local Spark "
    "(Debian: apt-get install openjdk-17-jre-headless)"
)


@dataclasses.dataclass(frozen=True)
class Engine:
    """A session and what must be known of it."""

    session: SparkSession
    kind: Kind
    #: Its name and version, as printed and recorded: 'embedded (pysail 0.7.2)'. Without secrets.
    name: str
    #: Whether the files it reads are those this process sees.
    sees_local_files: bool
    #: Ends what was started for it, a port that listens included; a second call does nothing.
    close: Callable[[], None] = lambda: None
    #: Stops its work at once, without waiting for anything, when a signal ends the process.
    abort: Callable[[], object] = lambda: None


def created(builder: SparkSession.Builder, what: str) -> SparkSession:
    """The builder's session; EngineError if it does not start."""
    try:
        return builder.getOrCreate()
    except Exception as error:  # whatever a JVM or a gRPC channel says while it starts
        raise EngineError(
            f"engine: {masked(what)} does not start, {masked(first_line(error))}; check its address, Java and logs"
        ) from error


def keep_partition_names(session: SparkSession) -> None:
    """A folder run=007 is the run 007, not the number 7."""
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")


def machine_memory() -> int:
    """Bytes of memory this process may use: the machine's, or its control group's limit where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(limit).read_text(encoding="ascii")))
    return total


def quietly(stop: Callable[[], object]) -> Callable[[], None]:
    """The same without a word: the evaluation has ended, well or with its own error."""

    def stopped() -> None:
        with contextlib.suppress(Exception):
            stop()

    return stopped
