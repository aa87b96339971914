"""What the project says of itself in pyproject.toml, requirements.txt and its scripts, and what these install."""

import contextlib
import importlib.metadata
import re
import shutil
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


@pytest.mark.parametrize("folder", [".", "tests", "conf/site"])
def test_requirements_are_exact_pins_without_addresses(folder):
    lines = [
        line
        for file in (ROOT / folder).glob("requirements*.txt")
        for line in file.read_text("utf-8").splitlines()
    ]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+( ; .+)?", line)] == []


@pytest.mark.parametrize(
    "wanted",
    [
        *PROJECT["dependencies"],
        *(entry for extra in PROJECT["optional-dependencies"].values() for entry in extra),
    ],
)
def test_a_pin_satisfies_what_the_project_asks_for(wanted):
    requirement = Requirement(wanted)
    pinned = PINS[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(str(pinned.specifier).removeprefix("=="))


def installed_with(entry):
    """The names of a package and of all that it requires here, as far as these are installed."""
    wanted = Requirement(entry)
    names = {canonicalize_name(wanted.name)}
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for other in importlib.metadata.requires(wanted.name) or ():
            marker = Requirement(other).marker
            if marker is None or any(
                marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)
            ):
                names |= installed_with(other)
    return names


@pytest.mark.parametrize("extra", ["embedded", "dev"])
def test_all_that_is_installed_is_pinned(extra):
    entries = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]]
    assert set().union(*map(installed_with, entries)) - PINS.keys() == set()


def test_no_spark_is_installed_but_by_an_extra_and_its_client_not_beside_it():
    given = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    names = {
        extra: {Requirement(entry).name for entry in entries} for extra, entries in given.items()
    }
    assert not {"pyspark", "pyspark-client", "pysail", "py4j", "grpcio"} & names[""]
    assert [extra for extra in names if "pyspark" in names[extra]] == ["spark", "dev"]
    assert [extra for extra in names if "pyspark-client" in names[extra]] == ["embedded"]


@pytest.fixture
def installed(tmp_path):
    """What environment.sh gives to Python, in a copy of the project whose Python only writes that down."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for file in ("pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / file, tmp_path)
    program(tmp_path / ".venv/bin/python", 'echo "$@" >>"$(dirname "$0")/../../log"')

    def install(extras, **environment):
        (tmp_path / "log").write_text("", encoding="utf-8")
        command = ["bash", "-euc", f"source scripts/environment.sh {extras}"]
        subprocess.run(
            command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", **environment}, check=True
        )
        lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
        return [line.split()[-1] for line in lines if "-m pip" in line]

    install.folder = tmp_path
    return install


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def test_an_environment_is_made_once_and_pyspark_takes_the_place_of_its_client(installed):
    assert installed("embedded") == [".[embedded]"]
    assert installed("embedded") == []
    assert installed("dev") == ["pyspark-client", ".[dev]"]
    program(installed.folder / ".venv/bin/spark-submit", "")
    # What has pyspark keeps it, and has the embedded engine.
    assert installed("embedded") == []
    assert installed("dev") == []
    assert installed("embedded,delta")[-1] == ".[dev,delta]"


@pytest.mark.parametrize(("python", "code"), [("exit 1", 4), (None, 2)])
def test_a_night_that_cannot_be_installed_is_told_and_repeated_where_that_helps(
    installed, python, code
):
    shutil.rmtree(installed.folder / ".venv")
    if python:
        program(installed.folder / ".venv/bin/python", python)
    night = ["scripts/nightly.sh", "2020-01-02", "pyproject.toml"]
    environment = {"PATH": "/usr/bin:/bin", "NDCG_SPARK_PYTHON": "nowhere"}
    done = subprocess.run(
        night, cwd=installed.folder, env=environment, capture_output=True, text=True, check=False
    )
    told = [line.split()[3] for line in done.stderr.splitlines() if " nightly: " in line]
    assert (done.returncode, told) == (code, ["begin", "end"]), done.stderr


def test_another_spark_is_installed_in_place_of_the_pinned_one(installed):
    installed("dev", SPARK_VERSION="4.0")
    pins = (installed.folder / ".venv/constraints.txt").read_text(encoding="utf-8").splitlines()
    expected = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert [pin for pin in pins if pin not in expected] == ["pyspark==4.0.*"]
    assert len(pins) == len(expected)
    assert installed("dev") == ["pyspark-client", ".[dev]"]


@pytest.fixture(scope="module")
def jobs():
    """The jobs of the workflow on CI."""
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / ".github/workflows/check.yaml").read_text(encoding="utf-8"))[
        "jobs"
    ]


def test_ci_tests_every_version_that_the_guide_names(jobs):
    matrix = jobs["check"]["strategy"]["matrix"]
    guide = (
        (ROOT / "conf/README.md")
        .read_text(encoding="utf-8")
        .partition("## What it was tested with")[2]
    )
    table = guide.partition("\n## ")[0]
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == pythons
    assert sorted(set(re.findall(r"Spark ([4-9]\.\d)", table))) == matrix["spark"]
    assert set(pythons) <= set(re.findall(r"3\.1\d", table))
    assert jobs["check"]["steps"][-1]["run"] == "scripts/check.sh"
