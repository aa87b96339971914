"""The library's `evaluate` with whatever people have for a table, and what it shows."""

import collections
import dataclasses
import datetime
import doctest
import gc
import importlib
import math
import os
import re
import subprocess
import sys
import threading
import uuid
import warnings
from pathlib import Path, PurePath

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sessions import on_spark

from ndcg_spark import (
    Convention,
    compare,
    compare_judgments,
    compare_lists,
    evaluate,
    explain,
    open_session,
)
from ndcg_spark.api import worker
from ndcg_spark.api.evaluate import make_config
from ndcg_spark.convention.parsing import parse_cutoffs
from ndcg_spark.errors import (
    ConfigurationError,
    DuplicatesError,
    EngineError,
    InputError,
    MissingInputError,
    StorageError,
)
from ndcg_spark.job.evaluate_inputs import score_unpublished
from ndcg_spark.scratch import PREFIX, Scratch

JUDGED = {"1": {"10": 2, "11": 0, "12": 1}}
RETURNED = {"1": {"12": 0.9, "10": 0.8, "11": 0.1}}
EXPECTED = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))

COLUMNS = {"run": ["r"] * 3, "query_id": [1] * 3, "doc_id": [12, 10, 11], "score": [0.9, 0.8, 0.1]}
PYTERRIER = {
    "qid": ["1"] * 3,
    "docno": ["12", "10", "11"],
    "score": [0.9, 0.8, 0.1],
    "rank": [0, 1, 2],
}
LISTS = {"user_id": [1], "item_ids": [[12, 10, 11]], "scores": [[0.9, 0.8, 0.1]]}
RECOMMENDED = [
    [{"item": 12, "rating": 0.9}, {"item": 10, "rating": 0.8}, {"item": 11, "rating": 0.1}]
]
Qrel = collections.namedtuple(
    "Qrel", "query_id doc_id relevance iteration"
)  # as ir_measures has it
ScoredDoc = collections.namedtuple("ScoredDoc", "query_id doc_id score")
TABLES = {
    "nested dictionaries": lambda: RETURNED,
    "runs of nested dictionaries": lambda: {"r": RETURNED},
    "a dictionary of columns": lambda: COLUMNS,
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with an index of its own": lambda: pd.DataFrame(COLUMNS, index=[7, 7, 7]),
    "pandas categories and small numbers": lambda: pd.DataFrame(COLUMNS).astype(
        {"run": "category", "doc_id": "category", "query_id": "uint64", "score": "float16"}
    ),
    "pandas with columns that are not wanted": lambda: pd.DataFrame(
        {**COLUMNS, "at": pd.Timestamp(0), "x": [[1]] * 3}
    ),
    "pyarrow": lambda: pa.table(COLUMNS),
    "pyarrow with large text": lambda: pa.table(
        {**COLUMNS, "doc_id": pa.array(["12", "10", "11"], pa.large_string())}
    ),
    "a record batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "the frame of PyTerrier, without a run": lambda: pd.DataFrame(PYTERRIER),
    "lists with scores in pandas": lambda: pd.DataFrame(LISTS),
    "lists with scores in pyarrow": lambda: pa.table(
        {**LISTS, "scores": pa.array([[0.9, 0.8, 0.1]], pa.large_list(pa.float64()))}
    ),
    "what recommendForAllUsers gives": lambda: pa.table(
        {"user": [1], "recommendations": RECOMMENDED}
    ),
    "the same in pandas": lambda: pd.DataFrame({"user": [1], "recommendations": RECOMMENDED}),
    "tuples": lambda: [("1", "12", 0.9), ("1", "10", 0.8), ("1", "11", 0.1)],
    "tuples with names": lambda: (
        ScoredDoc("1", document, score) for document, score in RETURNED["1"].items()
    ),
    "Polars": lambda: pytest.importorskip("polars").DataFrame(COLUMNS, schema_overrides={}),
    "lazy Polars": lambda: pytest.importorskip("polars").DataFrame(COLUMNS).lazy(),
    "lists of Polars": lambda: pytest.importorskip("polars").DataFrame(
        {"user": [1], "recommendations": RECOMMENDED}
    ),
}
#: The same documents in their order, without scores.
RANKED = {
    "lists in pandas": lambda: pd.DataFrame({"user_id": [1], "items": [np.array([12, 10, 11])]}),
    "pandas with the query as its index": lambda: pd.DataFrame(
        {"user": [1], "items": [[12, 10, 11]]}
    ).set_index("user"),
    "a dictionary of columns with lists": lambda: {"user_id": ["1"], "items": [["12", "10", "11"]]},
    "queries with lists": lambda: {1: [12, 10, 11]},
    "queries with arrays of numpy": lambda: {1: np.array([12, 10, 11])},
    "runs of queries with lists": lambda: {"r": {"1": ("12", "10", "11")}},
}


