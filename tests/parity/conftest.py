"""The random cases under every preset, scored once for all the tests of this folder."""

import json
from pathlib import Path

import pytest
import score
from programs import forked


@pytest.fixture(scope="session")
def seeds(request, thorough):
    return list(range(request.config.getoption("--parity-seeds") or (20 if thorough else 2)))


@pytest.fixture(scope="session")
def ours(seeds):
    """The scores of every preset on the embedded engine, in a process of its own."""
    done = forked(score.main, seeds, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
