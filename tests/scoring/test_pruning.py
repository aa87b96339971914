"""What ranks tell of the results that can matter, and that nothing changes where those that cannot are left out."""

import pytest
from programs import called
from pyspark.sql import functions as F
from tables import judgment, judgments, random_rows, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.contract.counting import count_results
from ndcg_spark.engine import open_engine
from ndcg_spark.rules import broken_results, reason_of
from ndcg_spark.scoring.pruning import MOST_NAMED, MOST_NAMED_IN_ALL, MOST_RUNS, Untrusted, pruning_of, untrusted_of

DEPTH = 2
GRADES = {"a": 0.0, "b": 1.0, "c": 2.0, "e": 0.0, "h": 3.0}


def untrusted(spark, rows, **options):
    """The queries whose lists are not trusted, of q1, judged, and q2, which is not."""
    convention = Convention(**options)
    table = results(spark, rows)
    reason = reason_of(broken_results(dict(table.dtypes), convention))
    judged = spark.createDataFrame([("q1",)], "query_id string")
    found = count_results(table, reason, judged, pruning_of(convention, [1, DEPTH], table.columns)).untrusted
    assert found.runs == ()
    return [query for _, query in found.lists]


def listed(ranks, scores=None, query_id="q1"):
    scores = scores or [-float(rank) for rank in ranks]
    return [
        result(f"d{at}", score, query_id, rank=rank) for at, (rank, score) in enumerate(zip(ranks, scores, strict=True))
    ]


@pytest.mark.parametrize("ranks", [[1, 2, 3], [3, 1, 2], [2, 1], [1], [1, 1, 9]])
def test_a_list_with_a_rank_for_every_place_and_scores_in_that_order_is_settled(spark, ranks):
    assert untrusted(spark, listed(ranks)) == []
    assert untrusted(spark, listed(ranks), order="rank") == []


@pytest.mark.parametrize("ranks", [[1, 3], [2, 3, 4], [0, 7, 8]])
def test_a_list_with_too_few_ranks_is_not_trusted(spark, ranks):
    assert untrusted(spark, listed(ranks)) == ["q1"]


@pytest.mark.parametrize(
    "scores", [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [3.0, 2.0, 2.0], [1.0, 0.0, -0.0], [2.0, -0.0, 0.0]]
)
def test_a_list_whose_scores_are_not_in_the_order_of_its_ranks_is_not_trusted(spark, scores):
    assert untrusted(spark, listed([1, 2, 3], scores)) == ["q1"]
    assert untrusted(spark, listed([1, 2, 3], scores), order="rank") == []


def test_a_tie_across_the_depth_is_settled_where_ranks_break_ties(spark):
    assert untrusted(spark, listed([1, 2, 3], [3.0, 2.0, 2.0]), ties="rank") == []


def test_scores_that_a_float_cannot_tell_apart_tie_where_they_are_compared_as_floats(spark):
    rows = listed([1, 2, 3], [3.0, 2.0 + 1e-9, 2.0])
    assert untrusted(spark, rows) == []
    assert untrusted(spark, rows, score_precision="float32") == ["q1"]


def test_a_rank_that_is_null_is_below_every_depth_and_a_bad_row_is_none(spark):
    assert untrusted(spark, listed([1, 2, None], [3.0, 2.0, 1.0])) == []
    assert untrusted(spark, listed([1, 2, None], [3.0, 2.0, 4.0])) == ["q1"]
    assert untrusted(spark, listed([1, 2, 3], [3.0, 2.0, float("nan")])) == []
    assert untrusted(spark, listed([1, 2, 3], [3.0, None, 1.0])) == ["q1"]


def test_a_query_that_nobody_judged_is_not_kept_for_its_order(spark):
    assert untrusted(spark, [*listed([1, 2]), *listed([5, 6], query_id="q2")]) == []


def test_a_list_of_one_run_is_kept_whole_and_the_same_query_of_another_is_not(spark):
    rows = [
        *({**row, "run": "good"} for row in listed([1, 2, 3])),
        *({**row, "run": "bad"} for row in listed([1, 2, 3], [1.0, 2.0, 3.0])),
        *({**row, "run": "bad"} for row in listed([1, 2, 3], query_id="q2")),
    ]
    table, queries = results(spark, rows), judgments(spark, [judgment("d0"), judgment("d0", query_id="q2")])
    pruning = pruning_of(Convention(), [DEPTH], table.columns)
    found = count_results(table, F.lit(None).cast("string"), queries.select("query_id"), pruning).untrusted
    assert found == Untrusted(lists=(("bad", "q1"),))
    kept = pruning.kept(table, found).groupBy("run", "query_id").count().collect()
    assert {(row["run"], row["query_id"]): row["count"] for row in kept} == {
        ("good", "q1"): DEPTH,
        ("bad", "q1"): 3,
        ("bad", "q2"): DEPTH,
    }


