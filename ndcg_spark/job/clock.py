"""Which step of an evaluation is under way, and how long each takes."""

import contextlib
import time
from collections.abc import Iterator

from ndcg_spark.job.under_way import Doing


class Clock:
    """Measures steps in seconds; a step that runs more than once is summed up.

    `doing` is told what a step does when it begins.
    """

    def __init__(self, doing: Doing = lambda _: None) -> None:
        self._doing = doing
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @contextlib.contextmanager
    def step(self, name: str, does: str) -> Iterator[None]:
        """Measure the block as the step of this name, and tell what it does."""
        self._doing(does)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)

    def with_total(self) -> dict[str, float]:
        """The seconds of every step so far, and in all since the clock was made."""
        return {**self.seconds, "total": round(time.perf_counter() - self._start, 3)}
