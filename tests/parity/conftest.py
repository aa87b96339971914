"""The random cases under the presets that are asked for, each scored once for all tests."""

import functools
import json

import pytest
import score


@pytest.fixture(scope="session")
def seeds(request, thorough):
    return list(range(request.config.getoption("--parity-seeds") or (20 if thorough else 2)))


@pytest.fixture(scope="session")
def ours(session, seeds):
    """The scores of a preset on the embedded engine, computed when they are asked for."""
    return functools.cache(lambda preset: scored(preset, seeds, False))


@pytest.fixture(scope="session")
def measured(session, seeds):
    """The same with measures beside NDCG, for the presets whose tools have them."""
    return functools.cache(lambda preset: scored(preset, seeds, True))


def scored(*arguments):
    return json.loads(score.as_json(*arguments))
