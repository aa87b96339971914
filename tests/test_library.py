"""The library's `evaluate` with whatever people have for a table, and what it shows."""

import contextlib
import functools
import io
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from embedded import examples_of
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import Convention, evaluate, library, open_session
from ndcg_spark.conforming import conform
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs.frames import frame
from ndcg_spark.schemas import RESULTS

JUDGED = {"1": {"10": 2, "11": 0, "12": 1}}
RETURNED = {"1": {"12": 0.9, "10": 0.8, "11": 0.1}}
EXPECTED = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))

COLUMNS = {"run": ["r"] * 3, "query_id": [1] * 3, "doc_id": [12, 10, 11], "score": [0.9, 0.8, 0.1]}
PYTERRIER = {"qid": ["1"] * 3, "docno": ["12", "10", "11"], "score": [0.9, 0.8, 0.1], "rank": [0, 1, 2]}
TABLES = {
    "nested dictionaries": lambda: RETURNED,
    "runs of nested dictionaries": lambda: {"r": RETURNED},
    "a dictionary of columns": lambda: COLUMNS,
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with an index of its own": lambda: pd.DataFrame(COLUMNS, index=[7, 7, 7]),
    "pandas categories and small numbers": lambda: pd.DataFrame(COLUMNS).astype(
        {"run": "category", "doc_id": "category", "query_id": "uint64", "score": "float16"}
    ),
    "pandas with columns that are not wanted": lambda: pd.DataFrame({**COLUMNS, "at": pd.Timestamp(0), "x": [[1]] * 3}),
    "pyarrow": lambda: pa.table(COLUMNS),
    "pyarrow with large text": lambda: pa.table({**COLUMNS, "doc_id": pa.array(["12", "10", "11"], pa.large_string())}),
    "a record batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "the frame of PyTerrier, without a run": lambda: pd.DataFrame(PYTERRIER),
}


def mean(scores):
    """The mean NDCG of the only run and cutoff."""
    (row,) = scores.dataset_scores
    return row["ndcg"]


def precision_of(kind):
    return 1e-3 if "small numbers" in kind else 1e-12


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_of_any_kind_is_evaluated(evaluate_embedded, kind):
    found = mean(evaluate_embedded(JUDGED, TABLES[kind](), 10, "trec_eval"))
    assert found == pytest.approx(EXPECTED, abs=precision_of(kind))


@pytest.mark.parametrize("lazy", [False, True])
def test_so_is_a_frame_of_polars(evaluate_embedded, lazy):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(COLUMNS, schema_overrides={"run": polars.Categorical, "doc_id": polars.UInt32})
    judged = polars.DataFrame({"query_id": ["1"] * 3, "doc_id": ["10", "11", "12"], "relevance": [2, 0, 1]})
    found = mean(evaluate_embedded(judged, frame.lazy() if lazy else frame, 10, "trec_eval"))
    assert found == pytest.approx(EXPECTED)


def ndcg_of_dataframe(session, columns):
    (row,) = evaluate(JUDGED, session.createDataFrame(pa.table(columns)), 10, "trec_eval").dataset_scores.collect()
    return row["ndcg"]


@pytest.mark.parametrize("columns", [COLUMNS, PYTERRIER], ids=["own names", "PyTerrier"])
def test_so_is_a_dataframe_of_spark(evaluate_embedded, columns):
    assert evaluate_embedded.call(ndcg_of_dataframe, columns) == pytest.approx(EXPECTED)


def test_classic_spark_reads_a_table_of_any_kind_and_evaluates_dictionaries_beside_its_own_dataframe(spark):
    assert ndcg_of_dataframe(spark, PYTERRIER) == pytest.approx(EXPECTED)
    read = [
        conform(frame(table(), RESULTS.names, spark, "results").withColumn("run", F.lit(kind)), RESULTS, "results")
        for kind, table in TABLES.items()
    ]
    rows = functools.reduce(DataFrame.unionAll, (each.select("run", "doc_id", "score") for each in read)).collect()
    found = {kind: {row["doc_id"]: row["score"] for row in rows if row["run"] == kind} for kind in TABLES}
    assert found == {kind: pytest.approx(RETURNED["1"], abs=precision_of(kind)) for kind in TABLES}
    assert len(rows) == 3 * len(TABLES)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([1, 2], "list is no table; give a Spark, pandas or Polars DataFrame"),
        (None, "NoneType is no table"),
        ("qrels.txt", "str is no table"),
        ({"q": {"d": "high"}}, "a value that is no number"),
        ({"r": {"q": {"d": 1}}}, "dictionaries of three levels"),
        ({"q": {"d": 1}, "p": {"x": {"y": 2}}}, "dictionaries of three levels"),
        (pd.DataFrame({"query_id": ["a", 1], "doc_id": ["b", "c"]}), "cannot be read as a table"),
        (pd.DataFrame({"x": ["a"]}), "none of dataset, query_id, doc_id, relevance is a column; it has x"),
        (
            pd.DataFrame({"query_id": ["a"], "doc_id": ["b"]}),
            "1 column(s) missing, relevance; it has doc_id, query_id; rename the columns",
        ),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused_in_words(evaluate_embedded, table, words):
    with pytest.raises(InputError, match=r"^judgments") as refused:
        evaluate_embedded(table, RETURNED, 10)
    assert words in str(refused.value)


