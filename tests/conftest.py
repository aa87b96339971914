"""The session that the tests share: classic local Spark, small and quiet."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ndcg_spark.engine import Engine

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="repeat what is generated at random five times as often")
    parser.addoption("--parity-seeds", type=int, help="how many random cases the live tools are asked")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Java, which the session of these fixtures does."""
    for item in items:
        if item.get_closest_marker("cluster") or {"spark", "engine"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether to take one's time."""
    return bool(request.config.getoption("--thorough"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.log.level", "OFF")
        .config("spark.ui.enabled", "false")
        .config("spark.python.sql.dataFrameDebugging.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        # Three rows need no plan that adapts, no compiled code and no second partition.
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.default.parallelism", "1")
        # What fails while it is broadcast is a Py4JJavaError, without Spark's own class.
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def engine(spark: SparkSession) -> Engine:
    return Engine(spark, "spark", "Spark for tests", sees_local_files=True)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"needs the real rankings of {SHARED}, which are not part of the project")
    return SHARED
