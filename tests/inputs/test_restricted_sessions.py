"""Classic Spark whose settings cannot be changed and which keeps no table, as serverless compute of Databricks."""

import json
import math

import pytest
import serverless
from commands import command_line
from input_files import written
from pyspark.sql.classic.dataframe import DataFrame

from ndcg_spark import evaluate
from ndcg_spark.engine import sessions as engines
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.dataframes import read_files, read_paths
from ndcg_spark.inputs.files import File

pytestmark = pytest.mark.classic

INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"
#: Grades 1 and 3 in this order, where the other is ideal.
NDCG = (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))


@pytest.fixture
def restricted(session, monkeypatch):
    """The engine of a session with Spark's own settings that refuses to change them."""
    session.conf.set(INFERENCE, "true")
    with monkeypatch.context() as patch:
        serverless.restrict(patch, session, DataFrame)
        yield engines.wrap_session(session)
    session.conf.set(INFERENCE, "false")


@pytest.fixture
def tables(session):
    """Judgments and results as DataFrames, which are views of the session, too."""
    made = {
        "judgments": session.createDataFrame(
            [("q", "a", 3.0), ("q", "b", 1.0)], ["query_id", "doc_id", "relevance"]
        ),
        "results": session.createDataFrame(
            [("007", "q", "b", 2.0), ("007", "q", "a", 1.0)], ["run", "query_id", "doc_id", "score"]
        ),
    }
    for name, table in made.items():
        table.createOrReplaceTempView(f"restricted_{name}")
    return made


def rows_of(run):
    return {"query_id": ["q"], "doc_id": [f"of {run}"], "score": [1.0]}


@pytest.fixture
def folder(tmp_path):
    """A folder whose runs are the names of folders."""
    for run in ("007", "1.0"):
        (tmp_path / f"t/run={run}").mkdir(parents=True)
        written(tmp_path / f"t/run={run}/a.parquet", rows_of(run))
    return tmp_path / "t"


def test_tables_of_a_catalog_are_evaluated(restricted, tables, tmp_path):
    assert not restricted.has_text_folders
    arguments = ["--judgments", "table:restricted_judgments"]
    arguments += ["--results", "table:restricted_results", "--format", "json", "--cutoffs", 2]
    done = command_line("evaluate", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["dataset_scores"]
    assert (row["run"], row["ndcg"]) == ("007", pytest.approx(NDCG))


def test_dataframes_are_evaluated(restricted, tables):
    scores = evaluate(tables["judgments"], tables["results"], 2)
    assert scores.query_scores.first()["ndcg"] == pytest.approx(NDCG)


def test_values_of_folders_that_this_process_lists_stay_text(restricted, folder):
    files = []
    for path in sorted(folder.glob("*/*.parquet")):
        files.append(File(str(path), 0, (("run", path.parent.name.removeprefix("run=")),)))
    rows = read_files(restricted, files).collect()
    assert {(row["run"], row["doc_id"]) for row in rows} == {("007", "of 007"), ("1.0", "of 1.0")}
    # Spark itself would take them for numbers.
    assert dict(read_paths(restricted, [str(folder)]).dtypes)["run"] == "double"


def test_folders_that_only_spark_lists_are_refused_if_they_add_columns(restricted, folder):
    with pytest.raises(InputError, match=r"has 2 folder\(s\) that add a column, such as run="):
        read_files(restricted, [File(str(folder), 0)])
    plain = read_files(restricted, [File(f"{folder}/run=007", 0)])
    assert [row["doc_id"] for row in plain.collect()] == ["of 007"]