def test_results_without_scores_are_ranked_by_their_ranks(evaluate_embedded):
    ranks = {"qid": ["1"] * 3, "docno": ["12", "10", "11"], "rank": [1, 2, 3]}
    (row,) = evaluate_embedded(JUDGED, ranks, 10, "ir_measures").dataset_scores
    assert (row["ndcg"], row["convention"]) == (
        pytest.approx(EXPECTED),
        "ir_measures order=rank score_precision=float64",
    )


@pytest.mark.parametrize("cutoffs", [10, [10], (10,), {10}, np.int64(10), np.array([10]), range(10, 11)], ids=str)
def test_a_cutoff_may_be_given_alone(evaluate_embedded, cutoffs):
    found = evaluate_embedded.queries(JUDGED, RETURNED, cutoffs, "trec_eval")
    assert [(row["cutoff"], row["ndcg"]) for row in found.query_scores] == [(10, pytest.approx(EXPECTED))]


def test_none_alone_is_the_whole_ranking(evaluate_embedded):
    (row,) = evaluate_embedded(JUDGED, RETURNED, None).dataset_scores
    assert row["cutoff"] is None


@pytest.mark.parametrize("cutoffs", ["10", 2.5, [0], [], True, [True]], ids=str)
def test_what_is_no_cutoff_is_refused(evaluate_embedded, cutoffs):
    with pytest.raises(ConfigurationError, match=r"^cutoffs: "):
        evaluate_embedded(JUDGED, RETURNED, cutoffs)


def test_what_is_no_convention_is_refused(evaluate_embedded):
    with pytest.raises(ConfigurationError, match="give the name of a preset, or a Convention"):
        evaluate_embedded(JUDGED, RETURNED, 10, {"gain": "linear"})


def shown(_, *arguments, **named):
    """What the scores show in a terminal and in a notebook."""
    scores = evaluate(*arguments, **named)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        scores.show()
    return printed.getvalue(), scores._repr_html_()


def test_scores_show_a_row_per_run_with_the_measure_after_the_name(evaluate_embedded):
    runs = {"b": RETURNED, "a": {"1": {"10": 1.0}}}
    text, _ = evaluate_embedded.call(shown, JUDGED, runs, [1, None], "trec_eval")
    header, first, second, _, formula = text.splitlines()
    assert header.split()[:3] == ["run", "ndcg@1", "ndcg@all"]
    assert [first.split()[:2], second.split()[:2]] == [["a", "1.0000"], ["b", "0.5000"]]
    assert formula.startswith("trec_eval: gain relevance")


def test_scores_show_the_measures_that_were_asked_for(evaluate_embedded):
    text, _ = evaluate_embedded.call(shown, JUDGED, RETURNED, measures="AP P@2")
    heading, row, *_ = [line.split() for line in text.splitlines()]
    assert (heading[:3], row[:3]) == (["run", "ap@all", "precision@2"], ["run", "1.0000", "1.0000"])


def test_a_notebook_shows_a_name_as_it_is(evaluate_embedded):
    _, page = evaluate_embedded.call(shown, JUDGED, {"<b>": RETURNED}, 10, Convention(gain="linear"))
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert f"{EXPECTED:.4f}" in page


def test_a_session_that_runs_is_the_one_that_is_opened(spark):
    assert open_session() is spark


def test_the_examples_of_the_docstrings_run(evaluate_embedded):
    failed, attempted, said = evaluate_embedded.call(examples_of, library.__name__)
    assert (failed, attempted > 5) == (0, True), said
