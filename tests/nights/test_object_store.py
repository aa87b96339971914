"""Nights on an S3 server: no folder can be moved there, and every kill leaves one night whole all the same."""

import datetime
import itertools
import json
from pathlib import Path

import log_tables
import pytest
from changes import killed
from programs import command_line, forked
from publish_and_die import EVALUATED_ON, NEW, NEXT, OLD, WEB, publish, whole
from pyarrow import fs
from readers import cleaned, seen

from ndcg_spark import read_scores
from ndcg_spark.engine import open_engine
from ndcg_spark.inputs.read import read_results
from ndcg_spark.nights.expire import old_nights, remove
from ndcg_spark.nights.layout import RECORDS, STAGING, TABLES, Store
from ndcg_spark.nights.records import accept, committed
from ndcg_spark.table_config import ResultsConfig

QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 c 1 1.0 bm25\n"


@pytest.fixture
def output(bucket, request):
    return f"{bucket}/{abs(hash(request.node.name))}/scores"


def put(uri, text):
    system, place = fs.FileSystem.from_uri(uri)
    with system.open_output_stream(place) as stream:
        stream.write(text.encode())


def ndcg_spark(*arguments):
    done = command_line(*arguments, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    return done.stdout


def print_documents(paths):
    with open_engine("embedded") as engine:
        for each in paths:
            table = read_results(engine, ResultsConfig(path=each), each).table
            print(sorted(row["doc_id"] for row in table.collect()))  # noqa: T201


@pytest.mark.slow
def test_a_name_on_an_object_store_is_read_as_it_is(bucket, tmp_path):
    names = ["plain", "a%2Fb", "a b", "x[1]", "x*", "a?", "{a}", "é", "a#b", "a:b", "deep%2F/x"]
    folder = "bucket/names"
    system, _ = fs.FileSystem.from_uri(bucket)
    for number, name in enumerate(names):
        with system.open_output_stream(f"{folder}/{name}.run") as stream:
            stream.write(f"q1 Q0 {number} 1 2.5 r{number}\n".encode())
    near = tmp_path / "near%2F[1].run"
    near.write_text("q1 Q0 near 1 2.5 near\n", encoding="utf-8")
    done = forked(print_documents, [[f"s3://{folder}"], [f"s3://{folder}", str(near)]], cwd=tmp_path)
    there = sorted(map(str, range(len(names))))
    assert done.stdout.splitlines() == [str(there), str([*there, "near"])], done.stderr[-2000:]


@pytest.mark.slow
def test_an_evaluation_reads_from_an_object_store_and_a_rerun_replaces_its_date_only(bucket, output):
    put(f"{bucket}/in/judgments.qrels", QRELS)
    put(f"{bucket}/in/bm25.run", RUN)
    inputs = ["--judgments", f"{bucket}/in/judgments.qrels", "--results", f"{bucket}/in/bm25.run"]
    arguments = ["evaluate", "--engine", "embedded", *inputs, "--dataset", "café/de 50%"]
    arguments += ["--output", output, "--format", "json"]
    ids = [json.loads(ndcg_spark(*arguments, "--date", f"2026-11-{day}"))["evaluation_id"] for day in (16, 17, 17)]
    listed = json.loads(ndcg_spark("nights", output, "--format", "json"))
    assert [(night["dataset"], night["evaluated_on"], night["record"]["evaluation_id"]) for night in listed] == [
        ("café/de 50%", "2026-11-16", ids[0]),
        ("café/de 50%", "2026-11-17", ids[2]),
    ]
    read = forked(print_scores, output, cwd=Path.cwd()).stdout
    assert read.strip() == str([("café/de 50%", f"2026-11-{d}", i, 1.0) for d, i in ((16, ids[0]), (17, ids[2]))])


def print_scores(output):
    with open_engine("embedded") as engine:
        rows = read_scores(output, session=engine.session).where("cutoff = 1").collect()
    print(sorted((row["dataset"], str(row["evaluated_on"]), row["evaluation_id"], row["ndcg"]) for row in rows))  # noqa: T201


@pytest.mark.slow
def test_a_kill_on_an_object_store_leaves_the_old_night_or_the_new_and_the_next_run_converges(output, thorough):
    # Every change is tried on a local folder whose files are copied; here few are enough.
    for number in itertools.count(1, 1) if thorough else itertools.count(2, 7):
        place = f"{output}/{number}"
        publish(place, OLD, 0.1, rejected=True)
        was_killed = killed(publish, place, NEW, 0.7, after=number)
        assert seen(place) in ({WEB: whole(0.1, OLD, rejected=True)}, {WEB: whole(0.7, NEW)}), number
        publish(place, NEXT, 0.5)
        assert seen(place) == {WEB: whole(0.5, NEXT)}
        cleaned(place)
        assert {NEXT in path for table in (*TABLES, RECORDS, STAGING) for path in Store(place).files(table)} == {True}
        if not was_killed:
            break
    # Five objects were copied or written, and those of the old night and of the staging removed.
    assert number > 8


@pytest.mark.slow
def test_a_night_on_an_object_store_is_accepted_and_goes_when_it_is_too_old(output):
    publish(output, OLD, 0.25, rejected=True)
    accept(committed(output)[0], "known")
    assert committed(output)[0].record["accepted"]["reason"] == "known"
    assert seen(output) == {WEB: whole(0.25, OLD, rejected=True)}
    today = EVALUATED_ON + datetime.timedelta(days=4)
    assert old_nights(output, 3, today)[0] == []
    assert remove(output, old_nights(output, 3, today, baselines=True)[0]) == ["removed web of 2026-11-16"]
    assert seen(output) == {}


@pytest.mark.slow
def test_tables_of_delta_and_iceberg_are_read_where_they_lie_on_a_server(bucket, tmp_path):
    pytest.importorskip("deltalake")
    pytest.importorskip("pyiceberg")
    table = log_tables.delta(tmp_path / "t", log_tables.rows("a", "x", "y", "z"))
    log_tables.delete_by_vector(table, [0])
    ranked = log_tables.iceberg(tmp_path / "lake", log_tables.rows("a", "y", "z"))
    for name, folder in (("delta", table), ("iceberg", log_tables.folder_of(ranked))):
        system, place = fs.FileSystem.from_uri(f"{bucket}/{name}")
        fs.copy_files(folder, place, fs.LocalFileSystem(), system)
    put(f"{bucket}/qrels.txt", "q1 0 y 1\nq1 0 x 2\n")
    for name in ("delta", "iceberg"):
        found = json.loads(ndcg_spark("evaluate", f"{bucket}/qrels.txt", f"{bucket}/{name}", "--format", "json"))
        # y is first, where x of the higher grade could be.
        assert (found["counts"]["results"], found["dataset_scores"][0]["ndcg"]) == (2, pytest.approx(1 / 3))