def assert_words_of_python(error):
    """Neither an option of the command line nor a key of a configuration stands in the message."""
    assert not re.search(
        r"(?<![\w-])--[a-z]|\b(judgments|results|exclude|convention)\.[a-z_]+", str(error)
    )


def ndcg(*arguments, **options):
    """The NDCG of the only run and query, or cutoff."""
    (row,) = evaluate(*arguments, **options).query_scores.to_dict("records")
    return row["ndcg"]


def precision_of(kind):
    return 1e-3 if "small numbers" in kind else 1e-12


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_of_any_kind_is_evaluated(kind):
    assert ndcg(JUDGED, TABLES[kind](), 10, "trec_eval") == pytest.approx(
        EXPECTED, abs=precision_of(kind)
    )


@pytest.mark.parametrize(
    ("convention", "options", "label"),
    [
        ("standard", {"gain": "linear"}, "standard gain=linear"),
        (
            "trec_eval gain=exp2",
            {"gain": "linear", "no_relevant": "skip"},
            "trec_eval no_relevant=skip",
        ),
        (
            {"preset": "trec_eval", "gain": "exp2"},
            {"gain": "linear", "no_relevant": "skip"},
            "trec_eval no_relevant=skip",
        ),
        ({"ties": "average"}, {"gain": "linear"}, "standard gain=linear ties=average"),
        (Convention(gain="exp2"), {"gain": {0: 0, 1: 1, 2: 2}}, "standard gain={0: 0, 1: 1, 2: 2}"),
        (
            "standard",
            {"exclude_query_as_document": True, "gain": "linear"},
            "standard gain=linear exclude",
        ),
    ],
)
def test_an_option_of_the_convention_is_an_argument(convention, options, label):
    scores = evaluate(JUDGED, RETURNED, 10, convention, **options)
    (row,) = scores.dataset_scores.to_dict("records")
    assert row["convention"].startswith(label)
    assert row["ndcg"] == pytest.approx(EXPECTED)


@pytest.mark.parametrize(
    ("name", "meant"), [("gian", "gain"), ("cutof", "cutoffs"), ("baseline_of_mine", "")]
)
def test_an_unknown_argument_is_refused_with_what_may_be_meant(name, meant):
    with pytest.raises(ConfigurationError) as refused:
        evaluate(JUDGED, RETURNED, **{name: 1})
    assert (f"did you mean {meant!r}" in str(refused.value)) == bool(meant)


@pytest.mark.parametrize("kind", RANKED)
def test_a_place_in_a_list_is_a_rank(kind):
    scores = evaluate(JUDGED, RANKED[kind](), 10, "trec_eval")
    (row,) = scores.dataset_scores.to_dict("records")
    assert (row["ndcg"], row["convention"]) == (pytest.approx(EXPECTED), "trec_eval order=rank")


@pytest.mark.parametrize(
    "judged",
    [
        {"qid": ["1"], "docno": [["10", "11", "12"]], "label": [[2, 0, 1]]},
        pa.table(
            {
                "qid": ["1"] * 3,
                "docno": ["10", "11", "12"],
                "rel": [2, 0, 1],
                "notes": [[{"label": "a"}]] * 3,
            }
        ),
        [Qrel("1", "10", 2, "0"), Qrel("1", "11", 0, "0"), Qrel("1", "12", 1, "0")],
    ],
    ids=["lists", "structs that are no documents", "ir_measures"],
)
def test_judgments_may_be_lists_or_tuples(judged):
    assert ndcg(judged, RETURNED, 10, "trec_eval") == pytest.approx(EXPECTED)


CLICKS = {"user_id": [1, 1], "item_id": [10, 12]}
#: Both clicks are returned, at ranks 1 and 2 of 3.
GRADELESS = {
    "a grade for all": (CLICKS, {"relevance": 1}),
    "two columns of grades, of which neither counts": (
        {**CLICKS, "label": [2, 0], "rating": [0, 1]},
        {"relevance": 1},
    ),
    "a gain without grades": (CLICKS, {"convention": Convention(gain="judged")}),
    "a list of each user": ({1: [10, 12]}, {"relevance": 1}),
    "a set of each user": ({1: {10, 12}}, {"relevance": 1}),
}


