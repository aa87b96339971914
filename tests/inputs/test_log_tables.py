"""Tables of Delta and Iceberg: exactly the rows of a version are read, or it is said which version there is not."""

import json
import shutil
import sys
from pathlib import Path

import checked
import input_files
import log_tables
import pyarrow as pa
import pytest
from commands import command_line
from kept_nights import only_night
from log_tables import rows
from pyarrow import parquet

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.source_tables import refuse_changed_files

pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")

#: 2001-09-09, when the first version of a table of Delta is from, and the second a day later.
FIRST, DAY = 1_000_000_000, 86_400


def two_days(folder: Path) -> str:
    table = log_tables.delta(folder / "t", rows("a", "x", "y"), rows("b", "x"))
    for version in (0, 1):
        log_tables.written_at(table, version, FIRST + version * DAY)
    return table


def deleted(folder: Path) -> str:
    """Two runs, of which a had y too."""
    from deltalake import DeltaTable

    table = log_tables.delta(folder / "t", rows("a", "x", "y", "z"), rows("b", "x"))
    DeltaTable(table).delete("run = 'a' and doc_id = 'y'")
    return table


def vacuumed(folder: Path) -> str:
    from deltalake import DeltaTable, write_deltalake

    table = log_tables.delta(folder / "t", rows("a", "x", "y"))
    write_deltalake(table, rows("c", "x"), mode="overwrite")
    DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    return table


def with_vector(folder: Path) -> str:
    table = log_tables.delta(folder / "t", rows("a", "x", "y", "z"))
    log_tables.delete_by_vector(table, [0, 2])
    return table


def broken(folder: Path) -> str:
    table = two_days(folder)
    log_tables.commit(table, 1).write_text("{no JSON", encoding="utf-8")
    return table


def listed(folder: Path) -> str:
    lists = pa.table(
        {"user_id": [1, 2], "item_ids": [["x", "y"], ["z"]], "scores": [[2.0, 1.0], [3.0]]}
    )
    return log_tables.delta(folder / "bm25", lists)


def iceberg(folder: Path, catalog: str):
    return log_tables.iceberg(folder / catalog, rows("a", "x", "y", "z"), rows("b", "x"))


def ice(folder: Path, catalog: str, delete: str = "") -> str:
    table = iceberg(folder, catalog)
    if delete:
        table.delete(delete)
    return f"table:{catalog}.db.runs"


def first_snapshot(folder: Path) -> dict:
    snapshot = iceberg(folder, "snapshots").snapshots()[0]
    return {"path": "table:snapshots.db.runs", "as_of": snapshot.snapshot_id}


def plain(folder: Path) -> str:
    parquet.write_table(rows("a", "x"), folder / "a.parquet")
    return str(folder / "a.parquet")


def at(write, version):
    """A table as of a version or a time."""
    return lambda folder: {"path": write(folder), "as_of": version}


#: By name: what writes the results and gives their path or their settings, and what is read: rows by run, or words.
CASES = {
    "the last version": (two_days, {"a": 2, "b": 1}),
    "a time": (at(two_days, "2001-09-10T01:46:39Z"), {"a": 2}),
    "a time before the first": (
        at(two_days, "2001-09-09"),
        "its first version is from 2001-09-09 01:46:40",
    ),
    "rows that were deleted": (deleted, {"a": 2, "b": 1}),
    "before rows were deleted": (at(deleted, 1), {"a": 3, "b": 1}),
    "files that were vacuumed": (at(vacuumed, 0), "t cannot be read, "),
    "partitions": (
        lambda folder: log_tables.delta(
            folder / "t", rows("a%2F/é=", "x"), rows("b c", "y", "z"), partition_by="run"
        ),
        {"a%2F/é=": 1, "b c": 2},
    ),
    "a name that deltalake decodes": (
        lambda folder: str(Path(two_days(folder)).rename(folder / "t%20x")),
        "t%20x contains % or",
    ),
    "a deletion vector": (with_vector, {"a": 1}),
    "mapped columns": (
        lambda folder: log_tables.delta(
            folder / "t", rows("a", "x", "y"), configuration={"delta.columnMapping.mode": "name"}
        ),
        {"a": 2},
    ),
    "lists, and a run named by the folder": (listed, {"bm25": 3}),
    "a table and a file": (
        lambda folder: {"path": [two_days(folder), plain(folder)]},
        "2 formats, ",
    ),
    "a broken log": (broken, "/t cannot be read, "),
    "a file of a table": (
        lambda folder: f"{two_days(folder)}/*.parquet",
        "t is in Delta format",
    ),
    "a version of a file": (at(plain, 3), "a.parquet is not a Delta or Iceberg table"),
    "Iceberg": (
        lambda folder: ice(folder, "deleted", "run = 'a' and doc_id = 'y'"),
        {"a": 2, "b": 1},
    ),
    "Iceberg, a snapshot": (first_snapshot, {"a": 3}),
    "Iceberg, a time before the first": (
        at(lambda folder: ice(folder, "early"), "2001-09-09"),
        "runs has no snapshot as of 2001-09-09",
    ),
    "the files of Iceberg": (
        lambda folder: str(folder / ice(folder, "files")[6:11] / "db/runs"),
        "is in Iceberg format",
    ),
    "a version without a catalog": (
        at(lambda _: "table:nobody.db.runs", 1),
        "no catalog table nobody.db.runs, ",
    ),
}


