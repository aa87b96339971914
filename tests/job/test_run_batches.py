"""Runs that are evaluated batch by batch: the same tables, counts and refusals as at once, and no row is read twice."""

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset
from pyspark.sql import functions as F
from tables import arrow_judgments, judgment, result, results

from ndcg_spark import config
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import runs
from ndcg_spark.inputs.runs import WHOLE, Batch, batches_of
from ndcg_spark.job import check, evaluate
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.publish import Publication
from ndcg_spark.scoring import skipping

#: In the order of their bytes.
RUNS = ("B", "a.b", "é")
QUERIES, DEEP = 12, 30


def test_a_batch_has_runs_in_the_order_of_their_names_until_it_has_so_many_rows(monkeypatch):
    monkeypatch.setattr(runs, "MAX_ROWS", 100)
    # Ten rows for every byte.
    sizes = {("x", "c"): 4, ("x", "a"): 6, ("x", "b"): 2, ("y", "b"): 2, ("y", "d"): 30, ("y", "e"): 1}
    assert batches_of(sizes, 450) == (Batch(None, "c"), Batch("c", "e"), Batch("e", None))
    assert batches_of(sizes, 100) == WHOLE
    assert batches_of({}, 10**9) == batches_of({(None, "a"): 1}, 10**9) == WHOLE


def batched(session, names, batches):
    table = results(session, [result(run=name) for name in names])
    return [
        [row["run"] for row in batch.of(table).orderBy(F.col("run").asc_nulls_first()).collect()] for batch in batches
    ]


def test_every_row_is_in_one_batch_also_one_without_a_run(session):
    runs, batches = (*RUNS, "\U0001f600"), (Batch(None, "a.b"), Batch("a.b", "é"), Batch("é", None))
    found = batched(session, (None, *runs), batches)
    assert found == [[None, "B"], ["a.b"], ["é", "\U0001f600"]]
    assert [[run for run in runs if batch.has(run)] for batch in batches] == [["B"], *found[1:]]


def lists(run, chance, ranks):
    rows = []
    for query in range(QUERIES):
        scores = sorted((chance.choice([0.0, 1.5, chance.random()]) for _ in range(DEEP)), reverse=True)
        rows += [result(f"d{at}", score, f"q{query}", rank=at + 1) for at, score in enumerate(scores)]
    chance.shuffle(rows)
    if run == "é":
        # A list whose ranks are not to be trusted, and rows that break rules, in a later batch.
        rows[3]["rank"], rows[7]["score"], rows[9]["score"] = 99, None, float("nan")
    return [{name: row[name] for name in ("query_id", "doc_id", "score", "rank")[: 3 + ranks]} for row in rows]


def written(folder, ranks=False, change=lambda run, rows: rows):
    """Judgments, and results of every run in a folder of its own."""
    chance = random.Random(3)  # noqa: S311  # it makes test data
    for run in RUNS:
        (folder / f"results/run={run}").mkdir(parents=True)
        rows = change(run, lists(run, chance, ranks))
        pq.write_table(pa.Table.from_pylist(rows), folder / f"results/run={run}/part.parquet")
    graded = [judgment(f"d{at}", float(at % 4), f"q{query}") for query in range(1, QUERIES) for at in range(15)]
    pq.write_table(arrow_judgments(*graded), folder / "judgments.parquet")
    return folder


def settings_of(folder, **settings):
    paths = {
        name: {"path": str(folder / place)}
        for name, place in [("judgments", "judgments.parquet"), ("results", "results")]
    }
    return config.validate({**paths, "cutoffs": [1, 5], "engine": "embedded", **settings}, "test")


def within(most_rows, function, *arguments):
    """What a function returns, and how often query scores were written, with batches of so many rows."""
    staged, before = [], (runs.MAX_ROWS, skipping.MIN_ROWS, Publication.write)
    runs.MAX_ROWS, skipping.MIN_ROWS = most_rows, 0
    Publication.write = lambda self, name, table: staged.append(name) or before[2](self, name, table)
    try:
        return function(*arguments), staged.count("query_scores")
    finally:
        runs.MAX_ROWS, skipping.MIN_ROWS, Publication.write = before


def in_batches(function, *arguments):
    return within(1, function, *arguments)


def at_once(function, *arguments):
    return within(10**9, function, *arguments)


def rounded(row):
    """A row without the last digits, as sums are added up in no fixed order."""
    return str({name: f"{value:.12g}" if isinstance(value, float) else value for name, value in row.items()})


