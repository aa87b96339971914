"""Random nights, from files to published scores, are those of plain Python."""

import nightly_road
import pytest


def seeds(config):
    """The seeds of --road-seeds, N or FROM:TO; by default few, and fewer on classic Spark."""
    first, colon, last = (config.getoption("--road-seeds") or "").partition(":")
    if first:
        return range(int(first), int(last)) if colon else range(int(first))
    few, many = (10, 200) if config.getoption("--engine") == "embedded" else (3, 40)
    return range(many if config.getoption("--thorough") else few)


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config))


@pytest.mark.slow
def test_a_random_night_is_that_of_plain_python(session, tmp_path, seed):
    assert nightly_road.walk(seed, tmp_path)[:10] == []
