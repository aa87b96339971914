"""The measures beside NDCG: by their definitions in plain Python, under every option that concerns them."""

import itertools
import random

import pytest
from pyspark.errors import PySparkException
from reference_measures import measures, sorted_runs
from scored import ROADS, in_turn, scored
from sessions import on_spark

from ndcg_spark import Convention
from ndcg_spark.convention.measures import MEASURES
from ndcg_spark.errors import ConventionError

CUTOFFS = [1, 4, 30, None]
DOCUMENTS = ["q", *"abcdefghij", "é", "z", "ü0", "10", "9", "007"]
ALL = [name for name, measure in MEASURES.items() if measure.of == "judgments"]
RATIOS = ("recall", "recall_cap", "ap", "bpref", "rprec")


def cases(seed, queries=60, negative=True):
    """Judgments and results of random queries: few scores, so many ties; some without a relevant document."""
    chance = random.Random(seed)  # noqa: S311  # cases that repeat are what is wanted
    judged, returned = {}, {}
    for number in range(queries):
        grades = (
            [0.0]
            if number % 7 == 0
            else [0.0, 0.0, 1.0, 2.0, 4.0, 0.5, *([-1.0] if negative else [])]
        )
        pool = chance.sample(DOCUMENTS, chance.randint(1, 12))
        judged[f"q{number}"] = {doc: chance.choice(grades) for doc in pool}
        listed = chance.sample(DOCUMENTS, chance.randint(1, len(DOCUMENTS)))
        returned[f"q{number}"] = {doc: chance.choice([-1.0, -0.0, 0.0, 0.5, 2.0]) for doc in listed}
    return judged, returned


def known(judged):
    return {doc: grade for doc, grade in judged.items() if grade >= 0}


def same(row, expected, columns=None):
    wanted = {name: value for name, value in expected.items() if columns is None or name in columns}
    assert {name: row[name] for name in wanted} == pytest.approx(wanted, abs=1e-12)


#: A convention, and what it makes of a query's judgments and list before the definitions are asked.
UNDER = {
    "standard": ({}, lambda judged, listed: (known(judged), listed)),
    "a strict and impatient reader": (
        {"relevant_from": 2, "rbp_persistence": 0.3, "max_grade": 5},
        lambda judged, listed: (known(judged), listed),
    ),
    "unjudged leave": (
        {"unjudged": "drop", "ideal": "retrieved"},
        lambda judged, listed: (known(judged), [doc for doc in listed if doc in known(judged)]),
    ),
    "negative count": (
        {"negative": "keep", "gain": "linear", "relevant_from": 0.5},
        lambda judged, listed: (judged, listed),
    ),
    "negative leave": (
        {"negative": "drop"},
        lambda judged, listed: (known(judged), [doc for doc in listed if judged.get(doc, 0) >= 0]),
    ),
    "binary": (
        {"min_relevance": 2},
        lambda judged, listed: (
            {doc: float(grade >= 2) for doc, grade in known(judged).items()},
            listed,
        ),
    ),
    "a grade for the unjudged": ({"unjudged": 1}, lambda judged, listed: (known(judged), listed)),
}


@pytest.mark.parametrize(
    ("name", "road"),
    on_spark(
        in_turn(UNDER),
        ("a strict and impatient reader", "parquet"),
        ("negative count", "lazy"),
    ),
)
def test_every_measure_is_that_of_its_definition_at_every_cutoff(session, name, road):
    options, of = UNDER[name]
    judged, returned = cases(len(name))
    convention = Convention(**options).replace(no_relevant="zero")
    scores = scored(session, judged, returned, CUTOFFS, convention, road=road, measures=ALL)
    highest = options.get("max_grade", 1.0 if name == "binary" else 4.0)
    given = {
        "relevant_from": options.get("relevant_from", 1.0),
        "persistence": options.get("rbp_persistence", 0.8),
    }
    assert len(scores.query_scores) == len(judged) * len(CUTOFFS)
    for row in scores.query_scores:
        query = row["query_id"]
        counting, listed = of(judged[query], sorted_runs(returned[query]))
        same(row, measures(counting, listed, row["cutoff"], highest=highest, **given))
        for whole in ("bpref", "rprec"):
            assert (row[whole] is None) == (row["cutoff"] is not None)
    for cutoff in CUTOFFS:
        rows = [row for row in scores.query_scores if row["cutoff"] == cutoff]
        columns = list(measures({}, [], cutoff, highest=1.0))
        same(
            scores.mean(cutoff),
            {name: sum(row[name] for row in rows) / len(rows) for name in columns},
        )
        assert scores.mean(cutoff)["relevant_queries"] == len(rows)


