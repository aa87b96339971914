"""Nights outlive crashes: killed after any step, readers see the old night or the new; the next run converges."""

import datetime
import json
import os
import signal

import pytest
from kills import KINDS, NEW, OLD, check_a_kill, rerun, seen, whole
from publish_and_die import EVALUATED_ON, expire, publish, recover, rows, run
from readers import NOTHING

from ndcg_spark import read_scores
from ndcg_spark.errors import StorageError
from ndcg_spark.nights import committed, recovery, store
from ndcg_spark.nights.commit import JOURNAL
from ndcg_spark.nights.recovery import OWNER
from ndcg_spark.nights.store import STAGING, Store

#: What is done to the output by a publication, `publish_and_die.STEPS` in all.
STEPS = {"first": 10, "rerun": 13, "rerun of rejected rows": 13}
#: By finishing a rerun that had come to RECORD_GONE, and by the removal of a night.
RECOVERY, EXPIRY = 12, 8
#: The step after which the journal is written, and the old night's record is moved away.
JOURNALLED, RECORD_GONE = 3, 4


@pytest.fixture
def output(tmp_path):
    return str(tmp_path / "scores")


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_of_publishing_is_tried(output, kind):
    assert rerun(output, kind) == STEPS[kind]
    assert seen(output) == whole(0.7, NEW, KINDS[kind][1])


@pytest.mark.parametrize(("kind", "step"), [(kind, step) for kind in KINDS for step in range(1, STEPS[kind] + 1)])
def test_a_kill_after_any_step_leaves_no_mixture_and_the_next_run_converges(output, kind, step):
    check_a_kill(output, kind, step, at_once=True)


def test_a_recovery_that_is_killed_at_any_step_is_taken_up_again(tmp_path):
    for step in range(1, RECOVERY + 1):
        output = str(tmp_path / str(step))
        rerun(output, "rerun", RECORD_GONE)
        assert run(recover, output, die_after=step) == -signal.SIGKILL
        recovery.recover(output)
        assert seen(output) == whole(0.7, NEW, True)
        assert Store(output).folders(STAGING) == []
    rerun(str(tmp_path / "whole"), "rerun", RECORD_GONE)
    assert run(recover, str(tmp_path / "whole"), die_after=0) == RECOVERY


def test_a_removal_that_is_killed_at_any_step_is_taken_up_again(tmp_path):
    today = EVALUATED_ON + datetime.timedelta(days=9)
    for step in range(1, EXPIRY + 1):
        output = str(tmp_path / str(step))
        run(publish, output, OLD, 0.25, rejected=True)
        assert run(expire, output, today, die_after=step) == -signal.SIGKILL
        committed.expire(output, 3, today)
        assert seen(output) == (NOTHING, [])
        assert Store(output).folders(STAGING) == []
    run(publish, str(tmp_path), OLD, 0.25, rejected=True)
    assert run(expire, str(tmp_path), today) == EXPIRY


def test_a_recovery_with_nothing_to_do_writes_nothing(tmp_path):
    assert recovery.recover(str(tmp_path / "scores")) == []
    assert list(tmp_path.iterdir()) == []


def test_a_staging_folder_is_left_to_its_maker_until_it_has_an_owner_or_ten_minutes_have_passed(tmp_path):
    made = tmp_path / STAGING / NEW
    made.mkdir(parents=True)
    assert recovery.recover(str(tmp_path)) == []
    os.utime(made, (0, 0))
    assert recovery.recover(str(tmp_path)) == [f"removed {NEW}, which had not committed"]


def test_an_evaluation_that_is_alive_is_left_alone(tmp_path):
    Store(str(tmp_path)).write_json(f"{STAGING}/{NEW}/{OWNER}", store.owner())
    assert recovery.recover(str(tmp_path)) == []
    assert (tmp_path / "_staging" / NEW).is_dir()


def test_a_later_night_is_not_replaced_by_an_earlier_one_that_is_recovered(tmp_path):
    output = str(tmp_path)
    run(publish, output, OLD, 0.25, die_after=JOURNALLED)
    left = tmp_path / STAGING / OLD
    away = tmp_path / "away"
    left.rename(away)
    run(publish, output, NEW, 0.7)
    away.rename(left)
    assert recovery.recover(output) == [f"finished {OLD}, which had committed: all replaced since"]
    assert seen(output) == whole(0.7, NEW, False)


def test_only_committed_nights_are_read(spark, tmp_path):
    run(publish, str(tmp_path), OLD, 0.25)
    read = read_scores(str(tmp_path), session=spark)
    assert sorted(row["ndcg"] for row in read.collect()) == [ndcg for _, ndcg in rows(0.25, OLD)]
    next((tmp_path / "_evaluations").rglob("*.json")).unlink()
    with pytest.raises(StorageError, match="no committed night"):
        read_scores(str(tmp_path), session=spark)


def test_old_nights_go_whole_and_the_removed_are_named(output):
    run(publish, output, OLD, 0.25, rejected=True)
    assert committed.expire(output, 3, EVALUATED_ON + datetime.timedelta(days=3)) == []
    assert committed.expire(output, 3, EVALUATED_ON + datetime.timedelta(days=4)) == ["removed web of 2026-11-16"]
    assert seen(output) == (NOTHING, [])


def test_two_engines_spell_a_partition_differently_and_it_is_one():
    spark_spells, pysail_spells = "dataset=a%2Fb%3Dc é/evaluated_on=d", "dataset=a%2Fb=c %C3%A9/evaluated_on=d"
    assert store.night_of(spark_spells) == store.night_of(pysail_spells) == ("a/b=c é", "d")
    assert store.partition("a/b=c é", "d") == spark_spells


def test_a_journal_that_is_damaged_is_told_and_not_deleted(tmp_path):
    run(publish, str(tmp_path), OLD, 0.25, die_after=JOURNALLED)
    journal = tmp_path / STAGING / OLD / JOURNAL
    assert json.loads(journal.read_text(encoding="utf-8"))["evaluation_id"] == OLD
    journal.write_text("{", encoding="utf-8")
    with pytest.raises(StorageError, match="is no JSON"):
        recovery.recover(str(tmp_path))
    assert journal.exists()