def case_settings(name: str, folder: Path) -> dict:
    given = CASES[name][0](folder)
    (folder / "web.qrels").write_text("q1 0 x 1\n1 0 x 1\n", encoding="utf-8")
    return {
        "judgments": {"path": str(folder / "web.qrels")},
        "results": given if isinstance(given, dict) else {"path": given},
    }


@pytest.fixture(scope="module")
def embedded(engine, tmp_path_factory):
    settings = {name: case_settings(name, tmp_path_factory.mktemp("case")) for name in CASES}
    with pytest.MonkeyPatch.context() as patch:
        for case in settings.values():
            for stored in Path(case["judgments"]["path"]).parent.glob("*/catalog.db"):
                catalog = stored.parent
                patch.setenv(
                    f"PYICEBERG_CATALOG__{catalog.name.upper()}__URI",
                    log_tables.catalog_uri(catalog),
                )
        yield {name: checked.check(engine, case) for name, case in settings.items()}


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", CASES)
def test_exactly_the_rows_of_a_version_are_read(embedded, name):
    checked.is_as_expected(embedded[name], CASES[name][1])


def scores(folder: Path, *more: str) -> tuple[list[dict], dict]:
    """The dataset scores of an evaluation, and the inputs in its record."""
    done = command_line(
        "evaluate", *more, "--format", "json", "--output", folder / "out", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    rows = [{**row, "evaluation_id": ""} for row in json.loads(done.stdout)["dataset_scores"]]
    return rows, only_night(folder / "out").record["inputs"]


@pytest.mark.slow
def test_tables_score_what_the_same_rows_score_as_parquet_and_the_record_has_their_versions(
    tmp_path, monkeypatch
):
    grades = pa.table({"query_id": ["q1"] * 3, "doc_id": ["x", "y", "z"], "relevance": [1, 3, 2]})
    runs = [rows("a", "x", "z", "y"), rows("b", "y", "x")]
    for name, table in {"judged": grades, "runs": pa.concat_tables(runs)}.items():
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    expected, plain_inputs = scores(tmp_path, "judged.parquet", "runs.parquet")
    judged = log_tables.delta(tmp_path / "judged", grades, grades)
    ranked = log_tables.iceberg(tmp_path / "lake", *runs)
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", log_tables.catalog_uri(tmp_path / "lake"))
    read, inputs = scores(tmp_path, judged, "table:lake.db.runs", "--as-of", "judgments=0")
    assert read == expected
    versions = {name: table["files"][0]["version"] for name, table in inputs.items()}
    assert versions == {"judgments": 0, "results": ranked.current_snapshot().snapshot_id}
    assert (inputs["judgments"]["files"][0]["path"], inputs["judgments"]["format"]) == (
        judged,
        "delta",
    )
    assert f"{judged} is read at version 0" in inputs["judgments"]["recognised"]
    for name in ("judgments", "results"):
        assert inputs[name]["fingerprint"] == plain_inputs[name]["fingerprint"]


def test_what_happens_to_a_table_after_it_was_read_changes_nothing(engine, tmp_path):
    table = two_days(tmp_path)
    source = input_files.returned(engine, table)
    shutil.rmtree(table)
    assert input_files.rows(source, "run", "doc_id") == [("a", "x"), ("a", "y"), ("b", "x")]
    refuse_changed_files([source])


def test_delta_without_its_library_is_refused_with_what_installs_it(engine, tmp_path, monkeypatch):
    table = two_days(tmp_path)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(
        InputError, match=r"is in Delta format, .*pip install 'ndcg-spark\[delta\]'"
    ):
        input_files.returned(engine, table)