def night(folder, settings):
    """All that is known of a night, and it is removed."""
    output = folder / "output"
    wanted = settings_of(folder, output=str(output), max_rejected_fraction=0.1, **settings)
    counts = evaluate.evaluate(wanted).counts
    (record,) = (night.record for night in committed(str(output)))
    tables = {}
    names = ["query_scores", "dataset_scores", "rejected_rows"]
    names += ["ranked_documents"] if "documents" in settings else []
    for name in names:
        table = dataset.dataset(output / name, partitioning="hive").to_table().drop(["evaluation_id"])
        tables[name] = sorted(map(rounded, table.to_pylist()))
    shutil.rmtree(output)
    found = {name: (of["rows"], of["fingerprint"]) for name, of in record["inputs"].items() if "rows" in of}
    return counts, found, record["rejected"], tables


def with_duplicates(run, rows):
    return [*rows, *rows[20:23]] if run == "a.b" else rows


CASES = {
    "with ranks": (True, {}),
    "without ranks": (False, {}),
    "excluded documents": (True, {"exclude": {"path": "excluded.csv"}}),
    "documents": (True, {"documents": "all"}),
}


@pytest.mark.parametrize(("ranks", "settings"), CASES.values(), ids=CASES)
def test_a_night_is_the_same_in_batches_and_at_once(tmp_path, monkeypatch, ranks, settings):
    monkeypatch.chdir(tmp_path)
    Path("excluded.csv").write_text("query_id,doc_id\nq1,d1\nq2,d2\n", encoding="utf-8")
    folder = written(tmp_path, ranks)
    (parted, batches), (whole, one) = (each(night, folder, settings) for each in (in_batches, at_once))
    assert parted == whole
    assert (batches, one) == (3, 1)
    assert len(parted[3]["query_scores"]) == 2 * len(RUNS) * (QUERIES - 1)


def scored(wanted):
    outcome = evaluate.evaluate(wanted)
    rows = ({**row, "evaluation_id": None} for row in outcome.dataset_scores)
    return outcome.counts, list(map(rounded, rows))


def per_query(wanted):
    written = []
    evaluate.evaluate(wanted, write_queries=lambda scores: written.extend(evaluate.query_scores_in_order(scores)))
    return [rounded({**row, "evaluation_id": None}) for row in written]


def checked(wanted):
    found = check.check_inputs(wanted)
    return {**found, "judged_rate": list(map(rounded, found["judged_rate"]))}


@pytest.mark.parametrize("function", [scored, per_query, checked])
def test_what_is_not_published_is_the_same_in_batches_and_at_once(tmp_path, function):
    wanted = settings_of(written(tmp_path), max_rejected_fraction=0.1)
    assert in_batches(function, wanted) == at_once(function, wanted)


def without_q5(run, rows):
    return [row for row in rows if row["query_id"] != "q5" or run < "é"]


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (lambda _, rows: rows, {}, "2 score(s) that are not finite numbers, e.g. run=é"),
        (with_duplicates, {"max_rejected_fraction": 0.1}, "3 document(s) returned twice for one query, e.g. run=a.b"),
        (without_q5, {"convention": {"missing_query": "error"}, "max_rejected_fraction": 0.1}, "1 of them, e.g. run=é"),
    ],
    ids=["a broken row", "a duplicate", "a missing query"],
)
def test_what_is_refused_in_a_later_batch_is_refused_as_at_once(tmp_path, change, settings, message):
    folder, said = written(tmp_path, change=change), []
    for each in (in_batches, at_once):
        with pytest.raises(InputError) as refused:
            each(scored, settings_of(folder, output=str(folder / "output"), **settings))
        said.append(str(refused.value))
        assert {path.parts[-3] for path in folder.rglob("output/**/*") if path.is_file()} <= {"evaluations"}
    assert said[0] == said[1]
    assert message in said[0]


def with_many_rows(_, rows):
    return [{**row, "doc_id": f"{row['doc_id']}-{copy}"} for row in rows for copy in range(100)]


def bytes_read(wanted):
    """What this process reads from files while it evaluates."""

    def so_far():
        return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])

    before = so_far()
    evaluate.evaluate(wanted)
    return so_far() - before


@pytest.mark.parametrize("ranks", [True, False])
def test_batches_read_the_results_no_more_often(tmp_path, ranks):
    folder = written(tmp_path, ranks, with_many_rows)
    wanted = settings_of(folder, output=str(folder / "output"), max_rejected_fraction=0.1)
    parted, whole = in_batches(bytes_read, wanted)[0], at_once(bytes_read, wanted)[0]
    # Somewhat more of the judgments and of footers.
    assert whole < parted <= 1.2 * whole
