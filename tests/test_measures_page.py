"""The worked examples of MEASURES.md: what the page computes is what its arithmetic and the program say."""

import math
import re
from pathlib import Path

import pyarrow as pa
import pytest
from scored import scored

from ndcg_spark.convention.measures import CATALOG_COLUMNS, MEASURES
from ndcg_spark.convention.parsing import parse_measures

pytestmark = pytest.mark.embedded

PAGE = (Path(__file__).parents[1] / "ndcg_spark/guides/MEASURES.md").read_text(encoding="utf-8")
#: The name, how it is written, the arithmetic and the value of each example.
EXAMPLES = re.findall(
    r"^\| `(\w+)` \| `([^`]+)` \|.*\| `([^`]+)` \| (\d\.\d{4}) \|$",
    PAGE.partition("## The catalog")[0],
    re.MULTILINE,
)


def rows(name):
    """The cells of every row of the page's tables that begins with the name."""
    return [
        re.findall(r"[^| ]+", cells)
        for cells in re.findall(rf"^\| {name} \|(.*)$", PAGE, re.MULTILINE)
    ]


@pytest.fixture(scope="module")
def example_scores(session):
    (documents, returned), (grades,) = rows("document"), rows("grade")
    judged = dict(zip(documents, map(float, grades), strict=True))
    scores = {doc: -float(place) for place, doc in enumerate(returned)}
    return scored(
        session, {"q": judged}, {"q": scores}, measures=[written for _, written, _, _ in EXAMPLES]
    )


def test_there_is_an_example_of_every_measure():
    judged = {name for name, measure in MEASURES.items() if measure.of == "judgments"}
    assert {name for name, *_ in EXAMPLES} == judged


@pytest.mark.parametrize(
    ("name", "written", "arithmetic", "value"), EXAMPLES, ids=[example[1] for example in EXAMPLES]
)
def test_an_example_is_what_its_arithmetic_and_the_program_say(
    example_scores, name, written, arithmetic, value
):
    expected = eval(arithmetic, {"log2": math.log2})  # noqa: S307  # the page's own arithmetic
    assert f"{expected:.4f}" == value
    ((of, cutoff),) = parse_measures(written, None, ()).measure_set.pairs
    assert of == name
    assert example_scores.of("q", cutoff)[MEASURES[name].column] == pytest.approx(
        expected, abs=1e-12
    )


def test_the_residual_is_of_the_unjudged_document(example_scores):
    ((arithmetic, value),) = re.findall(r"here `([^`]+)` = (\d\.\d{4})", PAGE)
    expected = eval(arithmetic)  # noqa: S307  # the same
    assert f"{expected:.4f}" == value
    assert example_scores.of("q", 5)["rbp_residual"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.embedded
def test_the_scores_are_those_of_the_grades_that_the_unjudged_document_could_have(session):
    (documents, returned), (grades,) = rows("document"), rows("grade")
    judged = dict(zip(documents, map(float, grades), strict=True))
    scores = {"q": {doc: -float(place) for place, doc in enumerate(returned)}}
    shown = re.findall(r"`x` has grade (\d) \| (\d\.\d{4}) \|", PAGE)
    by_grade = {
        str(grade): scored(session, {"q": {**judged, "x": float(grade)}}, scores, [5])
        for grade in range(4)
    }
    assert shown == [
        (grade, f"{graded.of('q', 5)['ndcg']:.4f}") for grade, graded in by_grade.items()
    ]


CATALOG = {"doc_id": list("abcd"), "popularity": [4, 2, 1, 0], "category": ["f", "f", "b", "b"]}
OF_CATALOG = re.findall(
    r"^\| `(\w+)` \| `([A-Z]\w+(?:\([^)]*\))?@3)` \|.*\| `([^`]+)` \| (\d\.\d{4}) \|$",
    PAGE.partition("## The catalog")[2],
    re.MULTILINE,
)


def test_there_is_an_example_of_every_measure_of_the_catalog():
    assert {name for name, *_ in OF_CATALOG} == set(CATALOG_COLUMNS)


@pytest.fixture(scope="module")
def catalog_scores(session):
    judged = {"u1": {"a": 1.0}, "u2": {"a": 1.0}}
    returned = {"u1": {"a": 3.0, "b": 2.0, "x": 1.0}, "u2": {"a": 2.0, "c": 1.0}}
    given = {"items": pa.table(CATALOG), "items_users": 8}
    scores = {}
    # An evaluation has one value of an option: those with an option are another one.
    for has_option in (False, True):
        measures = [written for _, written, *_ in OF_CATALOG if ("(" in written) == has_option]
        found = scored(session, judged, returned, measures=measures, **given)
        scores |= dict.fromkeys(measures, found.mean(3))
    return scores


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("name", "written", "arithmetic", "value"), OF_CATALOG, ids=[one[1] for one in OF_CATALOG]
)
def test_an_example_of_the_catalog_is_what_the_program_says(
    catalog_scores, name, written, arithmetic, value
):
    expected = eval(arithmetic)  # noqa: S307  # the page's own arithmetic
    assert f"{expected:.4f}" == value
    assert catalog_scores[written][name] == pytest.approx(expected, abs=1e-12)
