"""The library's `compare` with whatever people have for a table."""

import datetime
import doctest

import pandas as pd
import pyarrow as pa
import pytest

from ndcg_spark import compare, evaluate, open_session
from ndcg_spark.comparison import comparisons
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.report.notebook import show_comparison
from ndcg_spark.schemas import COMPARISONS

COLUMNS = {
    "run": ["old", "old", "old", "new", "new", "new"],
    "query_id": [1, 2, 3, 1, 2, 3],
    "cutoff": [10] * 6,
    "ndcg": [0.25, 0.5, 0.75, 0.5, 0.5, 1.0],
}
TABLES = {
    "a dictionary of columns": lambda: COLUMNS,
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with dates and categories": lambda: (
        pd.DataFrame(COLUMNS)
        .astype({"run": "category", "query_id": "uint32"})
        .assign(evaluated_on=pd.Timestamp("2026-11-20"), more=[[1]] * 6)
    ),
    "pyarrow": lambda: pa.table(COLUMNS),
    "Spark": lambda: open_session().createDataFrame(pa.table(COLUMNS)),
}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_of_any_kind_is_compared(kind):
    table = compare(TABLES[kind](), "old")
    assert table.schema.names == COMPARISONS.names
    (row,) = table.collect()
    assert (row["queries"], row["cutoff"], row["difference"]) == (3, 10, pytest.approx(0.5 / 3))
    assert row["evaluated_on"] == (datetime.date(2026, 11, 20) if "dates" in kind else None)


@pytest.mark.usefixtures("spark")
def test_a_notebook_shows_a_comparison_as_a_table():
    shown = show_comparison(compare(COLUMNS, "old", correction="none"), correction="none")
    assert "<td" in shown._repr_html_()
    # The new run wins twice by 0.25 and ties once.
    assert [word in str(shown).splitlines()[1].split() for word in ("new", "ndcg@10", "+0.1667")] == [True] * 3


@pytest.mark.usefixtures("spark")
def test_so_are_frames_of_polars_with_slices_and_weights():
    polars = pytest.importorskip("polars")
    slices = polars.DataFrame({"query_id": ["1", "2"], "kind": ["a", "b"]})
    rows = compare(polars.DataFrame(COLUMNS), "old", attributes=slices, weights={"query_id": [1, 2], "weight": [1, 2]})
    assert [(row["value"], row["queries"]) for row in rows.collect()] == [
        *((None, 3), (None, 2), ("a", 1), ("a", 1), ("b", 1), ("b", 1), ("(none)", 1), ("(none)", 0))
    ]


@pytest.mark.usefixtures("spark")
def test_the_scores_of_an_evaluation_are_compared_as_they_are():
    judgments = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"a": 0}}
    results = {
        "old": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0}, "q3": {"a": 1.0}},
        "new": {"q1": {"a": 2.0, "b": 1.0}},
    }
    date = datetime.date(2026, 11, 20)
    scores = evaluate(judgments, results, [1], evaluated_on=date)
    (row,) = compare(scores.query_scores, "old").collect()
    # q1 is won and q2 lost; q3 has no relevant document, so that neither mean is over it.
    assert (row["queries"], row["unpaired_queries"], row["wins"], row["losses"]) == (2, 0, 1, 1)
    assert (row["evaluated_on"], row["mean"], row["baseline_mean"]) == (date, 0.5, 0.5)
    assert row["evaluation_id"] == scores.query_scores.first()["evaluation_id"]


@pytest.mark.usefixtures("spark")
def test_the_examples_of_the_docstring_run():
    found = doctest.testmod(comparisons)
    assert (found.failed, found.attempted > 3) == (0, True)


@pytest.mark.usefixtures("spark")
def test_what_lacks_a_column_is_told_what_to_do_in_python():
    scores = pd.DataFrame(COLUMNS)
    with pytest.raises(ConfigurationError, match="no column 'ap' in query_scores; name the column of the scores"):
        compare(scores, "old", measure="ap")
    with pytest.raises(
        InputError, match=r"1 column.s. missing, weight; it has query_id; name its columns query_id and"
    ):
        compare(scores, "old", weights={"query_id": ["1"]})
    (row,) = compare(scores.rename(columns={"query_id": "qid"}), "old").collect()
    assert row["queries"] == 3
