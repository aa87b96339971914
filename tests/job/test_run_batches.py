"""Runs that are evaluated batch by batch: the same tables, counts and refusals as at once, and no row is read twice."""

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kept_nights import only_night
from pyarrow import dataset
from pyspark.sql import functions as F
from tables import arrow_judgments, judgment, result, results

from ndcg_spark import config
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import batches
from ndcg_spark.inputs.batches import WHOLE, Batch, make_batches
from ndcg_spark.job import check_inputs, evaluate_inputs
from ndcg_spark.nights.commit import Publication
from ndcg_spark.scoring import skipping

#: In the order of their bytes.
RUNS = ("B", "a.b", "é")
QUERIES, DEEP = 12, 30


def test_a_batch_has_runs_in_the_order_of_their_names_until_it_has_so_many_rows(monkeypatch):
    monkeypatch.setattr(batches, "MAX_ROWS", 100)
    # Ten rows for every byte.
    sizes = {
        ("x", "c"): 4,
        ("x", "a"): 6,
        ("x", "b"): 2,
        ("y", "b"): 2,
        ("y", "d"): 30,
        ("y", "e"): 1,
    }
    assert make_batches(sizes, 450) == (Batch("", "c"), Batch("c", "e"), Batch("e", None))
    assert make_batches(sizes, 100) == WHOLE
    assert make_batches({}, 10**9) == make_batches({(None, "a"): 1}, 10**9) == WHOLE


def test_every_row_is_in_one_batch_also_one_without_a_run(session):
    names, bounds = (*RUNS, "\U0001f600"), (Batch("", "a.b"), Batch("a.b", "é"), Batch("é", None))
    table = results(session, [result(run=name) for name in (None, *names)])
    selected = [
        batch.select(table).orderBy(F.col("run").asc_nulls_first()).collect() for batch in bounds
    ]
    runs = [[row["run"] for row in rows] for rows in selected]
    assert runs == [[None, "B"], ["a.b"], ["é", "\U0001f600"]]
    assert [[run for run in names if batch.has(run)] for batch in bounds] == [["B"], *runs[1:]]


