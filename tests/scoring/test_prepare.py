"""What is decided before anything is scored is the same on every road to scores."""

import math

import pytest
from scored import ROADS, scored
from sessions import on_spark
from tables import judgment, result

from ndcg_spark import Convention
from ndcg_spark.errors import ConfigurationError, InputError

on_every_road = pytest.mark.parametrize("road", on_spark(ROADS, "lazy"))
JUDGED = [judgment("a", 2.0), judgment("b", 1.0)]
RETURNED = [result("c", 3.0), result("b", 2.0), result("a", 1.0)]
SECOND = 1 / math.log2(3)


@on_every_road
def test_documents_that_are_excluded_leave_a_list_before_it_is_ranked(session, road):
    exclude = {"query_id": ["q1", "q2"], "doc_id": ["c", "a"]}
    row = scored(session, JUDGED, RETURNED, 2, road=road, exclude=exclude).of("q1", 2)
    assert (row["returned"], row["dcg"]) == (2, pytest.approx(1 + 3 * SECOND))


@on_every_road
def test_results_without_scores_are_in_the_order_of_their_ranks(session, road):
    ranked = {"run": ["r"] * 2, "query_id": ["q1"] * 2, "doc_id": ["a", "b"], "rank": [2, 1]}
    scores = scored(session, JUDGED, ranked, 2, "trec_eval ties=rank", road=road)
    assert scores.of("q1", 2)["dcg"] == pytest.approx(1 + 2 * SECOND)
    assert scores.mean(2)["convention"] == "trec_eval order=rank"


@on_every_road
def test_judgments_without_grades_have_one_grade(session, road):
    clicks = {"query_id": ["q1"] * 2, "doc_id": ["a", "b"]}
    graded = scored(session, clicks, RETURNED, 2, road=road, relevance=2)
    assert graded.of("q1", 2)["ideal_dcg"] == pytest.approx(3 + 3 * SECOND)
    counted = scored(session, clicks, RETURNED, 2, Convention(gain="judged"), road=road)
    assert counted.of("q1", 2)["ideal_dcg"] == pytest.approx(1 + SECOND)
    with pytest.raises(InputError, match=r"1 column\(s\) missing, relevance"):
        scored(session, clicks, RETURNED, 2, road=road)


@on_every_road
def test_queries_of_one_table_alone_are_missing_or_unjudged(session, road):
    judged = [*JUDGED, judgment("a", 1.0, "q2")]
    returned = [*RETURNED, result("a", 1.0, "q3"), result("a", 1.0, "q4")]
    scores = scored(session, judged, returned, 2, road=road)
    assert scores.of("q2", 2)["status"] == "missing"
    mean = scores.mean(2)
    assert (mean["queries"], mean["missing_queries"], mean["unjudged_queries"]) == (2, 1, 2)


@on_every_road
def test_a_dataset_is_named_by_the_tables_or_by_the_user(session, road):
    judged = [judgment("a", 1.0, dataset="web"), judgment("a", 1.0, dataset="news")]
    returned = [result("a", 1.0, dataset="web"), result("b", 1.0, dataset="news")]
    rows = scored(session, judged, returned, 1, road=road).dataset_scores
    assert {row["dataset"]: row["ndcg"] for row in rows} == {"web": 1, "news": 0}
    with pytest.raises(ConfigurationError, match=r"^dataset: "):
        scored(session, judged, returned, 1, road=road, dataset="shop")
    (row,) = scored(session, JUDGED, RETURNED, 1, road=road, dataset="shop").dataset_scores
    assert row["dataset"] == "shop"


@on_every_road
def test_the_highest_grade_of_all_judgments_is_what_grades_are_compared_with(session, road):
    judged = [judgment("a", 1.0), judgment("b", 4.0, "q2")]
    scores = scored(session, judged, [result("a")], 1, road=road, measures="RBP(p=0.5)@1")
    assert scores.of("q1", 1)["rbp"] == pytest.approx((1 - 0.5) * 1 / 4)
