"""Parquet files whose footers tell little of the values, as many writers leave them: what is stored is what counts."""

import math
import os
from math import log2

import checked
import footers
import pyarrow as pa
import pytest
from commands import command_line
from programs import forked
from sessions import paired

from ndcg_spark import evaluate
from ndcg_spark.engine import open_engine, require_read_values
from ndcg_spark.errors import EngineError, InputError

ROWS = 4
NULL = [1, None, 1, None]


def items(document, score):
    """Lists of one document for two queries."""
    kind = pa.struct([("doc_id", pa.string()), ("score", pa.float64())])
    return pa.array([[{"doc_id": document, "score": score}]] * 2, pa.list_(kind))


#: Two of four values are none, and the others are equal: the table, the column, the values, and what is said of them.
HIDDEN = {
    "whole grades": ("judgments", "relevance", pa.array(NULL, pa.int64()), "2 relevance value"),
    "small grades": ("judgments", "relevance", pa.array(NULL, pa.int8()), "2 relevance value"),
    "grades": ("judgments", "relevance", pa.array([1.0, math.nan, 1.0, None]), "2 relevance value"),
    "single grades": (
        "judgments",
        "relevance",
        pa.array([1.0, math.nan] * 2, pa.float32()),
        "2 relevance value",
    ),
    "grades as text": (
        "judgments",
        "relevance",
        pa.array(["1", None, "1", None]),
        "2 relevance value",
    ),
    "decimal grades": (
        "judgments",
        "relevance",
        pa.array(NULL, pa.decimal128(9, 2)),
        "2 relevance value",
    ),
    "queries": (
        "judgments",
        "query_id",
        pa.array(["q", None] * 2),
        r"2 row\(s\) without a query_id",
    ),
    "documents": ("judgments", "doc_id", pa.array(["a", None] * 2), r"2 row\(s\) without a doc_id"),
    "whole scores": ("results", "score", pa.array(NULL, pa.int64()), "2 score"),
    "scores": ("results", "score", pa.array([1.0, math.nan, 1.0, None]), "2 score"),
    "decimal scores": ("results", "score", pa.array(NULL, pa.decimal128(9, 2)), "2 score"),
    "ranks": ("results", "rank", pa.array(NULL, pa.int32()), "2 rank"),
    "whole queries": (
        "results",
        "query_id",
        pa.array(NULL, pa.int64()),
        r"2 row\(s\) without a query_id",
    ),
    "runs": ("results", "run", pa.array(["r", None] * 2), r"2 row\(s\) without a run"),
    "datasets": ("results", "dataset", pa.array(["s", None] * 2), r"2 row\(s\) without a dataset"),
    "scores of a list": ("results", "items", items("a", math.nan), "2 score"),
    "documents of a list": ("results", "items", items(None, 1.0), r"2 row\(s\) without a doc_id"),
}


def columns(table, column=None, values=None):
    """A good table of judgments or results, with these values in one column."""
    stored = {"query_id": ["q"] * ROWS, "doc_id": ["a", "b", "c", "d"]}
    more = {
        "judgments": {"relevance": [1.0] * ROWS},
        "results": {"run": ["r"] * ROWS, "score": [4.0, 3.0, 2.0, 1.0]},
    }
    stored |= more[table]
    if column == "rank":
        del stored["score"]
    if column == "items":
        stored = {"run": ["r"] * 2, "query_id": ["q", "p"]}
    return stored if column is None else stored | {column: values}


def written(folder, judgments, results, writer):
    paths = []
    for name, stored in (("judgments", judgments), ("results", results)):
        paths.append(str(footers.write(folder / f"{name}.parquet", stored, writer)))
    return paths


def hidden(folder, name, writer):
    table, column, values, _ = HIDDEN[name]
    tables = {"judgments": columns("judgments"), "results": columns("results")}
    tables[table] = columns(table, column, values)
    if column == "dataset":
        tables["judgments"]["dataset"] = ["s"] * ROWS
    return written(folder, tables["judgments"], tables["results"], writer)


@pytest.mark.embedded
@pytest.mark.parametrize(("name", "writer"), paired(HIDDEN, footers.WRITERS))
def test_values_that_a_footer_does_not_tell_are_refused(engine, tmp_path, name, writer):
    judgments, results = hidden(tmp_path, name, writer)
    settings = {"judgments": {"path": judgments}, "results": {"path": results}}
    if name == "ranks":
        settings["convention"] = {"order": "rank"}
    outcome = checked.check(engine, settings)
    checked.is_as_expected(outcome, HIDDEN[name][3])


