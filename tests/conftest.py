"""What all tests share: the session, and which tests run."""

import gc
import os
from pathlib import Path

import hypothesis
import pyspark
import pytest
import sessions
from pyspark.sql import SparkSession

import ndcg_spark
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.engine import Engine

#: Compiling takes ranx half a minute, and all tests of a process must agree on it.
os.environ["NUMBA_DISABLE_JIT"] = "1"
#: Planning for sixteen partitions of three rows costs a quarter more processor time than for two.
os.environ.setdefault("SAIL_EXECUTION__DEFAULT_PARALLELISM", "2")
#: The embedded engine gives memory back after ten milliseconds, and is given it anew for each plan.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
# pytest's workers have the width of a terminal that is not there, and help would be made to fit it.
os.environ.pop("COLUMNS", None)

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"


#: The files that take longest, a quarter of a minute and more: begun first, so that no worker is left alone with one.
LONG = (
    "deployment/test_hadoop.py",
    "job/test_cluster.py",
    "test_cost.py",
    "inputs/test_stored.py",
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
    "job/test_nightly_road.py",
    "deployment/test_benchmark.py",
    "scoring/test_measures.py",
    "scoring/test_published_scores.py",
    # On classic Spark.
    "contract/test_check.py",
    "test_ml.py",
    "scoring/test_properties.py",
    "scoring/test_skipping.py",
    "spot_check/test_spot_check.py",
    "inputs/test_lists_of_objects.py",
    "test_library.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        choices=["embedded", "spark"],
        default="embedded",
        help="the engine of the tests",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="repeat what is generated at random five times as often",
    )
    parser.addoption(
        "--slow", action="store_true", help="run the slow tests too, as scripts/check.sh does"
    )
    parser.addoption(
        "--parity-seeds", type=int, help="how many random cases the live tools are asked"
    )
    parser.addoption("--road-seeds", help="which random nights are evaluated: N, or FROM:TO")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test another checkout in place of this one; all of its coverage would be 0 %, too."""
    # The same generated inputs in every run but with --thorough: what fails on CI fails at a desk. A busy machine does
    # not fail a test.
    hypothesis.settings.register_profile("same", derandomize=True, database=None, deadline=None)
    if not config.getoption("--thorough"):
        hypothesis.settings.load_profile("same")
    origin = Path(ndcg_spark.__file__).resolve().parents[1]
    if origin != ROOT:
        raise pytest.UsageError(
            f"ndcg_spark is imported from {origin} and these tests are of {ROOT}; unset PYTHONPATH"
        )
    sessions.choice = config.getoption("--engine")
    sessions.is_thorough = config.getoption("--thorough")
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


def pytest_collection_finish() -> None:
    """Search for reference cycles as seldom as the program does, and not in modules and tests that stay."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)


def pytest_unconfigure() -> None:
    gc.unfreeze()
    sessions.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes long, and leave out what is about the other engine, and slow tests but where asked for."""
    begun = {ROOT / "tests" / name: at for at, name in enumerate(LONG)}
    items.sort(key=lambda item: begun.get(item.path, len(LONG)))
    items[:] = [item for item in items if _is_on_this_engine(item)]
    all_of_them = config.getoption("--slow") or "slow" in config.getoption("-m")
    paths = (argument.partition("::")[0] for argument in config.args)
    named = {
        (config.invocation_params.dir / path).resolve() for path in paths if path.endswith(".py")
    }
    # What needs Java is left out by -m "not spark".
    left_out = [
        item
        for item in items
        if item.get_closest_marker("slow")
        and not item.get_closest_marker("spark")
        and item.path not in named
    ]
    if left_out and not all_of_them:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def _is_on_this_engine(item: pytest.Item) -> bool:
    """On classic Spark are the tests that ask for a session, and on the embedded engine all but those of Spark."""
    about_spark = item.get_closest_marker("classic") is not None
    if sessions.choice == "embedded":
        return not about_spark
    return about_spark or (
        bool({"session", "engine"} & {*getattr(item, "fixturenames", ())})
        and not item.get_closest_marker("embedded")
    )


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether to take one's time."""
    return bool(request.config.getoption("--thorough"))


#: Two that score by default, and those that refuse, lack ranks, average ties, or end as trec_eval does.
FEW_PRESETS = (
    "standard",
    "trec_eval",
    "pytrec_eval",
    "retrieved_list",
    "sklearn",
    "lightgbm",
    "torchmetrics",
)


@pytest.fixture
def few_presets(monkeypatch: pytest.MonkeyPatch, thorough: bool) -> None:
    """`conventions --compare` scores these presets in place of all, each of which is an evaluation."""
    if not thorough:
        few = {name: PRESETS[name] for name in FEW_PRESETS}
        monkeypatch.setattr("ndcg_spark.job.compare_inputs.PRESETS", few)


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine of this process as the program knows it."""
    return sessions.engine()


@pytest.fixture(scope="session")
def session(engine: Engine) -> SparkSession:
    """The session of the tests: of the embedded engine, or of local classic Spark with `--engine spark`."""
    return engine.session


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"needs the real rankings of {SHARED}, which are not part of the project")
    return SHARED
