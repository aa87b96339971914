from itertools import chain
from math import log2

import pytest
from pyspark.errors import PySparkException
from tables import arrow_judgments, arrow_results, graded_list, judgment, judgments, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.errors import ConfigurationError, ConventionError, InputError
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES

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
#: A query of each status; 104 has results and no judgments.
TINY = (
    arrow_judgments(
        *(judgment(doc, grade, "101") for doc, grade in {"a": 2.0, "b": 0.0, "c": 1.0, "z": 3.0}.items()),
        judgment("a", 0.0, "102"),
        judgment("b", 0.0, "102"),
        judgment("a", 1.0, "103"),
    ),
    arrow_results(
        *(result(doc, score, "101") for doc, score in {"x": 3.0, "a": 2.0, "b": 2.0, "c": 1.0}.items()),
        result("a", 2.0, "102"),
        result("b", 1.0, "102"),
        result("a", 1.0, "104"),
        result("a", 1.0, "103", "other"),
    ),
)
K_RELEVANT = Convention(gain="binary", ideal="k_relevant")


@pytest.fixture(scope="module")
def tiny(evaluate_embedded):
    return evaluate_embedded(*TINY, [3, None, 1], "trec_eval", dataset="tiny")


@pytest.mark.parametrize("gain", ["exp2", "linear"])
def test_a_worked_example_of_the_literature_has_its_score(evaluate_embedded, gain):
    lists = {f"{grades}": (grades, score) for grades, of, score in WORKED if of == gain}
    rows = [graded_list(grades, query) for query, (grades, _) in lists.items()]
    judged, returned = (chain(*side) for side in zip(*rows, strict=True))
    convention = Convention(gain=gain, ideal="retrieved")
    found = evaluate_embedded.queries(arrow_judgments(*judged), arrow_results(*returned), [4, 5], convention)
    for query, (grades, expected) in lists.items():
        digits = 5e-5 if expected < 1 and len(str(expected)) < 8 else 1e-12
        assert found.of(query, len(grades))["ndcg"] == pytest.approx(expected, abs=digits)


def test_dcg_and_ideal_dcg_are_the_sums_of_discounted_gains(evaluate_embedded):
    judged, returned = graded_list([3, 1, 2, 0, 2])
    row = evaluate_embedded.queries(arrow_judgments(*judged), arrow_results(*returned), [5]).of("q1", 5)
    assert row["dcg"] == pytest.approx(7 / log2(2) + 1 / log2(3) + 3 / log2(4) + 0 + 3 / log2(6))
    assert row["ideal_dcg"] == pytest.approx(7 / log2(2) + 3 / log2(3) + 3 / log2(4) + 1 / log2(5) + 0)
    assert row["cg"] == 7 + 1 + 3 + 0 + 3


def test_scores_have_their_schemas_and_a_row_for_every_run_judged_query_and_cutoff(tiny):
    assert {tuple(row) for row in tiny.query_scores} == {tuple(QUERY_SCORES.names)}
    assert {tuple(row) for row in tiny.dataset_scores} == {tuple(DATASET_SCORES.names)}
    keys = {(row["run"], row["query_id"], row["cutoff"]) for row in tiny.query_scores}
    assert len(tiny.query_scores) == len(keys) == 2 * 3 * 3
    assert {(row["run"], row["cutoff"]) for row in tiny.dataset_scores} == {
        (run, cutoff) for run in ("r", "other") for cutoff in (1, 3, None)
    }


def test_every_cutoff_in_one_pass_is_the_same_as_each_alone(evaluate_embedded, tiny):
    for cutoff in (1, 3, None):
        alone = evaluate_embedded.queries(*TINY, [cutoff], "trec_eval", dataset="tiny").query_scores
        together = [row for row in tiny.query_scores if row["cutoff"] == cutoff]
        both = [
            {(row["run"], row["query_id"]): {**row, "evaluation_id": ""} for row in rows} for rows in (together, alone)
        ]
        assert both[0] == both[1]
        assert len(alone) == len(together) == 2 * 3


def test_status_and_counts_say_what_a_score_is_made_of(tiny):
    rows = {row["query_id"]: row for row in tiny.query_scores if (row["run"], row["cutoff"]) == ("r", 3)}
    assert {query: (row["status"], row["returned"], row["judged"]) for query, row in rows.items()} == {
        "101": ("scored", 3, 2),
        "102": ("no_relevant", 2, 2),
        "103": ("missing", 0, 0),
    }