@pytest.mark.parametrize("road", on_spark(["lazy", "text"], "lazy"))
def test_the_highest_grade_of_a_query_is_that_of_its_own_judgments(session, road):
    judged, returned = cases(6)
    convention = Convention(max_grade="highest_of_query", no_relevant="zero")
    scores = scored(
        session, judged, returned, [4, None], convention, road=road, measures=["rbp", "err"]
    )
    assert len({max(grades.values()) for grades in judged.values()}) > 2
    for row in scores.query_scores:
        counting = known(judged[row["query_id"]])
        highest = max([*counting.values(), 0.0])
        expected = measures(
            counting, sorted_runs(returned[row["query_id"]]), row["cutoff"], highest=highest or 1.0
        )
        same(row, expected, ["rbp", "rbp_residual", "err"])


@pytest.mark.parametrize(("cutoff", "road"), on_spark(in_turn([1, 2, None]), (2, "parquet")))
def test_averaged_ties_are_the_expectation_over_all_orders(session, cutoff, road):
    chance = random.Random(9)  # noqa: S311  # the same
    judged = {
        f"q{n}": {doc: chance.choice([0.0, 1.0, 3.0]) for doc in "abcd"} | {"e": 1.0}
        for n in range(8)
    }
    returned = {
        q: {doc: float(chance.randint(0, 1)) for doc in chance.sample("abcdexy", 5)} for q in judged
    }
    names = [name for name in ALL if MEASURES[name].averages]
    averaged = scored(
        session, judged, returned, cutoff, Convention(ties="average"), road=road, measures=names
    )
    columns = ["precision", "recall", "recall_cap", "rbp", "judged_share"]
    for query, scores in returned.items():
        orders = [
            order
            for order in itertools.permutations(scores)
            if sorted(order, key=lambda d: -scores[d]) == [*order]
        ]
        by_order = [measures(judged[query], order, cutoff, highest=3.0) for order in orders]
        expected = {
            column: sum(of[column] for of in by_order) / len(by_order) for column in columns
        }
        same(averaged.of(query, cutoff), expected)


@pytest.mark.embedded
@pytest.mark.parametrize("name", [name for name in ALL if not MEASURES[name].averages])
def test_a_measure_that_is_no_sum_over_ranks_is_refused_where_ties_are_averaged(session, name):
    with pytest.raises(ConventionError, match=f"measures: {name} needs one order of equal scores"):
        scored(
            session,
            {"q": {"a": 1.0}},
            {"q": {"a": 1.0}},
            1,
            Convention(ties="average"),
            measures=[name],
        )


#: `answered` is an ordinary query, `empty` has no relevant document, and the run does not answer the last two.
JUDGED = {
    "answered": {"a": 1.0, "b": 0.0},
    "empty": {"a": 0.0},
    "missing": {"a": 1.0},
    "missing empty": {"a": 0.0},
}
RETURNED = {"answered": {"b": 2.0, "a": 1.0}, "empty": {"a": 1.0}}


@pytest.mark.parametrize(
    ("case", "road"),
    on_spark(
        in_turn(itertools.product(["skip", "zero", "one"], ["zero", "skip"])),
        (("one", "zero"), "parquet"),
    ),
    ids=str,
)
def test_queries_that_are_missing_or_have_nothing_relevant_count_as_the_convention_says(
    session, case, road
):
    no_relevant, missing_query = case
    convention = Convention(missing_query=missing_query, no_relevant=no_relevant)
    scores = scored(session, JUDGED, RETURNED, [2, None], convention, road=road, measures=ALL)
    #: What the ratios are where there is nothing to divide by, and whether the other measures count there.
    ratio = {"skip": None, "zero": 0.0, "one": 1.0}[no_relevant]
    for cutoff in (2, None):
        expected = measures({"a": 1.0, "b": 0.0}, ["b", "a"], cutoff, highest=1.0)
        same(scores.of("answered", cutoff), expected)
        counted = {}
        for name in expected:
            of_formula = (
                None if ratio is None else measures({"a": 0.0}, ["a"], cutoff, highest=1.0)[name]
            )
            of_none = None if ratio is None else 0.0
            empty = ratio if name in RATIOS else of_formula
            unanswered = ratio if name in RATIOS else of_none
            values = [
                expected[name],
                empty,
                *([0.0, unanswered] if missing_query == "zero" else [None, None]),
            ]
            rows = [scores.of(query, cutoff)[name] for query in JUDGED]
            assert rows == pytest.approx(values), name
            counted[name] = [value for value in values if value is not None]
        mean = scores.mean(cutoff)
        same(mean, {name: sum(values) / len(values) for name, values in counted.items()})
        assert {mean["relevant_queries"]} == {len(values) for values in counted.values()}


