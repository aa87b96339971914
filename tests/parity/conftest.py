"""The random cases under every preset, scored once for all the tests of this folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def seeds(request, thorough):
    return list(range(request.config.getoption("--parity-seeds") or (20 if thorough else 2)))


@pytest.fixture(scope="session")
def ours(seeds):
    """The scores of every preset on the embedded engine, in a process of its own."""
    program = [sys.executable, str(Path(__file__).with_name("score.py")), *map(str, seeds)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
