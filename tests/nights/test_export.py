"""Copies of nights in tables of Delta, Iceberg and Spark."""

import itertools
import os
import random
import signal
import time
from unittest import mock

import pyarrow as pa
import pytest
from kept_nights import publish, record, seen, with_rows, written
from programs import PROCESSES

from ndcg_spark.comparison.needed_nights import needed_dates
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights import export as module
from ndcg_spark.nights.expire import removable, remove
from ndcg_spark.nights.export import TABLES, export
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.nights.store import LOG

FIRST, SECOND = "2026-11-15", "2026-11-16"


@pytest.fixture(params=["delta", pytest.param("iceberg", marks=pytest.mark.slow)])
def to(request, tmp_path, monkeypatch):
    """The tables of a library."""
    if request.param == "delta":
        pytest.importorskip("deltalake")
        return f"delta:{tmp_path}/lake"
    config = pytest.importorskip("pyiceberg.utils.config")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}/warehouse")
    # It reads the environment once.
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", config.Config())
    return "iceberg:lake.ndcg"


#: What does not depend on the library.
DELTA = pytest.mark.parametrize("to", ["delta"], indirect=True)


def rows(to, name="query_scores"):
    """The rows of a table as its library reads them."""
    if to.startswith("delta"):
        import deltalake

        return deltalake.DeltaTable(f"{to.partition(':')[2]}/{name}").to_pyarrow_table().to_pylist()
    from pyiceberg.catalog import load_catalog

    return (
        load_catalog("lake")
        .load_table(f"{to.partition('.')[2]}.{name}")
        .scan()
        .to_arrow()
        .to_pylist()
    )


def exported(to, name="query_scores"):
    """The rows of a table by night, as `seen` has them."""
    by_night = {}
    for row in rows(to, name):
        by_night.setdefault((row["dataset"], str(row["evaluated_on"])), []).append(
            (row["evaluation_id"], row["ndcg"])
        )
    return {night: tuple(sorted(scores)) for night, scores in by_night.items()}


@pytest.fixture
def output(tmp_path):
    location = str(tmp_path / "out")
    publish(location, "a", 0.1, date=FIRST)
    night = written(location, "b", 0.2, date=SECOND, datasets=["web", "shop"])
    with_rows(night, {"comparisons": [{"dataset": "web", "flags": ["few_changed"]}]})
    night.commit(record(), {"web": {}, "shop": {}})
    return location


def test_tables_equal_the_nights_however_often_they_are_exported(output, to):
    for _ in range(2):
        export(output, to)
        assert exported(to) == exported(to, "dataset_scores") == seen(output)
        assert [row["number"] for row in rows(to, LOG)] == [1, 1, 1]
        assert [row["flags"] for row in rows(to, "comparisons")] == [["few_changed"]]
    publish(output, "c", 0.3, date=SECOND)
    revise(committed(output, [FIRST])[0], note="x")
    told = []
    export(output, to, date=SECOND, report=told.append)
    assert (exported(to), rows(to, "comparisons")) == (seen(output), [])
    assert (len(told), [row["note"] for row in rows(to, LOG) if row["note"]]) == (1, [])
    export(output, to, since=FIRST)
    assert [row["note"] for row in rows(to, LOG) if row["note"]] == ["x"]
    # What expired is no longer a night, but its rows stay in the tables until somebody removes them.
    remove(output, removable(output, before=SECOND, baselines=True, needed=needed_dates)[0])
    export(output, to)
    assert {day for _, day in exported(to)} == {FIRST, SECOND}


def test_a_table_gets_columns_that_it_lacks_and_one_of_another_shape_is_refused(
    output, to, monkeypatch
):
    whole = TABLES["comparisons"]
    fewer = whole.remove(whole.get_field_index("flags"))
    other = fewer.append(pa.field("flags", pa.int32()))
    monkeypatch.setitem(TABLES, "comparisons", fewer)
    export(output, to)
    assert ["flags" in row for row in rows(to, "comparisons")] == [False]
    monkeypatch.setitem(TABLES, "comparisons", whole)
    export(output, to, date=SECOND)
    assert [row["flags"] for row in rows(to, "comparisons")] == [["few_changed"]]
    before = exported(to)
    publish(output, "c", 0.9, date=FIRST)
    for schema in (fewer, other):
        monkeypatch.setitem(TABLES, "comparisons", schema)
        with pytest.raises(ConfigurationError):
            export(output, to)
    assert exported(to) == before


