"""The same small evaluation on every engine, each in a process of its own, gives the same numbers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("evaluate_on.py")


def scores_on(engine: str) -> dict[str, list[list[object]]]:
    done = subprocess.run([sys.executable, str(PROGRAM), engine], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def embedded():
    return scores_on("embedded")


@pytest.mark.parametrize("engine", ["classic", "connect"])
def test_another_engine_gives_the_scores_of_the_embedded_one(embedded, engine):
    found = scores_on(engine)
    assert found.keys() == embedded.keys()
    for name, rows in embedded.items():
        assert [row[:5] for row in found[name]] == [row[:5] for row in rows], name
        numbers = [value for row in rows for value in row[5:]]
        assert [v for row in found[name] for v in row[5:]] == pytest.approx(numbers, abs=1e-12, nan_ok=False), name
