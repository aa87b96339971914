"""The random cases under every preset, scored once for all the tests of a file."""

import json
from pathlib import Path

import pytest
import score
from programs import forked

from ndcg_spark.convention.presets import PRESETS


@pytest.fixture(scope="session")
def seeds(request, thorough):
    return list(range(request.config.getoption("--parity-seeds") or (20 if thorough else 2)))


@pytest.fixture(scope="session")
def ours(seeds):
    """The scores of every preset on the embedded engine, in a process of its own."""
    return printed(seeds, PRESETS, False)


@pytest.fixture(scope="session")
def measured(seeds):
    """The same of those presets whose tools have measures beside NDCG, with these."""
    return printed(seeds, score.MEASURED, True)


def printed(*arguments):
    done = forked(score.main, *arguments, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
