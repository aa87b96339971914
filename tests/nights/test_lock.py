"""One commit of an output at a time, whoever comes when and whoever dies: real processes, slowed down at random."""

import datetime
import json
import random
import signal
import time
from types import SimpleNamespace

import pytest
from changes import NOBODY, killed
from kills import JOURNALLED, MIXED, NEW, NEXT, OLD, RECORD_GONE, recovered, seen, whole
from publish_and_die import EVALUATED_ON, ended, publish, rows, staged, start
from readers import plain, records

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import liveness, lock, recovery
from ndcg_spark.nights.lock import CLAIM, claimed
from ndcg_spark.nights.store import STAGING, Store

ELSEWHERE = "a.machine.elsewhere"


@pytest.fixture
def output(tmp_path):
    return str(tmp_path)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(lock, "SECONDS_TO_WAIT", 0.3)
    monkeypatch.setattr(lock, "SECONDS_BETWEEN_LOOKS", 0.05)


def claim_of(output, evaluation_id, **owner):
    Store(output).write_json(f"{STAGING}/{evaluation_id}/{CLAIM}", {**liveness.owner(), **owner})


def waiting(output, evaluation_id, ndcg):
    """A night that is staged in this process, and only waits for its commit."""
    return staged(output, evaluation_id, ndcg, rejected=False, dataset="web", evaluated_on=EVALUATED_ON)


def is_one_whole_night(output):
    tables, committed = seen(output)
    assert len(committed) == 1
    assert {row[0] for row in tables["query_scores"]} == {row[0] for row in tables["dataset_scores"]} == {*committed}
    assert {row[0] for row in tables["rejected_rows"]} <= {*committed}
    assert {len(listed) for listed in tables.values()} <= {0, 3}
    return committed[0]


@pytest.mark.slow
def test_of_two_commits_of_a_date_at_once_one_follows_the_other(output, thorough):
    rng = random.Random(7)  # noqa: S311  # no secret
    for number in range(12 if thorough else 6):
        names = [f"{number:03}-{letter}" for letter in "ab"]
        options = [{"slow": rng.randrange(10**6), "rejected": rng.random() < 0.5} for _ in names]
        both = [start(publish, output, name, rng.random(), **more) for name, more in zip(names, options, strict=True)]
        with ended(*both):
            pass
        assert all(process.exitcode == 0 for process in both)
        assert is_one_whole_night(output) in names
    assert Store(output).folders(STAGING) == []


@pytest.mark.slow
def test_a_commit_that_is_killed_while_another_runs_leaves_one_whole_night(output, thorough):
    rng = random.Random(11)  # noqa: S311  # no secret
    for number in range(12 if thorough else 4):
        names = rng.sample([f"{number:03}-{letter}" for letter in "ab"], 2)
        killed = start(publish, output, names[0], 0.5, slow=1, rejected=True, die_after=rng.randint(1, 40))
        other = start(publish, output, names[1], 0.7, slow=2)
        with ended(killed, other):
            pass
        assert killed.exitcode == -signal.SIGKILL
        assert other.exitcode == 0
        recovered(output)
        assert is_one_whole_night(output) in names


def test_different_dates_and_datasets_at_once_are_all_kept(output):
    week = [EVALUATED_ON + datetime.timedelta(days=day) for day in range(3)]
    places = [{"dataset": dataset, "evaluated_on": day} for dataset in ("web", "shop") for day in week]
    all_at_once = [start(publish, output, f"{n}", 0.5, slow=n, **place) for n, place in enumerate(places)]
    with ended(*all_at_once):
        pass
    assert sorted(records(output)) == [f"{n}" for n in range(len(places))]
    every = sorted(row for n in range(len(places)) for row in rows(0.5, f"{n}"))
    assert plain(output)["query_scores"] == plain(output)["dataset_scores"] == every


@pytest.mark.parametrize("change", [JOURNALLED, RECORD_GONE, MIXED])
def test_a_later_evaluation_that_died_midway_is_finished_before_an_earlier_one_commits(output, change):
    publish(output, OLD, 0.1)
    night = waiting(output, NEW, 0.7)
    assert killed(publish, output, NEXT, 0.5, rejected=True, after=change)
    night.commit({"evaluation_id": NEW})
    assert seen(output) == whole(0.7, NEW, False)
    recovery.recover(output)
    assert seen(output) == whole(0.7, NEW, False)
    assert Store(output).folders(STAGING) == []


