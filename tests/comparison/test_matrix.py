"""Matrices of scores: read batch by batch, compared by judgments, and averaged over nights."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paired import matrix, scores

from ndcg_spark.comparison.matrix import Queries, mean_matrix, read_matrix
from ndcg_spark.errors import InputError

PLACE = ("ndcg", 10)


@pytest.fixture(autouse=True)
def _few_rows_at_once(monkeypatch):
    """As if a few rows were so many that they are not encoded together."""
    monkeypatch.setattr("ndcg_spark.comparison.matrix._ROWS_AT_ONCE", 1)


def read(*tables, runs=("a", "b"), metric=PLACE, queries=None):
    batches = [batch for table in tables for batch in with_hashes(table).to_batches()]
    return read_matrix(batches, Queries() if queries is None else queries, runs, metric)


def with_hashes(table):
    is_there = "judgments_hash" in table.column_names
    return (
        table
        if is_there
        else table.append_column("judgments_hash", pa.nulls(len(table), pa.int64()))
    )


def judged(hashes, **runs):
    """The scores of runs, with the hash of the judgments of each query."""
    table = scores(runs)
    return table.append_column("judgments_hash", pa.array([*hashes] * len(runs), pa.int64()))


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ab"), st.sampled_from("pqrstuvw")), st.floats(0, 1) | st.none()
    )
)
def test_every_score_has_its_place_however_the_rows_are_split(cells):
    rows = [scores({run: {query: value}}) for (run, query), value in cells.items()]
    score_matrix = read(*rows)
    ids = score_matrix.queries.ids.to_pylist()
    expected = {(run, query): value for (run, query), value in cells.items() if value is not None}
    values = {
        (run, query): score_matrix.values[r, q]
        for r, run in enumerate("ab")
        for q, query in enumerate(ids)
    }
    assert {cell: value for cell, value in values.items() if not np.isnan(value)} == expected
    assert {*ids} == {query for _, query in cells}


def test_nights_share_their_queries_and_other_runs_and_cutoffs_are_left_out():
    queries, deep = (
        Queries(),
        scores({"a": {"p": 0.75}}).set_column(2, "cutoff", pa.nulls(1, pa.int32())),
    )
    tonight = read(scores({"a": {"p": 0.5}, "c": {"p": 1.0}}), deep, queries=queries)
    before = read(scores({"a": {"q": 0.25, "p": 1.0}}), queries=queries)
    assert queries.ids.to_pylist() == ["p", "q"]
    np.testing.assert_array_equal(tonight.scores("a"), [0.5, np.nan])
    np.testing.assert_array_equal(before.scores("a"), [1.0, 0.25])
    np.testing.assert_array_equal(before.scores("c"), [np.nan, np.nan])
    assert read(deep, scores({"a": {"q": 1.0}}), metric=("ndcg", None)).scores("a")[0] == 0.75


@pytest.mark.parametrize(
    ("table", "words"),
    [
        *(
            (scores({"a": {"p": 0.5, empty: 0.5}}), "1 row(s) with an empty query_id")
            for empty in ("", None)
        ),
        (scores({None: {"p": 0.5, "q": 0.5}}), "2 row(s) with an empty run"),
        *(
            (scores({"a": {"p": x}}), "1 row(s) with an infinite score in ndcg, e.g. query_id=p")
            for x in (np.inf, -np.inf)
        ),
        (pa.concat_tables([scores({"a": {"p": 0.5}})] * 3), "1 row(s) repeat a query at cutoff 10"),
        (
            pa.concat_tables([judged([n], a=[0.5], **{str(n): [0.5]}) for n in (1, 2)]).slice(1, 3),
            "judgments_hash",
        ),
    ],
    ids=["empty", "null", "run", "infinite", "minus infinity", "twice", "hash"],
)
def test_what_breaks_the_contract_is_refused(table, words):
    with pytest.raises(InputError) as refused:
        read(table, runs=["a", "1", "2"])
    assert words in str(refused.value)


def test_a_mean_of_nights_is_over_those_whose_judgments_of_a_query_are_tonights():
    tonight = matrix({"a": [0.0] * 4}, [1, 2, 3, 4])
    nights = [
        matrix({"a": [0.2, 0.4, None, 0.1]}, [1, 2, 3, 9], tonight.queries),
        matrix({"a": [0.4, 0.8, 0.6, 0.2], "b": [1.0] * 4}, [1, 7, 3, 9], tonight.queries),
    ]
    mean = mean_matrix(nights, tonight)
    np.testing.assert_allclose(mean.scores("a"), [0.3, 0.4, 0.6, np.nan])
    np.testing.assert_allclose(mean.scores("b"), [1.0, np.nan, 1.0, np.nan])
    assert mean.hashes().tolist() == [1, 2, 3, 9]


def test_of_several_nights_the_newest_says_what_a_run_did_not_answer():
    tonight = matrix({"a": [0.5] * 3}, [1, 2, 0])
    older = matrix({"a": [0.5] * 3, "b": [0.5] * 3}, [1, 2, 3], tonight.queries)
    newest = matrix({"a": [0.5] * 3}, [1, 2, 0], tonight.queries)
    newest = dataclasses.replace(newest, answers=np.array([[True, False, False]]))
    mean = mean_matrix([older, newest], tonight)
    # The last query is not judged there.
    assert mean.unanswered("a").tolist() == newest.unanswered("a").tolist() == [False, True, False]
    assert mean.unanswered("b").tolist() == [True, True, False]
    assert older.unanswered("b").tolist() == [False] * 3
