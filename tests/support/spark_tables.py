"""A Spark that writes tables of Delta and Iceberg: its jars from Maven Central, its settings, and a Connect server."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
import servers
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as RemoteSession

ROOT = Path(__file__).parents[2]
#: Delta's jar names the Spark that it is for in full; there is no jar of Iceberg for the newest one.
SPARK = ".".join(pyspark.__version__.split(".")[:2])
_OF_FORMAT = {"delta": ("delta-", "unitycatalog-", "RoaringBitmap-"), "iceberg": ("iceberg-", "sqlite-")}
_WITHOUT_ICEBERG = "4.2"
_CLASSES = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


def jars(form: str, thorough: bool) -> list[Path]:
    """The jars of a format for the Spark that is installed. Skips the test where they are not to be had."""
    if not thorough:
        pytest.skip("downloads 100 MB and takes minutes: --thorough")
    if not shutil.which("mvn"):
        pytest.skip("needs Maven: apt-get install maven")
    if form == "iceberg" and SPARK == _WITHOUT_ICEBERG:
        pytest.skip(f"there is no Iceberg for Spark {SPARK} yet")
    folder = ROOT / ".venv" / f"{form}-{SPARK}"
    pom = ROOT / "tests/nights/tables/pom.xml"
    command = ["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", f"-P{form}", f"-Dspark={SPARK}"]
    if not (folder / "whole").exists():
        subprocess.run([*command, f"-DoutputDirectory={folder}"], check=True)
        (folder / "whole").touch()
    return [jar for jar in folder.glob("*.jar") if jar.name.startswith(_OF_FORMAT[form])]


def settings(form: str, found: list[Path], folder: Path) -> dict[str, object]:
    """The settings of a Spark whose tables are of a format; Iceberg's catalog `ice` is the file of pyiceberg's, too."""
    of_format: dict[str, object] = {"spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
    if form == "iceberg":
        of_format = {
            "ice": "org.apache.iceberg.spark.SparkCatalog",
            "ice.type": "jdbc",
            "ice.uri": f"jdbc:sqlite:{folder}/catalog.db",
            "ice.warehouse": f"file://{folder}/warehouse",
            # As pyiceberg writes it.
            "ice.jdbc.schema-version": "V1",
        }
    return {
        "spark.jars": ",".join(map(str, found)),
        "spark.sql.extensions": _CLASSES[form],
        **{f"spark.sql.catalog.{name}": value for name, value in of_format.items()},
        **({"spark.sql.sources.default": "delta"} if form == "delta" else {}),
        "spark.databricks.delta.snapshotPartitions": 1,
        "spark.sql.shuffle.partitions": 1,
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.enabled": "false",
        **servers.QUICK_PLANS,
    }


@contextlib.contextmanager
def connect_server(form: str, found: list[Path], folder: Path) -> Iterator[str]:
    """A Spark Connect server whose tables are of a format; its address."""
    port, log = servers.free_port(), folder / "server.log"
    options = {
        **settings(form, found, folder),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    command = [servers.SPARK_HOME / "bin/spark-submit", "--master", "local[2]"]
    command += [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    places = {"SPARK_HOME": servers.SPARK_HOME, "SPARK_CONF_DIR": folder / "none", "SPARK_LOCAL_DIRS": folder / "local"}
    with servers.running(command, log, servers.environment(**places)):
        servers.wait_until(lambda: servers.answers(port), "the Spark Connect server", log)
        yield f"sc://127.0.0.1:{port}"


@contextlib.contextmanager
def on_server(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """A session on a server, in a process that may have one of classic Spark, and so for the processes it starts."""
    monkeypatch.setenv("SPARK_REMOTE", url)
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    session = RemoteSession.builder.remote(url).create()
    try:
        yield session
    finally:
        session.stop()


def set_running_session(monkeypatch: pytest.MonkeyPatch, session: SparkSession | None) -> None:
    """Make this the running session of the process, or let it have none, whatever other tests have opened."""

    def active() -> SparkSession:
        if session is None:
            raise PySparkRuntimeError(errorClass="NO_ACTIVE_OR_DEFAULT_SESSION", messageParameters={})
        return session

    monkeypatch.setattr(SparkSession, "active", active)
