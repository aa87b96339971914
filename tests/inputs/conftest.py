"""What tests of inputs share."""

from collections.abc import Iterator

import pytest
from input_files import Session

from ndcg_spark.engine import Engine


@pytest.fixture
def no_engine() -> Iterator[Engine]:
    """What text and JSON need, which this process reads by itself: no engine is started."""
    engine = Engine(Session(), "embedded", "none that computes", sees_local_files=True)
    yield engine
    engine.scratch.remove()
