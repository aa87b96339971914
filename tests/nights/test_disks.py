"""A disk that is really full, and one that may only be read: exit code 4, one line that says why, and the old night."""

import subprocess

import pytest
from programs import command_line
from readers import counting

QUERIES = 4000


@pytest.fixture
def disk(tmp_path):
    """A megabyte of memory as a disk."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"needs the right to mount a disk: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def evaluate(folder, output):
    qrels = "".join(f"q{n} 0 d{m} {(n + m) % 3}\n" for n in range(QUERIES) for m in range(3))
    run = "".join(f"q{n} Q0 d{m} 1 {(n * 7 + m) % 11} r\n" for n in range(QUERIES) for m in range(3))
    (folder / "qrels.txt").write_text(qrels, encoding="utf-8")
    (folder / "run.txt").write_text(run, encoding="utf-8")
    inputs = ["--judgments", folder / "qrels.txt", "--results", folder / "run.txt", "--date", "2026-11-16"]
    return command_line("evaluate", "--engine", "embedded", *inputs, "--output", output, cwd=folder)


def kept(output):
    """Every published file with its content."""
    found = (path for path in output.rglob("*") if path.is_file() and "_staging" not in path.parts)
    return {path: path.read_bytes() for path in found}


def leave_free(disk, size):
    """Fill a disk but for so many bytes."""
    with (disk / "fill").open("wb", buffering=0) as fill:
        written = 0
        while written < 1 << 20:
            try:
                written += fill.write(bytes(4096))
            except OSError:
                break
        fill.truncate(max(written - size, 0))


@pytest.mark.slow
@pytest.mark.parametrize("free", [0, 40 * 1024])
def test_a_full_disk_keeps_the_old_night(tmp_path, disk, free):
    output = disk / "scores"
    assert evaluate(tmp_path, output).returncode == 0
    before = kept(output)
    leave_free(disk, free)
    done = evaluate(tmp_path, output)
    assert done.returncode == 4
    assert done.stdout == ""
    told = done.stderr.splitlines()[-1]
    assert told.startswith("ndcg-spark: output: the engine cannot write, ")
    assert "No space left on device" in told
    assert kept(output) == before
    (disk / "fill").unlink()
    assert evaluate(tmp_path, output).returncode == 0
    assert len(counting(output)) == 1


@pytest.mark.slow
def test_a_disk_that_may_only_be_read_keeps_the_old_night(tmp_path, disk):
    output = disk / "scores"
    assert evaluate(tmp_path, output).returncode == 0
    before = kept(output)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    done = evaluate(tmp_path, output)
    assert done.returncode == 4
    told = done.stderr.splitlines()[-1]
    assert told.startswith("ndcg-spark: output: the engine cannot write, ")
    assert "Read-only file system" in told
    assert kept(output) == before
