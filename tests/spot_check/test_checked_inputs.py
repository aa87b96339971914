"""Lists are recomputed from inputs of every shape, whatever the engine is given, and nothing is found wrong."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sessions

from ndcg_spark import config
from ndcg_spark import evaluate as evaluate_tables
from ndcg_spark.errors import NotVerifiedError
from ndcg_spark.job import evaluate_inputs, verify
from ndcg_spark.spot_check import subject
from ndcg_spark.spot_check.judgments_hash import SEED, signed, xxhash64
from ndcg_spark.spot_check.recompute import Bucket

LISTS = {"query_id": ["q1", "q2"], "doc_id": [["a", "b"], ["c"]]}
STRUCTS = [
    [{"item": "a", "rating": 2.0}, {"item": "b", "rating": 1.0}],
    [{"item": "c", "rating": 3.0}],
]
RESULTS = {"query_id": ["q1", "q1", "q2"], "doc_id": ["b", "a", "c"], "score": [3.0, 2.0, 1.0]}
ROWS = {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "relevance": [2.0, 1.0, 3.0]}


def scored(judgments, results=RESULTS, name="judgments.parquet", **settings):
    """What the log says of an evaluation of these columns, which are written as Parquet."""
    for path, columns in ((name, judgments), ("results.parquet", results)):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path)
    path = name.partition("/")[0]
    tables = {"judgments": path, "results": "results.parquet"}
    for table, more in settings.pop("tables", {}).items():
        tables[table] = {"path": tables.get(table, f"{table}.parquet"), **more}
    settings = config.validate(
        {**tables, "cutoffs": [1, 3], "date": "2026-11-20", **settings}, "test"
    )
    sessions.engine()
    return evaluate_inputs.evaluate(settings).verified


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


SHAPES = {
    "lists, one grade for all": {"judgments": LISTS, "tables": {"judgments": {"relevance": 1}}},
    "lists, every judged document": {"judgments": LISTS, "convention": {"gain": "judged"}},
    "a grade beside a list": {"judgments": {**LISTS, "relevance": [2.0, 1.0]}},
    "structs, one grade for all": {
        "judgments": {"query_id": ["q1", "q2"], "recommendations": STRUCTS},
        "tables": {"judgments": {"relevance": 1}},
    },
    "a list in a folder of its grade": {
        "judgments": LISTS,
        "name": "judgments/relevance=2/part.parquet",
    },
    "a query in its folder": {
        "judgments": {"doc_id": ["a", "b"], "relevance": [2.0, 1.0]},
        "name": "judgments/query_id=q1/part.parquet",
    },
    "categories": {
        "judgments": {**ROWS, "query_id": pa.array(ROWS["query_id"]).dictionary_encode()}
    },
    "decimals": {"judgments": {**ROWS, "relevance": pa.array([2, 1, 3], pa.decimal128(10, 2))}},
    "an ideal of more documents than any list": {
        "judgments": ROWS,
        "convention": {"gain": "binary", "ideal": "k_relevant"},
        "cutoffs": [3, 10, None],
    },
    "a discount of ten ranks": {
        "judgments": {
            "query_id": ["q1"] * 15,
            "doc_id": [f"d{at}" for at in range(15)],
            "relevance": [1.0] * 15,
        },
        "results": {
            "query_id": ["q1"] * 15,
            "doc_id": [f"d{at}" for at in range(15)],
            "score": [1.0] * 15,
        },
        "convention": {"discount": "python:short_discounts.first_ten"},
        "cutoffs": [3, 10],
    },
}


#: On classic Spark, whose values are taken from the engine where inputs are large.
ON_SPARK = (
    "lists, one grade for all",
    "structs, one grade for all",
    "a query in its folder",
    "decimals",
    "an ideal of more documents than any list",
)


@pytest.mark.parametrize("shape", sessions.on_spark(SHAPES, *ON_SPARK))
@pytest.mark.parametrize(
    "is_large", sessions.on_spark([False, True], True), ids=lambda it: "large" if it else "small"
)
def test_lists_are_read_from_tables_of_every_shape(engine, tmp_path, monkeypatch, shape, is_large):
    function = "def first_ten(ranks):\n    assert ranks.max() <= 10\n    return 1 / ranks\n"
    (tmp_path / "short_discounts.py").write_text(function)
    monkeypatch.syspath_prepend(str(tmp_path))
    if is_large:
        monkeypatch.setattr(verify, "LARGE", 0)
    assert scored(**SHAPES[shape]).startswith("verified ")


@pytest.mark.parametrize("dataset", sessions.on_spark(["web", "other"], "other"))
def test_a_dataset_of_what_is_excluded_does_not_count_where_tables_have_none(engine, dataset):
    pq.write_table(
        pa.table({"dataset": [dataset], "query_id": ["q1"], "doc_id": ["a"]}), "exclude.parquet"
    )
    assert scored(ROWS, exclude="exclude.parquet") == "verified 2 lists"


def test_only_some_queries_are_fetched_of_too_many_scores(engine, monkeypatch):
    queries = [f"q{at}" for at in range(400)]
    judged = {"query_id": queries, "doc_id": ["a"] * 400, "relevance": [1.0] * 400}
    returned = {"query_id": queries, "doc_id": ["a"] * 400, "score": [1.0] * 400}
    monkeypatch.setattr(subject, "LARGE", 100)
    monkeypatch.setattr(subject, "make_bucket", lambda seed, rows: Bucket(1, 4))
    object.__setattr__(engine, "sees_local_files", False)
    try:
        settings = {"judgments": "judgments.parquet", "results": "results.parquet"}
        pq.write_table(pa.table(judged), "judgments.parquet")
        pq.write_table(pa.table(returned), "results.parquet")
        done = evaluate_inputs.evaluate(
            config.validate({**settings, "cutoffs": [1]}, "test"), engine=engine
        )
    finally:
        object.__setattr__(engine, "sees_local_files", True)
    assert done.verified.startswith("verified ")
    assert done.verified != "verified 0 lists"


def test_a_query_is_hashed_as_engines_hash_it(session):
    names = ["", "q1", "é", "x" * 40]
    hashed = (
        session.createDataFrame(pa.table({"name": names}))
        .selectExpr("name", "xxhash64(name) as hash")
        .toArrow()
    )
    of_engine = {row["name"]: row["hash"] for row in hashed.to_pylist()}
    assert of_engine == {name: signed(xxhash64(name.encode(), SEED)) for name in names}


@pytest.mark.embedded
def test_what_cannot_be_a_list_of_scores_is_not_required_again(engine, monkeypatch):
    from ndcg_spark.spot_check.plain_rows import Pair

    lost = [Pair(None, "", "q1"), Pair(None, "results", "q9"), Pair(None, "results", "q1")]
    monkeypatch.setattr(verify, "_listed_before", lambda *_: lost)
    assert scored(ROWS) == "verified 2 lists"


def test_tables_in_memory_with_one_grade_for_all_are_checked():
    judgments = pd.DataFrame({"user_id": ["u1", "u2"], "items": [["a", "b"], ["c"]]})
    scores = evaluate_tables(judgments, {"u1": ["a", "x"], "u2": ["c"]}, 2, relevance=1)
    assert len(scores.query_scores) == 2


@pytest.mark.embedded
def test_the_message_has_a_command_that_runs(engine, monkeypatch, tmp_path):
    import shlex
    import tempfile

    from commands import command_line
    from test_spot_check import worst_first

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with monkeypatch.context() as patched:
        worst_first(patched)
        with pytest.raises(NotVerifiedError) as raised:
            scored(
                ROWS,
                convention={"preset": "trec_eval", "gain": "exp2"},
                tables={"results": {"run_from": "file"}},
            )
    command = str(raised.value).partition("to see the list: ")[2].partition("; the rows are in")[0]
    done = command_line(*shlex.split(command)[1:], cwd=tmp_path)
    assert (done.returncode, "ndcg" in done.stdout) == (0, True), done.stderr