@pytest.mark.parametrize(
    ("whose", "owner"),
    [
        ("of another machine that is old", {"host": ELSEWHERE, "at": time.time() - 601}),
        ("of a process that is gone", {"pid": NOBODY}),
        ("of a process whose number another has now", {"started": "1"}),
    ],
)
def test_a_claim_that_is_dead_does_not_hinder(output, impatient, whose, owner):
    claim_of(output, OLD, **owner)
    waiting(output, NEW, 0.7).commit({"evaluation_id": NEW})
    assert seen(output) == whole(0.7, NEW, False), whose


@pytest.mark.parametrize("holder", [OLD, NEXT])
@pytest.mark.parametrize("owner", [{}, {"host": ELSEWHERE, "at": 500.0}])
def test_who_waits_for_too_long_is_told_for_whom_and_keeps_the_old_night(output, impatient, holder, owner):
    publish(output, "0", 0.1)
    # Its age is that of now, not of when the tests were collected.
    claim_of(output, holder, **{**owner, **({"at": time.time() - owner["at"]} if "at" in owner else {})})
    night = waiting(output, NEW, 0.7)
    with pytest.raises(StorageError, match=rf"held by 1 other .* e\.g\. {holder}, process \d+ on .*; nothing was"):
        night.commit({"evaluation_id": NEW})
    night.abandon()
    assert seen(output) == whole(0.1, "0", False)
    assert Store(output).folders(STAGING) == [holder]


@pytest.mark.parametrize(("holder", "stands"), [(NEXT, True), (OLD, False)])
def test_the_earlier_of_two_waits_with_its_claim_standing_and_the_later_yields(output, monkeypatch, holder, stands):
    found = Store(output)
    claim_of(output, holder)
    while_waiting = []

    def sleep(_):
        while_waiting.append(found.exists(f"{STAGING}/{NEW}/{CLAIM}"))
        found.delete(f"{STAGING}/{holder}")

    # Only for the claim: threads of other tests may be sleeping too.
    monkeypatch.setattr(lock, "time", SimpleNamespace(time=time.time, sleep=sleep))
    lock.Claim(found, NEW).take()
    assert while_waiting == [stands]
    assert list(lock.standing(found)) == [NEW]


def test_a_claim_is_gone_after_the_block_however_it_ends(output):
    def divide_by_zero():
        with claimed(Store(output), NEW):
            assert list(lock.standing(Store(output))) == [NEW]
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        divide_by_zero()
    assert lock.standing(Store(output)) == {}


def test_a_commit_that_takes_longer_than_its_claim_counts_stops_and_the_next_goes_on(output, monkeypatch):
    publish(output, OLD, 0.1)
    night = waiting(output, NEW, 0.7)
    move = Store.move

    def asleep(found, source, target):
        move(found, source, target)
        monkeypatch.setattr(lock, "SECONDS_TO_WORK", -1.0)

    monkeypatch.setattr(Store, "move", asleep)
    with pytest.raises(StorageError, match=r"takes longer than .* stops midway; ndcg-spark recover .* goes on"):
        night.commit({"evaluation_id": NEW})
    night.abandon()
    monkeypatch.undo()
    assert recovery.recover(output) == [f"finished {NEW}, which had committed: dataset=web/evaluated_on={EVALUATED_ON}"]
    assert seen(output) == whole(0.7, NEW, False)


@pytest.mark.parametrize(("minutes", "finished"), [(9, False), (11, True)])
def test_what_another_machine_has_journalled_is_finished_when_its_claim_is_too_old(output, minutes, finished):
    publish(output, OLD, 0.1)
    assert killed(publish, output, NEW, 0.7, after=RECORD_GONE)
    left = {"host": ELSEWHERE, "at": time.time() - 60 * minutes}
    for name in (CLAIM, "_owner.json"):
        path = f"{STAGING}/{NEW}/{name}"
        Store(output).write_json(path, {**Store(output).read_json(path), **left})
    assert bool(recovery.recover(output)) == finished
    assert (seen(output) == whole(0.7, NEW, False)) == finished


def test_what_another_machine_stages_stays_for_twelve_hours(output):
    for hours, evaluation_id in ((11, OLD), (13, NEW)):
        owner = {**liveness.owner(), "host": ELSEWHERE, "at": time.time() - 3600 * hours}
        Store(output).write_json(f"{STAGING}/{evaluation_id}/_owner.json", owner)
    assert recovery.recover(output) == [f"removed {NEW}, which had not committed"]


def test_a_claim_names_a_process_that_others_can_ask_for(output):
    with claimed(Store(output), NEW):
        written = json.loads((Store(output).open(f"{STAGING}/{NEW}/{CLAIM}")).read())
    assert liveness.may_be_alive(written, 0.0)
