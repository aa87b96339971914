"""Links, and what is no file: followed as the operating system does, or refused by name."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from input_files import file

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import files_of
from ndcg_spark.inputs.storage import storage


def outside(path: Path, content: str) -> Path:
    """A folder elsewhere, with one file, that a symbolic link leads to."""
    file(path / "real" / "deep" / "a.run", content)
    file(path / "real" / "r.run", content)
    (path / "here").mkdir()
    (path / "here" / "link").symlink_to(path / "real" / "deep")
    file(path / "here" / "r.run", "another")
    return path / "here"


@pytest.mark.parametrize("given", ["link/../r.run", "./link/.././r.run", "link/../*.run", "link/.."])
def test_up_from_a_link_leads_where_the_operating_system_goes(tmp_path, monkeypatch, given):
    monkeypatch.chdir(outside(tmp_path, "content"))
    expected = str(tmp_path / "real" / "r.run")
    assert expected in [each.path for each in files_of(given, "results")]
    assert storage(given.replace("*", "r"), "output")[1].startswith(str(tmp_path / "real"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.symlink_to("nowhere"), r"No such file or directory: '.*b\.run'"),
        (lambda path: path.symlink_to("b.run"), r"Too many levels of symbolic links: '.*b\.run'"),
        (os.mkfifo, r".*/runs/b\.run is not a regular file"),
    ],
    ids=["a link to nothing", "a link to itself", "a pipe"],
)
def test_what_is_no_file_is_refused_by_name_wherever_it_is_found(tmp_path, make, words):
    file(tmp_path / "runs" / "a.run")
    make(tmp_path / "runs" / "b.run")
    for given in ("", "*", "*.run", "b.run"):
        with pytest.raises(InputError, match=rf"^results: .* cannot be read, .*{words}; check its rights$"):
            files_of(f"{tmp_path}/runs/{given}", "results")


def test_folders_linked_in_a_circle_are_refused(tmp_path):
    file(tmp_path / "runs" / "a.run")
    (tmp_path / "runs" / "again").symlink_to(tmp_path / "runs")
    with pytest.raises(InputError, match=r"results: .* cannot be read, .*Too many levels of symbolic links"):
        files_of(str(tmp_path), "results")


def test_a_name_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "runs").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "runs") + b"/caf\xe9.run")).write_bytes(b"x")
    for given in ("runs", "runs/*.run", "runs/caf\udce9.run"):
        with pytest.raises(InputError, match=r"results: the name '.*/runs/caf\\udce9\.run' is not UTF-8; rename it"):
            files_of(str(tmp_path / given), "results")
    beside = file(tmp_path / "runs" / "a.run")
    assert files_of(beside.path, "results") == [beside]


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs a user who may become another")
@pytest.mark.parametrize("closed", [".", "runs", "runs/a.run", "runs/sub"])
def test_what_may_not_be_read_is_refused_by_name(tmp_path, closed):
    file(tmp_path / "runs" / "a.run")
    file(tmp_path / "runs" / "sub" / "b.run")
    for above in (tmp_path, *tmp_path.parents):
        if above != Path(tempfile.gettempdir()) and above.is_relative_to(tempfile.gettempdir()):
            above.chmod(0o755)
    (tmp_path / closed).chmod(0)
    program = """if True:
        import sys
        from ndcg_spark.engine import Engine
        from ndcg_spark.errors import InputError
        from ndcg_spark.inputs.files import find
        try:
            find(Engine(None, "embedded", "none", True), sys.argv[1], "results")
        except InputError as error:
            print(error)"""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*nobody, sys.executable, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"{sys.executable} is of a Python that another user may not run")
    command = [*nobody, sys.executable, "-c", program, str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (tmp_path / closed).chmod(0o755)
    assert done.stdout.startswith("results: "), done.stderr
    assert str(tmp_path / closed) in done.stdout
    assert "Permission denied" in done.stdout
    assert done.stdout.endswith("; check its rights\n")
