from math import log2

import pytest
from chispa import assert_df_equality
from pyspark.errors import PySparkException
from tables import graded_list, judgment, judgments, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.errors import ConfigurationError, ConventionError, InputError
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES

#: One case on which the tools differ, at k = 3. Query 104 has results and no judgments.
TINY = {
    "trec_eval": [0.2100019958, 0, 0],
    "trec_eval_9": [0.2100019958, 0, 0],
    "ir_measures": [0.2100019958, 0, 0],
    "pytrec_eval": [0.2100019958, 0, None],
}
#: Worked examples from the literature, each the arithmetic of its list.
WORKED = [
    ([3, 1, 2, 0, 2], "exp2", 0.950849602851865),
    ([0, 1, 2, 2, 3], "exp2", 0.5664478625498256),
    ([3, 2, 2, 1, 0], "exp2", 1.0),
    ([2, 3, 1, 2], "exp2", 0.8508),
    ([3, 2, 3, 0, 1], "linear", 0.9724),
    ([3, 2, 3, 0, 1], "exp2", 0.9575),
    ([3, 2, 5, 0, 1], "linear", 0.8589),
]


@pytest.fixture(scope="module")
def tiny(spark):
    judged = [
        judgment("a", 2.0, "101"),
        judgment("b", 0.0, "101"),
        judgment("c", 1.0, "101"),
        judgment("z", 3.0, "101"),
    ]
    judged += [judgment("a", 0.0, "102"), judgment("b", 0.0, "102"), judgment("a", 1.0, "103")]
    returned = [result("x", 3.0, "101"), result("a", 2.0, "101"), result("b", 2.0, "101"), result("c", 1.0, "101")]
    returned += [result("a", 2.0, "102"), result("b", 1.0, "102"), result("a", 1.0, "104")]
    return judgments(spark, judged), results(spark, returned)


def ndcg_at(tables, cutoff, convention):
    rows = evaluate(*tables, [cutoff], convention).query_scores.orderBy("query_id").collect()
    return [row["ndcg"] for row in rows]


@pytest.mark.parametrize("preset", TINY)
def test_the_tiny_case_scores_as_the_tool_of_the_preset(tiny, preset):
    expected = [None if score is None else pytest.approx(score, abs=5e-11) for score in TINY[preset]]
    assert ndcg_at(tiny, 3, preset) == expected


@pytest.mark.parametrize(("grades", "gain", "expected"), WORKED)
def test_a_worked_example_of_the_literature_has_its_score(spark, grades, gain, expected):
    convention = Convention(gain=gain, ideal="retrieved")
    digits = 5e-5 if expected < 1 and len(str(expected)) < 8 else 1e-12
    assert ndcg_at(graded_list(spark, grades), len(grades), convention) == [pytest.approx(expected, abs=digits)]


def test_dcg_and_ideal_dcg_are_the_sums_of_discounted_gains(spark):
    row = evaluate(*graded_list(spark, [3, 1, 2, 0, 2]), [5]).query_scores.first()
    assert row["dcg"] == pytest.approx(7 / log2(2) + 1 / log2(3) + 3 / log2(4) + 0 + 3 / log2(6))
    assert row["ideal_dcg"] == pytest.approx(7 / log2(2) + 3 / log2(3) + 3 / log2(4) + 1 / log2(5) + 0)
    assert row["cg"] == 7 + 1 + 3 + 0 + 3


def test_query_scores_have_their_schema_and_a_row_for_every_run_judged_query_and_cutoff(spark, tiny):
    judged, returned = tiny
    both = returned.union(results(spark, [result("a", 1.0, "103", "other")]))
    table = evaluate(judged, both, [3, None, 1]).query_scores
    assert table.columns == QUERY_SCORES.names
    assert table.count() == 2 * 3 * 3


def test_every_cutoff_in_one_pass_is_the_same_as_each_alone(tiny):
    together = evaluate(*tiny, [1, 3, None]).query_scores
    for cutoff in (1, 3, None):
        alone = evaluate(*tiny, [cutoff]).query_scores
        of_cutoff = together.where("cutoff is null" if cutoff is None else f"cutoff = {cutoff}")
        both = [table.drop("evaluation_id") for table in (of_cutoff, alone)]
        assert_df_equality(*both, ignore_row_order=True, ignore_nullable=True)


def test_status_and_counts_say_what_a_score_is_made_of(tiny):
    rows = evaluate(*tiny, [3]).query_scores.orderBy("query_id").collect()
    assert [(row["status"], row["returned"], row["judged"]) for row in rows] == [
        ("scored", 3, 2),
        ("no_relevant", 2, 2),
        ("missing", 0, 0),
    ]


