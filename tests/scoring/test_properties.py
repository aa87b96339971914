"""What holds for any rankings, against the definition in plain Python."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from reference import ndcg
from tables import judgment, judgments, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.scoring.ranking import RANK, by_window

CUTOFFS = [1, 2, 5, None]
DOCUMENTS = ["a", "b", "c", "d", "é", "z", "ü0", "10", "9", "007"]

#: One query: what was judged, and what a run returned with which score; few scores, so many ties.
QUERY = st.tuples(
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 4).map(float), min_size=1),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0]), min_size=1),
)
#: Many queries at once: a Spark job costs the same for one.
QUERIES = st.lists(QUERY, min_size=5, max_size=12)
# A job takes about a second, and the session is one for all.
few = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))

Queries = list[tuple[dict[str, float], dict[str, float]]]


def as_tables(spark: SparkSession, queries: Queries, run: str = "r") -> tuple[DataFrame, DataFrame]:
    judged = [judgment(d, g, f"q{n}") for n, (grades, _) in enumerate(queries) for d, g in grades.items()]
    returned = [result(d, s, f"q{n}", run) for n, (_, scores) in enumerate(queries) for d, s in scores.items()]
    return judgments(spark, judged), results(spark, returned)


def ndcgs(tables: tuple[DataFrame, DataFrame], **options: Any) -> dict[tuple[str, str, int | None], float | None]:
    rows = evaluate(*tables, CUTOFFS, Convention(**options)).query_scores.collect()
    return {(row["run"], row["query_id"], row["cutoff"]): row["ndcg"] for row in rows}


@few
@given(QUERIES, st.sampled_from([-8.0, 0.25, 1024.0]))
@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_a_score_is_that_of_the_definition_with_any_constant_added_and_1_in_the_ideal_order(
    spark, gain, queries, constant
):
    moved = [(judged, {d: s + constant for d, s in returned.items()}) for judged, returned in queries]
    ideal = [(judged, judged) for judged, _ in queries]
    judged, returned = as_tables(spark, queries)
    for run, changed in (("moved", moved), ("ideal", ideal)):
        returned = returned.union(as_tables(spark, changed, run)[1])
    found = ndcgs((judged, returned), gain=gain)
    for number, (grades, scores) in enumerate(queries):
        for cutoff in CUTOFFS:
            expected = ndcg(grades, list(scores.items()), cutoff, exp2=gain == "exp2")
            score, of_moved, of_ideal = (found[run, f"q{number}", cutoff] for run in ("r", "moved", "ideal"))
            assert score == of_moved == (None if expected is None else pytest.approx(expected, abs=1e-12))
            assert score is None or 0 <= score <= 1 + 1e-12
            assert of_ideal is None or of_ideal == pytest.approx(1, abs=1e-12)


@few
@given(QUERIES, st.integers(0, 2**32))
def test_neither_the_order_of_rows_nor_their_partitions_change_a_rank_or_a_score(spark, queries, seed):
    judged, returned = as_tables(spark, queries)
    rows = returned.collect()
    random.Random(seed).shuffle(rows)  # noqa: S311  # a shuffle that repeats is what is wanted
    shuffled = spark.createDataFrame(rows, returned.schema).repartition(5)
    key = ["run", "query_id"]
    ranks = [by_window(table, key, Convention(), None).select(*key, "doc_id", RANK) for table in (returned, shuffled)]
    assert {tuple(row) for row in ranks[0].collect()} == {tuple(row) for row in ranks[1].collect()}
    before, after = ndcgs((judged, returned)), ndcgs((judged.repartition(3), shuffled))
    assert before.keys() == after.keys()
    assert all(before[at] == pytest.approx(after[at], abs=1e-12) for at in before if before[at] is not None)


def test_a_relevant_document_counts_exactly_up_to_the_cutoff_it_stands_at(spark):
    places, beyond = range(1, 13), 3
    documents = {at: [f"d{place:02}" for place in range(1, at + beyond + 1)] for at in places}
    tables = (
        judgments(spark, [judgment(documents[at][-beyond - 1], query_id=f"{at}") for at in places]),
        results(
            spark, [result(doc, -float(n), f"{at}") for at, docs in documents.items() for n, doc in enumerate(docs)]
        ),
    )
    rows = evaluate(*tables, [*places], "standard").query_scores.collect()
    assert len(rows) == len(places) ** 2
    assert all((row["ndcg"] > 0) == (row["cutoff"] >= int(row["query_id"])) for row in rows)
