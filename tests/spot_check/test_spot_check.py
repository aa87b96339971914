"""Every evaluation recomputes lists in plain Python: what it finds, what happens then, and that it is not wrong."""

import json
import stat
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sessions
from kept_nights import only_night
from pyspark.sql import functions as F
from sessions import many, on_spark
from tables import arrow_judgments, arrow_results, judgment, result

from ndcg_spark import config
from ndcg_spark.convention.options import TIES
from ndcg_spark.errors import ConfigurationError, NotVerifiedError
from ndcg_spark.job import evaluate_inputs, inputs
from ndcg_spark.nights import log
from ndcg_spark.scoring import lists, prepare, ranking
from ndcg_spark.spot_check import plain_rows, recompute
from ndcg_spark.spot_check.judgments_hash import judgments_hash

QUERIES, RUNS = 100, ("r", "s", "t")
#: A list with a tie at the cutoff 3, an unjudged document, and documents beyond it.
FULL = {"a": 4.0, "b": 3.0, "x": 2.0, "c": 2.0, "d": 1.0}
GRADES = {"a": 0.0, "b": 1.0, "c": 3.0, "d": 2.0}


def is_affected(number):
    return number % 10 == 0


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Files in which one list of ten has more than one document; makes configurations."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    judged, returned = [], []
    for number in range(QUERIES):
        query = f"q{number}"
        judged += [judgment(document, grade, query) for document, grade in GRADES.items()]
        if is_affected(number):
            judged.append(judgment("e", None, query))
        for run in RUNS:
            scores = FULL if is_affected(number) else {"d": 1.0}
            returned += [result(document, score, query, run) for document, score in scores.items()]
    pq.write_table(arrow_judgments(*judged), "judgments.parquet")
    pq.write_table(arrow_results(*returned), "results.parquet")

    def with_(**more):
        files = {"judgments": "judgments.parquet", "results": "results.parquet"}
        options = {"cutoffs": [1, 3], "max_rejected_fraction": 0.1, "date": "2026-11-20", **more}
        return config.validate({**files, **options}, "test")

    return with_


def run(settings, **arguments):
    sessions.engine()
    return evaluate_inputs.evaluate(settings, **arguments)


def worst_first(monkeypatch):
    monkeypatch.setattr(ranking, "at_precision", lambda score, convention: f"(-{score})")


def before_the_cutoff(monkeypatch):
    def is_within(rank, cutoff):
        return "true" if cutoff is None else f"{rank} < {cutoff}"

    monkeypatch.setattr(lists, "is_within", is_within)


def only_judged_documents(monkeypatch):
    def joined(table, judged, query_key, _depth):
        return table.join(judged, on=[*query_key, "doc_id"], how="inner")

    monkeypatch.setattr(lists, "_with_judgments", joined)


def other_ties(monkeypatch):
    reversed_rule = TIES["doc_id_desc"]._replace(ascending=True)
    monkeypatch.setattr(ranking, "TIES", {**TIES, "doc_id_desc": reversed_rule})


def a_lost_document(monkeypatch):
    ranked = prepare.list_by_list

    def without_the_second(*arguments):
        return ranked(*arguments).where(F.col(ranking.RANK) != 2)

    monkeypatch.setattr(prepare, "list_by_list", without_the_second)
    monkeypatch.setattr(prepare, "by_window", without_the_second)


def exchanged_counts(monkeypatch):
    scored = lists.run_scores

    def exchanged(*arguments):
        scores = scored(*arguments)
        return scores.withColumns({"returned": F.col("judged_3"), "judged_3": F.col("returned")})

    monkeypatch.setattr(lists, "run_scores", exchanged)


def a_null_read_as_a_number(monkeypatch):
    read = inputs.read_judgments

    def filled(*arguments, **options):
        source = read(*arguments, **options)
        object.__setattr__(source, "table", source.table.fillna({"relevance": 4.0}))
        return source

    monkeypatch.setattr(inputs, "read_judgments", filled)