def test_dataset_scores_have_their_schema_and_count_what_they_are_means_of(tiny):
    table = evaluate(*tiny, [3], "trec_eval", dataset="tiny").dataset_scores
    row = table.first()
    assert table.columns == DATASET_SCORES.names
    assert (row["dataset"], row["convention"]) == ("tiny", "trec_eval")
    counts = ["queries", "missing_queries", "no_relevant_queries", "unjudged_queries"]
    assert [row[name] for name in counts] == [3, 1, 1, 1]
    assert row["ndcg"] == pytest.approx((0.21000199575396408 + 0 + 0) / 3)
    assert row["judged_rate"] == (2 + 2 + 0) / (3 + 2 + 0)


@pytest.mark.parametrize(("policy", "score"), [("skip", None), ("zero", 0.0), ("one", 1.0)])
def test_a_missing_query_without_relevant_documents_is_decided_by_no_relevant(spark, policy, score):
    judged = judgments(spark, [judgment("a", 1.0, "q1"), judgment("a", 0.0, "q2")])
    tables = judged, results(spark, [result("a", 1.0, "q1")])
    rows = evaluate(*tables, [1], Convention(no_relevant=policy)).query_scores.orderBy("query_id").collect()
    assert [(row["status"], row["ndcg"]) for row in rows] == [("scored", 1.0), ("no_relevant", score)]


@pytest.mark.parametrize("ideal", ["retrieved", "judged_capped"])
def test_a_missing_query_is_missing_where_the_ideal_is_of_the_returned_documents(spark, ideal):
    judged = judgments(spark, [judgment("a", 1.0, "q1"), judgment("a", 1.0, "q2")])
    tables = judged, results(spark, [result("a", 1.0, "q1")])
    rows = evaluate(*tables, [1], Convention(ideal=ideal)).query_scores.orderBy("query_id").collect()
    assert [(row["status"], row["ndcg"]) for row in rows] == [("scored", 1.0), ("missing", None)]


def test_a_missing_query_that_is_skipped_is_skipped_whatever_its_ideal(spark):
    judged = judgments(spark, [judgment("a", 1.0, "q1"), judgment("a", 0.0, "q2")])
    tables = judged, results(spark, [result("a", 1.0, "q1")])
    convention = Convention(no_relevant="one", missing_query="skip")
    rows = evaluate(*tables, [1], convention).query_scores.orderBy("query_id").collect()
    assert [(row["status"], row["ndcg"]) for row in rows] == [("scored", 1.0), ("missing", None)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"no_relevant": "error"}, "a query without a relevant document, e.g. run=r query_id=102"),
        ({"missing_query": "error"}, "a judged query without results, e.g. run=r query_id=103"),
    ],
)
def test_a_policy_of_error_fails_the_plan_and_names_the_query(tiny, options, message):
    with pytest.raises(PySparkException, match=message):
        evaluate(*tiny, [3], Convention(**options)).dataset_scores.collect()


def test_datasets_keep_their_queries_and_runs_apart(spark):
    judged = [judgment("a", 1.0, "q1", dataset="one"), judgment("a", 0.0, "q1", dataset="two")]
    judged += [judgment("b", 1.0, "q1", dataset="two")]
    returned = [result("a", 1.0, "q1", dataset="one"), result("b", 1.0, "q1", dataset="two", run="s")]
    scores = evaluate(judgments(spark, judged), results(spark, returned), [1]).query_scores.collect()
    assert {(row["dataset"], row["run"], row["ndcg"]) for row in scores} == {("one", "r", 1.0), ("two", "s", 1.0)}


def test_a_run_of_which_no_query_was_judged_has_null_scores_and_its_count(spark):
    judged = judgments(spark, [judgment("a", 1.0, "q1", dataset="one")])
    returned = [result("a", 1.0, "q1", dataset="one"), result("a", 1.0, "q1", dataset="unknown", run="s")]
    rows = evaluate(judged, results(spark, returned), [1]).dataset_scores.orderBy("dataset").collect()
    assert [(row["run"], row["queries"], row["unjudged_queries"], row["ndcg"]) for row in rows] == [
        ("r", 1, 0, 1.0),
        ("s", 0, 1, None),
    ]


def test_a_tie_across_the_cutoff_is_averaged_over_the_whole_group(spark):
    judged = judgments(spark, [judgment(doc, float(doc in "bc")) for doc in "abcd"])
    returned = results(spark, [result("a", 3.0), *(result(doc, 2.0) for doc in "bcd")])
    convention = Convention(gain="linear", ties="average", ideal="retrieved")
    expected = (2 / 3 / log2(3)) / (1 / log2(2) + 1 / log2(3))
    assert ndcg_at((judged, returned), 2, convention) == [pytest.approx(expected, abs=1e-15)]


