"""The library's `evaluate` with whatever people have for a table, and what it shows."""

import contextlib
import datetime
import functools
import gc
import io
import math
import weakref

import notebooks
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from scored import examples_of, queries, scored

from ndcg_spark import Convention, compare, compare_lists, evaluate, library, open_session, pandas_tables, to_pandas
from ndcg_spark.casting import conform
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs.dataframes import frame
from ndcg_spark.schemas import RESULTS

pytestmark = pytest.mark.embedded

JUDGED = {"1": {"10": 2, "11": 0, "12": 1}}
RETURNED = {"1": {"12": 0.9, "10": 0.8, "11": 0.1}}
EXPECTED = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))

COLUMNS = {"run": ["r"] * 3, "query_id": [1] * 3, "doc_id": [12, 10, 11], "score": [0.9, 0.8, 0.1]}
PYTERRIER = {"qid": ["1"] * 3, "docno": ["12", "10", "11"], "score": [0.9, 0.8, 0.1], "rank": [0, 1, 2]}
LISTS = {"user_id": [1], "item_ids": [[12, 10, 11]], "scores": [[0.9, 0.8, 0.1]]}
RECOMMENDED = [[{"item": 12, "rating": 0.9}, {"item": 10, "rating": 0.8}, {"item": 11, "rating": 0.1}]]
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
    "lists with scores in pandas": lambda: pd.DataFrame(LISTS),
    "lists with scores in pyarrow": lambda: pa.table(
        {**LISTS, "scores": pa.array([[0.9, 0.8, 0.1]], pa.large_list(pa.float64()))}
    ),
    "what recommendForAllUsers gives": lambda: pa.table({"user": [1], "recommendations": RECOMMENDED}),
    "the same in pandas": lambda: pd.DataFrame({"user": [1], "recommendations": RECOMMENDED}),
    "pairs in lists": lambda: {"1": [("12", 0.9), ("10", 0.8), ("11", 0.1)]},
}
#: The same documents in their order, without scores.
RANKED = {
    "lists in pandas": lambda: pd.DataFrame({"user_id": [1], "items": [np.array([12, 10, 11])]}),
    "a dictionary of columns with lists": lambda: {"user_id": ["1"], "items": [["12", "10", "11"]]},
    "queries with lists": lambda: {1: [12, 10, 11]},
    "queries with arrays of numpy": lambda: {1: np.array([12, 10, 11])},
    "runs of queries with lists": lambda: {"r": {"1": ("12", "10", "11")}},
}


def mean(scores):
    """The mean NDCG of the only run and cutoff."""
    (row,) = scores.dataset_scores
    return row["ndcg"]


def precision_of(kind):
    return 1e-3 if "small numbers" in kind else 1e-12


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_of_any_kind_is_evaluated(session, kind):
    (row,) = queries(session, JUDGED, TABLES[kind](), 10, "trec_eval").query_scores
    assert row["ndcg"] == pytest.approx(EXPECTED, abs=precision_of(kind))


@pytest.mark.parametrize("kind", RANKED)
def test_a_place_in_a_list_is_a_rank(session, kind):
    (row,) = scored(session, JUDGED, RANKED[kind](), 10, "trec_eval").dataset_scores
    assert (row["ndcg"], row["convention"]) == (pytest.approx(EXPECTED), "trec_eval order=rank")


def test_lists_of_judgments_may_have_grades_beside_them(session):
    judged = {"qid": ["1"], "docno": [["10", "11", "12"]], "label": [[2, 0, 1]]}
    assert mean(scored(session, judged, RETURNED, 10, "trec_eval")) == pytest.approx(EXPECTED)


def test_structs_without_a_document_are_no_lists_of_documents(session):
    notes = pa.array([[{"label": "a", "rating": "b"}]] * 3)
    judged = pa.table({"qid": ["1"] * 3, "docno": ["10", "11", "12"], "rel": [2, 0, 1], "notes": notes})
    assert mean(scored(session, judged, RETURNED, 10, "trec_eval")) == pytest.approx(EXPECTED)


def test_lists_that_differ_in_length_are_refused(session):
    lists = {"user_id": ["1"], "items": [["12", "10"]], "scores": [[0.9]]}
    with pytest.raises(PySparkException, match=r"ndcg_spark refuses \[lists_of_unequal_length\] results.* query_id=1 "):
        scored(session, JUDGED, lists, 10)


