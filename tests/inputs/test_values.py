"""Text becomes numbers where it is a plain, finite one, and its text is kept where a message may show it."""

import math

import pyarrow as pa
import pytest

from ndcg_spark.inputs.values import numbers_of, odd_rows, schema_of, table_of
from ndcg_spark.schemas import FAULT, LINE, WRITTEN

PLAIN = ["1", "007", ".5", "5.", "-7.25", "+1.5", "1E3", "1e+3", "-1e-3", " 2 ", "\t2", "2\f", "1e-400", "4.9e-324"]
NONE = ["", " ", "x", "nan", "NaN", "inf", "-Infinity", "1e999", "1_0", "1,5", "1d", "1f", "0x1p3", "0x1F", "--1", "."]
NONE += ["1e", "\u0661", "1\u00a0", "1\x0b", "1\x85", "1\x00", "true", '"1"']


def columns(**values):
    return {name: pa.chunked_array([pa.array(column, pa.string())]) for name, column in values.items()}


def encoded(found):
    return {name: column.dictionary_encode() for name, column in found.items()}


def read(name, texts, constants=None):
    """The values that a column of these texts is read as, plainly and as few different texts."""
    found = columns(**{name: texts})
    plain, few = (numbers_of(each, constants or {})[name].to_pylist() for each in (found, encoded(found)))
    assert list(map(repr, plain)) == list(map(repr, few))
    return plain


@pytest.mark.parametrize("name", ["relevance", "score"])
def test_a_number_is_what_python_makes_of_it_and_a_text_that_is_none_is_null(name):
    assert read(name, [*PLAIN, *NONE, None]) == [*map(float, PLAIN), *[None] * len(NONE), None]


def test_a_rank_is_a_whole_number_of_32_bits():
    whole = {
        "1": 1,
        "007": 7,
        "2.0": 2,
        "1e2": 100,
        "-3": -3,
        "-0": 0,
        "2147483647": 2**31 - 1,
        "-2147483648": -(2**31),
    }
    none = ["1.5", "2147483648", "-2147483649", "1e400", "nan", "x", "0x1F", None]
    assert read("rank", [*whole, *none]) == [*whole.values(), *[None] * len(none)]
    # As Arrow has read them already.
    stored = {"rank": pa.chunked_array([[1.0, 2.5, math.nan, math.inf, 2.0**31]])}
    assert numbers_of(stored, {})["rank"].to_pylist() == [1, None, None, None, None]


def test_numbers_that_arrow_has_read_are_finite_or_null():
    stored = {"score": pa.chunked_array([[1.5, -0.0, math.nan, math.inf, -math.inf]])}
    assert list(map(str, numbers_of(stored, {})["score"].to_pylist())) == ["1.5", "0.0", "None", "None", "None"]


def written(found, constants=None):
    """The table of these columns as dictionaries."""
    numbers, given = numbers_of(found, constants or {}), constants or {}
    names = ("run", "query_id", "doc_id", "relevance", "score", "rank")
    schema = schema_of([name for name in names if name in (*found, *given)])
    return table_of(found, numbers, odd_rows(found, numbers, given), given, schema).to_pylist()


def test_the_text_of_numbers_is_kept_in_rows_that_a_rule_may_refuse():
    found = columns(query_id=["q", "q", "q", "", None], doc_id=["a"] * 5, score=["1.50", "x", "2.0", "3.0", "4.0"])
    assert [row[WRITTEN["score"]] for row in written(found)] == [None, "x", None, "3.0", "4.0"]
    found = columns(doc_id=["a"] * 4, score=["1.0"] * 4, rank=["1", "0", "1.5", None])
    assert [(row["rank"], row[WRITTEN["score"]]) for row in written(found)] == [
        (1, None),
        (0, "1.0"),
        (None, "1.0"),
        (None, "1.0"),
    ]


def test_the_text_of_every_grade_is_kept():
    found = columns(query_id=["q", "q"], doc_id=["a", "b"], relevance=["1.0", "high"])
    assert [(row["relevance"], row[WRITTEN["relevance"]]) for row in written(found)] == [(1.0, "1.0"), (None, "high")]


def test_a_line_that_is_no_row_is_odd_and_keeps_its_text():
    found = columns(query_id=["q", None], doc_id=["a", None], **{FAULT: [None, "broken_line"], LINE: [None, "x"]})
    assert odd_rows(found, {}, {}).to_pylist() == [False, True]
    assert [(row[FAULT], row[LINE]) for row in written(found)] == [(None, None), ("broken_line", "x")]
    good = columns(query_id=["q"], doc_id=["a"])
    assert odd_rows(good, {}, {}) is None


def test_what_a_folder_gives_is_in_every_row_and_counts_before_the_file():
    found = columns(run=["of the file"] * 2, doc_id=["a", "b"], score=["1", "2"])
    rows = written(found, {"run": "of the folder", "query_id": "007"})
    assert [(row["run"], row["query_id"], row["doc_id"]) for row in rows] == [
        ("of the folder", "007", "a"),
        ("of the folder", "007", "b"),
    ]
    # A folder without a name may be a row to refuse, whose numbers are shown as they were written.
    assert [row[WRITTEN["score"]] for row in written(found, {"run": None})] == ["1", "2"]
