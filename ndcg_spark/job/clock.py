"""The steps of a command, and how long each takes."""

import contextlib
import time
from collections.abc import Callable, Iterator

#: Called when a step is done, with the name of the step and a sentence for the user.
ReportStep = Callable[[str, str], None]
#: Called when a step begins, with what it does.
AnnounceStep = Callable[[str], object]


class Clock:
    """Measures steps in seconds, and announces each; a step that runs more than once is summed up."""

    def __init__(self, announce: AnnounceStep = lambda _: None) -> None:
        self._announce = announce
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @contextlib.contextmanager
    def step(self, name: str, activity: str) -> Iterator[None]:
        """Measure the block as the step of this name, and announce what it does."""
        self._announce(activity)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)

    def with_total(self) -> dict[str, float]:
        """The seconds of every step so far, and in all since the clock was made."""
        return {**self.seconds, "total": round(time.perf_counter() - self._start, 3)}
