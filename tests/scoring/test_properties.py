"""What holds for any rankings: every value of every option is computed as plain Python has it (support/oracle.py)."""

import collections
import contextlib
import itertools
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import ndcg, scores
from pyspark.errors import PySparkException
from scored import ROADS, in_turn, scored
from sessions import many, on_spark
from tables import judgment, result

from ndcg_spark import Convention
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.errors import ConventionError, InputError

CUTOFFS = [1, 2, 5, None]
#: How each road refuses a query: a plan that raises, or a sentence.
REFUSED = {"lazy": PySparkException, "parquet": InputError, "text": InputError}
DOCUMENTS = ["a", "b", "c", "d", "é", "z", "ü0", "10", "9", "007"]

#: Grades and scores; few scores, so many ties.
VALUES = [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0], [-1.0, -0.0, 0.0, 0.5, 2.0]
#: One query: what was judged, and what a run returned with which score.
QUERY = st.tuples(
    *(st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from(v), min_size=1) for v in VALUES)
)
#: Many queries at once: an evaluation costs the same for one.
QUERIES = st.lists(QUERY, min_size=5, max_size=12)
# The engine is one for all.
few = settings(max_examples=many(4, 2, 4), deadline=None, suppress_health_check=list(HealthCheck))

#: These fail a plan (test_evaluation.py), or are about how files are read (inputs/test_order_of_rows.py).
REFUSING = {("no_relevant", "error"), ("missing_query", "error"), ("order", "file")}
#: The values of every option, but those that refuse queries which `random_lists` has.
OPTION_VALUES = {
    option: [value for value in known.words if (option, value) not in REFUSING]
    + {
        "gain": [{half / 2: half**2 - 1.0 for half in range(-2, 9)}, "python:numpy.expm1"],
        "discount": [[1, 0.5, 0.25], "python:numpy.reciprocal"],
        "unjudged": [1.0],
        "min_relevance": [2.0],
    }.get(option, [])
    for option, known in OPTIONS.items()
}


def random_convention(chance):
    """A convention of random values, and these."""
    # Most options contradict each other.
    while True:
        options = {option: chance.choice(values) for option, values in OPTION_VALUES.items()}
        with contextlib.suppress(ConventionError):
            return Convention(**options), {(name, str(value)) for name, value in options.items()}


def conventions(count):
    """Random conventions, so many or more, until every value of every option is in one of them."""
    chance = random.Random(1)  # noqa: S311  # conventions that repeat are what is wanted
    # Its gain is a constant that lists are sorted by.
    yield Convention(gain="judged", negative="keep", ideal="retrieved", ties="best")
    unseen = {(option, str(value)) for option, values in OPTION_VALUES.items() for value in values}
    while count > 0 or unseen:
        # Of many, the one with the most values that are new, so that few have them all.
        some = [random_convention(chance) for _ in range(100)]
        convention, has = max(some, key=lambda one: len(one[1] & unseen))
        yield convention
        unseen, count = unseen - has, count - 1


def random_lists(convention, seed, count=15):
    """Rows of lists with ties, of two runs, and all that a convention takes: repeated rows, negative grades."""
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    grades = [0.0, 0.0, 1.0, 2.0, 4.0, *([] if convention.negative == "error" else [-1.0])]
    documents = [*"abcdé", "9", "10", "007", "12345678901234567890"]
    judged, returned = [], []
    for number in range(count):
        query = f"q{number}"
        pool = chance.sample([*documents, query], 6)
        pool += pool[:2] if convention.judgment_duplicates != "error" else []
        judged += (
            judgment(doc, 0.0 if number % 7 == 0 else chance.choice(grades), query) for doc in pool
        )
        for run in ("r", "s"):
            listed = chance.sample([*documents, query], chance.randint(0, 8))
            listed += listed[:2] if convention.duplicates == "best" else []
            ranks = chance.sample(range(1, 12), len(listed))
            values = [chance.choice([-0.0, 0.0, 0.1, 0.1 + 1e-9, 2.0]) for _ in listed]
            returned += (
                result(d, s, query, run, rank=r)
                for d, s, r in zip(listed, values, ranks, strict=True)
            )
    chance.shuffle(returned)
    return judged, returned


