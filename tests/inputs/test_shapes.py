"""Files of the shapes that tools write, read as they are."""

import pytest
import sessions
from shape_cases import JUDGED, JUDGMENTS_READ, REFUSED, RESULTS_READ, rows_of

#: Shapes whose reader is not that of another one: read on classic Spark, too.
VARIED = {
    *("ColBERT", "JSON", "files of one tag", "part files without a run"),
    *("lists with scores, Parquet", "lists of unequal length, Parquet"),
    *("TREC, a run's name of words", "TREC, a blank in a document's id", "distances beside ranks"),
}


def chosen(shapes):
    return [shape for shape in shapes if sessions.choice == "embedded" or shape in VARIED]


@pytest.mark.parametrize("shape", chosen(JUDGMENTS_READ))
def test_judgments_of_a_tool_are_read_as_they_are(engine, shape):
    assert rows_of(engine, 0, {"judgments": JUDGMENTS_READ[shape]}) == [list(row) for row in JUDGED]


@pytest.mark.parametrize("shape", chosen(RESULTS_READ))
def test_results_of_a_tool_are_read_as_they_are(engine, shape):
    expected, write = RESULTS_READ[shape]
    assert rows_of(engine, 1, {"results": write}) == [list(row) for row in expected]


@pytest.mark.parametrize("shape", chosen(REFUSED))
def test_what_is_no_row_or_may_be_read_in_two_ways_is_refused(engine, shape):
    write, words = REFUSED[shape]
    found = rows_of(engine, 1, {"results": write}, True)
    assert words in str(found)
    assert found.startswith("3 results")
