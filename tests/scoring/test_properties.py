"""What holds for any rankings, against the reference in plain Python."""

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import ndcg
from tables import arrow_judgments, arrow_results, judgment, result

from ndcg_spark import Convention, evaluate

CUTOFFS = [1, 2, 5, None]
DOCUMENTS = ["a", "b", "c", "d", "é", "z", "ü0", "10", "9", "007"]

#: Grades and scores; few scores, so many ties.
VALUES = [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0], [-1.0, -0.0, 0.0, 0.5, 2.0]
#: One query: what was judged, and what a run returned with which score.
QUERY = st.tuples(*(st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from(v), min_size=1) for v in VALUES))
#: Many queries at once: an evaluation costs the same for one.
QUERIES = st.lists(QUERY, min_size=5, max_size=12)
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


def test_classic_spark_gives_the_scores_of_the_definition_whatever_the_partitions_of_the_rows(spark):
    chance = random.Random(8)  # noqa: S311  # rows that repeat are what is wanted
    queries = [
        tuple({d: chance.choice(values) for d in chance.sample(DOCUMENTS, chance.randint(1, 9))} for values in VALUES)
        for _ in range(60)
    ]
    judged, returned = (spark.createDataFrame(table) for table in as_tables(queries))
    # Without keys, rows are dealt out in turn, so that a list is in several partitions.
    found = by_key(evaluate(judged.repartition(3), returned.repartition(5), CUTOFFS).query_scores.collect())
    assert len(found) == len(queries) * len(CUTOFFS)
    for (_, query, cutoff), score in found.items():
        assert score == defined(queries, int(query[1:]), cutoff, "exp2")


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
