"""Nights in tables of Delta and Iceberg that the embedded engine, classic Spark and Spark Connect all write and read.

DuckDB reads them too. What is published to Spark's tables, killed and interrupted is in test_sinks.py.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import servers
from programs import command_line
from sinks import by_others, iceberg_environment
from spark_tables import connect_server, jars, on_server, set_running_session, settings

from ndcg_spark import read_scores
from ndcg_spark.nights.read import read_rows
from ndcg_spark.nights.records import committed

pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")
pytestmark = pytest.mark.cluster
GOLDEN = Path(__file__).parents[1] / "golden"
DATES = ("2026-11-18", "2026-11-19", "2026-11-20")
DUCKDB = """
import importlib.util, json, sys
from pathlib import Path
import duckdb
form, place = sys.argv[1:]
for name in ("avro", "httpfs", form):
    (found,) = Path(importlib.util.find_spec(f"duckdb_extension_{name}").origin).parent.glob("extensions/*/*")
    duckdb.sql(f"LOAD '{found}'")
columns = "evaluated_on::text, evaluation_id, run, query_id, cutoff, ndcg"
print(json.dumps(duckdb.sql(f"SELECT {columns} FROM {form}_scan('{place}')").fetchall()))
"""


class Lake:
    """The same tables as each engine names them, and the program on these engines."""

    def __init__(self, form, found, folder, server):
        self.form, self.folder = form, folder
        self.library = f"delta:{folder}/warehouse/ndcg.db" if form == "delta" else "iceberg:ice.ndcg"
        self.table = f"table:{'spark_catalog' if form == 'delta' else 'ice'}.ndcg"
        defaults = "\n".join(f"{name} {value}" for name, value in settings(form, found, folder).items())
        (folder / "conf").mkdir()
        (folder / "conf/spark-defaults.conf").write_text(defaults, encoding="utf-8")
        self.environments = {
            "embedded": {},
            "classic": {"SPARK_CONF_DIR": f"{folder}/conf", **servers.QUICK_JAVA},
            "connect": {"SPARK_REMOTE": server},
        }
        (folder / "night.toml").write_text(
            f'judgments = "{GOLDEN}/tiny.qrels"\nresults = "{GOLDEN}/tiny.run"\nstaging = "{folder}/staging"\n'
            f'output = "{self.table}"\n'
            'documents = "all"\n[gate]\n[[gate.baseline]]\nnight = "last_good"\n'
            "[[gate.check]]\ncutoff = 10\nmax_drop = 0.02\n",
            encoding="utf-8",
        )

    def output(self, engine):
        return self.table if engine == "connect" else self.library

    def program(self, engine, command, *arguments, code=0):
        chosen = {"embedded": ["--engine", "embedded"], "classic": ["--engine", "spark"], "connect": []}[engine]
        chosen = chosen if command in ("evaluate", "init", "compare") else []
        environment = {**iceberg_environment(self.folder), **self.environments[engine]}
        done = command_line(command, *chosen, *arguments, cwd=self.folder, **environment)
        assert done.returncode == code, (engine, command, arguments, done.stderr[-3000:])
        return done.stdout

    def evaluate(self, engine, date, *more, code=6):
        config = ("--config", self.folder / "night.toml", "--output", self.output(engine))
        return self.program(engine, "evaluate", *config, "--date", date, *more, code=code)


@pytest.fixture(scope="module", params=["delta", "iceberg"])
def lake(request, thorough, tmp_path_factory):
    found, folder = jars(request.param, thorough), tmp_path_factory.mktemp(request.param)
    for name in ("warehouse", "staging"):
        (folder / name).mkdir()
    with connect_server(request.param, found, folder) as server:
        lake = Lake(request.param, found, folder, server)
        with pytest.MonkeyPatch.context() as patch, on_server(server, patch) as session:
            session.sql(f"CREATE SCHEMA {lake.table.partition(':')[2]}")
        yield lake


@pytest.fixture
def alone(lake, monkeypatch):
    """Nobody but a library reads the tables here."""
    set_running_session(monkeypatch, None)
    for name, value in iceberg_environment(lake.folder).items():
        monkeypatch.setenv(name, value)


def by_duckdb(lake):
    """The query scores as DuckDB reads them with its own readers of these formats."""
    if not (python := os.environ.get("DUCKDB_PYTHON")):
        pytest.skip("needs DuckDB with its readers of Delta and Iceberg: DUCKDB_PYTHON")
    place = lake.library.partition(":")[2] + "/query_scores"
    if lake.form == "iceberg":
        from pyiceberg.catalog import load_catalog
        from pyiceberg.utils.config import Config

        catalog = load_catalog("ice", **Config().get_catalog_config("ice"))
        place = catalog.load_table("ndcg.query_scores").metadata_location
    done = subprocess.run(
        [python, "-c", DUCKDB, lake.form, place.removeprefix("file://")], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {tuple(row[:5]): row[5] for row in json.loads(done.stdout)}


def test_every_engine_writes_and_reads_the_nights_of_the_others(lake, alone, monkeypatch):
    assert lake.program("connect", "init", lake.table).count("made ") == 8
    writers = (("embedded", "connect"), ("classic", "embedded"), ("connect", "classic"))
    for date, engines in zip(DATES, writers, strict=True):
        accepted = ("--accept-baseline", "the first") if date == DATES[0] else ()
        for engine in engines:
            lake.evaluate(engine, date, *accepted, code=0 if accepted else 6)
    nights = committed(lake.library)
    engines = [night.record["engine"] for night in nights]
    assert [("sc://" in name, "local[" in name) for name in engines] == [(True, False), (False, False), (False, True)]
    keys = [(night.dataset, night.evaluated_on, night.evaluation_id) for night in nights]
    assert tuple(key[1] for key in keys) == DATES
    for table in ("dataset_scores", "evaluations"):
        assert by_others(lake.library, table) == dict.fromkeys(keys, 4 if table == "dataset_scores" else 1)
    # Each compares a night of its own, or none, with one that another has written.
    for engine, baseline, date in (("embedded", 0, 1), ("connect", 1, 2), ("classic", 0, 2)):
        dates = ("--baseline-date", DATES[baseline], "--date", DATES[date])
        found = lake.program(engine, "compare", lake.output(engine), *dates, "--format", "json")
        rows = json.loads(found)["comparisons"]
        assert (len(rows) > 0, {row["difference"] for row in rows}) == (True, {0.0})
    # By the library, by Spark's session and by DuckDB.
    scores = {
        (str(row["evaluated_on"]), row["evaluation_id"], row["run"], row["query_id"], row["cutoff"]): row["ndcg"]
        for row in read_rows(nights, "query_scores").to_pylist()
    }
    with on_server(lake.environments["connect"]["SPARK_REMOTE"], monkeypatch) as session:
        set_running_session(monkeypatch, session)
        by_spark = {
            (str(row["evaluated_on"]), row["evaluation_id"], row["run"], row["query_id"], row["cutoff"]): row["ndcg"]
            for row in read_scores(lake.table, "query_scores", session).collect()
        }
    for found in (by_spark, by_duckdb(lake)):
        assert [*sorted(found, key=str)] == [*sorted(scores, key=str)]
        assert {key for key, ndcg in found.items() if ndcg is None} == {key for key in scores if scores[key] is None}
        assert all(abs(ndcg - scores[key]) <= 1e-12 for key, ndcg in found.items() if ndcg is not None)


def test_every_command_takes_a_table_of_a_catalog_by_spark_connect(lake):
    def program(*arguments, code=0):
        return lake.program("connect", *arguments, code=code)

    nights = json.loads(program("nights", lake.table, "--format", "json"))
    assert [(night["evaluated_on"], len(night["dataset_scores"])) for night in nights] == [(date, 4) for date in DATES]
    assert "query 101 of default, run tiny: ndcg@10 0.2055" in program("explain", lake.table, "--query", "101")
    program("note", lake.table, DATES[2], "a new ranker")
    assert "a new ranker" in program("trend", lake.table)
    program("report", lake.table, "--html", lake.folder / "page.html")
    gated = ("gate", lake.table, "--config", lake.folder / "night.toml")
    assert "no verdict" in program(*gated, "--date", DATES[2], code=6)
    program(*gated, "--rehearse")
    assert f"removed default of {DATES[1]}" in program("expire", lake.table, "--keep-days", "0")
    assert program("recover", lake.table) == "nothing to recover\n"
    assert [night["evaluated_on"] for night in json.loads(program("nights", lake.table, "--format", "json"))] == [
        DATES[0]
    ]


def test_a_classic_spark_that_is_killed_while_it_publishes_leaves_a_whole_night(lake, alone):
    """Its Java too: everything of it ends with SIGKILL after it has replaced the first table."""
    (night, *_) = committed(lake.library)
    (table,) = Path(lake.folder, "warehouse").glob("ndcg*/query_scores")
    before, log = {*table.rglob("*.json")}, lake.folder / "killed.log"
    arguments = ["--config", lake.folder / "night.toml", "--output", lake.library, "--date", night.evaluated_on]
    command = [sys.executable, "-m", "ndcg_spark", "evaluate", "--engine", "spark", *arguments]
    environment = {**os.environ, **lake.environments["classic"]}
    with servers.running(command, log, environment):
        servers.wait_until(lambda: {*table.rglob("*.json")} - before, "a new version of query_scores", log, 600)
    seen = committed(lake.library)[0]
    assert len(read_rows([seen], "query_scores")) == seen.kept_rows("query_scores") > 0
    assert {row["evaluation_id"] for row in read_rows([seen], "query_scores").to_pylist()} == {seen.evaluation_id}
    lake.evaluate("classic", night.evaluated_on)
    (last, *_) = committed(lake.library)
    assert last.evaluation_id not in (night.evaluation_id, seen.evaluation_id)
    of_night = [key[2] for key in by_others(lake.library, "query_scores") if key[1] == night.evaluated_on]
    assert of_night == [last.evaluation_id]
