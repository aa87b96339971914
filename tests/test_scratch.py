"""Temporary folders: removed at the end, also those of a process that was killed."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from ndcg_spark.engine.scratch import Scratch, _remove_abandoned

HOLDING = """if True:
    import time
    from ndcg_spark.engine.scratch import Scratch
    scratch = Scratch()
    print(scratch.folder().parent, flush=True)
    time.sleep(600)
"""


def test_folders_and_whatever_else_was_left_for_later_are_undone_once(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch, undone = Scratch(), []
    first, second = scratch.folder(), scratch.folder()
    scratch.later(lambda: undone.append(1))
    scratch.later(lambda: 1 / 0)
    (first / "rows").mkdir()
    assert first != second
    assert first.parent.stat().st_mode & 0o777 == 0o700
    scratch.remove()
    scratch.remove()
    assert undone == [1]
    assert list(tmp_path.iterdir()) == []
    assert scratch.folder().is_dir()
    scratch.remove()


def test_the_folders_of_a_process_that_was_killed_are_removed_by_the_next_and_not_those_of_one_that_lives(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    holders = [
        subprocess.Popen([sys.executable, "-c", HOLDING], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    folders = [holder.stdout.readline().strip() for holder in holders]
    holders[0].send_signal(signal.SIGKILL)
    holders[0].wait()
    scratch = Scratch()
    own = scratch.folder().parent
    assert sorted(map(str, tmp_path.iterdir())) == sorted([folders[1], str(own)])
    holders[1].kill()
    holders[1].wait()
    holders[0].stdout.close()
    holders[1].stdout.close()
    scratch.remove()


@pytest.mark.parametrize("what", ["link", "pipe", "link to the folder", "folder of another user"])
def test_what_others_put_where_folders_are_looked_for_is_left_alone(tmp_path, monkeypatch, what):
    shared, own = tmp_path / "shared", tmp_path / "own"
    abandoned = shared / "ndcg-spark-x"
    for folder in (shared, own) if what == "link to the folder" else (shared, own, abandoned):
        folder.mkdir()
    os.mkfifo(own / "pipe")
    (own / "lock").touch()
    match what:
        case "link":
            (abandoned / "lock").symlink_to(own / "pipe")
        case "pipe":
            os.mkfifo(abandoned / "lock")
        case "link to the folder":
            abandoned.symlink_to(own)
        case _:
            (abandoned / "lock").touch()
            monkeypatch.setattr(os, "getuid", lambda: abandoned.stat().st_uid + 1)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    search = threading.Thread(target=_remove_abandoned, daemon=True)
    search.start()
    search.join(5)
    assert not search.is_alive()
    assert abandoned.is_dir()
    assert sorted(path.name for path in own.iterdir()) == ["lock", "pipe"]


def test_an_abandoned_folder_is_removed(tmp_path, monkeypatch):
    (tmp_path / "ndcg-spark-x").mkdir()
    (tmp_path / "ndcg-spark-x" / "lock").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _remove_abandoned()
    assert list(tmp_path.iterdir()) == []
