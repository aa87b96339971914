"""The floors of lists: what they let through, and that no score changes where the results below them are left out."""

import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset
from tables import arrow_judgments, judgment, judgments, result, results

from ndcg_spark import Convention, config
from ndcg_spark.contract.scan import count_results, count_results_and_floors
from ndcg_spark.job import evaluate as job
from ndcg_spark.rules import broken_results, reason_of
from ndcg_spark.scoring import floors
from ndcg_spark.scoring.floors import LEAST_ROWS, MOST_BUCKETS, Floors, floors_of

LOWEST = float("-inf")


@pytest.mark.parametrize(("depth", "buckets"), [(1, 2), (2, 4), (3, 8), (5, 8), (10, 16), (11, 32), (21, 32), (22, 64)])
def test_there_are_half_as_many_buckets_again_as_documents_that_matter(depth, buckets):
    assert Floors(depth, Convention()).buckets == buckets


def test_many_deep_lists_without_ranks_are_worth_it():
    found = floors_of(Convention(), [1, 10], ["run", "score"], LEAST_ROWS, LEAST_ROWS // 30)
    assert found == Floors(10, Convention())


@pytest.mark.parametrize(
    ("options", "cutoffs", "columns", "rows", "queries"),
    [
        ({}, [10], ["score"], LEAST_ROWS - 1, 1),
        ({}, [10], ["score"], LEAST_ROWS, LEAST_ROWS // 30 + 1),
        ({}, [MOST_BUCKETS * 2 // 3 + 1], ["score"], LEAST_ROWS, 1),
        ({}, [10, None], ["score"], LEAST_ROWS, 1),
        ({}, [10], ["score", "rank"], LEAST_ROWS, 1),
        ({"order": "rank"}, [10], ["rank"], LEAST_ROWS, 1),
        ({"ideal": "retrieved"}, [10], ["score"], LEAST_ROWS, 1),
        ({"unjudged": "drop"}, [10], ["score"], LEAST_ROWS, 1),
        ({"duplicates": "best"}, [10], ["score"], LEAST_ROWS, 1),
    ],
)
def test_where_every_result_may_matter_or_few_can_be_left_out_there_are_no_floors(
    options, cutoffs, columns, rows, queries
):
    assert floors_of(Convention(**options), cutoffs, columns, rows, queries) is None


def reached(session, depth, lists, **options):
    """By list, its floor and the documents that reach it; each list is a query with its results."""
    rows = [{**row, "query_id": name} for name, found in lists.items() for row in found]
    convention = Convention(**options)
    table = results(session, [{name: value for name, value in row.items() if name != "rank"} for row in rows])
    table = table.drop("rank")
    reason = reason_of(broken_results(dict(table.dtypes), convention))
    judged = judgments(session, [judgment("d", query_id=name) for name in lists]).select("query_id")
    asked = Floors(depth, convention)
    counts, of_lists = count_results_and_floors(table, reason, judged, asked, next)
    assert counts == count_results(table, reason, judged)
    kept = {name: set() for name in lists}
    for row in asked.kept(table.where(reason.isNull()), of_lists).collect():
        kept[row["query_id"]].add(row["doc_id"])
    return {row["query_id"]: (row["floor"], kept[row["query_id"]]) for row in of_lists.collect()}


def listed(*scores):
    return [result(f"d{at}", score) for at, score in enumerate(scores)]


def test_a_list_that_is_not_deeper_than_the_depth_is_kept_whole(session):
    found = reached(session, 3, {"q": listed(1.0, 2.0), "one": listed(5.0)})
    assert found == {"q": (LOWEST, {"d0", "d1"}), "one": (LOWEST, {"d0"})}


@pytest.mark.parametrize("depth", [1, 2, 5, 10])
def test_the_best_documents_reach_the_floor_and_few_others(session, depth):
    chance = random.Random(7)  # noqa: S311  # it makes test data
    # Of the second half, most scores tie.
    drawn = [[chance.gauss(0, 1) if at < 10 else chance.randint(-3, 3) for _ in range(200)] for at in range(20)]
    lists = {f"q{at}": listed(*map(float, scores)) for at, scores in enumerate(drawn)}
    found = reached(session, depth, lists)
    for name, rows in lists.items():
        floor, kept = found[name]
        last = sorted((row["score"] for row in rows), reverse=True)[depth - 1]
        assert LOWEST < floor <= last
        assert kept == {row["doc_id"] for row in rows if row["score"] >= floor}
    of_distinct_scores = [len(found[f"q{at}"][1]) for at in range(10)]
    assert sum(of_distinct_scores) / 10 <= 4 * depth


def test_a_bad_row_raises_no_floor(session):
    bad = [result(f"n{at}", float("nan")) for at in range(50)] + [result(None, 9.0) for _ in range(50)]
    floor, kept = reached(session, 2, {"q": [*bad, *listed(*(float(at) for at in range(30)))]})["q"]
    assert floor <= 28.0
    assert {"d28", "d29"} <= kept


def test_all_that_ties_with_the_floor_is_kept_as_scores_are_compared(session):
    zeros = {"q": listed(*[0.0, -0.0] * 40, -1.0)}
    assert reached(session, 2, zeros)["q"] == (0.0, {f"d{at}" for at in range(80)})
    # As floats these are equal.
    near = {"q": listed(*(2.0 + at * 1e-9 for at in range(80)), 1.0)}
    assert len(reached(session, 2, near)["q"][1]) < 80
    assert len(reached(session, 2, near, score_precision="float32")["q"][1]) == 80


QUERIES, DEEP = 40, 60
OPTIONS = [
    {},
    {"ties": "average"},
    {"ties": "best"},
    {"ties": "doc_id_asc"},
    {"score_precision": "float32"},
    {"ideal": "judged_capped"},
    {"missing_query": "skip"},
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two runs without ranks, in which scores tie and a few rows are bad, and judgments of most queries."""
    chance, folder = random.Random(3), tmp_path_factory.mktemp("files")  # noqa: S311  # it makes test data
    lists = [(run, f"q{number}") for run in ("a", "b") for number in range(QUERIES)]
    rows = [
        {"run": run, "query_id": query, "doc_id": f"d{at}", "score": chance.choice([-0.0, 0.0, 1.5, chance.random()])}
        for run, query in lists
        for at in range(chance.randint(1, DEEP))
    ]
    rows[7]["score"], rows[99]["score"] = None, float("nan")
    chance.shuffle(rows)
    pq.write_table(pa.Table.from_pylist(rows), folder / "results.parquet")
    graded = [judgment(f"d{at}", float(at % 4), f"q{query}") for query in range(3, QUERIES + 2) for at in range(15)]
    pq.write_table(arrow_judgments(*graded), folder / "judgments.parquet")
    return folder


def evaluated(session, folder, options, least_rows, cutoffs=(1, 5)):
    """The counts, the query scores and the ranked documents of a night, and how often floors were made use of."""
    output, used, before = folder / "output", [], (floors.LEAST_ROWS, floors.LEAST_DEPTHS, Floors.kept)
    settings = {
        "judgments": {"path": str(folder / "judgments.parquet")},
        "results": {"path": str(folder / "results.parquet")},
        "cutoffs": list(cutoffs),
        "engine": "embedded",
        "max_rejected_fraction": 0.01,
        "measures": "ndcg" if options.get("ties") == "average" else "ndcg,precision,rbp,err",
        "documents": "all",
        "output": str(output),
    }
    floors.LEAST_ROWS, floors.LEAST_DEPTHS = least_rows, 1
    Floors.kept = lambda *given, **named: used.append(1) or before[2](*given, **named)
    try:
        asked = config.validate({**settings, "convention": options or "standard"}, "test")
        counts = job.evaluate(asked).counts
    finally:
        floors.LEAST_ROWS, floors.LEAST_DEPTHS, Floors.kept = before
    tables = []
    for name in ("query_scores", "ranked_documents"):
        table = dataset.dataset(output / name, partitioning="hive").to_table().drop(["evaluation_id"])
        tables.append(sorted(str(rounded(row)) for row in table.to_pylist()))
    shutil.rmtree(output)
    return counts, tables, len(used)


def rounded(row):
    """A row without the last digits, as sums are added up in no fixed order."""
    return {name: f"{value:.12g}" if isinstance(value, float) else value for name, value in row.items()}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_and_counts_are_the_same_with_and_without_floors(files, options):
    cut, whole = (evaluated(None, files, options, least) for least in (0, LEAST_ROWS))
    # Once for the scores, once for the documents.
    assert (cut[2], whole[2]) == (2, 0)
    assert cut[:2] == whole[:2]
    assert len(cut[1][0]) == 2 * 2 * (QUERIES - 1)


@pytest.mark.parametrize(("judged", "floors_used"), [(2, False), (40, True)])
def test_where_a_sample_says_that_nobody_judged_most_results_there_are_no_floors(tmp_path, judged, floors_used):
    rows = [{"run": "a", "query_id": f"q{n % 40}", "doc_id": f"d{n}", "score": float(n % 997)} for n in range(60_000)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "results.parquet")
    graded = [judgment(f"d{n}", 1.0, f"q{n}") for n in range(judged)]
    pq.write_table(arrow_judgments(*graded), tmp_path / "judgments.parquet")
    counts, (scores, _), used = evaluated(None, tmp_path, {}, 0)
    assert bool(used) == floors_used
    assert (counts["judged_queries"], len(scores)) == (judged, 2 * judged)


def test_a_document_that_was_returned_twice_is_found_as_without_floors(files, tmp_path):
    table = pq.read_table(files / "results.parquet")
    pq.write_table(pa.concat_tables([table, table.slice(200, 1)]), tmp_path / "results.parquet")
    shutil.copy(files / "judgments.parquet", tmp_path)
    cut, whole = (evaluated(None, tmp_path, {}, least, (1, 20)) for least in (0, LEAST_ROWS))
    assert cut[:2] == whole[:2]