CLICKS = {"user_id": [1, 1], "item_id": [10, 12]}
#: Both clicks are returned, at ranks 1 and 2 of 3.
GRADELESS = {
    "a grade for all": (CLICKS, {"relevance": 1}),
    "a gain without grades": (CLICKS, {"convention": Convention(gain="judged")}),
    "a column that is not named as one of grades": ({**CLICKS, "rating": [-1, -1]}, {"relevance": 1}),
    "two columns of grades, of which neither counts": ({**CLICKS, "label": [2, 0], "rating": [0, 1]}, {"relevance": 1}),
    "a list of each user": ({1: [10, 12]}, {"relevance": 1}),
    "a set of each user": ({1: {10, 12}}, {"relevance": 1}),
}


@pytest.mark.parametrize("kind", GRADELESS)
def test_clicks_have_no_grades(session, kind):
    clicks, named = GRADELESS[kind]
    (row,) = queries(session, clicks, RETURNED, 10, **named).query_scores
    assert (row["ndcg"], row["cg"], row["judged"]) == (1.0, 2.0, 2)


@pytest.mark.parametrize("name", ["relevance", "rating"])
def test_grades_that_a_gain_does_not_need_count_under_every_name(session, name):
    # The negative grade makes its document unjudged.
    scores = scored(session, {**CLICKS, name: [-1, 1]}, RETURNED, 10, Convention(gain="judged"))
    (row,) = scores.query_scores
    assert row["judged"] == 1


def test_a_dataframe_of_spark_may_have_arrays_of_structs_and_no_grades(session):
    rows = session.createDataFrame(pa.table({"user": [1], "recommendations": RECOMMENDED}))
    clicks = session.createDataFrame(pa.table(CLICKS))
    (row,) = evaluate(clicks, rows, 10, relevance=1).query_scores.collect()
    assert (row["ndcg"], row["cg"], row["judged"]) == (1.0, 2.0, 2)


@pytest.mark.parametrize("lazy", [False, True])
def test_so_is_a_frame_of_polars(session, lazy):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(COLUMNS, schema_overrides={"run": polars.Categorical, "doc_id": polars.UInt32})
    judged = polars.DataFrame({"query_id": ["1"] * 3, "doc_id": ["10", "11", "12"], "relevance": [2, 0, 1]})
    found = mean(scored(session, judged, frame.lazy() if lazy else frame, 10, "trec_eval"))
    assert found == pytest.approx(EXPECTED)


def test_so_are_lists_of_polars(session):
    polars = pytest.importorskip("polars")
    packed = polars.DataFrame({"user": [1], "recommendations": RECOMMENDED})
    for table in (polars.DataFrame(LISTS), polars.DataFrame(LISTS).lazy(), packed):
        assert mean(scored(session, JUDGED, table, 10, "trec_eval")) == pytest.approx(EXPECTED)


@pytest.mark.parametrize("columns", [COLUMNS, PYTERRIER], ids=["own names", "PyTerrier"])
def test_so_is_a_dataframe_of_spark(session, columns):
    found = mean(scored(session, JUDGED, session.createDataFrame(pa.table(columns)), 10, "trec_eval"))
    assert found == pytest.approx(EXPECTED)


@pytest.mark.classic
def test_classic_spark_reads_a_table_of_any_kind(session):
    read = [
        conform(frame(table(), RESULTS.names, session, "results").withColumn("run", F.lit(kind)), RESULTS, "results")
        for kind, table in TABLES.items()
    ]
    rows = functools.reduce(DataFrame.unionAll, (each.select("run", "doc_id", "score") for each in read)).collect()
    found = {kind: {row["doc_id"]: row["score"] for row in rows if row["run"] == kind} for kind in TABLES}
    assert found == {kind: pytest.approx(RETURNED["1"], abs=precision_of(kind)) for kind in TABLES}
    assert len(rows) == 3 * len(TABLES)