@pytest.mark.parametrize("kind", GRADELESS)
def test_clicks_have_no_grades(kind):
    clicks, options = GRADELESS[kind]
    assert ndcg(clicks, RETURNED, 10, **options) == 1


def test_paths_are_read_as_by_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("1 0 10 2\n1 0 11 0\n1 0 12 1\n")
    (tmp_path / "bm25.run").write_text(
        "1 Q0 12 1 0.9 bm25\n1 Q0 10 2 0.8 bm25\n1 Q0 11 3 0.1 bm25\n"
    )
    for results in ("bm25.run", tmp_path / "bm25.run", ["bm25.run"], "*.run"):
        assert evaluate("qrels", results, 10, "trec_eval").table().loc[
            "bm25", "ndcg@10"
        ] == pytest.approx(EXPECTED)
    with pytest.raises(
        MissingInputError, match=r"^judgments: .*qrel$|^judgments: no files at qrel;"
    ):
        evaluate("qrel", "bm25.run")
    (tmp_path / "odd.csv").write_text("q,it\n")
    with pytest.raises(InputError, match="it has q, it; rename its columns to query_id and doc_id"):
        evaluate("odd.csv", "bm25.run")
    assert compare_lists("bm25.run", tmp_path / "bm25.run")["rbo"].tolist() == [1]
    with pytest.raises(
        ConfigurationError, match=r"old results have bm25, the new ones run; .*, baseline='bm25'$"
    ):
        compare_lists("bm25.run", RETURNED)
    assert compare_judgments("qrels", JUDGED, "bm25.run")["kappa"].tolist() == [1]
    # A path beside a table of this process.
    assert ndcg(JUDGED, "bm25.run", 10, "trec_eval", run="mine") == pytest.approx(EXPECTED)


def test_documents_that_are_excluded_leave_the_lists():
    seen = pd.DataFrame({"user": [1], "item": [12]})
    assert ndcg(JUDGED, RETURNED, 10, "trec_eval", exclude=seen) == pytest.approx(
        2 / (2 + 1 / math.log2(3))
    )
    with pytest.warns(UserWarning, match="^exclude: the table removes no result"):
        assert ndcg(
            JUDGED, RETURNED, 10, "trec_eval", exclude={"user": [1], "item": [9]}
        ) == pytest.approx(EXPECTED)
    with pytest.raises(InputError, match="exclude removed 3 results"):
        ndcg(JUDGED, RETURNED, 10, exclude=pd.DataFrame({"user": [1] * 3, "item": [10, 11, 12]}))


NO_TABLES = {
    "numbers": ([1, 2], "list is not a table"),
    "nothing": (None, "NoneType is not a table"),
    "text that is no number": ({"q": {"d": "high"}}, "relevance=high"),
    "three levels": ({"r": {"q": {"d": 1}}}, "has dict, not"),
    "mixed types": (
        pd.DataFrame({"query_id": ["a", 1], "doc_id": ["b", "c"]}),
        "cannot be read as a table",
    ),
    "UUIDs": (
        pd.DataFrame({"query_id": [uuid.UUID(int=1)], "doc_id": ["d"], "relevance": [1]}),
        "UUID",
    ),
    "none of the columns": (
        pd.DataFrame({"x": ["a"]}),
        "it has x; rename its columns to query_id and doc_id",
    ),
    "no grades": (pd.DataFrame({"query_id": ["a"], "doc_id": ["b"]}), "relevance"),
    "two queries": (
        pd.DataFrame({"qid": ["a"], "topic": ["b"], "docno": ["c"]}),
        "qid and topic; drop or rename all but one",
    ),
    "numbers of queries": (
        {"query_id": 1, "relevance": 0.5},
        "'query_id' has int, which is not a column",
    ),
    "no rows": (pd.DataFrame({"qid": [], "docno": [], "label": []}), "the table is empty"),
    "an empty dictionary": ({}, "the table is empty"),
    "half a character": ({"q": {"d\ud800": 1}}, "cannot be read as a table"),
    "an id twice": ({1: {"d": 1}, "1": {"d": 2}}, "cannot be read as a table"),
    "truth": ({"q": {"d": 1.0, "e": True}}, "true, false or a tuple"),
    "uneven tuples": ([("q", "d", 1), ("q", "d")], "a tuple of 2 value(s), e.g. ('q', 'd')"),
    "another library's": (
        type("Qrels", (), {"to_dataframe": None})(),
        "give what its to_dataframe() returns",
    ),
    "lists": ({"q": ["d"]}, "without grades, relevance=1"),
    "a list as a grade": ({"q": {"d": [3, 4]}}, "an id or a number is a list"),
    **{f"the id {key!r}": ({"q": {key: 1}}, "doc_id is ") for key in (1.0, b"1")},
    **{
        f"the id {key!r}": ({"q": {key: 1}}, "true, false or a tuple")
        for key in (True, ("q", 1, 2))
    },
    "a date as a query": (
        {datetime.date(2026, 1, 1): {"d": 1}},
        "(the table): 1 column(s) of the wrong type, query_id is date",
    ),
    "results": (
        pd.DataFrame({**COLUMNS, "rank": [1, 2, 3]}),
        "if these are results, give the judgments first",
    ),
}


