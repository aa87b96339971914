"""Links, and what is no file: followed as the operating system does, or refused by name."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from input_files import file, names

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import find
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
    assert expected in [each.path for each in find(given, "results")]
    assert storage(given.replace("*", "r"), "output")[1].startswith(str(tmp_path / "real"))


def test_a_path_without_two_dots_keeps_its_links(tmp_path):
    here = outside(tmp_path, "content")
    assert [each.path for each in find(str(here / "link"), "results")] == [f"{here}/link/a.run"]


def special(path: Path, kind: str) -> None:
    if kind == "a link to nothing":
        path.symlink_to("nowhere")
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))


@pytest.mark.parametrize("kind", ["a link to nothing", "a pipe", "a socket"])
def test_what_is_no_file_is_refused_by_name_wherever_it_is_found(tmp_path, monkeypatch, kind):
    file(tmp_path / "runs" / "a.run")
    monkeypatch.chdir(tmp_path / "runs")
    special(Path("b.run"), kind)
    for given in ("", "*", "*.run", "b.run"):
        with pytest.raises(InputError, match=rf"results: .*/runs/b\.run is {kind}"):
            find(f"{tmp_path}/runs/{given}", "results")


def test_what_is_hidden_may_be_anything(tmp_path, monkeypatch):
    file(tmp_path / "a.run")
    monkeypatch.chdir(tmp_path)
    for name, kind in (("_pipe", "a pipe"), (".lost", "a link to nothing")):
        special(Path(name), kind)
    assert names(find(str(tmp_path), "results")) == ["a.run"]


def test_standard_input_is_refused_as_a_pipe_and_read_as_a_file(tmp_path):
    stored = file(tmp_path / "a.run", "q1 Q0 d1 1 0.5 bm25\n")
    program = "from ndcg_spark.inputs.files import find; print(find('/dev/stdin', 'results')[0].path)"
    command = [sys.executable, "-c", program]
    with Path(stored.path).open(encoding="utf-8") as opened:
        done = subprocess.run(command, stdin=opened, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == stored.path
    done = subprocess.run(command, input="q1", capture_output=True, text=True, check=False)
    assert "results: /dev/stdin is a pipe, and input is read more than once; write it to a file" in done.stderr


def test_folders_linked_in_a_circle_are_refused(tmp_path):
    file(tmp_path / "runs" / "a.run")
    (tmp_path / "runs" / "again").symlink_to(tmp_path / "runs")
    with pytest.raises(InputError, match=r"results: .*/runs/again is a link to a folder that it is in itself"):
        find(str(tmp_path), "results")


def test_two_links_to_one_folder_are_no_circle(tmp_path):
    file(tmp_path / "runs" / "one" / "a.run")
    (tmp_path / "runs" / "two").symlink_to("one")
    assert len(find(str(tmp_path / "runs"), "results")) == 2


def test_a_name_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "runs").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "runs") + b"/caf\xe9.run")).write_bytes(b"x")
    for given in ("runs", "runs/*.run"):
        with pytest.raises(InputError, match=r"results: a name in .*/runs that is not UTF-8, b'caf\\xe9\.run'; rename"):
            find(str(tmp_path / given), "results")


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs a user who may become another")
@pytest.mark.parametrize("closed", ["runs", "runs/a.run", "runs/sub"])
def test_what_may_not_be_read_is_refused_by_name(tmp_path, closed):
    file(tmp_path / "runs" / "a.run")
    file(tmp_path / "runs" / "sub" / "b.run")
    for above in (tmp_path, *tmp_path.parents):
        if above != Path(tempfile.gettempdir()) and above.is_relative_to(tempfile.gettempdir()):
            above.chmod(0o755)
    (tmp_path / closed).chmod(0)
    program = """if True:
        import sys
        from ndcg_spark.errors import InputError
        from ndcg_spark.inputs.files import find
        try:
            find(sys.argv[1], "results")
        except InputError as error:
            print(error)"""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    command = [*nobody, sys.executable, "-c", program, str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (tmp_path / closed).chmod(0o755)
    assert done.stdout.startswith(f"results: {tmp_path / closed} cannot be "), done.stderr
    assert "Permission denied; check its rights" in done.stdout


@pytest.mark.parametrize("link", ["a.parquet", "folder", "within/a.parquet", "within/folder"])
def test_a_link_into_a_table_with_deleted_files_is_refused_wherever_it_stands(tmp_path, link):
    file(tmp_path / "t" / "_delta_log" / "0.json")
    target = Path(file(tmp_path / "t" / "run=x" / "a.parquet").path)
    place = tmp_path / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(target if place.suffix else target.parent)
    asked = tmp_path / link.partition("/")[0]
    with pytest.raises(InputError, match=r"/t is a table of Delta, .* or read it as a catalog table"):
        find(str(asked), "results")
