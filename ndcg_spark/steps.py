"""The steps of a command, which are timed, and logged when they begin and when they are done.

The Python functions do not print them.
"""

import contextlib
import logging
import time
from collections.abc import Iterator

from ndcg_spark.voices import Notice

#: A finished step is a record with an attribute `step`, an activity in progress a DEBUG record.
LOGGER = logging.getLogger("ndcg_spark.steps")


def report_step(step: str, sentence: str | Notice, level: int = logging.INFO) -> None:
    """Log that a step is done. The steps `warning` and `rejected` are logged as warnings."""
    if step in ("warning", "rejected"):
        level = logging.WARNING
    LOGGER.log(level, "%s", sentence, extra={"step": step})


@contextlib.contextmanager
def hidden(*steps: str) -> Iterator[None]:
    """Do not log these steps within the block, or any step if none is named."""
    hides_all = not steps

    def is_shown(record: logging.LogRecord) -> bool:
        return not hides_all and getattr(record, "step", None) not in steps

    LOGGER.addFilter(is_shown)
    try:
        yield
    finally:
        LOGGER.removeFilter(is_shown)


@contextlib.contextmanager
def kept_warnings() -> Iterator[list[str | Notice]]:
    """The warnings that are logged within the block, each once."""
    keeper = _WarningKeeper(logging.WARNING)
    LOGGER.addHandler(keeper)
    try:
        yield keeper.warnings
    finally:
        LOGGER.removeHandler(keeper)


class _WarningKeeper(logging.Handler):
    """Keeps the sentences of warnings as they were given, before advice is worded."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.warnings: list[str | Notice] = []

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "step", None) != "warning":
            return
        sentence: str | Notice = record.getMessage()
        if isinstance(record.args, tuple) and isinstance(record.args[0], Notice):
            sentence = record.args[0]
        if sentence not in self.warnings:
            self.warnings.append(sentence)


class Clock:
    """Measures steps in seconds, and logs what they do.

    The times of a step that runs several times are added up.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @contextlib.contextmanager
    def step(self, name: str, activity: str) -> Iterator[None]:
        """Measure the block as the step `name`; `activity` says what it does."""
        LOGGER.debug("%s", activity)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)

    def with_total(self) -> dict[str, float]:
        """The seconds of each step, and the `total` since the clock was made."""
        return {**self.seconds, "total": round(time.perf_counter() - self._start, 3)}