@pytest.mark.parametrize(
    ("ties", "score"),
    [
        ("doc_id_desc", 1 / log2(3)),
        ("doc_id_asc", 1),
        ("average", (1 + 1 / log2(3)) / 2),
        ("worst", 1 / log2(3)),
        ("best", 1),
    ],
)
def test_ties_go_by_their_policy(spark, ties, score):
    judged = judgments(spark, [judgment("a", 1.0), judgment("b", 0.0)])
    returned = results(spark, [result("a"), result("b")])
    assert ndcg_at((judged, returned), None, Convention(ties=ties)) == [pytest.approx(score)]


@pytest.mark.parametrize(
    ("ideal", "score"),
    [
        ("judged", (1 + 1 / log2(3)) / sum(1 / log2(rank + 1) for rank in range(1, 6))),
        ("retrieved", 1),
        ("judged_capped", 1),
    ],
)
def test_the_ideal_is_of_the_documents_that_the_option_says(spark, ideal, score):
    judged = judgments(spark, [judgment(f"d{number}") for number in range(8)])
    returned = results(spark, [result("d0", 2.0), result("d1", 1.0)])
    assert ndcg_at((judged, returned), 5, Convention(ideal=ideal)) == [pytest.approx(score)]


def test_the_retrieved_ideal_is_of_the_whole_list_and_not_of_its_top(spark):
    expected = (0 + 1 / log2(3)) / (3 / log2(2) + 1 / log2(3))
    convention = Convention(gain="linear", ideal="retrieved")
    assert ndcg_at(graded_list(spark, [0, 1, 3]), 2, convention) == [pytest.approx(expected)]


#: Cases that tell conventions apart: judged, returned as (document, score), options, cutoff, score.
PROBES = {
    "scores 1e-9 apart are tied as float32": (
        {"a": 1},
        [("a", 0.1 + 1e-9), ("b", 0.1)],
        {"score_precision": "float32"},
        1 / log2(3),
    ),
    "scores 1e-9 apart are not tied as float64": ({"a": 1}, [("a", 0.1 + 1e-9), ("b", 0.1)], {}, 1),
    "whole scores past 2^24 are tied as float32": (
        {"a": 1},
        [("a", 16777217.0), ("b", 16777216.0)],
        {"score_precision": "float32"},
        1 / log2(3),
    ),
    "bytes decide: an accented e is larger than z": ({"é": 1}, [("z", 1.0), ("é", 1.0)], {}, 1),
    "unjudged on top keeps its rank": (
        {"a": 1, "b": 2},
        [("x", 3.0), ("b", 2.0), ("a", 1.0)],
        {"gain": "linear"},
        (2 / log2(3) + 1 / 2) / (2 + 1 / log2(3)),
    ),
    "unjudged on top leaves the list": (
        {"a": 1, "b": 2},
        [("x", 3.0), ("b", 2.0), ("a", 1.0)],
        {"gain": "linear", "unjudged": "drop"},
        1,
    ),
    "a negative grade is as unjudged": (
        {"a": 2, "b": -1, "c": 1},
        [("b", 3.0), ("a", 2.0), ("c", 1.0)],
        {"gain": "linear"},
        0.6696718165,
    ),
    "a negative grade is kept": (
        {"a": 2, "b": -1, "c": 1},
        [("b", 3.0), ("a", 2.0), ("c", 1.0)],
        {"gain": "linear", "negative": "keep"},
        (-1 + 2 / log2(3) + 1 / 2) / (2 + 1 / log2(3) - 1 / 2),
    ),
    "a negative grade leaves the list": (
        {"a": 2, "b": -1, "c": 1},
        [("b", 3.0), ("a", 2.0), ("c", 1.0)],
        {"gain": "linear", "negative": "drop"},
        1,
    ),
    "discount by position": (
        {"a": 0, "b": 2, "c": 1},
        [("a", 3.0), ("b", 2.0), ("c", 1.0)],
        {"gain": "linear", "discount": "position"},
        (2 / 2 + 1 / 3) / (2 + 1 / 2),
    ),
    "a list without gain scores 1": ({"a": 1, "b": 0}, [("b", 1.0)], {"ideal": "retrieved", "no_relevant": "one"}, 1),
}


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_that_tells_tools_apart_has_its_score(spark, probe):
    judged, returned, options, score = PROBES[probe]
    tables = (
        judgments(spark, [judgment(doc, float(grade)) for doc, grade in judged.items()]),
        results(spark, [result(doc, value) for doc, value in returned]),
    )
    assert ndcg_at(tables, None, Convention(**options)) == [pytest.approx(score, abs=1e-10)]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "3"])
def test_a_cutoff_that_is_no_rank_is_refused(tiny, wrong):
    with pytest.raises(ConfigurationError, match="is no cutoff"):
        evaluate(*tiny, [wrong])


