"""Whole evaluations: of two small files, and on either engine where a test is about what the engine does."""

import pytest
from evaluations import configuration, evaluated, on_embedded


@pytest.fixture
def configured(tmp_path):
    """Makes configurations of two small files; what a test is about goes on top."""
    return configuration(tmp_path)


@pytest.fixture(params=["embedded", pytest.param("spark", marks=pytest.mark.spark)])
def run(request):
    """Evaluates on each engine; a test that is not about engines calls `on_embedded`, which is ten times as fast."""
    if request.param == "embedded":
        return on_embedded
    request.getfixturevalue("spark")
    return evaluated
