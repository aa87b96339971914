"""Java's class archive: which file is used, and that Java says nothing about it."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ndcg_spark.engine import archive


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A file where the archive for this Java and this Spark would be."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = archive.place()
    if path is None:
        pytest.skip("needs Java")
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_bytes(b"no archive")
    path.chmod(0o400)
    return path


def test_no_option_is_given_where_no_archive_was_made(made):
    made.unlink()
    assert archive.options() == ""


def test_an_archive_of_the_users_own_is_used(made):
    assert f"-XX:SharedArchiveFile={made}" in shlex.split(archive.options())


@pytest.mark.parametrize("mode", [0o460, 0o602])
def test_an_archive_that_others_can_write_is_not_used(made, mode):
    made.chmod(mode)
    assert archive.options() == ""


@pytest.mark.parametrize("up", [0, 1])
def test_an_archive_in_a_folder_that_others_can_write_is_not_used(made, up):
    made.parents[up].chmod(0o777)
    assert archive.options() == ""


def test_nobody_can_replace_an_archive_below_a_sticky_folder_as_tmp_is(made):
    made.parents[1].chmod(0o1777)
    assert archive.is_own(made)


def test_an_archive_of_another_user_is_not_used_nor_is_a_link_to_one(made, monkeypatch):
    link = made.with_name("link.jsa")
    link.symlink_to(made)
    assert archive.is_own(link)
    monkeypatch.setattr(os, "getuid", lambda: made.stat().st_uid + 1)
    assert not archive.is_own(made)
    assert not archive.is_own(link)


def test_another_spark_has_another_archive(made, monkeypatch, tmp_path):
    (tmp_path / "jars").mkdir()
    monkeypatch.setattr(archive, "_find_spark_home", lambda: str(tmp_path))
    first = archive.place()
    (tmp_path / "jars" / "spark-core.jar").write_bytes(b"newer")
    assert len({made, first, archive.place()}) == 3


def test_there_is_no_place_for_an_archive_without_java(made, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert archive.place() is None
    assert archive.options() == ""


def test_a_path_that_the_line_of_options_cannot_hold_is_not_used(made, monkeypatch, tmp_path):
    odd = tmp_path / 'a "cache'
    made.parents[1].rename(odd)
    monkeypatch.setenv("XDG_CACHE_HOME", str(odd))
    assert archive.place() is not None
    assert archive.place().is_file()
    assert archive.options() == ""


@pytest.mark.spark
def test_java_starts_and_says_nothing_where_an_archive_is_none(made):
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    command = [java, *shlex.split(archive.options()), "-version"]
    used, plain = (
        subprocess.run(given, capture_output=True, text=True, check=True) for given in (command, [java, "-version"])
    )
    assert used.stdout == ""
    # Only the last line differs, which says whether classes are shared.
    assert used.stderr.splitlines()[:-1] == plain.stderr.splitlines()[:-1]


@pytest.mark.spark
def test_the_script_makes_the_archive_that_is_then_used(made, thorough):
    if not thorough:
        pytest.skip("a minute for a file that is made once; with --thorough")
    script = Path(__file__).parents[1] / "scripts" / "class_archive.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(made))
    assert made.stat().st_size > 50_000_000
    assert str(made) in archive.options()