@pytest.mark.classic
def test_rows_that_the_driver_has_are_one_partition_on_classic_spark(session, capsys):
    local, spread = (
        session.createDataFrame(pa.table(COLUMNS)),
        session.range(8).selectExpr("id as doc_id", "id as query_id"),
    )
    for table, is_one in ((COLUMNS, True), (local, True), (spread, False)):
        frame(table, RESULTS.names, session, "results").explain()
        assert ("Coalesce 1" in capsys.readouterr().out) == is_one


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([1, 2], "list is not a table; give a Spark, pandas or Polars DataFrame"),
        (None, "NoneType is not a table"),
        ("qrels.txt", "str is not a table"),
        ({"q": {"d": "high"}}, "a value that is not a number"),
        ({"r": {"q": {"d": 1}}}, "dictionaries of three levels"),
        ({"q": {"d": 1}, "p": {"x": {"y": 2}}}, "dictionaries of three levels"),
        (pd.DataFrame({"query_id": ["a", 1], "doc_id": ["b", "c"]}), "cannot be read as a table"),
        (pd.DataFrame({"x": ["a"]}), "none of dataset, query_id, doc_id, relevance is a column; it has x"),
        (
            pd.DataFrame({"query_id": ["a"], "doc_id": ["b"]}),
            "1 column(s) missing, relevance; it has query_id, doc_id; rename the column of the grades, give every "
            "judgment a grade with relevance=1, or set gain=judged",
        ),
        (
            pd.DataFrame({"qid": ["a"], "doc": ["b"], "label": [1]}),
            "doc_id; it has qid, doc, label; rename the columns",
        ),
        (pd.DataFrame({"qid": ["a"], "topic": ["b"], "docno": ["c"]}), "qid and topic; drop or rename all but one"),
        (pd.DataFrame({"qid": [], "docno": [], "label": []}), "the table is empty; check what should have filled it"),
        ({}, "the table is empty"),
        *(
            (table, f"{key!r} where an id is expected; ids are text or whole numbers")
            for key in (1.0, math.nan, True, np.True_, b"1", ("q", 1, 2), datetime.date(2026, 1, 1))
            for table in ({key: {"d": 1}}, {"q": {key: 1}}, {"q": [key]}, {"q": [(key, 1)]})
        ),
        ({"q": {"d\ud800": 1}}, "query 'q': 'd\\ud800' has half of a surrogate pair, which is not a character"),
        ({1: {"d": 1}, "1": {"d": 2}}, "1 and '1' are the same id; give one of them"),
        ({"q": {"d": True}}, "a value that is true or false; give numbers"),
        ({"q": {"d": 2, "e": np.False_}}, "a value that is true or false; give numbers"),
        ({"q": [("d", True)]}, "a value that is true or false; give numbers"),
        ({"q": {"a": 1}, "p": ["a"]}, "some queries have a list of documents and some have numbers"),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused_in_words(session, table, words):
    with pytest.raises(InputError, match=r"^judgments") as refused:
        scored(session, table, RETURNED, 10)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"r": {"q": {"d": 1}}, "s": {}}, "run 's' has no documents"),
        ({"r": {"q": {"d": 1}}, "s": {"q": {}}}, "run 's' has no documents"),
        ({"q": {"d"}}, "a set of documents, which has no order; give a list, the best first"),
        ({"query_id": ["q"], "doc_id": ["d"]}, "rename it to score, or set order=rank"),
        ({"user": ["q"], "a": [[{"item": "d"}]], "b": [[{"item": "d"}]]}, "2 columns have lists of documents, a, b"),
    ],
    ids=str,
)
def test_results_that_cannot_be_ranked_are_refused_in_words(session, table, words):
    with pytest.raises(InputError, match=r"^results") as refused:
        scored(session, JUDGED, table, 10)
    assert words in str(refused.value)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize("relevance", ["1", math.nan, True])
def test_what_is_no_grade_is_refused(session, relevance):
    with pytest.raises(ConfigurationError, match=r"^relevance: .* is not a grade"):
        scored(session, CLICKS, RETURNED, 10, relevance=relevance)


def test_results_without_scores_are_ranked_by_their_ranks(session):
    ranks = {"qid": ["1"] * 3, "docno": ["12", "10", "11"], "rank": [1, 2, 3]}
    (row,) = scored(session, JUDGED, ranks, 10, "ir_measures").dataset_scores
    assert (row["ndcg"], row["convention"]) == (
        pytest.approx(EXPECTED),
        "ir_measures order=rank score_precision=float64",
    )


@pytest.mark.parametrize("cutoffs", [10, (10,), {10}, np.int64(10), np.array([10]), range(10, 11)], ids=str)
def test_a_cutoff_may_be_given_alone(cutoffs):
    assert [(type(each), each) for each in library.as_list(cutoffs)] == [(int, 10)]


def test_none_alone_is_the_whole_ranking(session):
    (row,) = scored(session, JUDGED, RETURNED, None).dataset_scores
    assert row["cutoff"] is None


@pytest.mark.parametrize("cutoffs", ["10", 2.5, [0], [], True, [True]], ids=str)
def test_what_is_no_cutoff_is_refused(session, cutoffs):
    with pytest.raises(ConfigurationError, match=r"^cutoffs: "):
        scored(session, JUDGED, RETURNED, cutoffs)


def test_what_is_no_convention_is_refused(session):
    with pytest.raises(ConfigurationError, match="give the name of a preset, or a Convention"):
        scored(session, JUDGED, RETURNED, 10, {"gain": "linear"})


