"""Nights outlive crashes: killed after any step, readers see the old night or the new; the next run converges."""

import datetime
import os

import pytest
from changes import killed
from kills import JOURNALLED, KINDS, NEW, OLD, RECORD_GONE, check_what_is_left, recovered, rerun, seen, whole
from publish_and_die import EVALUATED_ON, publish, rows
from readers import NOTHING, by_pyarrow, records

from ndcg_spark import read_scores
from ndcg_spark.errors import StorageError
from ndcg_spark.nights import committed, liveness, recovery, store
from ndcg_spark.nights.recovery import OWNER
from ndcg_spark.nights.store import STAGING, Store


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "rerun of rejected rows" else pytest.mark.slow) for kind in KINDS]
)
def test_a_kill_after_any_change_leaves_no_mixture_and_the_next_run_converges(tmp_path, at_once, kind, numbers):
    for number in numbers:
        output = str(tmp_path / str(number))
        if not rerun(output, kind, after=number):
            break
        check_what_is_left(output, kind, at_once=at_once)
    # It came to its end, after enough changes for all that a publication is made of.
    assert seen(output) == whole(0.7, NEW, KINDS[kind][1])
    assert number > 30


def test_a_kill_amid_several_nights_brings_all_of_them_about_or_none(tmp_path, numbers):
    both = {"dataset": "shop+web"}
    possible = [(sorted(rows(ndcg, name) * 2), [name] * 2) for ndcg, name in ((0.1, OLD), (0.7, NEW))]
    for number in numbers:
        output = str(tmp_path / str(number))
        publish(output, OLD, 0.1, **both)
        was_killed = killed(publish, output, NEW, 0.7, **both, after=number)
        recovered(output)
        tables, stands = by_pyarrow(output), records(output)
        assert (tables["query_scores"], stands) in possible, number
        assert tables["dataset_scores"] == tables["query_scores"], number
        if not was_killed:
            break
    assert number > 40


@pytest.mark.slow
def test_a_recovery_that_is_killed_after_any_change_is_taken_up_again(tmp_path, numbers):
    for number in numbers:
        output = str(tmp_path / str(number))
        assert rerun(output, "rerun", after=RECORD_GONE)
        if not killed(recovery.recover, output, after=number):
            break
        recovered(output)
        assert seen(output) == whole(0.7, NEW, True)
    assert seen(output) == whole(0.7, NEW, True)
    assert number > 20


def test_a_removal_that_is_killed_after_any_change_is_taken_up_again(tmp_path, numbers):
    today = EVALUATED_ON + datetime.timedelta(days=9)
    for number in numbers:
        output = str(tmp_path / str(number))
        publish(output, OLD, 0.25, rejected=True)
        if not killed(committed.expire, output, 3, today, after=number):
            break
        committed.expire(output, 3, today)
        recovered(output)
        assert seen(output) == (NOTHING, [])
    assert seen(output) == (NOTHING, [])
    assert number > 10


@pytest.fixture
def output(tmp_path):
    return str(tmp_path / "scores")


def test_a_recovery_with_nothing_to_do_writes_nothing(tmp_path):
    assert recovery.recover(str(tmp_path / "scores")) == []
    assert list(tmp_path.iterdir()) == []


def test_a_staging_folder_is_left_to_its_maker_until_it_has_an_owner_or_ten_minutes_have_passed(tmp_path):
    made = tmp_path / STAGING / NEW
    made.mkdir(parents=True)
    assert recovery.recover(str(tmp_path)) == []
    os.utime(made, (0, 0))
    assert recovery.recover(str(tmp_path)) == [f"removed {NEW}, which had not committed"]


def test_an_evaluation_that_is_alive_is_left_alone_and_named(tmp_path):
    Store(str(tmp_path)).write_json(f"{STAGING}/{NEW}/{OWNER}", liveness.owner())
    assert recovery.recover(str(tmp_path)) == []
    assert (tmp_path / "_staging" / NEW).is_dir()
    (sentence,) = recovery.left_alone(str(tmp_path))
    assert sentence.startswith(f"left {NEW} alone, as process {os.getpid()} on ")


def test_a_staging_folder_without_an_owner_is_left_alone_by_its_name(tmp_path):
    (tmp_path / STAGING / NEW).mkdir(parents=True)
    assert recovery.left_alone(str(tmp_path)) == [
        f"left {NEW} alone, as process unknown on an unknown machine may still be at work"
    ]


def test_a_later_night_is_not_replaced_by_an_earlier_one_that_is_recovered(tmp_path):
    output = str(tmp_path)
    assert killed(publish, output, OLD, 0.25, after=JOURNALLED)
    left = tmp_path / STAGING / OLD
    away = tmp_path / "away"
    left.rename(away)
    publish(output, NEW, 0.7)
    away.rename(left)
    assert recovery.recover(output) == [f"finished {OLD}, which had committed: all replaced since"]
    assert seen(output) == whole(0.7, NEW, False)


def test_only_committed_nights_are_read(spark, tmp_path):
    publish(str(tmp_path), OLD, 0.25)
    read = read_scores(str(tmp_path), session=spark)
    assert sorted(row["ndcg"] for row in read.collect()) == [ndcg for _, ndcg in rows(0.25, OLD)]
    next((tmp_path / "_evaluations").rglob("*.json")).unlink()
    with pytest.raises(StorageError, match="no committed night"):
        read_scores(str(tmp_path), session=spark)


def test_old_nights_go_whole_and_the_removed_are_named(output):
    publish(output, OLD, 0.25, rejected=True)
    assert committed.expire(output, 3, EVALUATED_ON + datetime.timedelta(days=3)) == []
    assert committed.expire(output, 3, EVALUATED_ON + datetime.timedelta(days=4)) == ["removed web of 2026-11-16"]
    assert seen(output) == (NOTHING, [])


def test_two_engines_spell_a_partition_differently_and_it_is_one():
    spark_spells, pysail_spells = "dataset=a%2Fb%3Dc é/evaluated_on=d", "dataset=a%2Fb=c %C3%A9/evaluated_on=d"
    assert store.night_of(spark_spells) == store.night_of(pysail_spells) == ("a/b=c é", "d")
    assert store.partition("a/b=c é", "d") == spark_spells