DEFECTS = [
    worst_first,
    before_the_cutoff,
    only_judged_documents,
    other_ties,
    a_lost_document,
    exchanged_counts,
    a_null_read_as_a_number,
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "defect",
    on_spark(DEFECTS, other_ties, a_null_read_as_a_number),
    ids=lambda defect: defect.__name__,
)
def test_a_defect_of_one_list_in_ten_is_found(engine, settings, monkeypatch, defect):
    defect(monkeypatch)
    tries = many(2, 1, 20)
    found = 0
    for day in range(1, tries + 1):
        try:
            run(settings(date=f"2026-01-{day:02}"))
        except NotVerifiedError:
            found += 1
    assert found >= 0.95 * tries


def test_nothing_is_found_where_nothing_is_wrong(engine, settings):
    assert run(settings()).verified == "verified 50 lists"


def test_scores_that_differ_are_not_published_and_what_differs_is_kept(
    engine, settings, monkeypatch, tmp_path
):
    worst_first(monkeypatch)
    with pytest.raises(NotVerifiedError) as raised:
        run(settings(output="output"))
    assert (raised.value.exit_code, raised.value.code) == (4, "not_verified")
    ((row,),) = [log.committed("output").attempts]
    assert (row["status"], row["exit_code"]) == ("failed", 4)
    listed = json.loads(row["findings"])["not_verified"]
    assert listed
    assert all(is_affected(int(query[1:])) for _, _, query in listed)
    (file,) = tmp_path.glob("ndcg-spark-not-verified-*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    case = json.loads(file.read_text("utf-8"))
    assert {one["query_id"] for one in case["lists"]} == {query for _, _, query in listed}
    assert sorted(case["lists"][0]["results"])[0][:2] == ["a", 4.0]


@pytest.mark.embedded
def test_what_differed_is_looked_at_again(engine, settings, monkeypatch):
    monkeypatch.setattr(recompute, "LISTS", 0)
    with monkeypatch.context() as patched:
        worst_first(patched)
        with pytest.raises(NotVerifiedError):
            run(settings(output="output"))
    (row,) = log.committed("output").attempts
    required = []
    spied = recompute.chosen_pairs
    monkeypatch.setattr(
        recompute,
        "chosen_pairs",
        lambda first, *more: required.extend(first) or spied(first, *more),
    )
    run(settings(output="output"))
    assert sorted(map(list, required)) == sorted(json.loads(row["findings"])["not_verified"])


@pytest.mark.embedded
def test_what_is_published_all_the_same_is_no_baseline_and_has_no_verdict(
    engine, settings, monkeypatch
):
    worst_first(monkeypatch)
    outcome = run(settings(output="output"), unverified="the engine was patched")
    assert (outcome.verified, outcome.exit_code) == ("not verified: the engine was patched", 6)
    night = only_night("output")
    assert (night.row["verdict"], night.row["reason"], night.is_good) == (
        "none",
        "not_verified",
        False,
    )
    assert night.unverified == "the engine was patched"
    with pytest.raises(ConfigurationError, match="not verified"):
        log.revise(night, accepted="it is fine")


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({}, {"unverified": "there is no output"}),
        ({"output": "output"}, {"unverified": " "}),
        ({"output": "output"}, {"unverified": "a reason", "accepted": "a baseline"}),
    ],
    ids=["no output", "no reason", "accepted"],
)
def test_an_unverified_publication_needs_an_output_and_a_reason_and_is_no_baseline(
    settings, given, arguments
):
    with pytest.raises(ConfigurationError):
        run(settings(**given), **arguments)


def test_means_are_taken_again(engine, settings, monkeypatch):
    computed = evaluate_inputs.dataset_scores
    from ndcg_spark.job import publish_scores

    monkeypatch.setattr(
        publish_scores,
        "dataset_scores",
        lambda *a: computed(*a).withColumn("ndcg", F.col("ndcg") * 0.999999),
    )
    with pytest.raises(NotVerifiedError, match="the mean ndcg"):
        run(settings())


@pytest.mark.parametrize(
    "defect", on_spark([None, worst_first, a_null_read_as_a_number], a_null_read_as_a_number)
)
def test_the_rows_of_large_inputs_are_found_by_the_engine(engine, settings, monkeypatch, defect):
    from ndcg_spark.job import verify

    monkeypatch.setattr(verify, "LARGE", 0)
    if defect is None:
        assert run(settings()).verified.startswith("verified ")
        return
    defect(monkeypatch)
    with pytest.raises(NotVerifiedError):
        run(settings())