def shown(*arguments, **named):
    """What the scores show in a terminal and in a notebook."""
    scores = evaluate(*arguments, **named)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        scores.show()
    return printed.getvalue(), scores._repr_html_()


def test_scores_show_a_row_per_run_with_the_measure_after_the_name(session):
    runs = {"b": RETURNED, "a": {"1": {"10": 1.0}}}
    text, _ = shown(JUDGED, runs, [1, None], "trec_eval")
    header, first, second, _, formula = text.splitlines()
    assert header.split()[:3] == ["run", "ndcg@1", "ndcg@all"]
    assert [first.split()[:2], second.split()[:2]] == [["a", "1.0000"], ["b", "0.5000"]]
    assert formula.startswith("trec_eval: gain relevance")


def test_scores_show_the_measures_that_were_asked_for(session):
    text, _ = shown(JUDGED, RETURNED, measures="AP P@2")
    heading, row, *_ = [line.split() for line in text.splitlines()]
    assert (heading[:3], row[:3]) == (["run", "ap@all", "precision@2"], ["run", "1.0000", "1.0000"])


def test_attributes_of_queries_cut_the_scores_into_slices(session, capsys):
    attributes = pd.DataFrame({"qid": ["1", "2"], "language": ["de", None], "size": ["big", "big"]})
    judged, returned = {**JUDGED, "2": {"10": 1}}, {**RETURNED, "2": {"10": 1.0}}
    scores = evaluate(judged, returned, [10], "trec_eval", attributes=attributes)
    scores.show()
    both = (pytest.approx((EXPECTED + 1) / 2), pytest.approx((1 - EXPECTED) / 2))
    assert {
        (row["attribute"], row["value"]): (row["ndcg"], row["ndcg_stderr"]) for row in scores.dataset_scores.collect()
    } == {
        (None, None): both,
        ("size", "big"): both,
        ("language", "de"): (pytest.approx(EXPECTED), None),
        ("language", "(none)"): (1.0, None),
    }
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[-3:]] == [
        [slice_, "run"] for slice_ in ("language=(none)", "language=de", "size=big")
    ]
    assert scores._repr_html_().count("<table") == 2


def test_a_notebook_shows_a_name_as_it_is(session):
    _, page = shown(JUDGED, {"<b>": RETURNED}, 10, Convention(gain="linear"))
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert f"{EXPECTED:.4f}" in page


def test_a_notebook_shows_the_rows_of_a_table_and_pandas_has_whole_cutoffs(session):
    runs = {"<b>": {str(query): {"10": 0.9} for query in range(11)}}
    judged = {str(query): {"10": 1} for query in range(11)}
    scores = evaluate(judged, runs, measures="nDCG@10 AP")
    queries, means = notebooks.shown(scores.query_scores), notebooks.shown(scores.dataset_scores)
    frame = to_pandas(scores.query_scores)
    # 22 rows, of which 20 are shown.
    assert (queries.count("<tr>"), means.count("<tr>")) == (20, 2)
    assert "The first 20 rows; to_pandas gives all" in queries
    for page in (queries, means):
        assert "&lt;b&gt;" in page
        assert "<td>10</td>" in page
        assert "<td>all</td>" in page
        assert "<th>ap</th>" in page
        assert "<th>recall</th>" not in page
    assert str(frame["cutoff"].dtype) == "Int64"
    assert frame["cutoff"].value_counts(dropna=False).to_dict() == {10: 11, pd.NA: 11}
    assert str(frame["evaluated_on"].dtype).startswith("datetime64")


def test_tables_that_a_program_no_longer_uses_are_let_go_at_once(session):
    gc.disable()
    try:
        scores = evaluate(JUDGED, {"old": {"1": {"10": 1.0}}, "new": {"1": {"10": 0.5}}})
        compared = compare(scores.query_scores, "old")
        tables = [weakref.ref(table) for table in (scores.query_scores, scores.dataset_scores, compared)]
        del scores, compared
        assert [table() for table in tables] == [None, None, None]
    finally:
        gc.enable()


@pytest.mark.classic
def test_so_it_is_on_classic_spark(session):
    table = evaluate(
        session.createDataFrame([("1", "10", 2)], "qid string, docno string, label int"), RETURNED, [1, None]
    )
    assert "<td>all</td>" in notebooks.shown(table.query_scores)
    assert to_pandas(table.dataset_scores)["cutoff"].isna().sum() == 1
    assert table.to_pandas().equals(table.dataset_scores.toPandas())
    assert table.to_arrow().num_rows == 2


def test_a_session_that_runs_is_the_one_that_is_opened(session):
    assert open_session() is session


