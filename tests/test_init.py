"""The templates that `init` writes: those of the project, usable where they are."""

import ast
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from commands import command_line

from ndcg_spark.cli.init_command import _templates
from ndcg_spark.config import load

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "ndcg_spark" / "templates"
PROJECT = "/opt/ndcg_spark"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("init") / "new"
    done = command_line("init", folder, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    return folder


def files(folder):
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def test_every_template_is_a_file_of_the_project(project):
    written = files(project)
    assert {"conf/nightly.toml", "conf/gate.toml", "conf/chat-hook.py", "scripts/nightly.sh"} < {
        *written
    }
    for name, path in written.items():
        # The link in the package, or that to the folder above it.
        assert (TEMPLATES / name).resolve() == ROOT / name
        expected = (ROOT / name).read_text(encoding="utf-8").replace(PROJECT, str(project))
        assert path.read_text(encoding="utf-8") == expected
    assert stat.S_IMODE(written["scripts/nightly.sh"].stat().st_mode) & stat.S_IXUSR


def test_what_pip_compiles_is_no_template(tmp_path):
    for name in ("conf/__pycache__/hook.pyc", "conf/hook.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    assert [name for name, _ in _templates(tmp_path)] == ["conf/hook.py"]


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/gate.toml").write_text("mine", encoding="utf-8")
    done = command_line("init", tmp_path, cwd=tmp_path)
    assert (done.returncode, [*files(tmp_path)]) == (2, ["conf/gate.toml"])
    assert (tmp_path / "conf/gate.toml").read_text(encoding="utf-8") == "mine"
    assert command_line("init", tmp_path / "a folder", cwd=tmp_path).returncode == 2
    assert command_line("init", tmp_path / "conf/gate.toml/x", cwd=tmp_path).returncode == 4


def test_the_example_is_scored_at_once_and_the_next_night_is_judged(project):
    gate = ("evaluate", "--config", "conf/gate.toml", "--engine", "embedded", "--quiet")
    first = command_line(*gate, "--date", "2026-11-20", "--accept-baseline", "first", cwd=project)
    second = command_line(*gate, "--date", "2026-11-21", cwd=project)
    assert (first.returncode, second.returncode) == (0, 0), second.stderr


def test_the_marked_lines_are_all_that_has_to_be_edited(project):
    text = (project / "conf/nightly.toml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    marked = {line.partition(" = ")[0] for line in lines if "# EDIT" in line}
    assert {"dataset", "output", "path"} < marked
    # What may be absent is not needed, and no other line has a path in it.
    kept = "\n".join(line for line in lines if "EDIT, or remove" not in line)
    (project / "edited.toml").write_text(kept.replace("/data/", f"{project}/"), encoding="utf-8")
    config = load(project / "edited.toml", {"date": "2026-11-20"})
    assert (config.judgments.columns, config.results.format) == ({}, None)
    assert not [line for line in lines if "/" in line.partition("#")[0] and "# EDIT" not in line]


def test_python_templates_are_python(project):
    for path in project.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_night_runs_where_the_wheel_is_installed_and_there_is_no_checkout(project, tmp_path):
    program = tmp_path / "bin/ndcg-spark"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ndcg_spark "$@"\n', encoding="utf-8")
    program.chmod(0o755)

    def night(path, **more):
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, **more}
        command = [
            "scripts/nightly.sh",
            "2026-11-20",
            "conf/example.toml",
            "--output",
            str(tmp_path / "out"),
        ]
        return subprocess.run(
            command, cwd=project, env=env, capture_output=True, text=True, check=False
        )

    plain = "/usr/bin:/bin"
    done = night(f"{program.parent}:{plain}", NDCG_SPARK_EXPORT=f"delta:{tmp_path}/tables")
    assert (done.returncode, "hybrid" in done.stdout) == (0, True), done.stderr
    assert (tmp_path / "tables/dataset_scores/_delta_log").is_dir()
    assert night(plain).returncode == 2
    assert night(f"{program.parent}:{plain}", NDCG_SPARK_SUBMIT="--master yarn").returncode == 2