@pytest.mark.parametrize("kind", NO_TABLES)
def test_what_is_no_table_is_refused_in_words(kind):
    table, words = NO_TABLES[kind]
    with pytest.raises(InputError, match=r"^judgments") as refused:
        evaluate(table, RETURNED, 10)
    assert words in str(refused.value)
    assert "/tmp" not in str(refused.value)  # noqa: S108  # no path of ours
    assert_words_of_python(refused.value)


NOT_RANKED = {
    "no documents": ({"r": {"q": {"d": 1}}, "s": {}}, "run 's': the table is empty"),
    "sets": ({"q": {"d"}}, "has set, not"),
    "pairs": (
        {"q": [("d", 0.5)]},
        "a tuple of 2 value(s), e.g. ('d', 0.5); give (query_id, doc_id, score)",
    ),
    "neither scores nor ranks": (
        pd.DataFrame({"qid": ["1"], "docno": ["10"], "scroe": [1.0]}),
        "docno, scroe; rename",
    ),
    "two lists": (
        {"user": ["q"], "a": [[{"item": "d"}]], "b": [[{"item": "d"}]]},
        "2 columns have lists of documents",
    ),
    "uneven lists": ({"user_id": ["1"], "items": [["12", "10"]], "scores": [[0.9]]}, "lists"),
    "several runs": (
        {"a": pd.DataFrame({**COLUMNS, "run": ["r", "s", "s"]})},
        "run 'a': its table has several runs",
    ),
    "no scores": (
        {"a": RETURNED, "b": {"1": ["10"]}},
        "run 'a' has only scores and run 'b' only ranks",
    ),
    "no table": ({"a": pd.DataFrame(COLUMNS), "b": [1]}, "run 'b': list is not a table"),
    "no name": ({1.5: pd.DataFrame(COLUMNS)}, "results: 1.5 is not a run name"),
    "lists and rows": (
        {"a": pd.DataFrame(COLUMNS), "b": pd.DataFrame(LISTS)},
        "incompatible types",
    ),
}


@pytest.mark.parametrize("kind", NOT_RANKED)
def test_results_that_cannot_be_ranked_are_refused_in_words(kind):
    table, words = NOT_RANKED[kind]
    with pytest.raises(InputError, match=r"^results") as refused:
        evaluate(JUDGED, table, 10)
    assert words in str(refused.value)
    assert_words_of_python(refused.value)


@pytest.mark.parametrize("statistics", [True, False])
def test_a_score_or_a_grade_that_is_nan_is_refused_though_all_others_are_equal(
    tmp_path, statistics
):
    scores = {**RETURNED["1"], **dict.fromkeys(RETURNED["1"], 1.0), "12": math.nan}
    with pytest.raises(InputError, match="score=NaN"):
        evaluate(JUDGED, {"1": scores}, 10)
    grades = {
        "query_id": ["1"] * 3,
        "doc_id": ["10", "11", "12"],
        "relevance": [1.0, 1.0, math.nan],
    }
    pq.write_table(pa.table(grades), tmp_path / "judgments.parquet", write_statistics=statistics)
    with pytest.raises(InputError, match="relevance=NaN"):
        evaluate(tmp_path / "judgments.parquet", RETURNED, 10)


def test_a_document_returned_twice_is_refused_at_once():
    with pytest.raises(DuplicatesError, match="or duplicates=best in convention"):
        evaluate(JUDGED, [("1", "10", 1.0), ("1", "10", 0.5)])