@pytest.mark.parametrize(("module", "least"), [(library, 6), (pandas_tables, 3)])
def test_the_examples_of_the_docstrings_run(session, module, least):
    failed, attempted, said = examples_of(session, module.__name__)
    assert (failed, attempted >= least) == (0, True), said


def named_runs(session):
    """Runs of one table each, of every kind; all have the same documents."""
    alone = {name: column for name, column in COLUMNS.items() if name != "run"}
    return {
        "pandas": pd.DataFrame(COLUMNS),
        "arrow": pa.table(alone),
        "columns": alone,
        "nested": RETURNED,
        "lists": pd.DataFrame(LISTS),
        "structs": pa.table({"user": [1], "recommendations": RECOMMENDED}),
        "spark": session.createDataFrame(pa.table(alone)),
    }


def scores_of_named_runs(session, kinds=None):
    runs = {name: table for name, table in named_runs(session).items() if kinds is None or name in kinds}
    scores = evaluate(JUDGED, runs, 10, "trec_eval").query_scores
    return {row["run"]: row["ndcg"] for row in scores.collect()}, sorted(runs)


def test_a_dictionary_of_tables_of_any_kind_names_their_runs(session):
    found, runs = scores_of_named_runs(session)
    assert found == dict.fromkeys(runs, pytest.approx(EXPECTED))


@pytest.mark.classic
def test_so_does_one_on_classic_spark(session):
    found, _ = scores_of_named_runs(session, ("arrow", "nested", "spark"))
    assert found == dict.fromkeys(("arrow", "nested", "spark"), pytest.approx(EXPECTED))


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ({"a": pd.DataFrame({**COLUMNS, "run": ["r", "s", "s"]})}, "run 'a': its table has several runs, e.g. r and s"),
        ({"a": pd.DataFrame(COLUMNS), "b": pd.DataFrame(COLUMNS).head(0)}, "run 'b': the table is empty; check what"),
        ({"a": pd.DataFrame(COLUMNS), "b": {"1": ["10"]}}, "run 'a' has score, but run 'b' does not; give all"),
        ({"a": pd.DataFrame(COLUMNS), "b": [1]}, "run 'b': list is not a table"),
        ({"a": pd.DataFrame(COLUMNS).drop(columns="doc_id")}, "run 'a': 1 column(s) missing, doc_id"),
        ({1.5: pd.DataFrame(COLUMNS)}, "results: 1.5 where an id is expected"),
        ({1: pd.DataFrame(COLUMNS), "1": pd.DataFrame(COLUMNS)}, "1 and '1' are the same id"),
        ({1.5: {"1": {"10": 1.0}}}, "results: 1.5 where an id is expected"),
        ({"r": {"1": {"10": True}}}, "results: a value that is true or false"),
    ],
    ids=[
        *("several runs", "no rows", "no scores", "no table", "no documents"),
        *("no name", "one name twice", "no name of dictionaries", "no score"),
    ],
)
def test_a_dictionary_of_tables_that_are_not_of_one_run_each_is_refused(session, runs, words):
    with pytest.raises(InputError, match=r"^results: ") as refused:
        scored(session, JUDGED, runs, 10)
    assert words in str(refused.value)


def test_a_dataframe_of_spark_that_names_runs_is_refused_in_a_dictionary_as_counting_them_is_a_job(session):
    with pytest.raises(InputError, match=r"^results: run 'a': its table has a column of runs, .* drop that column"):
        evaluate(JUDGED, {"a": session.createDataFrame(pa.table(COLUMNS))}, 10)


def test_whatever_is_returned_shows_itself_in_a_notebook_and_goes_to_pandas_and_arrow(session):
    runs = {"old": {"1": {"10": 1.0}}, "new": {"1": {"10": 0.5}}}
    scores, lists = evaluate(JUDGED, runs, [1, None]), compare_lists(runs, "old", 1)
    pages = [notebooks.shown(each) for each in (scores, lists)]
    frames = {"scores": scores.to_pandas(), "lists": lists.to_pandas()}
    assert all("<table" in page for page in pages)
    assert sorted(frames["scores"]["cutoff"].tolist(), key=str) == [1, 1, pd.NA, pd.NA]
    assert sorted(scores.to_arrow()["cutoff"].to_pylist(), key=str) == [1, 1, None, None]
    assert frames["lists"]["run"].tolist() == ["new"]


def test_the_way_of_spark_to_pandas_has_no_nan_for_the_whole_ranking_too(session):
    found = evaluate(JUDGED, RETURNED, [1, None]).dataset_scores.toPandas()
    assert found["cutoff"].sort_values().tolist() == [1, pd.NA]
