"""What a comparison is asked: its measures, its test, its limits."""

import dataclasses

from ndcg_spark.comparison.statistics import CORRECTIONS
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import did_you_mean

#: The tests that can be asked for.
TESTS = ("t", "randomization")
#: A slice of fewer queries is not tested unless it is asked for.
MIN_QUERIES = 10


@dataclasses.dataclass(frozen=True)
class Asked:
    """The options of a comparison; ConfigurationError for one that has no meaning."""

    measures: tuple[str, ...] = ("ndcg",)
    alpha: float = 0.05
    correction: str = "holm"
    test: str = "t"
    tie: float = 1e-9
    large_loss: float = 0.2
    min_queries: int = MIN_QUERIES
    seed: int = 0

    def __post_init__(self) -> None:
        _refuse_unknown("correction", self.correction, tuple(CORRECTIONS))
        _refuse_unknown("test", self.test, TESTS)
        if not self.measures or len(set(self.measures)) < len(self.measures):
            raise ConfigurationError(f"measure: {', '.join(self.measures) or 'none'}; name each measure once")
        if not 0 < self.alpha < 1:
            raise ConfigurationError(f"alpha: {self.alpha!r} is not between 0 and 1; 0.05 is usual")
        if not 0 <= self.tie < float("inf"):
            raise ConfigurationError(
                f"tie: {self.tie!r} is not a difference of 0 or more; 1e-9 makes ties of equal scores"
            )
        if not 0 < self.large_loss < float("inf"):
            raise ConfigurationError(f"large_loss: {self.large_loss!r} is not a difference above 0; 0.2 is usual")


def _refuse_unknown(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        near = did_you_mean(str(given), known)
        raise ConfigurationError(f"{name}: unknown {name} {given!r}{near}; one of {', '.join(known)}")