def lists(run, chance, ranks):
    rows = []
    for query in range(QUERIES):
        scores = sorted(
            (chance.choice([0.0, 1.5, chance.random()]) for _ in range(DEEP)), reverse=True
        )
        rows += [
            result(f"d{at}", score, f"q{query}", rank=at + 1) for at, score in enumerate(scores)
        ]
    chance.shuffle(rows)
    if run == "é":
        # A list whose ranks are not to be trusted, and rows that break rules, in a later batch.
        rows[3]["rank"], rows[7]["score"], rows[9]["score"] = 99, None, float("nan")
    return [
        {name: row[name] for name in ("query_id", "doc_id", "score", "rank")[: 3 + ranks]}
        for row in rows
    ]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes judgments, and results of every run in a folder of its own; makes the configuration."""
    monkeypatch.chdir(tmp_path)
    Path("excluded.csv").write_text("query_id,doc_id\nq1,d1\nq2,d2\n", encoding="utf-8")

    def write(ranks=False, change=lambda run, rows: rows, **settings):
        chance = random.Random(3)  # noqa: S311  # it makes test data
        for run in RUNS:
            Path(f"results/run={run}").mkdir(parents=True)
            rows = change(run, lists(run, chance, ranks))
            pq.write_table(pa.Table.from_pylist(rows), f"results/run={run}/part.parquet")
        graded = [
            judgment(f"d{at}", float(at % 4), f"q{query}")
            for query in range(1, QUERIES)
            for at in range(15)
        ]
        pq.write_table(arrow_judgments(*graded), "judgments.parquet")
        defaults = {"cutoffs": [1, 5], "engine": "embedded", "max_rejected_fraction": 0.1}
        return config.validate(
            {"judgments": "judgments.parquet", "results": "results", **defaults, **settings}, "test"
        )

    return write


def both(function, wanted):
    """What a function returns with a run in each batch, and with one batch; and how often query scores were written."""
    returned = []
    for most in (1, 10**9):
        staged, write = [], Publication.write

        def spy(self, name, table, write=write, staged=staged):
            staged.append(name)
            write(self, name, table)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batches, "MAX_ROWS", most)
            patch.setattr(skipping, "MIN_ROWS", 0)
            patch.setattr(Publication, "write", spy)
            returned.append((function(wanted), staged.count("query_scores")))
    return returned


def rounded(row):
    """A row without the last digits, as sums are added up in no fixed order, and without its evaluation."""
    values = {**row, "evaluation_id": None}
    return str(
        {
            name: f"{value:.12g}" if isinstance(value, float) else value
            for name, value in values.items()
        }
    )


def night(wanted):
    """All that is known of a night, and it is removed."""
    counts = evaluate_inputs.evaluate(wanted).counts
    record = only_night("output").record
    tables, names = {}, ["query_scores", "dataset_scores", "rejected_rows"]
    for name in [*names, "ranked_documents"] if wanted.documents else names:
        rows = dataset.dataset(f"output/{name}", partitioning="hive").to_table().to_pylist()
        tables[name] = sorted(map(rounded, rows))
    shutil.rmtree("output")
    inputs = {
        name: (of["rows"], of["fingerprint"])
        for name, of in record["inputs"].items()
        if "rows" in of
    }
    return counts, inputs, record["rejected"], tables


@pytest.mark.parametrize(
    ("ranks", "settings"),
    [
        (True, {}),
        (False, {}),
        (True, {"exclude": "excluded.csv"}),
        (True, {"documents": "all"}),
    ],
    ids=["with ranks", "without ranks", "excluded documents", "documents"],
)
def test_a_night_is_the_same_in_batches_and_at_once(written, ranks, settings):
    (parted, batches), (whole, one) = both(night, written(ranks, output="output", **settings))
    assert parted == whole
    assert (batches, one) == (3, 1)
    assert len(parted[3]["query_scores"]) == 2 * len(RUNS) * (QUERIES - 1)


def without_scores(run, rows):
    return [{**row, "score": None} for row in rows] if run == "a.b" else rows


@pytest.mark.parametrize("change", [lambda _, rows: rows, without_scores], ids=["", "no good row"])
@pytest.mark.parametrize("ranks", [True, False], ids=["with ranks", "without ranks"])
def test_the_catalog_is_measured_in_batches_as_at_once(written, ranks, change):
    settings = {"measures": "nDCG@5 Items@3 Personalization@5", "max_rejected_fraction": 0.5}
    (parted, batches), (whole, one) = both(
        night, written(ranks, change, output="output", **settings)
    )
    assert parted == whole
    assert (batches, one) == (3, 1)


def scored(wanted):
    outcome = evaluate_inputs.evaluate(wanted)
    return outcome.counts, list(map(rounded, outcome.dataset_scores))


def per_query(wanted):
    rows = []
    evaluate_inputs.evaluate(
        wanted,
        write_queries=lambda scores: rows.extend(evaluate_inputs.query_scores_in_order(scores)),
    )
    return list(map(rounded, rows))


def checked(wanted):
    check_outcome = check_inputs.check_inputs(wanted)
    return {**check_outcome, "judged_rate": list(map(rounded, check_outcome["judged_rate"]))}


@pytest.mark.parametrize("function", [scored, per_query, checked])
def test_what_is_not_published_is_the_same_in_batches_and_at_once(written, function):
    (parted, _), (whole, _) = both(function, written())
    assert parted == whole


def with_duplicates(run, rows):
    return [*rows, *rows[20:23]] if run == "a.b" else rows


def without_q5(run, rows):
    return [row for row in rows if row["query_id"] != "q5" or run < "é"]


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (
            lambda _, rows: rows,
            {"max_rejected_fraction": 0},
            "2 score(s) that are not finite numbers, e.g. run=é",
        ),
        (with_duplicates, {}, "3 document(s) returned twice for one query, e.g. run=a.b"),
        (without_q5, {"convention": {"missing_query": "error"}}, "1 of them, e.g. run=é"),
    ],
    ids=["a broken row", "a duplicate", "a missing query"],
)
def test_what_is_refused_in_a_later_batch_is_refused_as_at_once(written, change, settings, message):
    def refusal(wanted):
        with pytest.raises(InputError) as refused:
            scored(wanted)
        return str(refused.value)

    (parted, _), (whole, _) = both(refusal, written(change=change, output="output", **settings))
    assert {path.parts[1] for path in Path().rglob("output/**/*") if path.is_file()} <= {
        "evaluations"
    }
    assert parted == whole
    assert message in parted


def with_many_rows(_, rows):
    return [{**row, "doc_id": f"{row['doc_id']}-{copy}"} for row in rows for copy in range(60)]


def bytes_read(wanted):
    """What this process reads from files while it evaluates."""

    def so_far():
        return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])

    before = so_far()
    evaluate_inputs.evaluate(wanted)
    return so_far() - before


@pytest.mark.parametrize("ranks", [True, False])
def test_batches_read_the_results_no_more_often(written, ranks):
    wanted = written(ranks, with_many_rows, output="output")
    # The first evaluation of a process reads modules of Python, too.
    evaluate_inputs.evaluate(wanted)
    (parted, _), (whole, _) = both(bytes_read, wanted)
    # Somewhat more of the judgments and of footers.
    assert parted <= 1.2 * whole