@pytest.mark.parametrize(
    "options",
    [
        *({"relevance": value} for value in (math.nan, "one", 0)),
        *({"cutoffs": value} for value in ("ten", 2.5, [0], [], True, [True])),
        *(
            {"convention": value}
            for value in (5, "trec", "standard tie=average", "standard ties=avg")
        ),
        *(
            {"measures": value}
            for value in ("ndgc", "P@0", "nDCG(dcg='exp-log2')@10", "P(rel=3)@5 P(rel=1)@5")
        ),
        *({"run": value} for value in (5, "")),
        {"dataset": ""},
        {"evaluated_on": datetime.date(2999, 1, 1)},
        {"evaluated_on": "yesterday"},
        {"session": 5},
    ],
    ids=str,
)
def test_what_is_no_option_is_refused_in_one_exception(options):
    with pytest.raises(ConfigurationError) as refused:
        evaluate(CLICKS if "relevance" in options else JUDGED, RETURNED, **options)
    assert refused.value.__context__ is None
    assert_words_of_python(refused.value)


@pytest.mark.parametrize(
    "cutoffs", [10, (10,), {10}, np.int64(10), np.array([10]), range(10, 11)], ids=str
)
def test_a_cutoff_may_be_given_alone(cutoffs):
    assert [(type(cutoff), cutoff) for cutoff in parse_cutoffs(cutoffs)] == [(int, 10)]


RUNS = {"b": RETURNED, "a": {"1": {"10": 1.0}}}


def test_a_table_has_a_row_per_run_and_a_column_per_measure():
    scores = evaluate(JUDGED, RUNS, [1, None], "trec_eval")
    table = scores.table()
    assert (list(table.index), list(table)) == (["a", "b"], ["ndcg@1", "ndcg@all"])
    assert table["ndcg@1"].tolist() == [1, 0.5]
    assert scores.per_query().loc["1"].to_dict() == {"a": 1, "b": 0.5}
    assert scores.per_query("dcg@1").loc["1", "b"] == 1
    # A measure of ir_measures is its text.
    assert scores.per_query(PurePath("nDCG@1")).equals(scores.per_query())
    with pytest.raises(ConfigurationError, match=r"AP was not computed.*ndcg@1, ndcg@all"):
        scores.per_query("AP")


def test_columns_are_the_measures_as_they_were_asked_for():
    scores = evaluate(JUDGED, RUNS, measures="RBP(p=0.5) P@2")
    assert list(scores.table()) == ["RBP(p=0.5)", "P@2"]
    # In the tables, though not asked for.
    ndcg, dcg, ideal = (
        scores.per_query(measure).loc["1", "b"] for measure in ("ndcg@2", "dcg@2", "ideal_dcg")
    )
    assert ndcg == dcg / ideal
    assert compare(scores, "a")["measure"].tolist() == ["rbp", "precision"]
    assert (
        compare(scores, "a", measures="RBP(p=0.5)")["mean"][0]
        == scores.per_query("RBP(p=0.5)")["b"].mean()
    )
    with pytest.raises(ConfigurationError, match="has arguments"):
        scores.per_query("RBP(p=0.4)")
    for frame in (scores.dataset_scores, scores.query_scores):
        assert {"rbp", "precision"} < {*frame}
        assert not {"recall", "err"} & {*frame}
        assert str(frame["cutoff"].dtype) == "Int64"


def test_a_notebook_and_a_terminal_show_the_table_with_names_as_they_are():
    scores = evaluate(JUDGED, {"<b>": RETURNED}, 10, Convention(gain="linear"))
    page, text = scores._repr_html_(), repr(scores)
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert f"{EXPECTED:.4f}" in page
    assert f"{EXPECTED:.4f}" in text
    assert "gain relevance" in text


def test_attributes_of_queries_cut_the_scores_into_slices():
    attributes = pd.DataFrame({"qid": ["1", "2"], "language": ["de", None], "size": ["big", "big"]})
    judged, returned = {**JUDGED, "2": {"10": 1}}, {**RETURNED, "2": {"10": 1.0}}
    rows = evaluate(judged, returned, [10], "trec_eval", attributes=attributes).dataset_scores
    # The total has neither, which pandas 2 and 3 read as different nulls.
    named = rows.fillna({"attribute": "", "value": ""})
    ndcg_by_slice = {
        (row["attribute"], row["value"]): row["ndcg"] for row in named.to_dict("records")
    }
    both = pytest.approx((EXPECTED + 1) / 2)
    assert ndcg_by_slice == {
        ("", ""): both,
        ("size", "big"): both,
        ("language", "de"): pytest.approx(EXPECTED),
        ("language", "(none)"): 1,
    }


