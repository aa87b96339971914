"""Whole evaluations of two small files, on the engine of the tests."""

import pytest
from evaluations import configuration, evaluated


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """Makes configurations of two small files in the current folder; what a test is about goes on top."""
    monkeypatch.chdir(tmp_path)
    return configuration(tmp_path)


@pytest.fixture
def run(session):
    """Evaluates on each engine; a test that is not about engines calls `evaluated`."""
    return evaluated