@pytest.mark.parametrize("name", ["whole grades", "scores", "runs"])
def test_the_command_and_python_refuse_values_that_a_footer_does_not_tell(tmp_path, name):
    paths = hidden(tmp_path, name, "no null counts")
    done = command_line("evaluate", *paths, cwd=tmp_path)
    assert done.returncode == InputError.exit_code, done.stdout
    with pytest.raises(InputError, match=HIDDEN[name][3]):
        evaluate(*paths)


@pytest.mark.parametrize("name", ["whole grades", "single grades", "scores", "ranks", "runs"])
def test_a_dataframe_of_such_a_file_is_refused_when_its_scores_are_used(session, tmp_path, name):
    judgments, results = (
        session.read.parquet(path) for path in hidden(tmp_path, name, "no null counts")
    )
    with pytest.raises(Exception, match="ndcg_spark refuses"):
        evaluate(judgments, results).query_scores.collect()


#: By name: judgments and results of q and other queries, options, and the NDCG of the first query.
ONE_GRADE = {"query_id": ["q", "p"], "doc_id": ["a", "a"], "relevance": [1, 1]}
KNOWN = {
    "one document with one grade": (
        ONE_GRADE,
        {"query_id": ["q", "p"], "doc_id": ["a", "a"], "score": [1, 1]},
        "standard ideal=retrieved",
        1,
    ),
    "an unjudged document before one with the only grade": (
        ONE_GRADE,
        {"query_id": ["q", "q", "p"], "doc_id": ["x", "a", "a"], "score": [2, 1, 1]},
        "standard",
        1 / log2(3),
    ),
    "an unjudged document with the only grade, sorted by gains": (
        ONE_GRADE,
        {"query_id": ["q", "q", "p"], "doc_id": ["x", "a", "a"], "score": [1, 1, 1]},
        "standard ties=worst",
        1 / log2(3),
    ),
    "names beyond ASCII": (
        {"query_id": ["é", "q", "z"], "doc_id": ["ü", "a", "a"], "relevance": [2, 2, 2]},
        {"query_id": ["é", "é", "q", "z"], "doc_id": ["a", "ü", "a", "a"], "score": [2, 1, 1, 1]},
        "standard",
        1 / log2(3),
    ),
}


@pytest.mark.embedded
@pytest.mark.parametrize("writer", footers.WRITERS)
@pytest.mark.parametrize("name", KNOWN)
def test_a_score_does_not_depend_on_footers(session, tmp_path, name, writer):
    judgments, results, convention, first = KNOWN[name]
    paths = written(tmp_path, judgments, {"run": ["r"] * len(results["score"]), **results}, writer)
    scores = evaluate(*map(session.read.parquet, paths), 10, convention)
    ndcg = {row["query_id"]: row["ndcg"] for row in scores.query_scores.collect()}
    assert ndcg == pytest.approx(
        dict.fromkeys(judgments["query_id"], 1.0) | {judgments["query_id"][0]: first}
    )


READS_VALUES = {"SAIL_EXECUTION__COLLECT_STATISTICS": "false", "SAIL_PARQUET__PRUNING": "false"}


def session_of(settings):
    """Open a session of Sail as a user starts one, with these settings; what is refused is printed."""
    for name in READS_VALUES:
        os.environ.pop(name, None)
    os.environ.update(settings)
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    session = SparkSession.builder.remote(
        f"sc://127.0.0.1:{server.listening_address[1]}"
    ).getOrCreate()
    judgments = session.createDataFrame(pa.table(columns("judgments")))
    results = session.createDataFrame(pa.table(columns("results")))
    languages = session.createDataFrame(pa.table({"query_id": ["q"], "language": ["de"]}))
    for call in (
        lambda: evaluate(judgments, results),
        lambda: evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, attributes=languages),
        lambda: open_engine().__enter__(),
    ):
        try:
            call()
            print("accepted")  # noqa: T201
        except EngineError as error:
            print(error)  # noqa: T201


@pytest.mark.slow
@pytest.mark.parametrize("without", [None, *READS_VALUES])
def test_a_session_of_sail_that_takes_footers_for_values_is_refused(tmp_path, without):
    settings = {name: value for name, value in READS_VALUES.items() if name != without}
    done = forked(session_of, settings, cwd=tmp_path)
    said = done.stdout.splitlines()
    assert len(said) == 3, done.stderr[-2000:]
    for line in said:
        assert line == "accepted" if without is None else f"{without}=false" in line


def test_the_session_of_the_engine_reads_values(session):
    require_read_values(session)
