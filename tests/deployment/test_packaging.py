"""What the project says of itself in pyproject.toml, requirements.txt and its scripts."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = {
    canonicalize_name(requirement.name): requirement
    for file in ("requirements.txt", "tests/requirements-parity.txt")
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
    if (requirement := Requirement(line)).marker is None or requirement.marker.evaluate()
}


@pytest.mark.parametrize(
    "file", ["requirements.txt", "tests/requirements-parity.txt", "tests/requirements-object-store.txt"]
)
def test_requirements_are_exact_pins_without_addresses(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+( ; .+)?", line)] == []


@pytest.mark.parametrize(
    "wanted",
    [*PROJECT["dependencies"], *(entry for extra in PROJECT["optional-dependencies"].values() for entry in extra)],
)
def test_a_pin_satisfies_what_the_project_asks_for(wanted):
    requirement = Requirement(wanted)
    pinned = PINS[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(str(pinned.specifier).removeprefix("=="))


def test_no_pyarrow_is_installed_that_fails_beside_the_numpy_of_recommenders():
    # From 26.0.0 on its import fails beside numpy 1, which RecTools pins, and its metadata do not say so.
    (pyarrow,) = (Requirement(entry) for entry in PROJECT["dependencies"] if entry.startswith("pyarrow"))
    assert pyarrow.specifier.contains("25.0.1")
    assert not pyarrow.specifier.contains("26.0.0")


def test_the_top_level_is_as_laid_out():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("no git checkout, so what belongs to the project cannot be told from what lies beside it")
    allowed = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "requirements.txt",
        ".gitignore",
        ".ci",
        ".github",
        ".pre-commit-config.yaml",
    }
    allowed |= {"jobs", "ndcg_spark", "tests", "conf", "scripts"}
    assert {line.split("/")[0] for line in tracked.stdout.splitlines()} <= allowed


@pytest.mark.parametrize("script", sorted((ROOT / "scripts").glob("*.sh")), ids=lambda path: path.name)
def test_a_script_is_valid_bash(script):
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
