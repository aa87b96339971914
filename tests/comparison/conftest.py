"""An engine for the comparisons of a process."""

from collections.abc import Iterator

import pytest
from compare_on import Elsewhere, elsewhere


@pytest.fixture(scope="session")
def embedded() -> Iterator[Elsewhere]:
    with elsewhere("embedded") as opened:
        yield opened
