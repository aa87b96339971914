"""A whole evaluation, from a configuration to what it publishes, on an engine of choice."""

import json
import subprocess
import sys
from pathlib import Path

from ndcg_spark import config
from ndcg_spark.job import evaluating


def on_spark(settings: dict) -> None:
    """On the classic session of the tests."""
    evaluating.run(config.validate(settings, "test"), lambda *_: None)


def on_embedded(settings: dict) -> None:
    """In a process of its own, as a process is either classic or embedded."""
    program = (
        "import json, sys; from ndcg_spark import config; from ndcg_spark.job import evaluating;"
        "evaluating.run(config.validate({**json.load(sys.stdin), 'engine': 'embedded'}, 'x'), lambda *_: None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(settings),
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-2000:]