REFUSED = [
    ({"no_relevant": "error"}, "P@1", "no_relevant"),
    ({"missing_query": "error"}, "P@1", "missing_query"),
    ({"max_grade": 0.5}, "ERR@1", "relevance_above_max_grade"),
]


@pytest.mark.parametrize(("options", "measure", "reason"), on_spark(REFUSED, REFUSED[-1]))
def test_what_a_convention_refuses_is_refused_for_measures(session, options, measure, reason):
    with pytest.raises(PySparkException, match=rf"refuses \[{reason}\]"):
        scored(session, JUDGED, RETURNED, convention=Convention(**options), measures=measure).ndcg(
            1
        )


def valued(rows):
    columns = {column for name in ALL for column in MEASURES[name].values}
    return {row["cutoff"]: {name for name in columns if row[name] is not None} for row in rows}


@pytest.mark.parametrize("road", on_spark(ROADS, "lazy"))
def test_only_what_is_asked_for_has_values_and_ndcg_always_has(session, road):
    tables = {"q": {"a": 1.0}}, {"q": {"a": 1.0}}
    scores = scored(session, *tables, road=road, measures="P@5 RBP@3 nDCG@3 Bpref")
    expected = {
        3: {"ndcg", "rbp", "rbp_residual"},
        5: {"ndcg", "precision"},
        None: {"ndcg", "bpref"},
    }
    assert valued(scores.query_scores) == valued(scores.dataset_scores) == expected
    mixed = scored(session, *tables, road=road, measures="P@5 nDCG@3")
    assert (mixed.mean(3)["relevant_queries"], mixed.mean(5)["relevant_queries"]) == (None, 1)


@pytest.mark.parametrize("name", on_spark(["precision", "ap", "judged"], "ap"))
def test_a_document_that_is_returned_twice_is_refused_also_where_ndcg_is_not_looked_at(
    session, name
):
    twice = {"run": ["r"] * 2, "query_id": ["q"] * 2, "doc_id": ["a"] * 2, "score": [2.0, 1.0]}
    with pytest.raises(PySparkException, match=r"refuses \[returned_twice\]"):
        scored(session, {"q": {"a": 1.0}}, twice, 5, measures=[name]).ndcg(1)


@pytest.mark.parametrize(
    ("max_grade", "road"),
    on_spark(
        [("highest", "lazy"), ("highest", "parquet"), ("highest_of_query", "text")],
        ("highest", "lazy"),
    ),
)
def test_the_highest_grade_is_that_of_all_judgments_also_of_those_that_are_merged_away(
    session, max_grade, road
):
    twice = {"query_id": ["q"] * 3, "doc_id": ["a", "a", "b"], "relevance": [4.0, 1.0, 2.0]}
    convention = Convention(judgment_duplicates="min", max_grade=max_grade)
    returned = {"q": {"a": 2.0, "b": 1.0}}
    scores = scored(session, twice, returned, 2, convention, road=road, measures=["rbp", "err"])
    expected = measures({"a": 1.0, "b": 2.0}, ["a", "b"], 2, highest=4.0)
    same(scores.of("q", 2), expected, ["rbp", "err"])


#: Grades in the order of the list, how many relevant documents were not returned, and by cutoff (None: R) what must
#: be found of what can be.
FOUND_OF = [
    ([1, 0, 1, 0, 1], 0, {1: (1, 1), 2: (1, 2), 3: (2, 3), 9: (3, 3), None: (2, 3)}),
    ([0, 0, 1], 2, {1: (0, 1), 2: (0, 2), 9: (1, 3), None: (1, 3)}),
    ([1], 3, {1: (1, 1), 2: (1, 2), 4: (1, 4), 9: (1, 4), None: (1, 4)}),
]


@pytest.mark.parametrize(("case", "road"), on_spark(in_turn(range(len(FOUND_OF))), (0, "lazy")))
def test_capped_recall_and_r_precision_are_what_was_found_over_what_could_be(session, case, road):
    grades, elsewhere, found_of = FOUND_OF[case]
    judged = {f"d{rank}": float(grade) for rank, grade in enumerate(grades)}
    judged |= {f"e{number}": 2.0 for number in range(elsewhere)}
    returned = {f"d{rank}": -float(rank) for rank in range(len(grades))}
    measures = [f"R_cap@{k}" for k in found_of if k] + ["R_cap R Rprec"]
    scores = scored(session, {"q": judged}, {"q": returned}, road=road, measures=measures)
    for cutoff, (found, possible) in found_of.items():
        column = "recall_cap" if cutoff else "rprec"
        assert scores.of("q", cutoff)[column] == pytest.approx(found / possible, abs=1e-15)
    # Of the whole ranking, nothing caps it.
    whole = scores.of("q", None)
    assert whole["recall_cap"] == whole["recall"]
