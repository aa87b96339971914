"""Files of the shapes that tools write, read as they are, on classic Spark and on the embedded engine."""

import json
from pathlib import Path

import pytest
import shape_cases
from programs import forked
from shape_cases import JUDGED, JUDGMENTS_READ, REFUSED, RESULTS_READ


@pytest.fixture(scope="module")
def embedded():
    pytest.importorskip("pysail")
    done = forked(shape_cases.main, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("shape", JUDGMENTS_READ)
def test_judgments_of_a_tool_are_read_as_they_are(embedded, shape):
    assert embedded["judgments"][shape] == [list(row) for row in JUDGED]


@pytest.mark.parametrize("shape", RESULTS_READ)
def test_results_of_a_tool_are_read_as_they_are(embedded, shape):
    assert embedded["results"][shape] == [list(row) for row in RESULTS_READ[shape][0]]


#: Shapes whose reader is not that of another one.
VARIED = {
    *("three fields", "JSON", "files of one tag", "part files without a run"),
    *("lists with scores, Parquet", "lists of unequal length, Parquet"),
    *("TREC, a run's name of words", "TREC, a blank in a document's id", "rank and score swapped"),
    *("distances beside ranks", "a category in a column tag"),
}


def test_spark_reads_what_the_embedded_engine_reads(engine, embedded, thorough):
    found = shape_cases.outcomes(engine, None if thorough else VARIED)
    expected = {kind: {name: embedded[kind][name] for name in cases} for kind, cases in found.items()}
    assert json.loads(json.dumps(found)) == expected


@pytest.mark.parametrize("shape", REFUSED)
def test_what_is_no_row_or_may_be_read_in_two_ways_is_refused(embedded, shape):
    found = embedded["refused"][shape]
    assert REFUSED[shape][1] in str(found)
    assert found.startswith("3 results")