@DELTA
def test_a_night_that_is_replaced_meanwhile_is_exported_again(output, to):
    more = iter(range(3))
    export(
        output,
        to,
        report=lambda _: [
            publish(output, f"c{n}", 0.5, date=SECOND) for n in itertools.islice(more, 1)
        ],
    )
    assert exported(to) == seen(output)
    assert {name for name, _ in exported(to)["web", SECOND]} == {"c2"}


def _export(output, to, environment, begun=None):
    os.environ.update(environment)
    if begun is not None:
        begun.set()
    export(output, to, report=lambda _: None)


@pytest.mark.slow
def test_an_export_that_is_killed_anywhere_is_right_once_it_is_repeated(
    output, to, tmp_path, thorough
):
    rng = random.Random(1)  # noqa: S311  # no secret
    # The first export to new tables, and then one of a night: how long that takes.
    export(output, to)
    seconds, codes = None, []
    for number in range(20 if thorough else 4):
        publish(output, f"k{number}", number / 7, date=SECOND)
        begun = PROCESSES.Event()
        process = PROCESSES.Process(target=_export, args=(output, to, {**os.environ}, begun))
        process.start()
        begun.wait(60)
        began = time.monotonic()
        process.join(None if seconds is None else rng.random() * seconds)
        seconds = seconds or time.monotonic() - began
        process.kill()
        process.join()
        codes.append(process.exitcode)
        export(output, to)
        assert exported(to) == exported(to, "dataset_scores") == seen(output)
    assert codes[0] == 0
    assert -signal.SIGKILL in codes


@DELTA
def test_an_export_that_fails_at_any_table_is_right_once_it_is_repeated(output, to):
    export(output, to)
    publish(output, "c", 0.3, date=FIRST)
    rows_read = module._exported_rows
    for name in TABLES:
        fail = mock.Mock(
            side_effect=lambda table, *args, name=name: (
                1 / 0 if table == name else rows_read(table, *args)
            )
        )
        with mock.patch.object(module, "_exported_rows", fail), pytest.raises(StorageError):
            export(output, to)
    assert {row["evaluation_id"] for row in rows(to, LOG)} == {"a", "b"}
    export(output, to)
    assert exported(to) == seen(output)


@pytest.mark.slow
def test_two_exports_beside_each_other_leave_what_the_folder_has(output, to):
    export(output, to)
    publish(output, "c", 0.3, date=SECOND)
    both = [PROCESSES.Process(target=_export, args=(output, to, {**os.environ})) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    # One may have met the other's change, and says so.
    codes = {process.exitcode for process in both}
    assert codes <= {0, 1}
    if codes != {0}:
        export(output, to)
    assert exported(to) == seen(output)


#: The output, the tables and the options of exports that are refused.
REFUSED = [
    *(("out", text, {}) for text in ("delta", "delta:", "hudi:x", "iceberg:lake", "lake")),
    # A catalog without settings.
    ("out", "iceberg:nowhere.ndcg", {}),
    ("none", "delta:lake", {}),
    *(("out", "delta:lake", {option: "2026-12-01"}) for option in ("since", "date")),
]


def test_what_cannot_be_exported_is_refused_before_anything_is_made(tmp_path, output, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place, to, more in REFUSED:
        with pytest.raises(ConfigurationError):
            export(place, to, **more)
    with mock.patch.dict("sys.modules", deltalake=None), pytest.raises(ConfigurationError):
        export(output, "delta:lake")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_copy_of_the_log_is_for_its_owner_and_group_and_no_table_is_replaced_by_a_damaged_one(
    output, tmp_path
):
    pytest.importorskip("deltalake")
    to = f"delta:{tmp_path}/lake"
    export(output, to)
    files = [path for path in (tmp_path / "lake" / LOG).rglob("*") if path.is_file()]
    assert {oct(path.stat().st_mode & 0o037) for path in files} == {"0o0"}
    shown = exported(to)
    (file, *_) = (tmp_path / "out" / "dataset_scores").rglob("*.parquet")
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(StorageError, match=file.name):
        export(output, to)
    assert exported(to) == shown
