"""Slow tests wait for --slow or for their file's name, and a line says how many were left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from slow import SlowTests

def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true")

def pytest_configure(config):
    for marker in ("slow", "spark"):
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(SlowTests(config))
"""
TESTS = """
import pytest

def test_quick(): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.slow
@pytest.mark.spark
def test_of_spark(): pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tests")
    (made / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (made / "test_it.py").write_text(TESTS, encoding="utf-8")
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "ran", "left_out"),
    [([], 2, 1), (["-m", "not spark", "-n", "1"], 1, 1), (["test_it.py::test_slow"], 1, 0)],
)
def test_slow_tests_are_left_out_and_counted_unless_they_are_asked_for(folder, arguments, ran, left_out):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "xdist.plugin", *arguments]
    support = str(Path(__file__).parent / "support")
    environment = {**os.environ, "PYTHONPATH": support, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout
    assert f"{ran} passed" in done.stdout
    said = f"{left_out} slow test(s) were left out; scripts/check.sh runs them"
    assert [line for line in done.stdout.splitlines() if "left out" in line] == [said] * bool(left_out)