@pytest.mark.embedded
@pytest.mark.parametrize("spark", [False, True])
def test_scores_are_compared_in_their_slices_unless_others_are_given(session, spark):
    size, options = (
        pd.Series(["big"], pd.Index(["1"], name="user"), name="size"),
        {"session": session} if spark else {},
    )
    scores = evaluate(JUDGED, {"a": RETURNED, "b": RETURNED}, 10, attributes=size, **options)
    for slices, values in (
        ({}, ["(none)", "big"]),
        ({"attributes": {"qid": ["1"], "hue": ["red"]}}, ["(none)", "red"]),
    ):
        for one in (scores, scores.to_pandas()):
            assert [*compare(one, "a", **slices)["value"].dropna()] == values[1:]
    with pytest.warns(
        UserWarning, match="query_attributes: none of its queries has scores here"
    ) as told:
        evaluate(
            JUDGED, RETURNED, 10, attributes={"qid": ["x"], "size": ["big"]}, **options
        ).to_pandas()
    # Sockets of Spark that were not closed may be told, too.
    assert [warning.filename for warning in told if warning.category is UserWarning] == [__file__]


MISSED = {
    "scores": (
        pd.DataFrame({"qid": ["1"], "docno": ["10"]}),
        "rename its columns? to score( or rank)?(;.* order=file|$)",
    ),
    "columns": (pd.DataFrame({"qid": ["1"], "x": ["10"]}), "rename its columns to doc_id"),
}


@pytest.mark.parametrize("spark", on_spark([False, True], True))
@pytest.mark.parametrize("kind", MISSED)
def test_messages_speak_of_python(session, kind, spark):
    table, words = MISSED[kind]
    with pytest.raises(InputError, match=words) as refused:
        evaluate(JUDGED, session.createDataFrame(pa.Table.from_pandas(table)) if spark else table)
    assert_words_of_python(refused.value)


def test_a_warning_of_the_evaluation_is_one_of_python():
    with pytest.warns(UserWarning, match="other"):
        evaluate(JUDGED, {"mine": RETURNED, "other": {"1": {"13": 1.0}}}, 10)


def test_runs_of_tables_of_any_kind_are_evaluated_together():
    alone = {name: column for name, column in COLUMNS.items() if name != "run"}
    kinds = (
        "tuples",
        "nested dictionaries",
        "the frame of PyTerrier, without a run",
        "pyarrow with large text",
    )
    runs = {
        "pandas": pd.DataFrame(COLUMNS),
        "columns": alone,
        **{kind: TABLES[kind]() for kind in kinds},
    }
    lists = {"one": pd.DataFrame(LISTS), "other": pa.table({**LISTS, "scores": [[0.9, 0.8, 0.1]]})}
    noted = {
        "noted": pa.table(
            {**{name: COLUMNS[name] for name in alone}, "notes": [[{"label": "a"}] * 2] * 3}
        )
    }
    named = {"ir_measures": list(TABLES["tuples with names"]())}
    packed = {"als": TABLES["what recommendForAllUsers gives"]()}
    for tables in (lists, packed, {**runs, **named, **noted}):
        scores = evaluate(JUDGED, tables, 10, "trec_eval").table()["ndcg@10"]
        assert scores.to_dict() == dict.fromkeys(tables, pytest.approx(EXPECTED))


def test_the_process_that_evaluates_may_end_and_is_started_again():
    evaluate(JUDGED, RETURNED, 10)
    worker._running.process.kill()
    worker._running.process.wait()
    evaluate(JUDGED, RETURNED, 10)


def test_a_pipe_is_read_in_each_call(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for documents in (["10", "12"], ["12", "10"]):
        lines = [f"1 Q0 {doc_id} {at} {9 - at} r\n" for at, doc_id in enumerate(documents, 1)]
        writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=["".join(lines)])
        writer.start()
        # The grades are 2 and 1.
        assert ndcg(JUDGED, tmp_path / "pipe", 1, "trec_eval") == JUDGED["1"][documents[0]] / 2
        writer.join()


