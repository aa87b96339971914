"""Nights outlive crashes: killed after any step, readers see the old night or the new; the next run converges."""

import datetime
import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from ndcg_spark import nights, read_scores, store
from ndcg_spark.errors import StorageError
from ndcg_spark.publishing import JOURNAL, OWNER
from ndcg_spark.store import Store

PROGRAM = Path(__file__).with_name("publish_and_die.py")
TABLES = ("query_scores", "dataset_scores")
NEVER = 99
NOTHING = {table: [] for table in TABLES}, []
#: Files written, folders moved and deleted by a publication: the first of a night, and one that replaces another.
STEPS = {"first": 6, "rerun": 9}
OLD, NEW = "20261116T000000Z-old", "20261117T000000Z-new"


def publish(output, evaluation_id, ndcg, steps=NEVER):
    arguments = [str(output), evaluation_id, str(ndcg), str(steps)]
    return subprocess.run([sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, check=False)


def seen(output):
    """What a plain reader of the folders finds, table by table, and which night has a record."""
    found = {}
    for table in TABLES:
        paths = [str(path) for path in (output / table).rglob("*.parquet")]
        found[table] = sorted(ds.dataset(paths).to_table()["ndcg"].to_pylist()) if paths else []
    return found, [night.record["evaluation_id"] for night in nights.committed(str(output))]


def complete(ndcg, evaluation_id):
    return {table: [ndcg] for table in TABLES}, [evaluation_id]


def test_every_step_of_publishing_is_tried(tmp_path):
    assert publish(tmp_path, OLD, 0.25).stdout == str(STEPS["first"])
    assert publish(tmp_path, NEW, 0.75).stdout == str(STEPS["rerun"])
    assert seen(tmp_path) == complete(0.75, NEW)


@pytest.mark.parametrize(("kind", "step"), [(kind, step) for kind in STEPS for step in range(1, STEPS[kind] + 1)])
def test_a_kill_after_any_step_leaves_no_mixture_and_the_next_run_converges(tmp_path, kind, step):
    old = [0.25] if kind == "rerun" else []
    if old:
        publish(tmp_path, OLD, *old)
    killed = publish(tmp_path, NEW, 0.75, step)
    assert killed.returncode == -signal.SIGKILL
    tables, _ = seen(tmp_path)
    assert all(rows in ([], old, [0.75]) for rows in tables.values())
    assert not (old in tables.values() and [0.75] in tables.values() and old)
    nights.recover(str(tmp_path))
    settled = seen(tmp_path)
    assert settled in (complete(0.75, NEW), complete(0.25, OLD) if old else NOTHING)
    assert list((tmp_path / "_staging").iterdir()) == []
    publish(tmp_path, "20261118T000000Z-next", 0.75)
    assert seen(tmp_path) == complete(0.75, "20261118T000000Z-next")


@pytest.mark.parametrize("step", range(1, STEPS["rerun"] + 1))
def test_what_has_a_record_is_whole_after_a_kill(tmp_path, step):
    publish(tmp_path, OLD, 0.25)
    publish(tmp_path, NEW, 0.75, step)
    tables, records = seen(tmp_path)
    if records:
        assert (tables, records) in (complete(0.25, OLD), complete(0.75, NEW))


def test_a_recovery_that_is_killed_is_taken_up_again(tmp_path):
    publish(tmp_path, OLD, 0.25)
    publish(tmp_path, NEW, 0.75, 5)
    program = f"""
import sys; sys.path.insert(0, {str(PROGRAM.parent)!r})
from publish_and_die import die_after
from ndcg_spark import nights
die_after(1)
nights.recover({str(tmp_path)!r})
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    nights.recover(str(tmp_path))
    assert seen(tmp_path) == complete(0.75, NEW)


def test_an_evaluation_that_is_alive_is_left_alone(tmp_path):
    Store(str(tmp_path)).write_json(f"_staging/{NEW}/{OWNER}", store.owner())
    assert nights.recover(str(tmp_path)) == []
    assert (tmp_path / "_staging" / NEW).is_dir()


def test_a_later_night_is_not_replaced_by_an_earlier_one_that_is_recovered(tmp_path):
    publish(tmp_path, OLD, 0.25, 4)
    left = tmp_path / "_staging" / OLD
    away = tmp_path / "away"
    left.rename(away)
    publish(tmp_path, NEW, 0.75)
    away.rename(left)
    assert nights.recover(str(tmp_path)) == [f"finished {OLD}, which had committed: all replaced since"]
    assert seen(tmp_path) == complete(0.75, NEW)


def test_only_committed_nights_are_read(spark, tmp_path):
    publish(tmp_path, OLD, 0.25)
    read = read_scores(str(tmp_path), session=spark)
    assert [row["ndcg"] for row in read.collect()] == [0.25]
    next((tmp_path / "_evaluations").rglob("*.json")).unlink()
    with pytest.raises(StorageError, match="no committed night"):
        read_scores(str(tmp_path), session=spark)


def test_old_nights_go_whole_and_the_removed_are_named(tmp_path):
    publish(tmp_path, OLD, 0.25)
    day = datetime.date(2026, 11, 16)
    assert nights.expire(str(tmp_path), 3, day + datetime.timedelta(days=3)) == []
    assert nights.expire(str(tmp_path), 3, day + datetime.timedelta(days=4)) == ["removed web of 2026-11-16"]
    assert seen(tmp_path) == NOTHING


def test_two_engines_spell_a_partition_differently_and_it_is_one():
    spark_spells, pysail_spells = "dataset=a%2Fb%3Dc é/evaluated_on=d", "dataset=a%2Fb=c %C3%A9/evaluated_on=d"
    assert store.night_of(spark_spells) == store.night_of(pysail_spells) == ("a/b=c é", "d")
    assert store.partition("a/b=c é", "d") == spark_spells


def test_a_journal_that_is_damaged_is_told_and_not_deleted(tmp_path):
    publish(tmp_path, OLD, 0.25, 4)
    journal = tmp_path / "_staging" / OLD / JOURNAL
    assert json.loads(journal.read_text(encoding="utf-8"))["evaluation_id"] == OLD
    journal.write_text("{", encoding="utf-8")
    with pytest.raises(StorageError, match="is no JSON"):
        nights.recover(str(tmp_path))
    assert journal.exists()