def test_a_run_of_which_too_many_lists_are_untrusted_is_kept_whole(spark):
    assert untrusted_of([("a", 0, []), ("b", 2, ["q1"])]) == Untrusted(("b",), ())
    full = ["q"] * MOST_NAMED
    runs = [(f"run{number:02}", MOST_NAMED, full) for number in range(MOST_NAMED_IN_ALL // MOST_NAMED + 1)]
    found = untrusted_of([*runs, ("small", 1, ["q1"])])
    assert found.runs == ("run09", "run10")
    assert len(found.lists) == 1 + 9 * MOST_NAMED
    table = results(spark, [result("d", rank=DEPTH + 1, run=run) for run in ("a", "b")])
    kept = pruning_of(Convention(), [DEPTH], table.columns).kept(table, Untrusted(runs=("b",)))
    assert [row["run"] for row in kept.collect()] == ["b"]


def test_where_too_many_runs_are_kept_whole_everything_is(spark):
    table = results(spark, [result("d", rank=DEPTH + 1, run=run) for run in ("a", "b")])
    many = tuple(f"run{number}" for number in range(MOST_RUNS + 1))
    pruning = pruning_of(Convention(), [DEPTH], table.columns)
    assert pruning.kept(table, Untrusted(runs=many)).count() == 2
    assert pruning.kept(table, Untrusted(runs=many[1:])).count() == 0


@pytest.mark.parametrize(
    ("options", "cutoffs", "columns"),
    [
        ({}, [10], ["score"]),
        ({}, [10, None], ["score", "rank"]),
        ({"ideal": "retrieved"}, [10], ["score", "rank"]),
        ({"unjudged": "drop"}, [10], ["score", "rank"]),
        ({"duplicates": "best"}, [10], ["score", "rank"]),
    ],
)
def test_where_ranks_cannot_tell_nothing_is_pruned(options, cutoffs, columns):
    assert pruning_of(Convention(**options), cutoffs, columns) is None


OPTIONS = [
    {},
    {"ties": "rank"},
    {"ties": "average"},
    {"score_precision": "float32"},
    {"order": "rank"},
    {"order": "rank", "ties": "best"},
    {"ideal": "judged_capped"},
]
QUERIES = 60


def with_and_without(session, options):
    """How many lists are not trusted, how many rows are left out, and the scores of all rows and of those kept."""
    convention, rows = Convention(**options), list(random_rows(QUERIES))
    judged = judgments(
        session, [judgment(d, float("abcdefgh".index(d) % 4), f"q{n}") for n in range(QUERIES) for d in "abceh"]
    )
    table = results(session, rows)
    pruning = pruning_of(convention, [1, DEPTH], table.columns)
    queries = judged.select("query_id").distinct()
    found = count_results(table, F.lit(None).cast("string"), queries, pruning).untrusted
    kept = pruning.kept(table, found).collect()
    columns = ["query_id", "cutoff", "returned", "judged", "ndcg", "dcg", "cg"]
    scores = [
        sorted(
            tuple(row) for row in evaluate(judged, given, [1, DEPTH], convention).query_scores.select(columns).collect()
        )
        for given in (table, session.createDataFrame(kept, table.schema))
    ]
    return len(found.lists), len(rows) - len(kept), scores


def all_with_and_without():
    with open_engine("embedded") as engine:
        return [with_and_without(engine.session, options) for options in OPTIONS]


@pytest.fixture(scope="module")
def embedded():
    """Of all options in one process."""
    return called(all_with_and_without)


def check_same(options, untrusted_lists, left_out, scores):
    assert 0 < untrusted_lists < QUERIES or options.get("order") == "rank"
    assert left_out > 0
    assert scores[0] == scores[1]
    assert len(scores[0]) == 2 * QUERIES


@pytest.mark.slow
@pytest.mark.parametrize("at", range(len(OPTIONS)), ids=map(str, OPTIONS))
def test_scores_are_the_same_with_and_without_what_is_left_out(embedded, at):
    check_same(OPTIONS[at], *embedded[at])


@pytest.mark.parametrize("options", [{}, {"order": "rank", "ties": "best"}], ids=str)
def test_so_they_are_on_classic_spark(spark, options):
    check_same(options, *with_and_without(spark, options))
