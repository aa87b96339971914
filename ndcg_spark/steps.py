"""The steps of a command, logged when they begin and when they are done, and timed. The library
prints none.
"""

import contextlib
import logging
import time
from collections.abc import Iterator

from ndcg_spark.voices import Notice

#: Finished steps are records with a `step`; an activity in progress is a record of level DEBUG.
LOGGER = logging.getLogger("ndcg_spark.steps")


def report_step(step: str, sentence: str | Notice, level: int = logging.INFO) -> None:
    """Log that a step is done. A `warning` and `rejected` rows are logged as warnings."""
    LOGGER.log(
        logging.WARNING if step in ("warning", "rejected") else level,
        "%s",
        sentence,
        extra={"step": step},
    )


@contextlib.contextmanager
def hidden(*steps: str) -> Iterator[None]:
    """Log none of these steps within the block, or no steps at all without names."""

    def is_shown(record: logging.LogRecord) -> bool:
        return bool(steps) and getattr(record, "step", None) not in steps

    LOGGER.addFilter(is_shown)
    try:
        yield
    finally:
        LOGGER.removeFilter(is_shown)


class Clock:
    """Measures steps in seconds and logs what they do. The times of a step that runs several times
    are added.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @contextlib.contextmanager
    def step(self, name: str, activity: str) -> Iterator[None]:
        LOGGER.debug("%s", activity)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)

    def with_total(self) -> dict[str, float]:
        return {**self.seconds, "total": round(time.perf_counter() - self._start, 3)}