@pytest.mark.slow
def test_every_convention_gives_the_scores_of_plain_python_whatever_the_partitions_of_the_rows(
    session, thorough
):
    chance = random.Random(2)  # noqa: S311  # it chooses cutoffs
    for seed, convention in enumerate(conventions(100 if thorough else 0)):
        # Without the whole ranking, lists are cut.
        cutoffs = chance.choice([[1, 3], [2, 8, None], [None], [20]])
        judged, returned = random_lists(convention, seed)
        given, listed = collections.defaultdict(list), collections.defaultdict(list)
        for row in judged:
            given[row["query_id"]].append(row)
        for row in returned:
            listed[row["run"], row["query_id"]].append(row)
        road = ROADS[seed % len(ROADS)]
        found = scored(session, judged, returned, cutoffs, convention, road=road, is_dealt=True)
        rows = found.query_scores
        assert len(rows) == 2 * len(given) * len(cutoffs)
        for row in rows:
            lists = given[row["query_id"]], listed[row["run"], row["query_id"]]
            expected = scores(*lists, row["cutoff"], convention)
            if 0 < abs(expected["ideal_dcg"]) < 1e-9 or 0 < abs(row["ideal_dcg"]) < 1e-9:
                # Negative gains can sum to nearly 0, by which nothing is divided here.
                del expected["status"], expected["ndcg"]
            assert {name: row[name] for name in expected} == {
                name: pytest.approx(value, rel=1e-9, abs=1e-9)
                if isinstance(value, float)
                else value
                for name, value in expected.items()
            }, (convention.label, road, row)


WITHOUT_RELEVANT = in_turn(itertools.product([1.0, 0.0], ["zero", "skip"], ["judged", "retrieved"]))


@pytest.mark.parametrize(
    ("case", "road"), on_spark(WITHOUT_RELEVANT, *WITHOUT_RELEVANT[1::5]), ids=str
)
def test_what_plain_python_refuses_for_want_of_a_relevant_document_is_refused(session, case, road):
    grade, missing_query, ideal = case
    convention = Convention(no_relevant="error", missing_query=missing_query, ideal=ideal)
    rows = [judgment("a", grade)]
    # The run answers another query, which has a relevant document.
    other = [judgment("b", 1.0, "q2")], [result("b", 1.0, "q2")]
    tables = [*rows, *other[0]], other[1]
    is_refused = missing_query == "zero" and (ideal == "retrieved" or grade == 0)
    asked = (
        (REFUSED[road], lambda: scored(session, *tables, [1], convention, road=road).query_scores),
        (InputError, lambda: scores(rows, [], 1, convention)),
    )
    for error, ask in asked:
        with pytest.raises(error) if is_refused else contextlib.nullcontext():
            ask()


@few
@given(QUERIES, st.sampled_from([-8.0, 0.25, 1024.0]), st.randoms(use_true_random=False))
@pytest.mark.parametrize(
    ("gain", "road"),
    on_spark([("exp2", "lazy"), ("linear", "parquet"), ("linear", "text")], ("exp2", "lazy")),
)
def test_a_score_does_not_depend_on_a_constant_or_the_order_and_partitions_of_rows_and_is_1_in_the_ideal_order(
    session, gain, road, lists, constant, chance
):
    moved = [(judged, {d: s + constant for d, s in returned.items()}) for judged, returned in lists]
    ideal = [(judged, judged) for judged, _ in lists]
    judged = [
        judgment(d, g, f"q{n}") for n, (grades, _) in enumerate(lists) for d, g in grades.items()
    ]
    returned = [
        result(d, s, f"q{n}", run)
        for run, of in {"r": lists, "moved": moved, "ideal": ideal}.items()
        for n, (_, values) in enumerate(of)
        for d, s in values.items()
    ]
    chance.shuffle(judged)
    chance.shuffle(returned)
    convention = Convention(gain=gain)
    found = scored(session, judged, returned, CUTOFFS, convention, road=road, is_dealt=True)
    rows = found.query_scores
    score_at = {(row["run"], row["query_id"], row["cutoff"]): row["ndcg"] for row in rows}
    assert len(score_at) == 3 * len(lists) * len(CUTOFFS)
    for number, query in enumerate(lists):
        for cutoff in CUTOFFS:
            score, of_moved, of_ideal = (
                score_at[run, f"q{number}", cutoff] for run in ("r", "moved", "ideal")
            )
            expected = ndcg(*query, cutoff, Convention(gain=gain))
            assert (
                score
                == of_moved
                == (expected if expected is None else pytest.approx(expected, abs=1e-12))
            )
            assert score is None or 0 <= score <= 1 + 1e-12
            assert of_ideal is None or of_ideal == pytest.approx(1, abs=1e-12)
