"""What holds for any rankings, against the reference in plain Python."""

import collections
import contextlib
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import ndcg, scores
from tables import arrow_judgments, arrow_results, judgment, result, tables_for

from ndcg_spark import Convention, evaluate
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.errors import ConventionError

CUTOFFS = [1, 2, 5, None]
REFUSING = {("no_relevant", "error"), ("missing_query", "error")}
DOCUMENTS = ["a", "b", "c", "d", "é", "z", "ü0", "10", "9", "007"]

#: Grades and scores; few scores, so many ties.
VALUES = [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0], [-1.0, -0.0, 0.0, 0.5, 2.0]
#: One query: what was judged, and what a run returned with which score.
QUERY = st.tuples(*(st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from(v), min_size=1) for v in VALUES))
#: Many queries at once: an evaluation costs the same for one.
QUERIES = st.lists(QUERY, min_size=5, max_size=12)
#: The values of every option, but those that refuse queries which `tables_for` has.
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
# The engine is one for all.
few = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))

Queries = list[tuple[dict[str, float], dict[str, float]]]


def as_tables(queries: Queries, **runs: Queries) -> tuple[pa.Table, pa.Table]:
    """The judgments of the queries, and their results as the run r beside those of other runs."""
    judged = [judgment(d, g, f"q{n}") for n, (grades, _) in enumerate(queries) for d, g in grades.items()]
    returned = [
        result(d, s, f"q{n}", run)
        for run, listed in {"r": queries, **runs}.items()
        for n, (_, scores) in enumerate(listed)
        for d, s in scores.items()
    ]
    return arrow_judgments(*judged), arrow_results(*returned)


def by_key(rows: list[Any]) -> dict[tuple[str, str, int | None], float | None]:
    return {(row["run"], row["query_id"], row["cutoff"]): row["ndcg"] for row in rows}


def defined(queries: Queries, number: int, cutoff: int | None, gain: str) -> Any:
    """What the definition gives a query."""
    grades, scores = queries[number]
    expected = ndcg(grades, scores, cutoff, Convention(gain=gain))
    return None if expected is None else pytest.approx(expected, abs=1e-12)


@few
@given(QUERIES, st.sampled_from([-8.0, 0.25, 1024.0]), st.randoms(use_true_random=False))
@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_a_score_is_that_of_the_definition_with_any_constant_added_and_rows_in_any_order_and_1_in_the_ideal_order(
    evaluate_embedded, gain, queries, constant, chance
):
    moved = [(judged, {d: s + constant for d, s in returned.items()}) for judged, returned in queries]
    ideal = [(judged, judged) for judged, _ in queries]
    tables = [
        table.take(chance.sample(range(len(table)), len(table)))
        for table in as_tables(queries, moved=moved, ideal=ideal)
    ]
    found = by_key(evaluate_embedded.queries(*tables, CUTOFFS, Convention(gain=gain)).query_scores)
    assert len(found) == 3 * len(queries) * len(CUTOFFS)
    for number in range(len(queries)):
        for cutoff in CUTOFFS:
            score, of_moved, of_ideal = (found[run, f"q{number}", cutoff] for run in ("r", "moved", "ideal"))
            assert score == of_moved == defined(queries, number, cutoff, gain)
            assert score is None or 0 <= score <= 1 + 1e-12
            assert of_ideal is None or of_ideal == pytest.approx(1, abs=1e-12)


def conventions(seed, count):
    """Random conventions and cutoffs, after one whose gain is a constant that lists are sorted by."""
    chance = random.Random(seed)  # noqa: S311  # conventions that repeat are what is wanted
    found = [Convention(gain="judged", negative="keep", ideal="retrieved", ties="best")]
    while len(found) < count:
        with contextlib.suppress(ConventionError):  # most options contradict each other
            found.append(Convention(**{name: chance.choice(values) for name, values in OPTION_VALUES.items()}))
    return [(convention, chance.choice([[1, 3], [2, 8, None], [None], [20]])) for convention in found]


def differing(rows, judged, returned, convention):
    """The rows whose scores are not those of the definition."""
    given, listed = collections.defaultdict(list), collections.defaultdict(list)
    for row in judged.to_pylist():
        given[row["query_id"]].append(row)
    for row in returned.to_pylist():
        listed[row["run"], row["query_id"]].append(row)
    for row in rows:
        query = given[row["query_id"]], listed[row["run"], row["query_id"]]
        dcg, ideal, ndcg = scores(*query, row["cutoff"], convention)
        expected = [dcg, ideal, ndcg]
        # Negative gains can sum to nearly 0, by which nothing is divided here.
        columns = ("dcg", "ideal_dcg", "ndcg")[: 2 if 0 < abs(ideal) < 1e-9 or 0 < abs(row["ideal_dcg"]) < 1e-9 else 3]
        if [row[name] for name in columns] != pytest.approx(expected[: len(columns)], abs=1e-9):
            yield convention.label, row, expected


@pytest.mark.slow
def test_every_convention_gives_the_scores_of_its_definition(evaluate_embedded, thorough):
    for seed, (convention, cutoffs) in enumerate(conventions(1, 400 if thorough else 40)):
        judged, returned = tables_for(convention, 15, seed)
        rows = evaluate_embedded.queries(judged, returned, cutoffs, convention).query_scores
        assert len(rows) == 2 * 15 * len(cutoffs)
        assert not list(differing(rows, judged, returned, convention))


@pytest.mark.slow
def test_every_convention_gives_them_on_classic_spark_whatever_the_partitions_of_the_rows(spark, thorough):
    for seed, (convention, cutoffs) in enumerate(conventions(2, 80 if thorough else 5)):
        judged, returned = tables_for(convention, 15, seed)
        # Without keys, rows are dealt out in turn, so that a list is in several partitions.
        dealt = spark.createDataFrame(judged).repartition(3), spark.createDataFrame(returned).repartition(5)
        rows = evaluate(*dealt, cutoffs, convention).query_scores.collect()
        assert len(rows) == 2 * 15 * len(cutoffs)
        assert not list(differing(rows, judged, returned, convention))


def test_a_relevant_document_counts_exactly_up_to_the_cutoff_it_stands_at(evaluate_embedded):
    places, beyond = range(1, 13), 3
    documents = {at: [f"d{place:02}" for place in range(1, at + beyond + 1)] for at in places}
    judged = arrow_judgments(*(judgment(documents[at][-beyond - 1], query_id=f"{at}") for at in places))
    returned = arrow_results(
        *(result(doc, -float(n), f"{at}") for at, docs in documents.items() for n, doc in enumerate(docs))
    )
    rows = evaluate_embedded.queries(judged, returned, [*places]).query_scores
    assert len(rows) == len(places) ** 2
    assert all((row["ndcg"] > 0) == (row["cutoff"] >= int(row["query_id"])) for row in rows)
