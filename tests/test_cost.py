"""What an evaluation costs in plans, scans, exchanges and bytes, none of which depends on how busy the machine is."""

import json
import subprocess
import sys
from pathlib import Path

import jvm_calls
import pyspark
import pytest
import servers
import sessions

from ndcg_spark import evaluate

# The scripts are not installed with the package.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.benchmark import data, measure, scenarios

#: Counts as if there were two cores, on every machine: the number of partitions follows from them.
COUNT = """import os, runpy
os.sched_getaffinity = lambda _: {0, 1}
runpy.run_module("scripts.benchmark.cost", run_name="__main__")"""
#: Less compiling than a real evaluation has; the plans are the same.
QUICK = {**servers.QUICK_PLANS, "spark.driver.extraJavaOptions": servers.QUICK_OPTIONS}


def counted(engine, scale, tmp_path_factory, without=()):
    cases = scenarios.cases_of(data.Setting(tmp_path_factory.mktemp("cache"), scale=scale))
    cases = {name: case for name, case in cases.items() if name not in without}
    command = [sys.executable, "-c", COUNT, engine, json.dumps(cases), json.dumps(QUICK)]
    # As many partitions as an evaluation has, and not as a test.
    env = sessions.environment(**measure.ENVIRONMENT, SAIL_EXECUTION__DEFAULT_PARALLELISM="16")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])["cost"]


@pytest.fixture(scope="module")
def classic(tmp_path_factory):
    # 40,000 results: Parquet's footers are a tenth of their bytes.
    # With all measures the plans are those that the embedded engine shows, a quarter of a minute sooner.
    without = ("measures", "catalog", "catalog, no ranks", "example")
    return counted("spark", 0.02, tmp_path_factory, without)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    return counted("embedded", 0.05, tmp_path_factory)


def per_result(cost, figure):
    return cost[figure] / cost["results"]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("case", "jobs", "exchanges", "scans", "read", "shuffled"),
    [
        ("with ranks", 19, 11, 4, 55, 9.5),
        ("no ranks", 20, 12, 5, 54, 30),
        ("text", 20, 12, 4, 48, 6.5),
    ],
)
def test_classic_spark_runs_few_jobs_and_reads_and_shuffles_little(
    classic, case, jobs, exchanges, scans, read, shuffled
):
    cost = classic[case]
    assert 1 <= cost["jobs"] <= jobs
    assert cost["exchanges"] <= exchanges
    assert cost["scans_of_judgments"] <= scans
    assert cost["bytes_spilled"] == 0
    assert 0 < per_result(cost, "bytes_read") <= read
    assert 0 < per_result(cost, "bytes_shuffled") <= shuffled
    if case == "text":
        assert cost["scans_of_results"] == cost["scans_of_judgments"] == 0
    else:
        assert 1 <= cost["scans_of_results"] <= 2
        assert cost["exchanges_of_results"] == 1


#: Spark's defaults that decide how many jobs a plan takes; the session of the tests has others.
DEFAULTS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "10MB",
    "spark.sql.shuffle.partitions": "200",
}


@pytest.fixture
def spark_defaults(session):
    others = {name: session.conf.get(name) for name in DEFAULTS}
    for name, value in DEFAULTS.items():
        session.conf.set(name, value)
    yield
    for name, value in others.items():
        session.conf.set(name, value)


@pytest.mark.classic
@pytest.mark.usefixtures("spark_defaults")
def test_an_evaluation_of_dataframes_calls_java_seldom_and_takes_few_jobs(session):
    judgments, results = jvm_calls.inputs(session)
    # The first evaluation imports modules.
    evaluate(judgments, results, 10)
    calls, _ = jvm_calls.count_calls(lambda: evaluate(judgments, results, 10))
    # Of the scores of queries and of the dataset: 767 on Spark 4.2, where Columns in place of SQL took 5,296.
    assert 100 <= calls <= 850
    scores = evaluate(judgments, results, 10).dataset_scores
    assert 1 <= jvm_calls.count_jobs(session, scores.collect) <= 10


@pytest.mark.slow
def test_for_all_measures_the_embedded_engine_runs_no_further_plan_and_reads_the_results_no_more_often(
    embedded,
):
    alone, measures = embedded["with ranks"], embedded["measures"]
    assert measures["plans"] == alone["plans"]
    assert measures["analyses"] <= alone["analyses"] + 1
    # Of the judgments a little more, and the scores that are read back.
    assert measures["bytes_read"] <= 1.2 * alone["bytes_read"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "alone"), [("catalog", "with ranks"), ("catalog, no ranks", "no ranks")]
)
def test_for_the_catalog_the_embedded_engine_reads_the_results_no_more_often(embedded, case, alone):
    # The lists are ranked and written, and read once more.
    assert embedded[case]["plans"] == embedded[alone]["plans"] + 2
    assert embedded[case]["bytes_read"] <= 1.2 * embedded[alone]["bytes_read"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "analyses"), [("with ranks", 10), ("no ranks", 10), ("text", 17), ("example", 11)]
)
def test_the_embedded_engine_runs_and_analyses_few_plans(embedded, case, analyses):
    # One more for text: it is parsed once, into a temporary table. The example has slices, too.
    assert 1 <= embedded[case]["plans"] <= 4 + {"text": 1, "example": 2}.get(case, 0)
    # The Connect client of Spark 4.0 asks for the schema wherever rows are grouped by names: eight times.
    assert embedded[case]["analyses"] <= analyses + 8 * (pyspark.__version__ < "4.1")


@pytest.mark.slow
@pytest.mark.parametrize(("case", "settings"), [("no ranks", 5), ("text", 5), ("example", 6)])
def test_the_embedded_engine_is_asked_for_few_settings(embedded, case, settings):
    # The client reads settings for each table made here and each answer; that of Spark 4.2 reads the most.
    assert 1 <= embedded[case]["settings"] <= settings


@pytest.mark.slow
@pytest.mark.parametrize(("case", "times"), [("with ranks", 6.2), ("no ranks", 6.2), ("text", 8.2)])
def test_the_embedded_engine_reads_its_files_so_often_at_most(embedded, case, times):
    # The spot check reads them once, and the scores are read for their checksums. 5.9, 5.9 and 7.8 are measured: one more
    # read fails. With so little data, other files count for about one read.
    assert 1 <= embedded[case]["bytes_read"] / embedded[case]["input_bytes"] <= times