def test_dataset_scores_count_what_they_are_means_of(tiny):
    (row,) = [row for row in tiny.dataset_scores if (row["run"], row["cutoff"]) == ("r", 3)]
    assert (row["dataset"], row["convention"]) == ("tiny", "trec_eval")
    counts = ["queries", "missing_queries", "no_relevant_queries", "unjudged_queries"]
    assert [row[name] for name in counts] == [3, 1, 1, 1]
    assert row["ndcg"] == pytest.approx((0.21000199575396408 + 0 + 0) / 3)
    assert row["judged_rate"] == (2 + 2 + 0) / (3 + 2 + 0)


def statuses(evaluate_embedded, grade_of_missing, **options):
    """Status and NDCG of an answered query and of a missing one, whose only document has this grade."""
    judged = arrow_judgments(judgment("a", 1.0, "q1"), judgment("a", grade_of_missing, "q2"))
    found = evaluate_embedded.queries(judged, arrow_results(result("a", 1.0, "q1")), [1], Convention(**options))
    return [(found.of(query, 1)["status"], found.of(query, 1)["ndcg"]) for query in ("q1", "q2")]


@pytest.mark.parametrize(("policy", "score"), [("skip", None), ("zero", 0.0), ("one", 1.0)])
def test_a_missing_query_without_relevant_documents_is_decided_by_no_relevant(evaluate_embedded, policy, score):
    found = statuses(evaluate_embedded, 0.0, no_relevant=policy)
    assert found == [("scored", 1.0), ("no_relevant", score)]


@pytest.mark.parametrize("ideal", ["retrieved", "judged_capped"])
def test_a_missing_query_is_missing_where_the_ideal_is_of_the_returned_documents(evaluate_embedded, ideal):
    assert statuses(evaluate_embedded, 1.0, ideal=ideal) == [("scored", 1.0), ("missing", None)]


def test_a_missing_query_that_is_skipped_is_skipped_whatever_its_ideal(evaluate_embedded):
    found = statuses(evaluate_embedded, 0.0, no_relevant="one", missing_query="skip")
    assert found == [("scored", 1.0), ("missing", None)]


#: What fails the plan: an option of the convention, and what is said.
POLICIES = [
    ({"no_relevant": "error"}, "a query without a relevant document, e.g. run=r query_id=102"),
    ({"missing_query": "error"}, "a judged query without results, e.g. run=r query_id=103"),
]


@pytest.mark.parametrize(("options", "message"), POLICIES)
def test_a_policy_of_error_fails_the_plan_and_names_the_query(evaluate_embedded, options, message):
    judged, returned = TINY
    with pytest.raises(PySparkException, match=message):
        evaluate_embedded(judged, returned.slice(0, 6), [3], Convention(**options))


def test_so_it_does_on_classic_spark_also_for_dataset_scores(spark):
    options, message = POLICIES[0]
    judged, returned = (spark.createDataFrame(table) for table in TINY)
    with pytest.raises(PySparkException, match=message):
        evaluate(judged, returned.where("run = 'r'"), [3], Convention(**options)).dataset_scores.collect()


def test_datasets_keep_their_queries_and_runs_apart(evaluate_embedded):
    judged = [judgment("a", 1.0, "q1", dataset="one"), judgment("a", 0.0, "q1", dataset="two")]
    judged += [judgment("b", 1.0, "q1", dataset="two")]
    returned = [result("a", 1.0, "q1", dataset="one"), result("b", 1.0, "q1", dataset="two", run="s")]
    rows = evaluate_embedded.queries(arrow_judgments(*judged), arrow_results(*returned), [1]).query_scores
    assert {(row["dataset"], row["run"], row["ndcg"]) for row in rows} == {("one", "r", 1.0), ("two", "s", 1.0)}
    assert len(rows) == 2


def test_a_run_of_which_no_query_was_judged_has_null_scores_and_its_count(evaluate_embedded):
    judged = arrow_judgments(judgment("a", 1.0, "q1", dataset="one"))
    returned = [result("a", 1.0, "q1", dataset="one"), result("a", 1.0, "q1", dataset="unknown", run="s")]
    rows = evaluate_embedded(judged, arrow_results(*returned), [1]).dataset_scores
    assert {(row["run"], row["queries"], row["unjudged_queries"], row["ndcg"]) for row in rows} == {
        ("r", 1, 0, 1.0),
        ("s", 0, 1, None),
    }
    assert len(rows) == 2


def ndcg_at(evaluate_embedded, judged, returned, cutoff, **options):
    """The NDCG of one query."""
    found = evaluate_embedded.queries(
        arrow_judgments(*judged), arrow_results(*returned), [cutoff], Convention(**options)
    )
    return found.of("q1", cutoff)["ndcg"]


