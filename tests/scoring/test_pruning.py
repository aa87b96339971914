"""What ranks tell of the results that can matter, and that nothing changes where those that cannot are left out."""

import pytest
from chispa import assert_approx_df_equality
from pyspark.sql import functions as F
from tables import judgment, judgments, random_rows, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.contract.scan import count_results
from ndcg_spark.rules import broken_results, reason_of
from ndcg_spark.scoring.pruning import MOST_NAMED, MOST_NAMED_IN_ALL, MOST_RUNS, Untrusted, pruning_of, untrusted_of

DEPTH = 2
GRADES = {"a": 0.0, "b": 1.0, "c": 2.0, "e": 0.0, "h": 3.0}


def untrusted(session, lists, **options):
    """The names of the lists that are not trusted; each is a query, and those whose name begins with q are judged."""
    convention = Convention(**options)
    table = results(session, [{**row, "query_id": name} for name, rows in lists.items() for row in rows])
    reason = reason_of(broken_results(dict(table.dtypes), convention))
    judged = session.createDataFrame([(name,) for name in lists if name.startswith("q")], "query_id string")
    found = count_results(table, reason, judged, pruning_of(convention, [1, DEPTH], table.columns)).untrusted
    assert found.runs == ()
    return sorted(query for _, query in found.lists)


def kept(session, rows, lists):
    """The run and the document of the rows that are kept where these lists are not trusted."""
    table = results(session, rows)
    found = pruning_of(Convention(), [DEPTH], table.columns).kept(table, lists).collect()
    return sorted((row["run"], row["doc_id"]) for row in found)


def listed(ranks, scores=None):
    scores = scores or [-float(rank) for rank in ranks]
    return [result(f"d{at}", score, rank=rank) for at, (rank, score) in enumerate(zip(ranks, scores, strict=True))]


def named(*lists):
    """Lists of judged queries, by what they are made of."""
    return {f"q{each}": listed(*each) if isinstance(each, tuple) else listed(each) for each in lists}


def test_a_list_with_a_rank_for_every_place_and_scores_in_that_order_is_settled(session):
    lists = named([1, 2, 3], [3, 1, 2], [2, 1], [1], [1, 1, 9])
    assert untrusted(session, lists) == []
    assert untrusted(session, lists, order="rank") == []


def test_a_list_with_too_few_ranks_is_not_trusted(session):
    lists = named([1, 3], [2, 3, 4], [0, 7, 8])
    assert untrusted(session, lists) == sorted(lists)


def test_a_list_whose_scores_are_not_in_the_order_of_its_ranks_is_not_trusted(session):
    scores = [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [3.0, 2.0, 2.0], [1.0, 0.0, -0.0], [2.0, -0.0, 0.0]]
    lists = named(*(([1, 2, 3], each) for each in scores))
    assert untrusted(session, lists) == sorted(lists)
    assert untrusted(session, lists, order="rank") == []


def test_a_tie_across_the_depth_is_settled_where_ranks_break_ties(session):
    assert untrusted(session, named(([1, 2, 3], [3.0, 2.0, 2.0])), ties="rank") == []


def test_scores_that_a_float_cannot_tell_apart_tie_where_they_are_compared_as_floats(session):
    lists = named(([1, 2, 3], [3.0, 2.0 + 1e-9, 2.0]))
    assert untrusted(session, lists) == []
    assert untrusted(session, lists, score_precision="float32") == [*lists]


def test_a_rank_that_is_null_is_below_every_depth_and_a_bad_row_is_none(session):
    lists = {
        "q in order": listed([1, 2, None], [3.0, 2.0, 1.0]),
        "q better below": listed([1, 2, None], [3.0, 2.0, 4.0]),
        "q bad below": listed([1, 2, 3], [3.0, 2.0, float("nan")]),
        "q bad above": listed([1, 2, 3], [3.0, None, 1.0]),
    }
    assert untrusted(session, lists) == ["q bad above", "q better below"]


def test_a_query_that_nobody_judged_is_not_kept_for_its_order(session):
    assert untrusted(session, {"q": listed([1, 2]), "not judged": listed([5, 6])}) == []


def kept_of_runs(session):
    rows = [
        *({**row, "run": "good"} for row in listed([1, 2, 3])),
        *({**row, "run": "bad"} for row in listed([1, 2, 3], [1.0, 2.0, 3.0])),
        *({**row, "run": "bad", "query_id": "q2"} for row in listed([1, 2, 3])),
    ]
    table, queries = results(session, rows), judgments(session, [judgment("d0"), judgment("d0", query_id="q2")])
    pruning = pruning_of(Convention(), [DEPTH], table.columns)
    found = count_results(table, F.lit(None).cast("string"), queries.select("query_id"), pruning).untrusted
    counts = pruning.kept(table, found).groupBy("run", "query_id").count().collect()
    return found, {(row["run"], row["query_id"]): row["count"] for row in counts}


def test_a_list_of_one_run_is_kept_whole_and_the_same_query_of_another_is_not(session):
    found, counts = kept_of_runs(session)
    assert found == Untrusted(lists=(("bad", "q1"),))
    assert counts == {("good", "q1"): DEPTH, ("bad", "q1"): 3, ("bad", "q2"): DEPTH}


#: Two runs, of each a row beyond the depth.
BEYOND = [result("d", rank=DEPTH + 1, run=run) for run in ("a", "b")]


def test_a_run_of_which_too_many_lists_are_untrusted_is_kept_whole(session):
    assert untrusted_of([("a", 0, []), ("b", 2, ["q1"])]) == Untrusted(("b",), ())
    full = ["q"] * MOST_NAMED
    runs = [(f"run{number:02}", MOST_NAMED, full) for number in range(MOST_NAMED_IN_ALL // MOST_NAMED + 1)]
    found = untrusted_of([*runs, ("small", 1, ["q1"])])
    assert found.runs == ("run09", "run10")
    assert len(found.lists) == 1 + 9 * MOST_NAMED
    assert kept(session, BEYOND, Untrusted(runs=("b",))) == [("b", "d")]


def test_where_too_many_runs_are_kept_whole_everything_is(session):
    many = tuple(f"run{number}" for number in range(MOST_RUNS + 1))
    assert kept(session, BEYOND, Untrusted(runs=many)) == [("a", "d"), ("b", "d")]
    assert kept(session, BEYOND, Untrusted(runs=many[1:])) == []


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


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_are_the_same_with_and_without_what_is_left_out(session, options):
    # Where ranks are the order, each is given once.
    rows, convention = random_rows(QUERIES, ranks_repeat="order" not in options), Convention(**options)
    judged = judgments(session, [judgment(d, grade, f"q{n}") for n in range(QUERIES) for d, grade in GRADES.items()])
    returned = results(session, list(rows))
    pruning = pruning_of(convention, [1, DEPTH], returned.columns)
    found = count_results(returned, F.lit(None).cast("string"), judged.select("query_id").distinct(), pruning).untrusted
    left = pruning.kept(returned, found)
    assert 0 < len(found.lists) < QUERIES or options.get("order") == "rank"
    assert 0 < left.count() < returned.count()
    columns = ["query_id", "cutoff", "returned", "judged", "ndcg", "dcg", "cg"]
    pruned, whole = (
        evaluate(judged, table, [1, DEPTH], convention).query_scores.select(columns) for table in (left, returned)
    )
    assert whole.count() == 2 * QUERIES
    assert_approx_df_equality(pruned, whole, 1e-12, ignore_nullable=True, ignore_row_order=True)
