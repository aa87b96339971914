"""Grades of a document that was judged more than once: one grade, whatever the order of the rows."""

import itertools
import random

import pyarrow as pa
import pytest
from input_files import judged
from oracle import scores as of_python
from scored import scored
from sessions import on_spark
from tables import judgment, judgments, result

from ndcg_spark import Convention, reference
from ndcg_spark.reference import RefusedQueryError
from ndcg_spark.rules import conform
from ndcg_spark.schemas import JUDGMENTS
from ndcg_spark.scoring.ideal import judged_documents, judged_queries

#: Added in some orders, 0.3, 0.4 and 2.3 are less than 3.
CLOSE = [0.3, 0.4, 2.3]
KINDS = {
    "tenths": lambda chance: chance.randint(0, 30) / 10,
    "of any size": lambda chance: chance.uniform(-1, 1) * 10 ** chance.randint(-14, 16),
    "huge": lambda chance: chance.choice([1e300, -1e300, 1e15, 0.1]),
}


@pytest.mark.parametrize(
    ("grades", "mean"),
    [
        (CLOSE, 1.0),
        ([0.1, 0.2], 0.15),
        ([1.0, 0.0, 0.0], 0.333333333333),
        ([-1.0, 0.0, 0.0], -0.333333333333),
        ([1000.1, 1000.2, 1000.3], 1000.2),
        # Grades that agree are not rounded.
        ([1 / 3, 1 / 3], 1 / 3),
        ([1e300, 1e300, 0.0], 2e300 / 3),
        ([0.5, -0.5], 0.0),
    ],
)
def test_the_mean_of_grades_in_plain_python(grades, mean):
    orders = list(itertools.permutations(grades))
    assert [reference.mean_grade(order) for order in orders] == [mean] * len(orders)


def random_grades(kind, documents=400):
    chance = random.Random(kind)  # noqa: S311  # it makes test data
    return {
        f"d{number}": [KINDS[kind](chance) for _ in range(chance.choice([1, 2, 3, 3, 5, 20]))]
        for number in range(documents)
    }


def shuffled(session, grades, seed):
    rows = [judgment(document, grade) for document in grades for grade in grades[document]]
    random.Random(seed).shuffle(rows)  # noqa: S311  # it makes test data
    return judgments(session, rows).repartition(1 + seed)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_of_grades_is_that_of_plain_python_to_the_last_bit(session, kind):
    grades = random_grades(kind)
    convention = Convention(gain="judged", negative="keep", judgment_duplicates="mean")
    merged = judged_documents(shuffled(session, grades, 2), ["query_id"], convention)
    found = {row["doc_id"]: row["relevance"].hex() for row in merged.collect()}
    assert found == {name: reference.mean_grade(given).hex() for name, given in grades.items()}


def hashes(table, rule):
    convention = Convention(gain="linear", negative="keep", judgment_duplicates=rule)
    queries = judged_queries(judged_documents(table, ["query_id"], convention), ["query_id"], 5)
    return [row["judgments_hash"] for row in queries.collect()]


@pytest.mark.parametrize("rule", on_spark(["mean", "min", "max"], "mean"))
def test_the_hash_of_judgments_does_not_depend_on_the_order_of_their_rows(session, rule):
    grades = random_grades("of any size")
    assert hashes(shuffled(session, grades, 0), rule) == hashes(shuffled(session, grades, 3), rule)


@pytest.mark.parametrize("rule", on_spark(["error", "mean", "min", "max"], "error", "mean"))
def test_zeros_of_both_signs_have_one_hash(engine, tmp_path, rule):
    found = []
    for number, zero in enumerate(["0.0", "-0.0"]):
        path = tmp_path / f"{number}.txt"
        path.write_text(f"q1 0 a {zero}\nq1 0 b 1\n", encoding="utf-8")
        found += hashes(conform(judged(engine, path).table, JUDGMENTS), rule)
    assert found[0] == found[1]


@pytest.mark.parametrize("options", on_spark([{}, {"min_relevance": 1}], {"min_relevance": 1}))
def test_the_order_of_rows_does_not_decide_at_a_threshold(session, options):
    convention = Convention(judgment_duplicates="mean", **options)
    judged, returned, expected = [], [], set()
    for number, order in enumerate(itertools.permutations(CLOSE)):
        query = f"q{number}"
        rows = [judgment("a", grade, query) for grade in order]
        expected.add(of_python(rows, [result("a", 1.0, query)], 2, convention)["ndcg"])
        judged += rows
        returned.append(result("a", 1.0, query))
    scores = scored(session, judged, returned, 2, convention, measures="P@2 nDCG@2")
    found = {
        (row["ndcg"], row["precision"], row["dcg"], row["judgments_hash"])
        for row in scores.query_scores
        if row["cutoff"] == 2
    }
    # The mean is relevant, and one of two ranks has it.
    ((ndcg, precision, dcg, _),) = found
    assert {ndcg} == expected == {1}
    assert (precision, dcg) == (1 / 2, 1.0)


def test_plain_python_refuses_a_mean_without_a_gain():
    convention = Convention(gain={1: 1, 3: 7}, judgment_duplicates="mean")
    rows = [judgment("a", 1.0), judgment("a", 3.0)]
    with pytest.raises(RefusedQueryError) as raised:
        of_python(rows, [result("a")], 2, convention)
    assert (raised.value.refusal.code, raised.value.example) == (
        "mean_without_gain",
        "2 of a for query q1",
    )


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.string()])
def test_grades_of_one_document_are_merged_whatever_their_type(session, kind):
    columns = {"query_id": ["q1"] * 2, "doc_id": ["a"] * 2}
    table = pa.table({**columns, "relevance": pa.array([1, 3]).cast(kind)})
    convention = Convention(gain="linear", judgment_duplicates="mean")
    assert scored(session, table, [result("a")], 1, convention).of("q1", 1)["dcg"] == (1 + 3) / 2