def test_a_tie_across_the_cutoff_is_averaged_over_the_whole_group(evaluate_embedded):
    judged = [judgment(doc, float(doc in "bc")) for doc in "abcd"]
    returned = [result("a", 3.0), *(result(doc, 2.0) for doc in "bcd")]
    expected = (2 / 3 / log2(3)) / (1 / log2(2) + 1 / log2(3))
    found = ndcg_at(evaluate_embedded, judged, returned, 2, gain="linear", ties="average", ideal="retrieved")
    assert found == pytest.approx(expected, abs=1e-15)


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
def test_ties_go_by_their_policy(evaluate_embedded, ties, score):
    judged, returned = [judgment("a", 1.0), judgment("b", 0.0)], [result("a"), result("b")]
    assert ndcg_at(evaluate_embedded, judged, returned, None, ties=ties) == pytest.approx(score)


@pytest.mark.parametrize(
    ("ideal", "score"),
    [
        ("judged", (1 + 1 / log2(3)) / sum(1 / log2(rank + 1) for rank in range(1, 6))),
        ("retrieved", 1),
        ("judged_capped", 1),
    ],
)
def test_the_ideal_is_of_the_documents_that_the_option_says(evaluate_embedded, ideal, score):
    judged = [judgment(f"d{number}") for number in range(8)]
    returned = [result("d0", 2.0), result("d1", 1.0)]
    assert ndcg_at(evaluate_embedded, judged, returned, 5, ideal=ideal) == pytest.approx(score)


def test_the_retrieved_ideal_is_of_the_whole_list_and_not_of_its_top(evaluate_embedded):
    expected = (0 + 1 / log2(3)) / (3 / log2(2) + 1 / log2(3))
    found = ndcg_at(evaluate_embedded, *graded_list([0, 1, 3]), 2, gain="linear", ideal="retrieved")
    assert found == pytest.approx(expected)


#: Cases that tell conventions apart: judged, returned as (document, score), options, score.
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
    "a document returned twice keeps its best rank": (
        {"a": 1, "b": 1},
        [("x", 4.0), ("a", 3.0), ("a", 2.0), ("b", 1.0)],
        {"duplicates": "best"},
        (1 / log2(3) + 1 / 2) / (1 + 1 / log2(3)),
    ),
    "a grade below the least relevant one is 0": (
        {"a": 1, "b": 3},
        [("a", 2.0), ("b", 1.0)],
        {"min_relevance": 2},
        1 / log2(3),
    ),
    "discount by position": (
        {"a": 0, "b": 2, "c": 1},
        [("a", 3.0), ("b", 2.0), ("c", 1.0)],
        {"gain": "linear", "discount": "position"},
        (2 / 2 + 1 / 3) / (2 + 1 / 2),
    ),
    "a list without gain scores 1": ({"a": 1, "b": 0}, [("b", 1.0)], {"ideal": "retrieved", "no_relevant": "one"}, 1),
}


@pytest.fixture(scope="module")
def probed(evaluate_embedded):
    """The NDCG of every probe: those of the same options are queries of one evaluation."""
    found = {}
    for options in {str(options): options for _, _, options, _ in PROBES.values()}.values():
        cases = {probe: case for probe, case in PROBES.items() if case[2] == options}
        judged = [judgment(doc, float(g), probe) for probe, case in cases.items() for doc, g in case[0].items()]
        returned = [result(doc, score, probe) for probe, case in cases.items() for doc, score in case[1]]
        tables = arrow_judgments(*judged), arrow_results(*returned)
        found |= evaluate_embedded.queries(*tables, [None], Convention(**options)).ndcg(None)
    return found


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_that_tells_tools_apart_has_its_score(probed, probe):
    assert probed[probe] == pytest.approx(PROBES[probe][-1], abs=1e-10)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "3"])
def test_a_cutoff_that_is_no_rank_is_refused(evaluate_embedded, wrong):
    with pytest.raises(ConfigurationError, match="invalid cutoff"):
        evaluate_embedded(*TINY, [wrong])


def test_a_convention_that_is_no_preset_is_refused(evaluate_embedded):
    with pytest.raises(ConventionError, match="unknown preset 'trec'"):
        evaluate_embedded(*TINY, [1], "trec")


def test_results_without_what_they_are_ranked_by_are_refused(evaluate_embedded):
    judged, returned = TINY
    with pytest.raises(InputError, match="no column score"):
        evaluate_embedded(judged, returned.drop_columns("score"), [1])
    with pytest.raises(InputError, match="no column rank"):
        evaluate_embedded(judged, returned, [1], Convention(ties="rank"))


