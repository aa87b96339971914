"""Temporary folders: removed at the end, also those of a process that was killed."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ndcg_spark.scratch import Scratch, is_stream, remove_abandoned, write_whole

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
    scratch.call_at_end(lambda: undone.append(1))
    scratch.call_at_end(lambda: 1 / 0)
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


@contextlib.contextmanager
def file_size_limit(size):
    """No file can grow beyond so many bytes, as on a full disk."""
    limits, handler = (
        resource.getrlimit(resource.RLIMIT_FSIZE),
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_file_that_is_written_whole_keeps_its_mode_and_its_link_and_after_a_failure_its_content(
    tmp_path,
):
    file, link = tmp_path / "a.html", tmp_path / "link.html"
    write_whole(file, b"old")
    file.chmod(0o600)
    link.symlink_to(file)
    write_whole(link, b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o777, link.is_symlink()) == (
        b"new",
        0o600,
        True,
    )
    with file_size_limit(10), pytest.raises(OSError, match="File too large"):
        write_whole(file, b"x" * 100)
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"x")
    assert (file.read_bytes(), sorted(tmp_path.iterdir())) == (b"new", [file, link])


def test_a_file_that_others_read_while_it_is_written_has_the_old_content_or_the_new_one(tmp_path):
    file, sizes, done = tmp_path / "a.html", set(), threading.Event()
    write_whole(file, b"a")

    def read():
        while not done.is_set():
            sizes.add(len(file.read_bytes()))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        write_whole(file, b"b" * 1_000_000)
    done.set()
    reader.join()
    assert sizes <= {1, 1_000_000}


def test_a_pipe_and_a_device_are_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", b"content")
    assert os.read(reader, 100) == b"content"
    os.close(reader)
    assert [is_stream(Path(name)) for name in ("/dev/null", "/dev/stdout", tmp_path)] == [
        True,
        True,
        False,
    ]
