"""Classic Spark: a Java machine of our own on this machine, or the session that spark-submit brings."""

import dataclasses
import os
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import psutil
from pyspark.sql import SparkSession
from pyspark.util import is_remote_only

from ndcg_spark import interrupts
from ndcg_spark.engine import archive
from ndcg_spark.engine.opened import (
    BOTH_WAYS,
    CALL_SITES,
    MEMORY_SHARE,
    Engine,
    created,
    join_in_place,
    keep_partition_names,
    machine_memory,
    quietly,
)
from ndcg_spark.errors import EngineError

#: Spark's generated methods are long, and Java leaves long ones uncompiled: a quarter of an evaluation's time.
_LONG_METHODS = "-XX:-DontCompileHugeMethods"
#: Seconds that a Java machine has to end by itself and remove its temporary files, when a signal ends the process.
_SECONDS_TO_END = 0.4


def local() -> Engine:
    """Local Spark on every core of this machine; EngineError without Java."""
    if is_remote_only():
        raise EngineError(
            "engine: pyspark-client has no local Spark; pip install pyspark in its place, or use --engine embedded"
        )
    if not (shutil.which("java") or Path(os.environ.get("JAVA_HOME", "")).joinpath("bin/java").is_file()):
        raise EngineError(f"engine: there is no Java for local Spark; {BOTH_WAYS}")
    if is_remote_only():
        raise EngineError(
            "engine: pyspark-client has no local Spark; pip install pyspark in its place, or use embedded"
        )
    # Without it, Spark's workers run whichever `python3` is first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = os.cpu_count() or 1
    memory = max(1, int(machine_memory() * MEMORY_SHARE / 2**30))
    java = [_LONG_METHODS, archive.options()]
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("ndcg-spark")
        # Our own message says what failed; Spark would print the stack trace of each task before it.
        .config("spark.log.level", "OFF")
        .config(CALL_SITES, "false")
        .config("spark.driver.defaultJavaOptions", " ".join(java))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", f"{memory}g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        # Java listens on ports that every user of the machine reaches; whoever comes must know a secret of this start.
        .config("spark.authenticate", "true")
        .config("spark.sql.shuffle.partitions", str(4 * cores))
        # Judgments that need not be sorted to be joined are not: they fit into memory where each part is this small.
        .config("spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold", "64m")
    )
    with interrupts.cleaned_up_by(end_children):
        session = created(builder, "local Spark")
    return dataclasses.replace(described(session), close=quietly(session.stop), abort=end_children)


def submitted(choice: str) -> Engine:
    """The session that spark-submit brings; EngineError if the embedded engine was asked for."""
    if choice == "embedded":
        raise EngineError("engine: spark-submit brings its own Spark, not the embedded one; leave --engine out")
    session = created(SparkSession.builder.appName("ndcg-spark").config(CALL_SITES, "false"), "spark-submit's Spark")
    stop = quietly(session.stop)
    return dataclasses.replace(described(session), close=stop, abort=stop)


def is_classic(session: SparkSession) -> bool:
    """Whether a session has its own Java machine, and is not a client of a server."""
    return type(session).__module__ == "pyspark.sql.session"


def described(session: SparkSession) -> Engine:
    """The engine of a classic session, which `close` leaves running."""
    master = session.conf.get("spark.master", "") or ""
    files = session.conf.get("spark.hadoop.fs.defaultFS", "") or _default_storage()
    keep_partition_names(session)
    join_in_place(session)
    storage = "" if files.startswith("file:") else files.rstrip("/")
    sees = master.startswith("local") and not storage
    return Engine(session, "spark", f"Spark {session.version} ({master})", sees, storage)


def _default_storage() -> str:
    """The storage of paths without a scheme, as Hadoop's configuration has it."""
    site = Path(os.environ.get("HADOOP_CONF_DIR", ""), "core-site.xml")
    if "HADOOP_CONF_DIR" not in os.environ or not site.is_file():
        return "file:///"
    named = ElementTree.parse(site).iter("property")  # noqa: S314  # the administrator's own file
    found = {entry.findtext("name", "").strip(): entry.findtext("value", "").strip() for entry in named}
    return found.get("fs.defaultFS") or found.get("fs.default.name") or "file:///"


def end_children() -> None:
    """End the Java machine, even if it is still starting and there is no session yet."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        quietly(child.terminate)()
    _, alive = psutil.wait_procs(children, timeout=_SECONDS_TO_END)
    for child in alive:
        quietly(child.kill)()