def test_a_convention_that_is_no_preset_is_refused(tiny):
    with pytest.raises(ConventionError, match="no preset is called 'trec'"):
        evaluate(*tiny, [1], "trec")


def test_results_without_what_they_are_ranked_by_are_refused(tiny):
    judged, returned = tiny
    with pytest.raises(InputError, match="no column score"):
        evaluate(judged, returned.drop("score"), [1])
    with pytest.raises(InputError, match="no column rank"):
        evaluate(judged, returned, [1], Convention(ties="rank"))


def test_only_one_table_that_names_datasets_is_refused(spark, tiny):
    judged, _ = tiny
    with pytest.raises(InputError, match="judgments: no column dataset"):
        evaluate(judged, results(spark, [result(dataset="one")]), [1])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (result(score=float("nan")), r"\[score_is_no_number\] results: .*doc_id=d1"),
        (result(score=None), r"\[score_is_no_number\] results: "),
        (result(query_id=None), r"\[no_query_id\] results: .*query_id=null"),
        (result(run=""), r"\[no_run\] results: "),
    ],
)
def test_a_row_that_cannot_be_ranked_fails_the_plan_of_the_library(spark, row, reason):
    tables = judgments(spark, [judgment("d1")]), results(spark, [result("d2"), row])
    with pytest.raises(PySparkException, match=reason):
        evaluate(*tables, [1]).query_scores.collect()


@pytest.mark.parametrize("rank", [None, 0])
def test_a_rank_that_is_none_fails_the_plan_of_the_library(spark, rank):
    tables = judgments(spark, [judgment("d1")]), results(spark, [result("d1", rank=1), result("d2", rank=rank)])
    with pytest.raises(PySparkException, match=r"\[rank_is_no_rank\] results: "):
        evaluate(*tables, [1], Convention(order="rank")).query_scores.collect()


def test_a_judgment_without_a_grade_fails_the_plan_of_the_library(spark):
    tables = judgments(spark, [judgment("d1"), judgment("d2", None)]), results(spark, [result("d1")])
    with pytest.raises(PySparkException, match=r"\[relevance_is_no_number\] judgments: "):
        evaluate(*tables, [1]).query_scores.collect()


@pytest.mark.parametrize(
    ("discount", "weights"),
    [("log2", [1, 1 / log2(3), 1 / 2]), ([1, 0.5], [1, 0.5, 0]), ("python:numpy.reciprocal", [1, 1 / 2, 1 / 3])],
    ids=str,
)
def test_an_ideal_of_k_relevant_documents_is_of_k_whatever_was_judged(spark, discount, weights):
    tables = judgments(spark, [judgment("a"), judgment("b", 0.0)]), results(spark, [result("b", 2.0), result("a", 1.0)])
    convention = Convention(gain="binary", ideal="k_relevant", discount=discount)
    rows = evaluate(*tables, [1, 3], convention).query_scores.orderBy("cutoff").collect()
    assert [row["ideal_dcg"] for row in rows] == [pytest.approx(weights[0]), pytest.approx(sum(weights))]
    assert [row["ndcg"] for row in rows] == [0, pytest.approx(weights[1] / sum(weights))]


def test_a_query_without_a_relevant_document_has_no_ideal_of_k_either(spark):
    tables = judgments(spark, [judgment("a", 0.0)]), results(spark, [result("a")])
    (row,) = evaluate(*tables, [3], Convention(gain="binary", ideal="k_relevant")).query_scores.collect()
    assert (row["status"], row["ndcg"], row["ideal_dcg"]) == ("no_relevant", None, 0.0)


def test_the_whole_ranking_has_no_k_so_its_ideal_is_of_the_judged_documents(spark):
    tables = judgments(spark, [judgment("a"), judgment("b")]), results(spark, [result("x", 2.0), result("a", 1.0)])
    convention = Convention(gain="binary", ideal="k_relevant")
    rows = {row["cutoff"]: row["ideal_dcg"] for row in evaluate(*tables, [3, None], convention).query_scores.collect()}
    assert rows == {3: pytest.approx(1 + 1 / log2(3) + 1 / 2), None: pytest.approx(1 + 1 / log2(3))}
    with pytest.raises(ConventionError, match="ideal=k_relevant sums k discounts"):
        evaluate(*tables, [100_001], convention)


@pytest.mark.parametrize("options", [{}, {"gain": "linear"}, {"gain": "binary", "unjudged": 1.0}], ids=str)
def test_an_ideal_of_k_relevant_documents_is_of_gains_that_are_one(options):
    with pytest.raises(ConventionError, match="ideal=k_relevant"):
        Convention(ideal="k_relevant", **options)