def test_scores_whose_file_has_changed_are_refused():
    scores = evaluate(JUDGED, RETURNED, 10)
    folder = Path(scores.inputs.results.path[0]).parents[1]
    (file,) = folder.rglob("query_scores/**/*.parquet")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(StorageError):
        _ = scores.query_scores


def test_an_engine_with_files_of_its_own_hands_over_no_scores(engine, tmp_path):
    config = make_config(
        {"judgments": JUDGED, "results": RETURNED}, {"convention": "standard"}, Scratch()
    )
    with pytest.raises(EngineError, match="give session="):
        score_unpublished(
            dataclasses.replace(engine, sees_local_files=False), config, str(tmp_path)
        )


def test_the_folder_of_scores_is_removed_with_them():
    scores = evaluate(JUDGED, RETURNED, 10)
    folder = Path(scores.inputs.results.path[0]).parent
    assert len(scores.query_scores) == 1
    assert "ndcg-spark-scratch-" in str(folder)
    del scores
    gc.collect()
    assert not folder.exists()


@pytest.mark.slow
def test_a_program_has_no_session_of_ours_and_leaves_no_folder(tmp_path):
    program = """
import sys
from ndcg_spark import evaluate
scores = evaluate({"q": {"d": 1}}, {"q": {"d": 0.5}}, 10)
assert scores.table().iloc[0, 0] == 1 and scores.query_scores.shape[0] == 1
assert "pyspark" not in sys.modules and "pysail" not in sys.modules
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert list(tmp_path.glob(f"*{PREFIX}*")) == []


#: Results as DataFrames.
DATAFRAMES = {
    "rows": lambda session: session.createDataFrame(pa.table(COLUMNS)),
    "lists": lambda session: session.createDataFrame(
        pa.table({"user": [1], "recommendations": RECOMMENDED})
    ),
    "runs": lambda session: {"r": session.createDataFrame(pa.table(COLUMNS)).drop("run")},
}


@pytest.mark.parametrize("kind", on_spark(DATAFRAMES, "lists"))
def test_dataframes_of_spark_stay_lazy_until_pandas_is_asked_for(session, kind):
    scores = evaluate(JUDGED, DATAFRAMES[kind](session), 10, "trec_eval", measures="ndcg AP")
    (row,) = scores.query_scores.where("cutoff = 10").collect()
    assert row["ndcg"] == pytest.approx(EXPECTED)
    assert scores.to_pandas() is scores.to_pandas()
    assert scores.to_pandas().table().loc[row["run"]].tolist() == [pytest.approx(EXPECTED), 1]


@pytest.mark.embedded
def test_other_functions_and_options_take_dataframes_of_spark(session):
    rows, packed = (DATAFRAMES[kind](session) for kind in ("rows", "lists"))
    assert compare_lists(rows, RETURNED, baseline="r")["rbo"].tolist() == [1]
    excluded = evaluate(
        JUDGED, rows, 10, "trec_eval", exclude={"query_id": ["1"], "doc_id": ["12"]}, run="mine"
    )
    (row,) = excluded.dataset_scores.collect()
    assert (row["run"], row["ndcg"]) == ("mine", pytest.approx(2 / (2 + 1 / math.log2(3))))
    # Lists of a recommender are fetched whole.
    assert explain(JUDGED, packed, query=1, convention="trec_eval").json()[0][
        "ndcg"
    ] == pytest.approx(EXPECTED)


@pytest.mark.parametrize("preset", on_spark(["trec_eval", "sklearn"], "trec_eval"))
def test_ids_that_never_meet_are_a_warning_when_spark_has_computed(session, preset):
    other = session.createDataFrame(pa.table({**COLUMNS, "query_id": ["other"] * 3}))
    with pytest.warns(UserWarning, match="no run has results"):
        evaluate(JUDGED, other, 10, preset).to_pandas()


@pytest.mark.parametrize(
    "preset", on_spark(["trec_eval", "standard missing_query=skip"], "trec_eval")
)
@pytest.mark.parametrize("unjudged", on_spark([1, 2], 2))
def test_ids_that_seldom_meet_are_a_warning_too(session, preset, unjudged):
    judged, returned = (
        dict.fromkeys("1abc", JUDGED["1"]),
        dict.fromkeys("1xy"[: 1 + unjudged], RETURNED["1"]),
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for options in {}, {"session": session}:
            evaluate(judged, returned, 10, preset, **options).to_pandas()
    assert len([one for one in told if one.category is UserWarning]) == (2 if unjudged > 1 else 0)


DOUBTFUL = {
    "a run without rows": (
        lambda judged, rows: (judged, {"als": rows.limit(0), "pop": rows}),
        "1 run.*, e.g. run=als;",
    ),
    "no documents alike": (
        lambda judged, rows: (judged, rows.replace("1", "x", "doc_id")),
        "the cutoff 10, .*run=r;",
    ),
    "no judgments": (lambda judged, rows: (judged.limit(0), rows), "^judgments: no query"),
}


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_what_is_doubtful_is_a_warning_when_spark_has_computed(session, kind):
    tables, words = DOUBTFUL[kind]
    judged = session.createDataFrame(
        [("1", "1", 1.0)], "query_id string, doc_id string, relevance double"
    )
    rows = session.createDataFrame(
        [("1", "1", 1.0)], "query_id string, doc_id string, score double"
    )
    with pytest.warns(UserWarning, match=words) as told:
        evaluate(
            *tables(judged, rows), 10, run=None if kind == "a run without rows" else "r"
        ).to_pandas()
    assert len([warning for warning in told if warning.category is UserWarning]) == 1


def test_spark_has_neither_scores_of_no_results_nor_paths(session):
    with pytest.raises(InputError, match=r"^results: the table is empty"):
        evaluate(JUDGED, session.createDataFrame(pa.table(COLUMNS)).limit(0), 10).to_pandas()
    for paths in ("a.run", ["a.run"], Path("a.run")):
        with pytest.raises(InputError, match=r"is not a table; read .* spark\.read"):
            evaluate(JUDGED, paths, session=session)


@pytest.mark.parametrize(
    "kind", on_spark(["nested dictionaries", "pandas", "lists with scores in pandas"], "pandas")
)
def test_a_session_scores_what_is_in_memory_if_it_is_given(session, kind):
    (row,) = evaluate(
        JUDGED, TABLES[kind](), 10, "trec_eval", session=session
    ).dataset_scores.collect()
    assert row["ndcg"] == pytest.approx(EXPECTED)


def test_a_dataframe_of_spark_that_names_runs_is_refused_in_a_dictionary_as_counting_them_is_a_job(
    session,
):
    with pytest.raises(
        InputError, match=r"^results: run 'a': its table has a run column, .* drop that column"
    ):
        evaluate(JUDGED, {"a": session.createDataFrame(pa.table(COLUMNS))}, 10)


def test_a_refusal_of_the_worker_has_its_code():
    with pytest.raises(InputError) as refused:
        evaluate({"q": {"d": 0}}, {"q": {"d": 1.0}}, 10, "standard no_relevant=error")
    assert refused.value.code == "no_relevant"


def test_a_session_that_runs_is_the_one_that_is_opened(session):
    assert open_session() is session
    with pytest.raises(ConfigurationError, match="gpu"):
        open_session("gpu")


EXAMPLES = [
    ("api.compare", 4),
    ("api.conventions", 5),
    ("api.describe", 7),
    ("api.evaluate", 8),
    ("ml", 1),
    ("api.nights", 4),
]


@pytest.mark.parametrize(("module", "least"), on_spark(EXAMPLES, ("api.evaluate", 8), ("ml", 1)))
def test_the_examples_of_the_docstrings_run(session, module, least):
    failed, attempted = doctest.testmod(importlib.import_module(f"ndcg_spark.{module}"))[:2]
    assert (failed, attempted >= least) == (0, True)


def test_two_results_of_rank_1_in_one_table_are_a_warning_unless_the_order_is_chosen():
    merged = [("1", "10", 2.0, 1), ("1", "11", 1.0, 1), ("1", "12", 0.5, 2)]
    frame = pd.DataFrame(merged, columns=["query_id", "doc_id", "score", "rank"])
    with pytest.warns(
        UserWarning, match="two results of rank 1 .* e.g. run=run; the scores decide"
    ):
        scores = evaluate(JUDGED, frame, np.array([1, 10]), "trec_eval")
    chosen = evaluate(JUDGED, frame, [1, 10], "trec_eval order=score")
    assert scores.table().values.tolist() == chosen.table().values.tolist()


def test_every_two_runs_are_compared_where_all_are_baselines():
    scores = evaluate(JUDGED, dict.fromkeys("abc", RETURNED), 10)
    compared = compare(scores, ["a", "b", "c"])
    assert list(zip(compared["run"], compared["baseline"], strict=True)) == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
