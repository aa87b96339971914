"""The wheel with the embedded engine, installed into a clean environment of every Python that is on the machine."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")


def python_of(version):
    """An interpreter of this version that starts: one on PATH, or of pyenv, whose shims need not work."""
    places = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for place in filter(None, places):
        asked = [place, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == version:
            return str(place)
    return None


def run(*command, **how):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=clean, **how)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_project_says_it_is_for_these_versions():
    said = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    prefix = "Programming Language :: Python :: 3."
    assert [f"3.{line.removeprefix(prefix)}" for line in said if line.startswith(prefix)] == list(VERSIONS)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--wheel-dir", folder)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_is_all_that_an_evaluation_needs(request, thorough, tmp_path, version):
    if not thorough:
        pytest.skip("installs everything anew, a minute each: --thorough")
    python = python_of(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    run(python, "-m", "venv", tmp_path / "env")
    run(tmp_path / "env/bin/pip", "install", f"{request.getfixturevalue('wheel')}[embedded]")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 b 1 2.0 r\nq1 Q0 a 2 1.0 r\n", encoding="utf-8")
    arguments = ["--judgments", "qrels.txt", "--results", "run.txt", "--cutoffs", "1,2", "--format", "csv"]
    printed = run(tmp_path / "env/bin/ndcg-spark", "evaluate", "--engine", "embedded", *arguments, cwd=tmp_path)
    assert [line.split(",")[3:5] for line in printed.splitlines()[1:]] == [["1", "0.0"], ["2", "0.6309297535714575"]]
