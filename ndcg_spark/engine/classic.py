"""Classic Spark: a JVM that is started on this machine, or the session of spark-submit."""

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
from ndcg_spark.engine.engine import (
    CALL_SITES,
    MEMORY_SHARE,
    Engine,
    join_in_place,
    keep_partition_names,
    machine_memory,
    start_session,
    suppressing,
    usable_cores,
)
from ndcg_spark.errors import INSTALL_ADVICE, EngineError

#: Java does not compile long methods, as Spark generates them: that took a quarter of an evaluation's time.
_LONG_METHODS = "-XX:-DontCompileHugeMethods"
#: Seconds that a JVM has to remove its temporary files and exit, when a signal ends the process.
_SECONDS_TO_END = 0.4


def start_local() -> Engine:
    """Local Spark on every core that this process may use; EngineError without Java."""
    refuse_client()
    if not (shutil.which("java") or Path(os.environ.get("JAVA_HOME", "")).joinpath("bin/java").is_file()):
        raise EngineError(f"engine: there is no Java for local Spark; {INSTALL_ADVICE}")
    # Without it, Spark's workers run whichever `python3` is first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = usable_cores()
    memory = max(1, int(machine_memory() * MEMORY_SHARE / 2**30))
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("ndcg-spark")
        # Spark would print the stack trace of each failed task before our own message.
        .config("spark.log.level", "OFF")
        .config(CALL_SITES, "false")
        .config("spark.driver.defaultJavaOptions", _LONG_METHODS)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", f"{memory}g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        # Every user of the machine can reach the ports of the JVM, so connections must present a secret.
        .config("spark.authenticate", "true")
        .config("spark.sql.shuffle.partitions", str(4 * cores))
        # Judgments are joined without sorting them where each partition is this small, so that it fits into memory.
        .config("spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold", "64m")
    )
    with interrupts.cleaned_up_by(end_children):
        session = start_session(builder, "local Spark")
    return dataclasses.replace(engine_of(session), close=suppressing(session.stop), abort=end_children)


def submitted(choice: str) -> Engine:
    """The session of spark-submit; EngineError if the embedded engine was chosen."""
    if choice == "embedded":
        raise EngineError("engine: spark-submit brings its own Spark, not the embedded one; leave --engine out")
    refuse_client()
    builder = SparkSession.builder.appName("ndcg-spark").config(CALL_SITES, "false")
    session = start_session(builder, "the session of spark-submit")
    stop = suppressing(session.stop)
    return dataclasses.replace(engine_of(session), close=stop, abort=stop)


def refuse_client() -> None:
    """EngineError where pyspark-client is installed, which has no Spark of its own."""
    if is_remote_only():
        raise EngineError(
            "engine: pyspark-client has no Spark of its own; use --engine embedded, or pip uninstall pyspark-client, "
            "then pip install 'ndcg-spark[spark]' where the platform has no Spark"
        )


def is_classic(session: SparkSession) -> bool:
    """Whether a session has its own JVM, rather than being a client of a server."""
    return type(session).__module__ == "pyspark.sql.session"


def engine_of(session: SparkSession) -> Engine:
    """The engine of a classic session, which `close` leaves running."""
    master = session.conf.get("spark.master", "") or ""
    files = session.conf.get("spark.hadoop.fs.defaultFS", "") or _default_storage()
    keep_partition_names(session)
    join_in_place(session)
    # Storage without a host, such as dbfs:///, is where this process sees it too, as in /Volumes.
    storage = files.rstrip("/") if "://" in files.rstrip("/") else ""
    sees_local_files = master.startswith("local") and files.startswith("file:")
    return Engine(session, "spark", f"Spark {session.version} ({master})", sees_local_files, storage)


def _default_storage() -> str:
    """The storage of paths without a scheme in the configuration of Hadoop."""
    site = Path(os.environ.get("HADOOP_CONF_DIR", ""), "core-site.xml")
    if "HADOOP_CONF_DIR" not in os.environ or not site.is_file():
        return "file:///"
    properties = ElementTree.parse(site).iter("property")  # noqa: S314  # the administrator's own file
    values = {entry.findtext("name", "").strip(): entry.findtext("value", "").strip() for entry in properties}
    return values.get("fs.defaultFS") or values.get("fs.default.name") or "file:///"


def end_children() -> None:
    """End the JVM, even if it is still starting and there is no session yet."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        suppressing(child.terminate)()
    _, alive = psutil.wait_procs(children, timeout=_SECONDS_TO_END)
    for child in alive:
        suppressing(child.kill)()
