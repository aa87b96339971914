"""Results that cannot matter are left out, by ranks or by floors, and nothing changes."""

import random

import pyarrow.parquet as pq
import pytest
from chispa import assert_approx_df_equality
from evaluations import evaluated
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F
from sessions import many, on_spark
from tables import arrow_judgments, arrow_results, judgment, judgments, random_rows, result, results

from ndcg_spark import Convention, config, evaluate
from ndcg_spark.contract.scan import count_results
from ndcg_spark.rules import rejection_reason, result_rules
from ndcg_spark.scoring import skipping
from ndcg_spark.scoring.skipping import MAX_BUCKETS, MIN_ROWS, Floors, Pruning, plan_skipping

DEPTH = 2
GRADES = {"a": 0.0, "b": 1.0, "c": 2.0, "e": 0.0, "h": 3.0}
LOWEST = float("-inf")


def counted(session, rows, convention, **how):
    """The good results of rows, and what a scan of them counts; queries whose name begins with q are judged."""
    table = results(session, rows)
    reason = rejection_reason(result_rules(dict(table.dtypes), convention))
    names = sorted({row["query_id"] for row in rows if row["query_id"].startswith("q")})
    judged = session.createDataFrame([(name,) for name in names], "query_id string")
    return table.where(reason.isNull()), *count_results(table, reason, judged, **how)


def listed(ranks, scores=None, query="q"):
    scores = scores or [-float(rank) for rank in ranks]
    return [
        result(f"d{at}", score, query, rank=rank)
        for at, (rank, score) in enumerate(zip(ranks, scores, strict=True))
    ]


