"""The session that the tests share: classic local Spark, small and quiet."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pyspark
import pytest
from embedded import Embedded
from pyspark.sql import SparkSession
from servers import QUICK_OPTIONS
from slow import SlowTests

import ndcg_spark
from ndcg_spark.engine import Engine

#: Compiling takes ranx half a minute, and all tests of a process must agree on it.
os.environ["NUMBA_DISABLE_JIT"] = "1"
#: Planning for sixteen partitions of three rows costs a quarter more processor time than for two.
os.environ.setdefault("SAIL_EXECUTION__DEFAULT_PARALLELISM", "2")
# pytest's workers have the width of a terminal that is not there, and help would be made to fit it.
os.environ.pop("COLUMNS", None)

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"


#: The files that take longest, a quarter of a minute and more: begun first, so that no worker is left alone with one.
LONG = (
    "deployment/test_hadoop.py",
    "job/test_cluster.py",
    "test_cost.py",
    "inputs/test_real_folders.py",
    "test_cli.py",
    "job/test_job.py",
    "job/test_engines.py",
    "job/test_connect_server.py",
    "test_engine.py",
    "report/test_page.py",
    "report/test_trends.py",
    "job/test_gated_nights.py",
    "nights/test_kills.py",
    "parity/test_parity.py",
    "contract/test_bad_inputs.py",
    "deployment/test_benchmark.py",
    "scoring/test_on_classic_spark.py",
    "scoring/test_published_scores.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="repeat what is generated at random five times as often")
    parser.addoption("--slow", action="store_true", help="run the slow tests too, as scripts/check.sh does")
    parser.addoption("--parity-seeds", type=int, help="how many random cases the live tools are asked")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test another checkout in place of this one; all of its coverage would be 0 %, too."""
    # The same generated inputs in every run but with --thorough: what fails on CI fails at a desk.
    hypothesis.settings.register_profile("same", derandomize=True, database=None)
    if not config.getoption("--thorough"):
        hypothesis.settings.load_profile("same")
    found = Path(ndcg_spark.__file__).resolve().parents[1]
    if found != ROOT:
        raise pytest.UsageError(f"ndcg_spark is imported from {found} and these tests are of {ROOT}; unset PYTHONPATH")
    config.pluginmanager.register(SlowTests(config))
    if pyspark.__version__ < "4.2":
        # It leaves the sockets of collect to the garbage collector.
        for warning in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
            config.addinivalue_line("filterwarnings", f"ignore:.*<socket:{warning}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """The tests of a file stay together, as they share what it has evaluated; and files begin in the order of LONG."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Java, which the session of these fixtures does; and begin with what takes long."""
    items.sort(key=lambda item: next((at for at, name in enumerate(LONG) if item.path == ROOT / "tests" / name), 99))
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
        .config("spark.ui.showConsoleProgress", "false")
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
        .config("spark.driver.extraJavaOptions", f"{QUICK_OPTIONS} -Xms512m -Xmn256m")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def engine(spark: SparkSession) -> Engine:
    return Engine(spark, "spark", "Spark for tests", sees_local_files=True)


@pytest.fixture(scope="session")
def evaluate_embedded() -> Embedded:
    return Embedded()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"needs the real rankings of {SHARED}, which are not part of the project")
    return SHARED
