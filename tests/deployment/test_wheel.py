"""The wheel with the embedded engine, installed into a clean environment of every Python that is on the machine."""

import csv
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The versions of Python that the project says it is for.
VERSIONS = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def python_of(version):
    """An interpreter of this version that starts: one on PATH, or of pyenv, whose shims need not work."""
    places = [
        shutil.which(f"python{version}"),
        *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
    ]
    for place in filter(None, places):
        asked = [place, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if (
            subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
            == version
        ):
            return str(place)
    return None


def run(*command, code=0, **how):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, env=clean, **how
    )
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stderr[-2000:]}"
    return done.stderr if code else done.stdout


@pytest.fixture(scope="module")
def wheel(thorough, tmp_path_factory):
    if not thorough:
        pytest.skip("installs everything anew, a minute each: --thorough")
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--wheel-dir", folder)
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_is_all_that_an_evaluation_needs(wheel, tmp_path, version):
    python = python_of(version)
    if python is None:
        pytest.skip(f"no Python {version} on this machine")
    run(python, "-m", "venv", tmp_path / "env")
    run(tmp_path / "env/bin/pip", "install", f"{wheel}[embedded]")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 b 1 2.0 r\nq1 Q0 a 2 1.0 r\n", encoding="utf-8")
    arguments = [
        "--judgments",
        "qrels.txt",
        "--results",
        "run.txt",
        "--cutoffs",
        "1,2",
        "--format",
        "csv",
    ]
    printed = run(
        tmp_path / "env/bin/ndcg-spark",
        "evaluate",
        "--engine",
        "embedded",
        *arguments,
        cwd=tmp_path,
    )
    rows = csv.DictReader(printed.splitlines())
    assert [(row["cutoff"], row["ndcg"]) for row in rows] == [
        ("1", "0.0"),
        ("2", "0.6309297535714575"),
    ]


def commands_of_the_readme():
    """The commands that the README shows but the one for a server, in its order."""
    shown = "\n".join(
        re.findall(
            r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL
        )
    )
    lines = [
        re.sub(r" +#.*| \| head", "", line)
        for line in shown.replace("| head   #", "#").splitlines()
    ]
    lines = [
        line.replace("scripts/run-example.sh --nights", "python scripts/example_nights.py")
        for line in lines
    ]
    return [
        line
        for line in lines
        if line.startswith(("ndcg-spark", "python")) and "--remote" not in line
    ]


GATED = "ndcg-spark evaluate --config conf/gate.toml --output /tmp/gated"
#: Commands, and the exit code and what is said of each; /tmp stands for a folder of the test.
FAILURES = [
    ("ndcg-spark evaluate --config conf/example.toml --cutoffs zero", 2, "zero"),
    ("ndcg-spark evaluate --judgments /tmp/none --results conf/example/runs", 3, "/none"),
    ("ndcg-spark evaluate --judgments /tmp/bad.qrels --results conf/example/runs", 3, "bad.qrels"),
    ("ndcg-spark compare /tmp/empty --baseline bm25", 2, "empty"),
    (
        "ndcg-spark evaluate --config conf/example.toml --engine spark",
        2,
        "pip install 'ndcg-spark[spark]'",
    ),
    (
        "ndcg-spark evaluate --config conf/example.toml --remote sc://127.0.0.1:9",
        4,
        "no Spark Connect server answers",
    ),
    ("ndcg-spark evaluate --config conf/example.toml --output /proc/scores", 4, "/proc/scores"),
    (f"{GATED} --date 2026-11-20", 6, ""),
    (f"{GATED} --date 2026-11-20 --accept-baseline first", 0, ""),
    (f"{GATED} --date 2026-11-21 --results /tmp/worse", 5, ""),
]


def test_with_the_embedded_engine_alone_every_command_of_the_readme_and_every_failure_is_as_it_should_be(
    wheel, tmp_path
):
    env = tmp_path / "env"
    run(sys.executable, "-m", "venv", env)
    run(env / "bin/pip", "install", f"{wheel}[embedded]")
    missing = (
        "import importlib.util as u; assert not any(map(u.find_spec, ('py4j', 'pyspark.core')))"
    )
    run(env / "bin/python", "-c", missing)
    (tmp_path / "bad.qrels").write_text("q1 0 a many\n", encoding="utf-8")
    (tmp_path / "worse").mkdir()
    for file in (ROOT / "conf/example/runs").iterdir():
        rows = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        lists = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row[0])]
        pairs = [pair for rows in lists for pair in zip(rows, rows[::-1], strict=True)]
        upside_down = [[*row[:2], other[2], *row[3:]] for row, other in pairs]
        (tmp_path / "worse" / file.name).write_text(
            "\n".join(map(" ".join, upside_down)), encoding="utf-8"
        )
    commands = commands_of_the_readme()
    assert len(commands) > 10
    for line, code, said in [*((line, 0, "") for line in commands), *FAILURES]:
        # The guide's own paths.
        places = r"/tmp/|(?=report\.html)"  # noqa: S108
        command = f"PATH={env}/bin:$PATH; " + re.sub(places, f"{tmp_path}/", line)
        assert said in run("bash", "-c", command, code=code, cwd=ROOT), line