#: Odd values of every type, and the number that each is.
VALUES = {
    "double": [1.5, -0.0, None, 1e300],
    "int": [3, None, -1],
    "string": [
        "1.5",
        " 2 ",
        "1e3",
        "x",
        "",
        "0x10",
        "1d",
        "NaN",
        "Infinity",
        ".5",
        "5.",
        "1e999",
        None,
    ],
    "decimal(30,20)": ["0.12345678901234567891", None],
}


@pytest.mark.parametrize("kind", VALUES)
def test_numbers_are_read_as_an_engine_reads_them(session, kind):
    from ndcg_spark import rules

    values = VALUES[kind]
    text = [None if value is None else str(value) for value in values]
    rows = pa.table({"at": range(len(text)), "text": pa.array(text, pa.string())})
    table = session.createDataFrame(rows).withColumn("score", F.col("text").cast(kind)).drop("text")
    types = dict(table.dtypes)
    read = (
        table.select("at", "score", rules.typed("score", types).alias("typed"))
        .orderBy("at")
        .toArrow()
        .to_pylist()
    )
    expected = [plain_rows.number(row["score"]) for row in read]
    assert [row["typed"] for row in read] == expected
    assert [str(value) for value in expected if value == 0] == ["0.0"] * expected.count(0)


def test_judgments_are_hashed_as_an_engine_hashes_them(engine, settings):
    grades = {"": 1.0, "é": 0.5, "a" * 31: 2.0, "b" * 32: -1.0, "c" * 75: 1e300, "d": -0.0}
    rows = [judgment(document or "z", grade, "q") for document, grade in grades.items()]
    pq.write_table(arrow_judgments(*rows), "judgments.parquet")
    pq.write_table(arrow_results(result("d", 1.0, "q")), "results.parquet")
    run(settings(output="output", convention={"gain": "linear"}))
    (file, *_) = Path("output/query_scores").rglob("*.parquet")
    expected = judgments_hash({document or "z": grade for document, grade in grades.items()})
    assert pq.read_table(file)["judgments_hash"].to_pylist() == [expected] * 2


def lazily(session, **arguments):
    from ndcg_spark import evaluate as evaluated

    judged = session.createDataFrame(pq.read_table("judgments.parquet")).where(
        "relevance is not null"
    )
    returned = session.createDataFrame(pq.read_table("results.parquet"))
    return evaluated(
        judged, returned, [1, 3], measures="nDCG@3 P@3 RBP@3 ERR@3", **arguments
    ).to_pandas()


def test_lazy_scores_are_checked_when_they_are_computed(session, settings, monkeypatch):
    assert len(lazily(session, exclude={"q1": ["d"]}).query_scores) == 2 * len(RUNS) * QUERIES
    only_judged_documents(monkeypatch)
    with pytest.raises(NotVerifiedError):
        lazily(session)


@pytest.mark.embedded
def test_scores_that_are_not_verified_are_compared_with_nothing(engine, settings, monkeypatch):
    from ndcg_spark.comparison.differences import ComparisonOptions
    from ndcg_spark.comparison.runs import compare_nights
    from ndcg_spark.comparison.trend import UNVERIFIED, lines
    from ndcg_spark.nights.log import committed
    from ndcg_spark.report import words
    from ndcg_spark.report.page import Request, read_page

    with monkeypatch.context() as patched:
        worst_first(patched)
        run(settings(output="output", date="2026-11-01"), unverified="patched")
    run(settings(output="output", date="2026-11-02"))
    for date, baseline_date in (("2026-11-02", "2026-11-01"), ("2026-11-01", None)):
        with pytest.raises(ConfigurationError, match="not verified"):
            compare_nights("output", ComparisonOptions(baselines=["r"]), date, None, baseline_date)
    trends, _ = lines("output")
    assert [point.value is None for point in trends[0].points] == [True, False]
    assert trends[0].points[0].flags[0][0] == UNVERIFIED
    for date in ("2026-11-01", "2026-11-02"):
        (part,) = read_page("output", date, Request()).parts
        assert part.baseline.nights == ()
        kinds = [warning.kind for warning in words.warnings(part)]
        assert ("unverified" in kinds) == (date == "2026-11-01")
    assert [night.is_good for night in committed("output")] == [False, False]