#: By options, lists of a run each, and whether their ranks are the order.
ORDERS = {
    "scores": (
        {},
        [
            (listed([3, 1, 2]), True),
            (listed([1]), True),
            (listed([1, 1, 9]), True),
            # Too few ranks.
            (listed([1, 3]), False),
            (listed([2, 3, 4]), False),
            # Another order, and a tie across the depth.
            (listed([1, 2, 3], [3.0, 1.0, 2.0]), False),
            (listed([1, 2, 3], [3.0, 2.0, 2.0]), False),
            (listed([1, 2, 3], [2.0, -0.0, 0.0]), False),
            (listed([1, 2, 3], [3.0, 2.0 + 1e-9, 2.0]), True),
            # A row without a rank lies below, and a bad row nowhere.
            (listed([1, 2, None], [3.0, 2.0, 1.0]), True),
            (listed([1, 2, None], [3.0, 2.0, 4.0]), False),
            (listed([1, 2, 3], [3.0, 2.0, float("nan")]), True),
            (listed([1, 2, 3], [3.0, None, 1.0]), False),
            ([*listed([1, 2, 3]), *listed([5, 6], query="unjudged")], True),
        ],
    ),
    "ranks": (
        {"order": "rank"},
        [(listed([0, 7, 8]), False), (listed([1, 2, 3], [3.0, 1.0, 2.0]), True)],
    ),
    "ties by rank": ({"ties": "rank"}, [(listed([1, 2, 3], [3.0, 2.0, 2.0]), True)]),
    "float32": (
        {"score_precision": "float32"},
        [(listed([1, 2, 3], [3.0, 2.0 + 1e-9, 2.0]), False)],
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_ranks_that_are_the_order(session, name):
    options, lists = ORDERS[name]
    rows, untrusted = [], {}
    for number, (of_run, trusted) in enumerate(lists):
        rows += [{**row, "run": f"r{number}"} for row in of_run]
        untrusted[f"r{number}"] = int(not trusted)
    convention = Convention(**options)
    _, counts, _ = counted(session, rows, convention, skipping=Pruning(DEPTH, convention))
    assert {run.run: run.untrusted for run in counts.runs} == untrusted


@pytest.mark.parametrize(("ranks", "trusted"), [([1, 2, 3], True), ([5, 6], False)])
def test_ranks_of_unjudged_lists_are_looked_at_where_these_are_needed(session, ranks, trusted):
    rows = [*listed([1, 2, 3]), *listed(ranks, query="unjudged")]
    pruning = Pruning(DEPTH, Convention(), for_all=True)
    _, counts, _ = counted(session, rows, Convention(), skipping=pruning)
    assert [run.untrusted for run in counts.runs] == [int(not trusted)]


@pytest.mark.parametrize(
    ("options", "cutoffs", "columns", "rows", "queries", "kind"),
    [
        ({}, [1, 10], ["score"], MIN_ROWS, MIN_ROWS // 30, Floors),
        ({}, [10], ["score"], MIN_ROWS - 1, 1, type(None)),
        ({}, [10], ["score"], MIN_ROWS, MIN_ROWS // 30 + 1, type(None)),
        ({}, [MAX_BUCKETS * 2 // 3 + 1], ["score"], MIN_ROWS, 1, type(None)),
        ({}, [10], ["score", "rank"], MIN_ROWS, 1, Pruning),
        ({"order": "rank"}, [10], ["rank"], MIN_ROWS, 1, Pruning),
        ({"ideal": "retrieved_at_k"}, [10], ["score", "rank"], MIN_ROWS, 1, Pruning),
        *(
            (options, cutoffs, columns, MIN_ROWS, 1, type(None))
            for columns in (["score"], ["score", "rank"])
            for options, cutoffs in (
                ({}, [10, None]),
                ({"ideal": "retrieved"}, [10]),
                ({"unjudged": "drop"}, [10]),
                ({"duplicates": "best"}, [10]),
            )
        ),
    ],
)
def test_when_results_are_skipped(options, cutoffs, columns, rows, queries, kind):
    assert isinstance(plan_skipping(Convention(**options), cutoffs, columns, rows, queries), kind)


def floors(session, depth, lists, **options):
    """By list, its floor and the documents that reach it; each list is a query with the scores of its documents."""
    rows = [
        result(doc, score, query)
        for query, scores in lists.items()
        for doc, score in scores.items()
    ]
    convention = Convention(**options)
    table, counts, of_lists = counted(
        session,
        rows,
        convention,
        skipping=Floors(depth, convention),
        materialize=lambda parts: next(iter(parts)),
    )
    assert counts == counted(session, rows, convention)[1]
    kept = {query: set() for query in lists}
    for row in Floors(depth, convention).kept(table, of_lists).collect():
        kept[row["query_id"]].add(row["doc_id"])
    return {row["query_id"]: (row["floor"], kept[row["query_id"]]) for row in of_lists.collect()}


@pytest.mark.slow
@settings(max_examples=many(15, 2, 60), deadline=None)
@given(
    st.integers(1, 10),
    st.lists(
        st.lists(st.sampled_from([-1.0, -0.0, 0.0, 2.0, 2.5, 7.0]) | st.floats(-9, 9), min_size=1),
        min_size=1,
    ),
)
def test_the_best_documents_reach_the_floor(session, depth, drawn):
    lists = {
        f"q{at}": {f"d{n}": score for n, score in enumerate(scores)}
        for at, scores in enumerate(drawn)
    }
    for name, (floor, kept) in floors(session, depth, lists).items():
        scores = sorted(lists[name].values(), reverse=True)
        assert len(scores) > depth or floor in (LOWEST, scores[-1])
        assert floor <= scores[min(depth, len(scores)) - 1]
        assert kept == {doc for doc, score in lists[name].items() if score >= floor}


def test_scores_tie_with_the_floor_as_they_are_compared(session):
    near = {"q": {f"d{at}": 2.0 + at * 1e-9 for at in range(80)} | {"low": 1.0}}
    assert len(floors(session, 2, near)["q"][1]) < 80
    assert len(floors(session, 2, near, score_precision="float32")["q"][1]) == 80


def test_scores_below_every_float_reach_the_floor(session):
    infinite = {f"d{at}": -1e39 * at for at in range(1, 60)}
    floor, kept = floors(session, 2, {"q": {"best": 1.0} | infinite}, score_precision="float32")[
        "q"
    ]
    assert (floor, len(kept)) == (LOWEST, 60)


def test_a_bad_row_raises_no_floor(session):
    bad = {f"n{at}": float("nan") for at in range(50)}
    floor, kept = floors(session, 2, {"q": bad | {f"d{at}": float(at) for at in range(30)}})["q"]
    assert floor <= 28.0
    assert {"d28", "d29"} <= kept


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    on_spark([{}, {"ties": "average"}, {"ideal": "judged_capped"}], {"ties": "average"}),
    ids=str,
)
def test_an_evaluation_makes_use_of_floors(session, tmp_path, monkeypatch, options):
    chance, kept = random.Random(3), Floors.kept  # noqa: S311  # it makes test data
    rows = [
        result(f"d{at}", chance.choice([0.0, 1.5, chance.random()]), f"q{query}", run)
        for run in "rs"
        for query in range(9)
        for at in range(chance.randint(1, 40))
    ]
    judged = [
        judgment(f"d{at}", float(at % 4), f"q{query}") for query in range(2, 9) for at in range(15)
    ]
    pq.write_table(arrow_results(*rows), tmp_path / "results.parquet")
    pq.write_table(arrow_judgments(*judged), tmp_path / "judgments.parquet")
    paths = {name: {"path": str(tmp_path / f"{name}.parquet")} for name in ("judgments", "results")}
    used, means = [], []
    monkeypatch.setattr(
        Floors, "kept", lambda *given, **named: used.append(1) or kept(*given, **named)
    )
    monkeypatch.setattr(skipping, "MIN_DEPTHS", 1)
    for least in (0, MIN_ROWS):
        monkeypatch.setattr(skipping, "MIN_ROWS", least)
        outcome, _ = evaluated(
            config.validate({**paths, "cutoffs": [1, 5], "convention": options}, "test")
        )
        means.append([row["ndcg"] for row in outcome.dataset_scores])
    assert len(used) == 1
    assert means[0] == pytest.approx(means[1], abs=1e-12)


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


#: Each with ranks in the table, and without if it needs none.
SKIPPED = [(options, True) for options in OPTIONS]
SKIPPED += [(options, False) for options in OPTIONS if "rank" not in options.values()]


@pytest.mark.parametrize(
    ("options", "with_ranks"),
    on_spark(SKIPPED, ({"order": "rank", "ties": "best"}, True), ({}, False)),
    ids=str,
)
def test_scores_are_the_same_without_what_is_skipped(session, monkeypatch, options, with_ranks):
    # Where ranks are the order, each is given once.
    rows, convention = (
        [*random_rows(QUERIES, ranks_repeat="order" not in options)],
        Convention(**options),
    )
    rows += [row | {"run": "s"} for row in listed([1, 2, 3])]
    # A judged list whose ranks are the order, and its documents have different grades.
    for rank, doc in enumerate("cbh", 1):
        rows.append(result(doc, -float(rank), "q0", "t", rank=rank))
    rows = (
        rows
        if with_ranks
        else [{name: row[name] for name in row if name != "rank"} for row in rows]
    )
    judged = judgments(
        session,
        [judgment(d, grade, f"q{n}") for n in range(QUERIES) for d, grade in GRADES.items()],
    )
    monkeypatch.setattr(skipping, "MIN_ROWS", 0)
    monkeypatch.setattr(skipping, "MIN_DEPTHS", 0)
    if with_ranks:
        pruning = plan_skipping(convention, [1, DEPTH], ["score", "rank"], 1, 1)
        whole, counts, _ = counted(session, rows, convention, skipping=pruning)
        kept = pruning.kept(whole, [run.run for run in counts.runs if run.untrusted])
    else:
        way = plan_skipping(convention, [1, DEPTH], ["score"], 1, 1)
        whole, _, lists = counted(
            session, rows, convention, skipping=way, materialize=lambda parts: next(iter(parts))
        )
        kept = way.kept(whole, F.broadcast(lists))
    kept_rows, all_rows = kept.toArrow(), whole.toArrow()
    assert 0 < len(kept_rows) < len(all_rows)
    columns = ["query_id", "cutoff", "returned", "judged", "ndcg", "dcg", "cg"]
    scores = []
    for rows in (kept_rows, all_rows):
        table = session.createDataFrame(rows)
        found = evaluate(judged, table, [1, DEPTH], convention).query_scores.select(columns)
        scores.append(found.toArrow())
    assert len(scores[1]) == 3 * 2 * QUERIES
    some, all_ = map(session.createDataFrame, scores)
    assert_approx_df_equality(some, all_, 1e-12, ignore_nullable=True, ignore_row_order=True)