def test_only_one_table_that_names_datasets_is_refused(evaluate_embedded):
    judged, _ = TINY
    with pytest.raises(InputError, match="judgments: no column dataset"):
        evaluate_embedded(judged, arrow_results(result(dataset="one")), [1])


#: Rows that nobody has checked, beside a good one: of which table, under which options, and what is said.
BAD = [
    (result(score=float("nan")), {}, r"\[score_is_no_number\] results: .*doc_id=d1"),
    (result(score=None), {}, r"\[score_is_no_number\] results: "),
    (result(query_id=None), {}, r"\[no_query_id\] results: .*query_id=null"),
    (result(run=""), {}, r"\[no_run\] results: "),
    (result(rank=None), {"order": "rank"}, r"\[rank_is_no_rank\] results: "),
    (result(rank=0), {"order": "rank"}, r"\[rank_is_no_rank\] results: "),
    (judgment("d2", None), {}, r"\[relevance_is_no_number\] judgments: "),
]


def with_bad(row):
    """Judgments and results with a bad row."""
    judged, returned = [judgment("d1")], [result("d2", **({"rank": 1} if "rank" in row else {}))]
    return (judged, [*returned, row]) if "run" in row else ([*judged, row], returned)


@pytest.mark.parametrize(("row", "options", "reason"), BAD)
def test_a_row_that_cannot_be_ranked_fails_the_plan_of_the_library(evaluate_embedded, row, options, reason):
    judged, returned = with_bad(row)
    with pytest.raises(PySparkException, match=reason):
        evaluate_embedded.queries(arrow_judgments(*judged), arrow_results(*returned), [1], Convention(**options))


def test_so_it_does_on_classic_spark(spark):
    row, _, reason = BAD[0]
    judged, returned = with_bad(row)
    with pytest.raises(PySparkException, match=reason):
        evaluate(judgments(spark, judged), results(spark, returned), [1]).query_scores.collect()


@pytest.mark.parametrize(
    ("discount", "weights"),
    [("log2", [1, 1 / log2(3), 1 / 2]), ([1, 0.5], [1, 0.5, 0]), ("python:numpy.reciprocal", [1, 1 / 2, 1 / 3])],
    ids=str,
)
def test_an_ideal_of_k_relevant_documents_is_of_k_whatever_was_judged(evaluate_embedded, discount, weights):
    tables = arrow_judgments(judgment("a"), judgment("b", 0.0)), arrow_results(result("b", 2.0), result("a", 1.0))
    convention = Convention(gain="binary", ideal="k_relevant", discount=discount)
    found = evaluate_embedded.queries(*tables, [1, 3], convention)
    assert found.of("q1", 1)["ideal_dcg"] == pytest.approx(weights[0])
    assert found.of("q1", 3)["ideal_dcg"] == pytest.approx(sum(weights))
    assert found.ndcg(1) == {"q1": 0}
    assert found.ndcg(3) == {"q1": pytest.approx(weights[1] / sum(weights))}


def test_a_query_without_a_relevant_document_has_no_ideal_of_k_either(evaluate_embedded):
    tables = arrow_judgments(judgment("a", 0.0)), arrow_results(result("a"))
    row = evaluate_embedded.queries(*tables, [3], K_RELEVANT).of("q1", 3)
    assert (row["status"], row["ndcg"], row["ideal_dcg"]) == ("no_relevant", None, 0.0)


def test_the_whole_ranking_has_no_k_so_its_ideal_is_of_the_judged_documents(evaluate_embedded):
    tables = arrow_judgments(judgment("a"), judgment("b")), arrow_results(result("x", 2.0), result("a", 1.0))
    found = evaluate_embedded.queries(*tables, [3, None], K_RELEVANT)
    assert found.of("q1", 3)["ideal_dcg"] == pytest.approx(1 + 1 / log2(3) + 1 / 2)
    assert found.of("q1", None)["ideal_dcg"] == pytest.approx(1 + 1 / log2(3))
    with pytest.raises(ConventionError, match="ideal=k_relevant takes cutoffs up to"):
        evaluate_embedded(*tables, [100_001], K_RELEVANT)


@pytest.mark.parametrize("options", [{}, {"gain": "linear"}, {"gain": "binary", "unjudged": 1.0}], ids=str)
def test_an_ideal_of_k_relevant_documents_is_of_gains_that_are_one(options):
    with pytest.raises(ConventionError, match="ideal=k_relevant"):
        Convention(ideal="k_relevant", **options)
