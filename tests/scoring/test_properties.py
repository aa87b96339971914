"""What holds for any rankings: every value of every option is computed as plain Python has it (support/oracle.py)."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import ndcg, scores
from scored import queries
from tables import judgment, judgments, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.convention.values import show

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

#: The presets whose plans differ, with options that no preset has, so that every value of an option is here.
CONVENTIONS = [
    Convention.preset(preset).replace(**options)
    for preset, options in [
        ("ranx_burges", {"ties": "average", "discount": "position", "unjudged": 1, "judgment_duplicates": "max"}),
        ("standard", {"unjudged": "drop", "negative": "keep", "gain": "linear", "no_relevant": "one"}),
        ("trec_eval_9", {"min_relevance": 1, "missing_query": "zero", "ties": "worst"}),
        ("beir", {"discount": "jarvelin", "duplicates": "best", "negative": "drop"}),
        ("torchmetrics", {"discount": [1, 0.5]}),
        ("xgboost", {"discount": "ln", "min_relevance": 2}),
        ("catboost", {"gain": {-1: -0.5, 0: 0, 1: 1, 2: 5, 4: 7}, "judgment_duplicates": "min"}),
        ("mllib_binary", {"ties": "doc_id_asc", "discount": "none", "ideal": "judged_capped"}),
        ("recommenders", {"judgment_duplicates": "mean"}),
        ("replay", {"ties": "doc_id_num_desc", "exclude_query_as_document": True}),
        ("rectools", {}),
        ("mllib", {"ties": "best"}),
        ("standard", {"gain": "binary", "ideal": "k_relevant"}),
        ("standard", {"gain": "python:numpy.square", "discount": "python:numpy.reciprocal", "ties": "rank"}),
        ("standard", {"gain": "judged", "ties": "doc_id_num_asc", "score_precision": "float32"}),
    ]
]
#: These fail a plan (test_evaluation.py), or are about measures beside NDCG (test_measures.py).
ELSEWHERE = {("no_relevant", "error"), ("missing_query", "error")}
OF_MEASURES = {"relevant_from", "rbp_persistence", "max_grade"}


def test_every_value_of_every_option_is_in_a_convention():
    for option in OPTIONS.keys() - OF_MEASURES:
        values = {show(getattr(convention, option)) for convention in CONVENTIONS}
        assert OPTIONS[option].words.keys() <= values | {word for of, word in ELSEWHERE if of == option}, option
        assert (values > OPTIONS[option].words.keys() & values) == bool(OPTIONS[option].other), option


def random_lists(convention, count=40):
    """By query, judgments and results with ties, and all that a convention takes: repeated rows, negative grades."""
    chance = random.Random(11)  # noqa: S311  # it makes test data
    grades = [0.0, 0.0, 1.0, 2.0, 4.0, *([] if convention.negative == "error" else [-1.0])]
    documents = [*"abcdé", "9", "10", "007", "12345678901234567890"]
    found = {}
    for number in range(count):
        query = f"q{number}"
        pool = chance.sample([*documents, query], 6)
        kinds = [0.0] if number % 7 == 0 else grades
        judged = [(doc, chance.choice(kinds)) for doc in pool]
        if convention.judgment_duplicates != "error":
            judged += [(doc, chance.choice(kinds)) for doc in pool[:2]]
        listed = chance.sample([*documents, query], chance.randint(0, 8))
        listed += listed[:2] if convention.duplicates == "best" else []
        ranks = chance.sample(range(1, 12), len(listed))
        values = [chance.choice([-0.0, 0.0, 0.1, 0.1 + 1e-9, 2.0]) for _ in listed]
        found[query] = judged, list(zip(listed, values, ranks, strict=True))
    return found


@pytest.mark.parametrize("case", range(len(CONVENTIONS)), ids=[each.label for each in CONVENTIONS])
def test_query_scores_are_those_of_plain_python(session, case):
    # Without the whole ranking, lists are cut.
    convention, cutoffs = CONVENTIONS[case], [1, 3, None] if case % 2 else [1, 3]
    lists = random_lists(convention)
    judged = [judgment(doc, grade, query) for query, (grades, _) in lists.items() for doc, grade in grades]
    returned = [result(d, s, query, rank=rank) for query, (_, rows) in lists.items() for d, s, rank in rows]
    random.Random(3).shuffle(returned)  # noqa: S311
    found = queries(session, judged, returned, cutoffs, convention).query_scores
    assert len(found) == len(lists) * len(cutoffs)
    for row in found:
        expected = scores(row["query_id"], *lists[row["query_id"]], row["cutoff"], convention)
        assert {name: row[name] for name in expected} == {
            name: pytest.approx(value, abs=1e-12) if isinstance(value, float) else value
            for name, value in expected.items()
        }, row


@few
@given(QUERIES, st.sampled_from([-8.0, 0.25, 1024.0]), st.randoms(use_true_random=False))
@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_a_score_does_not_depend_on_a_constant_or_the_order_and_partitions_of_rows_and_is_1_in_the_ideal_order(
    session, gain, lists, constant, chance
):
    moved = [(judged, {d: s + constant for d, s in returned.items()}) for judged, returned in lists]
    ideal = [(judged, judged) for judged, _ in lists]
    judged = [judgment(d, g, f"q{n}") for n, (grades, _) in enumerate(lists) for d, g in grades.items()]
    returned = [
        result(d, s, f"q{n}", run)
        for run, of in {"r": lists, "moved": moved, "ideal": ideal}.items()
        for n, (_, values) in enumerate(of)
        for d, s in values.items()
    ]
    chance.shuffle(judged)
    chance.shuffle(returned)
    # Without keys, rows are dealt out in turn, so that a list is in several partitions.
    tables = judgments(session, judged).repartition(2), results(session, returned).repartition(3)
    rows = evaluate(*tables, CUTOFFS, Convention(gain=gain)).query_scores.collect()
    found = {(row["run"], row["query_id"], row["cutoff"]): row["ndcg"] for row in rows}
    assert len(found) == 3 * len(lists) * len(CUTOFFS)
    for number, query in enumerate(lists):
        for cutoff in CUTOFFS:
            score, of_moved, of_ideal = (found[run, f"q{number}", cutoff] for run in ("r", "moved", "ideal"))
            expected = ndcg(*query, cutoff, Convention(gain=gain))
            assert score == of_moved == (expected if expected is None else pytest.approx(expected, abs=1e-12))
            assert score is None or 0 <= score <= 1 + 1e-12
            assert of_ideal is None or of_ideal == pytest.approx(1, abs=1e-12)


def test_a_relevant_document_counts_exactly_up_to_the_cutoff_it_stands_at(session):
    places, beyond = range(1, 13), 3
    documents = {at: [f"d{place:02}" for place in range(1, at + beyond + 1)] for at in places}
    judged = [judgment(documents[at][-beyond - 1], query_id=f"{at}") for at in places]
    returned = [result(doc, -float(n), f"{at}") for at, docs in documents.items() for n, doc in enumerate(docs)]
    rows = queries(session, judged, returned, [*places]).query_scores
    assert len(rows) == len(places) ** 2
    assert all((row["ndcg"] > 0) == (row["cutoff"] >= int(row["query_id"])) for row in rows)
