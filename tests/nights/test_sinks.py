"""Nights in tables of Delta and Iceberg: reruns, kills, two writers at once, and what other readers see."""

import contextlib
import datetime
import functools
import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from programs import command_line
from publish_and_die import EVALUATED_ON, NEW, NEXT, OLD
from pyspark.sql.pandas.types import to_arrow_schema
from sinks import ALWAYS, LIBRARY, by_others, commit, iceberg_environment, killed_after, publish, staged
from spark_tables import connect_server, jars, on_server, set_running_session

from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights import table_outputs
from ndcg_spark.nights.expire import old_nights, remove, still_staged, waste
from ndcg_spark.nights.layout import TABLES
from ndcg_spark.nights.read import read_dataset_scores, read_rows
from ndcg_spark.nights.records import ReplacedError, accept, add_note, committed
from ndcg_spark.nights.sink import Sink
from ndcg_spark.nights.table_format import ConflictError
from ndcg_spark.schemas import KEPT

GOLDEN = Path(__file__).parents[1] / "golden"
DAY = datetime.timedelta(days=1)
WEB, SHOP, BEFORE = ("web", "2026-11-16"), ("shop", "2026-11-16"), ("web", "2026-11-15")


@pytest.fixture(scope="module")
def servers_of(tmp_path_factory, thorough):
    """Spark Connect servers whose tables are of a format, with their folders; each is started when it is first used."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def start(form):
            found, folder = jars(form, thorough), tmp_path_factory.mktemp(form)
            (folder / "warehouse").mkdir()
            return stack.enter_context(connect_server(form, found, folder)), folder

        yield start


@pytest.fixture(
    params=[
        "delta",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("iceberg", "S3 delta", "S3 iceberg")),
        *(pytest.param(name, marks=pytest.mark.cluster) for name in ("Spark delta", "Spark iceberg")),
    ]
)
def output(request, tmp_path, monkeypatch):
    """An output of tables without nights: of libraries, here or on an S3 server, or of a catalog by Spark Connect."""
    where, _, form = request.param.rpartition(" ")
    pytest.importorskip("deltalake" if form == "delta" else "pyiceberg")
    server, folder, place = None, tmp_path, f"{tmp_path}/tables"
    if where == "Spark":
        server, folder = request.getfixturevalue("servers_of")(form)
    if where == "S3":
        if not request.getfixturevalue("thorough"):
            pytest.skip("takes half a minute: --thorough")
        place = f"{request.getfixturevalue('bucket')}/{tmp_path.name}"
    (folder / "warehouse").mkdir(exist_ok=True)
    for name, value in iceberg_environment(folder, place if where == "S3" else None).items():
        monkeypatch.setenv(name, value)
    schema = tmp_path.name.replace("-", "_")
    output = f"delta:{place}" if form == "delta" else f"iceberg:ice.{schema}"
    # A session that other tests of this process have opened would write the tables.
    set_running_session(monkeypatch, None)
    with contextlib.ExitStack() as stack:
        if server is not None:
            session = stack.enter_context(on_server(server, monkeypatch))
            set_running_session(monkeypatch, session)
            name = f"{'spark_catalog' if form == 'delta' else 'ice'}.{schema}"
            session.sql(f"CREATE SCHEMA {name}" + (f" LOCATION '{place}'" if form == "delta" else ""))
            LIBRARY[f"table:{name}"] = output
            output = f"table:{name}"
        assert Sink(output).create() == list(TABLES)
        yield output


#: The columns of query_scores.
KINDS = {field.name: field.type for field in to_arrow_schema(KEPT["query_scores"])}


@pytest.fixture
def staging(tmp_path):
    return str(tmp_path / "staging")


def seen(output, table="query_scores", value="ndcg"):
    """The values of every night in a table, with the evaluation, as our readers see them."""
    found = {}
    for night in committed(output):
        rows = read_rows([night], table, ["evaluation_id", value]).to_pylist()
        found[night.dataset, night.evaluated_on] = sorted((row["evaluation_id"], row[value]) for row in rows)
    return found


def scores(ndcg, evaluation):
    return sorted([(evaluation, ndcg), (evaluation, ndcg / 3)])


def on_disk(output):
    return output not in LIBRARY and "s3://" not in os.environ["PYICEBERG_CATALOG__ICE__WAREHOUSE"]


def others(output, *tables):
    return [by_others(output, table) for table in tables]


def test_a_rerun_replaces_its_night_and_nothing_else(output, staging):
    publish(output, OLD, 0.25, staging=staging, evaluated_on=EVALUATED_ON - DAY)
    publish(output, OLD, 0.5, staging=staging, datasets=("shop", "web"), rejected=True)
    publish(output, NEW, 0.75, staging=staging)
    expected = {WEB: scores(0.75, NEW), SHOP: scores(0.5, OLD), BEFORE: scores(0.25, OLD)}
    assert seen(output) == seen(output, "dataset_scores") == expected
    # The new night of web has no rejected rows, so the old ones are gone.
    assert seen(output, "rejected_rows", "score") == {
        WEB: [],
        BEFORE: [],
        SHOP: [(OLD, "0.16666666666666666"), (OLD, "0.5")],
    }
    rows = {(*WEB, NEW): 2, (*SHOP, OLD): 2, (*BEFORE, OLD): 2}
    assert others(output, *ALWAYS, "evaluations", "rejected_rows") == [
        *(rows, rows, dict.fromkeys(rows, 1)),
        {(*SHOP, OLD): 2},
    ]
    means = read_dataset_scores(committed(output))
    assert [sorted(row["ndcg"] for row in night) for night in means] == [[0.5 / 3, 0.5], [0.25 / 3, 0.25], [0.25, 0.75]]


@pytest.mark.slow
@pytest.mark.parametrize("rejected", [(True, False), (False, True)])
def test_after_a_kill_our_readers_see_the_old_night_or_the_new_and_a_rerun_leaves_nothing_for_others(
    output, staging, rejected
):
    (before, after), counting = rejected, []
    publish(output, OLD, 0.125, staging=staging, evaluated_on=EVALUATED_ON - DAY)
    # Only tables in which the night has rows, or had some, are written.
    written = len([*ALWAYS, "rejected_rows", "evaluations"])
    # A night takes seconds on a server.
    points = [*range(written + 2)] if on_disk(output) else [1, written] if before else [2, written - 1]
    for replaced in points:
        publish(output, OLD, 0.5, staging=staging, rejected=before)
        killed = killed_after(replaced, output, NEW, 0.75, staging=staging, rejected=after)
        found = seen(output)
        counting.append(found[WEB])
        assert found[WEB] in (scores(0.5, OLD), scores(0.75, NEW)), replaced
        is_new = found[WEB] == scores(0.75, NEW)
        assert seen(output, "dataset_scores")[WEB] == found[WEB], replaced
        assert bool(seen(output, "rejected_rows", "score")[WEB]) == (after if is_new else before), replaced
        # Nobody ever sees two evaluations of a night.
        for table in TABLES:
            keys = [key[:2] for key in by_others(output, table)]
            assert len(keys) == len(set(keys)), (replaced, table)
        publish(output, NEXT, 0.25, staging=staging)
        assert seen(output) == {WEB: scores(0.25, NEXT), BEFORE: scores(0.125, OLD)}, replaced
        rows = {(*WEB, NEXT): 2, (*BEFORE, OLD): 2}
        assert others(output, *ALWAYS, "rejected_rows") == [rows, rows, {}], replaced
        assert killed == (replaced <= written)
    # The record, which is the last, is what counts.
    assert counting == [scores(*((0.5, OLD) if replaced < written else (0.75, NEW))) for replaced in points]


def test_of_two_writers_of_one_night_the_later_is_refused_and_of_two_nights_both_are_published(output, staging):
    publish(output, OLD, 0.5, staging=staging)
    first, second = (staged(output, name, 0.75, staging=staging) for name in (NEW, NEXT))
    other = staged(output, NEXT, 0.25, staging=staging + "-other", evaluated_on=EVALUATED_ON - DAY)
    begin = first._sink._format.begin

    def meanwhile(names):
        begin(names)
        commit(second)
        commit(other, evaluated_on=EVALUATED_ON - DAY)

    first._sink._format.begin = meanwhile
    with pytest.raises(ConflictError, match="at the same time, so this one does not count; run it again") as refused:
        commit(first)
    assert refused.value.exit_code == 4
    assert seen(output) == {WEB: scores(0.75, NEXT), BEFORE: scores(0.25, NEXT)}
    # Both begin before either has written.
    left = staged(output, NEW, 0.125, staging=staging, evaluated_on=EVALUATED_ON + DAY)
    right = staged(output, NEW, 0.375, staging=staging, datasets=("shop",))
    begin = left._sink._format.begin
    left._sink._format.begin = lambda names: (begin(names), commit(right, datasets=("shop",)))
    commit(left, evaluated_on=EVALUATED_ON + DAY)
    assert seen(output)[SHOP] == scores(0.375, NEW)
    assert seen(output)["web", "2026-11-17"] == scores(0.125, NEW)


def test_rows_of_another_night_are_refused_before_anything_is_written(output, staging):
    publish(output, OLD, 0.5, staging=staging)
    strange = staged(output, NEW, 0.75, staging=staging, datasets=("shop", "web"))
    with pytest.raises(StorageError, match=r"rows of shop on 2026-11-16 were staged for .*; nothing was published"):
        commit(strange)
    assert by_others(output, "query_scores") == {(*WEB, OLD): 2}


def test_a_storage_that_fails_midway_leaves_the_old_night_also_for_others(output, staging):
    publish(output, OLD, 0.5, staging=staging, rejected=True)
    publication = staged(output, NEW, 0.75, staging=staging)
    replace = publication._sink._format.replace

    def failing(name, *arguments):
        if name == "evaluations":
            raise StorageError("output: the disk is full")
        return replace(name, *arguments)

    publication._sink._format.replace = failing
    with pytest.raises(StorageError, match="the disk is full"):
        commit(publication)
    assert seen(output) == {WEB: scores(0.5, OLD)}
    assert others(output, *ALWAYS, "rejected_rows") == [{(*WEB, OLD): 2}] * 3


def test_what_a_killed_evaluation_has_written_is_put_back_after_a_day_and_not_before(output, staging):
    just_now = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-now"
    publish(output, OLD, 0.5, staging=staging)
    assert killed_after(1, output, just_now, 0.75, staging=staging)
    assert waste(output) == []
    assert still_staged(output) == [f"left {just_now}, which may be running; after a day it counts as dead"]
    assert killed_after(1, output, NEW, 0.75, staging=staging)
    assert killed_after(1, output, NEW, 0.75, staging=staging, datasets=("shop",))
    assert remove(output, waste(output)) == [
        f"removed {NEW} of {dataset} on 2026-11-16, which had not published" for dataset in ("shop", "web")
    ]
    assert others(output, *ALWAYS) == [{(*WEB, OLD): 2}] * 2
    assert waste(output) == still_staged(output) == []
    assert seen(output) == {WEB: scores(0.5, OLD)}


def forget_versions(output):
    """What Iceberg's and Delta's maintenance removes once it is old: every version but the current one."""
    for name in TABLES:
        if output.startswith("iceberg:"):
            table = Sink(output)._format._table(name)
            if table.current_snapshot():
                table.maintenance.expire_snapshots().older_than(datetime.datetime.now()).commit()
        else:
            table = Sink(output)._format._table(name)
            table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
            table.create_checkpoint()
            table.cleanup_metadata()


@pytest.mark.parametrize("output", ["delta", "iceberg"], indirect=True)
def test_a_night_that_is_older_than_the_versions_that_are_kept_survives_a_kill(output, staging):
    publish(output, OLD, 0.125, staging=staging, evaluated_on=EVALUATED_ON - DAY)
    publish(output, OLD, 0.5, staging=staging)
    forget_versions(output)
    for _ in range(2):
        assert killed_after(2, output, NEW, 0.75, staging=staging)
        assert seen(output) == seen(output, "dataset_scores") == {WEB: scores(0.5, OLD), BEFORE: scores(0.125, OLD)}
        # The rows are now in a version of their own, and only there.
        assert remove(output, waste(output)) == [f"removed {NEW} of web on 2026-11-16, which had not published"]
        forget_versions(output)
    assert seen(output) == {WEB: scores(0.5, OLD), BEFORE: scores(0.125, OLD)}


@pytest.mark.parametrize("output", ["iceberg"], indirect=True)
def test_rows_that_are_in_no_version_are_reported_and_evaluating_the_night_again_replaces_them(output, staging):
    publish(output, OLD, 0.5, staging=staging)
    assert killed_after(1, output, NEW, 0.75, staging=staging)
    forget_versions(output)
    for read in (lambda: seen(output), lambda: remove(output, waste(output))):
        with pytest.raises(StorageError, match=r"1 night\(s\) have lost their rows of query_scores in .*; evaluate"):
            read()
    publish(output, NEXT, 0.25, staging=staging)
    assert seen(output) == {WEB: scores(0.25, NEXT)}


def test_a_night_that_is_replaced_while_it_is_read_is_read_as_it_was(output, staging):
    publish(output, OLD, 0.5, staging=staging)
    (night,) = committed(output)
    tables, scan = night.store._format, night.store._format.scan
    tables.scan = lambda *given: (publish(output, NEW, 0.75, staging=staging), scan(*given))[1]
    assert sorted(read_rows([night], "query_scores")["ndcg"].to_pylist()) == [0.5 / 3, 0.5]


@pytest.mark.parametrize("output", ["delta", "iceberg"], indirect=True)
def test_a_file_that_is_lost_is_a_failure_of_the_storage(output, staging, tmp_path):
    publish(output, OLD, 0.5, staging=staging)
    (night,) = committed(output)
    for file in tmp_path.rglob("*.parquet"):
        if "staging" not in file.parts:
            file.unlink()
    for read in (lambda: read_rows([night], "query_scores"), lambda: committed(output)):
        with pytest.raises(StorageError, match=r"(query_scores|evaluations) cannot be read in .*; check space"):
            read()


def test_old_nights_expire_and_an_accepted_one_says_why(output, staging):
    for days in range(3):
        publish(output, OLD, 0.5, staging=staging, evaluated_on=EVALUATED_ON - days * DAY)
    first, second, _ = committed(output)
    accept(second, "a new ranker")
    assert [(night.record.get("accepted") or {}).get("reason") for night in committed(output)] == [
        None,
        "a new ranker",
        None,
    ]
    removals, kept = old_nights(output, 0, EVALUATED_ON)
    assert kept == ["kept web of 2026-11-15, the newest that passed or was accepted; --baselines removes it, too"]
    assert remove(output, removals) == ["removed web of 2026-11-14"]
    assert remove(output, removals) == []
    with pytest.raises(ReplacedError):
        accept(first, "too late")
    assert others(output, *ALWAYS) == [{(*WEB, OLD): 2, (*BEFORE, OLD): 2}] * 2


def test_a_note_does_not_bring_a_night_back_that_is_evaluated_again_at_the_same_time(output, staging):
    publish(output, OLD, 0.5, staging=staging)
    (night,) = committed(output)
    replace = night.store._format.replace
    night.store._format.replace = lambda *given: (publish(output, NEW, 0.75, staging=staging), replace(*given))
    with pytest.raises(ConflictError):
        add_note(night, "a new ranker")
    assert seen(output) == {WEB: scores(0.75, NEW)}


def test_an_output_that_lacks_a_table_of_this_version_is_refused_until_init_has_made_it(tmp_path, monkeypatch):
    pytest.importorskip("deltalake")
    set_running_session(monkeypatch, None)
    assert len(Sink(f"delta:{tmp_path}").create()) == len(TABLES)
    shutil.rmtree(tmp_path / "ranked_documents")
    with pytest.raises(ConfigurationError, match=r"1 table\(s\).*ranked_documents.*ndcg-spark init"):
        Sink(f"delta:{tmp_path}").records()
    assert Sink(f"delta:{tmp_path}").create() == ["ranked_documents"]
    assert Sink(f"delta:{tmp_path}").records() == {}


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"a": pa.int64()}, "it has no column dataset"),
        ({**KINDS, "team": pa.string()}, "it has a column team"),
        ({**KINDS, "evaluated_on": pa.string()}, "its column evaluated_on is of the type "),
    ],
)
def test_a_table_of_another_shape_is_refused_before_anything_is_evaluated(tmp_path, monkeypatch, columns, told):
    deltalake = pytest.importorskip("deltalake")
    set_running_session(monkeypatch, None)
    deltalake.DeltaTable.create(str(tmp_path / "query_scores"), pa.schema(columns))
    with pytest.raises(ConfigurationError, match=f"the table query_scores in .* is not one that .*, {told}.*; name"):
        Sink(f"delta:{tmp_path}").create()


@pytest.mark.parametrize("output", ["detla:scores", "icberg:cat.ndcg", "tabel:a.b", "Delta:/scores"])
def test_what_is_almost_a_kind_of_tables_is_no_folder(output):
    with pytest.raises(ConfigurationError, match=r"unknown kind of tables .* \(did you mean '.*'\?\); write \./"):
        table_outputs.is_of_tables(output)


@pytest.mark.parametrize("output", ["scores", "/data/delta:x", "s3://bucket/x", "file:/scores", "./detla:x", "a:b"])
def test_every_other_output_is_a_folder(output):
    assert not table_outputs.is_of_tables(output)


def test_an_output_may_begin_with_a_tilde_wherever_it_is_named(tmp_path, monkeypatch):
    pytest.importorskip("deltalake")
    set_running_session(monkeypatch, None)
    monkeypatch.setenv("HOME", str(tmp_path))
    Sink("delta:~/scores").create()
    assert (committed("delta:~/scores"), committed(f"delta:{tmp_path}/scores")) == ([], [])
    for output, told in (
        ("delta:", "names no place"),
        ("delta:$ABSENT/x", "ABSENT is not set"),
        ("delta:/a%20b", "% or"),
    ):
        with pytest.raises(ConfigurationError, match=told):
            Sink(output)


def test_without_the_library_of_a_format_and_without_spark_the_extra_is_named(monkeypatch):
    set_running_session(monkeypatch, None)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setattr(table_outputs, "is_remote_only", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'ndcg-spark\[delta\]'"):
        table_outputs.format_of("delta:/data")


def test_an_output_without_tables_says_how_to_make_them(tmp_path, monkeypatch):
    pytest.importorskip("deltalake")
    set_running_session(monkeypatch, None)
    place = f"delta:{tmp_path}/none"
    with pytest.raises(
        ConfigurationError, match=rf"{len(TABLES)} table\(s\) are not in .*make them once with: ndcg-spark init delta:"
    ):
        committed(place)
    assert (Sink(place).create(), Sink(place).create()) == (list(TABLES), [])
    assert committed(place) == []


@pytest.mark.slow
# test_sinks_on_spark.py has the same for Spark.
@pytest.mark.parametrize("output", ["delta", "iceberg", "S3 delta", "S3 iceberg"], indirect=True)
def test_every_command_takes_an_output_of_tables(output, tmp_path):
    config = tmp_path / "night.toml"
    config.write_text(
        f"""judgments = "{GOLDEN}/tiny.qrels"
