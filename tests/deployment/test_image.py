"""The image of conf/docker, which nothing builds here: linted, and its steps run as a script in a clean folder."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "conf/docker/Dockerfile"
HOME = "/opt/ndcg_spark"


def steps():
    """The instructions of the Dockerfile, each with its arguments in one line."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [line.split(" ", 1) for line in re.sub(r"\\\n\s*", "", text).splitlines() if line]


def test_the_dockerfile_has_nothing_that_hadolint_finds():
    hadolint = shutil.which("hadolint") or pytest.skip(
        "needs hadolint, which scripts/check.sh installs"
    )
    done = subprocess.run([hadolint, str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_is_slim_is_not_of_root_evaluates_before_it_is_done_and_has_extras_of_the_project():
    instructions = steps()
    assert re.fullmatch(r"python:3\.\d+-slim", instructions[0][1])
    user = [name for name, _ in instructions].index("USER")
    assert instructions[user][1].split(":")[0] not in ("0", "root")
    assert (instructions[-3][0], "ndcg-spark evaluate" in instructions[-3][1]) == ("RUN", True)
    assert instructions.index(instructions[-3]) > user
    named = re.findall(r"EXTRAS=([a-z,]+)", DOCKERFILE.read_text(encoding="utf-8"))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert len(named) == 2
    assert {extra for names in named for extra in names.split(",")} == set(extras) - {
        "dev",
        "spark",
    }


def test_the_steps_of_the_dockerfile_run_in_a_clean_folder(thorough, tmp_path):
    if not thorough:
        pytest.skip("installs everything anew, a minute: --thorough")
    python = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", str(python)], check=True)
    place = tmp_path / "image"
    place.mkdir()
    environment = {"PATH": f"{python}/bin:/usr/bin:/bin"}
    environment |= {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PIP_") or "proxy" in name
    }
    said = ""
    for name, arguments in steps():
        if name == "COPY":
            *sources, target = arguments.split()
            for source in sources:
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                copy(ROOT / source, place / target)
        elif name in ("ARG", "ENV"):
            environment |= dict([arguments.split("=", 1)])
        elif name == "RUN":
            command = ["sh", "-c", arguments.replace(HOME, str(place))]
            done = subprocess.run(
                command, cwd=place, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr[-2000:]
            said = done.stdout
    assert "hybrid  0.6554  0.6586   0.7815     0.0235    0.7910" in said
