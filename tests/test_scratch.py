"""Temporary folders: removed at the end, also those of a process that was killed."""

import os
import subprocess
import sys

import pytest

from ndcg_spark.scratch import PREFIX, Scratch, remove_abandoned

HOLDING = """if True:
    import time
    from ndcg_spark.scratch import Scratch
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
    assert (first != second, first.parent.stat().st_mode & 0o777) == (True, 0o700)
    scratch.remove()
    scratch.remove()
    assert (undone, list(tmp_path.iterdir())) == ([1], [])


def test_the_folders_of_a_process_that_was_killed_are_removed_by_the_next_and_not_those_of_one_that_lives(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command, scratch = [sys.executable, "-c", HOLDING], Scratch()
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as living,
    ):
        folder, _ = living.stdout.readline().strip(), killed.stdout.readline()
        killed.kill()
        killed.wait()
        assert {str(scratch.folder().parent), folder} == {*map(str, tmp_path.iterdir())}
        living.kill()
    scratch.remove()


def test_what_others_put_where_folders_are_looked_for_is_left_alone(tmp_path, monkeypatch):
    shared, own = tmp_path / "shared", tmp_path / "own"
    for folder in (shared, own, shared / "ndcg-spark-scratch-other"):
        folder.mkdir()
    (shared / "ndcg-spark-scratch-link").symlink_to(own)
    os.mkfifo(shared / "ndcg-spark-scratch-pipe")
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    with monkeypatch.context() as another_user:
        another_user.setattr(os, "getuid", lambda: shared.stat().st_uid + 1)
        remove_abandoned()
    assert sorted(path.name[19:] for path in shared.iterdir()) == ["link", "other", "pipe"]
    remove_abandoned()
    assert sorted(path.name[19:] for path in shared.iterdir()) == ["link", "pipe"]
    assert own.is_dir()


@pytest.mark.slow
def test_a_program_that_has_ended_leaves_no_folder(tmp_path):
    program = "from ndcg_spark import evaluate; evaluate({'q': {'a': 1}}, {'r': {'q': {'a': 1.0}}})"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert (done.returncode, list(tmp_path.glob(f"*{PREFIX}*"))) == (0, [])