results = "{GOLDEN}/tiny.run"
documents = "all"
[gate]
[[gate.baseline]]
night = "last_good"
[[gate.check]]
cutoff = 10
max_drop = 0.02
""",
        encoding="utf-8",
    )

    def program(*arguments, code=0):
        done = command_line(*arguments, cwd=tmp_path, **iceberg_environment(tmp_path))
        assert done.returncode == code, (arguments, done.stderr)
        return done.stdout

    evaluate = ("evaluate", "--config", config, "--output", output)
    program(*evaluate, "--date", "2026-11-18", "--accept-baseline", "the first")
    for _ in range(2):
        program(*evaluate, "--date", "2026-11-19", code=6)
    nights = json.loads(program("nights", output, "--format", "json"))
    assert [(night["evaluated_on"], len(night["dataset_scores"])) for night in nights] == [
        ("2026-11-18", 4),
        ("2026-11-19", 4),
    ]
    compared = json.loads(program("compare", output, "--baseline-date", "2026-11-18", "--format", "json"))
    assert {row["difference"] for row in compared["comparisons"]} == {0.0}
    assert "query 101 of default, run tiny: ndcg@10 0.2055" in program("explain", output, "--query", "101")
    assert "2026-11-18 to 2026-11-19" in program("trend", output)
    program("report", output, "--html", tmp_path / "page.html")
    assert "no verdict" in program("gate", output, "--config", config, "--date", "2026-11-19", code=6)
    program("gate", output, "--config", config, "--rehearse")
    assert "removed default of 2026-11-18" in program("expire", output, "--keep-days", "0", "--baselines")
    assert program("recover", output) == "nothing to recover\n"
    assert others(output, *ALWAYS, "evaluations") == [{}, {}, {}]
