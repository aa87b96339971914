"""The seconds that each step of an evaluation takes."""

import contextlib
import time
from collections.abc import Iterator


class Clock:
    """Seconds of each step, of all its times, and of all steps."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time the block as the step of this name."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)

    def with_total(self) -> dict[str, float]:
        """The seconds of every step so far, and since the start."""
        return {**self.seconds, "total": round(time.perf_counter() - self._start, 3)}
