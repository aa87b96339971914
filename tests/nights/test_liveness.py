"""Whether a process is at work is known where it can be looked up; of all others its note's age decides."""

import os
import subprocess
import time

import psutil
import pytest
from changes import NOBODY

from ndcg_spark.nights import liveness, recovery
from ndcg_spark.nights.liveness import may_be_alive, owner
from ndcg_spark.nights.recovery import OWNER
from ndcg_spark.nights.store import STAGING, Store

NOW = time.time()
EARLIER = ("host", "pid", "started", "at")


def of_an_earlier_version(note):
    return {name: note[name] for name in EARLIER}


def test_this_process_is_at_work():
    assert may_be_alive({**owner(), "at": 0}, 0.0)


@pytest.mark.parametrize("changed", [{"pid": NOBODY}, {"started": "1"}])
def test_a_process_that_can_be_looked_up_and_is_not_there_is_dead(changed):
    assert not may_be_alive({**owner(), **changed}, NOW)


def test_a_process_that_has_ended_is_dead_even_while_nobody_has_taken_note_of_it():
    zombie = subprocess.Popen(["sleep", "60"])
    started = round((psutil.Process(zombie.pid).create_time() - psutil.boot_time()) * 100)
    note = {**owner(), "pid": zombie.pid, "started": str(started)}
    assert may_be_alive(note, 0.0)
    zombie.kill()
    # Waits, and leaves it as it is.
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert not may_be_alive(note, 0.0)
    zombie.wait()


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"host": "a.machine.elsewhere"},
        {"boot": "another boot, or another machine of this name"},
        {"namespace": "another container of this machine"},
        {"boot": None},
        {"namespace": None},
        {"started": None},
        {"pid": None},
        {"pid": "x"},
    ],
)
@pytest.mark.parametrize(("hours", "alive"), [(11, True), (13, False)])
def test_of_a_process_that_cannot_be_looked_up_the_age_of_its_note_decides(elsewhere, hours, alive):
    note = {**owner(), "pid": NOBODY, **elsewhere, "at": time.time() - hours * 3600}
    assert may_be_alive(note, 0.0) == alive


@pytest.mark.parametrize(("hours", "alive"), [(11, True), (13, False)])
def test_of_a_note_of_an_earlier_version_the_process_may_be_elsewhere(hours, alive):
    here = {**of_an_earlier_version(owner()), "at": time.time() - hours * 3600}
    assert may_be_alive(here, 0.0)
    assert may_be_alive({**here, "pid": NOBODY}, 0.0) == alive
    assert may_be_alive({**here, "started": "1"}, 0.0) == alive


def test_an_earlier_version_understands_when_a_process_has_started():
    # It compared field 22 of /proc/<pid>/stat as text.
    with open(f"/proc/{os.getpid()}/stat", encoding="utf-8") as file:  # noqa: PTH123
        assert owner()["started"] == file.read().rpartition(")")[2].split()[19]


def test_where_processes_cannot_be_seen_nobody_is_dead(monkeypatch, tmp_path):
    note = owner()
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert may_be_alive({**note, "pid": NOBODY}, 0.0)
    assert not may_be_alive({**note, "pid": NOBODY, "at": NOW - 13 * 3600}, 0.0)
    blind = owner()
    assert blind["started"] is None
    assert may_be_alive(blind, 0.0)
    Store(str(tmp_path)).write_json(f"{STAGING}/x/{OWNER}", {**note, "pid": NOBODY})
    assert recovery.recover(str(tmp_path)) == []
    monkeypatch.undo()
    assert recovery.recover(str(tmp_path)) == ["removed x, which had not committed"]


def test_a_machine_without_a_boot_id_is_told_by_its_boot_time(monkeypatch):
    def none_such(path, **_):
        raise FileNotFoundError(path)

    monkeypatch.setattr(liveness.Path, "read_text", none_such)
    assert owner()["boot"] == str(int(psutil.boot_time()))
    assert not may_be_alive({**owner(), "pid": NOBODY}, NOW)
