"""Whole evaluations of two small files, on the engine of the tests."""

import pytest
from evaluations import configuration


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """Makes configurations of two small files in the current folder; what a test is about goes on top."""
    monkeypatch.chdir(tmp_path)
    return configuration(tmp_path)
