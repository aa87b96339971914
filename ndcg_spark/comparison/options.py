"""The options of a comparison: its measures, its test, its limits."""

import dataclasses

from pyspark.sql.types import DoubleType

from ndcg_spark.comparison.statistics import CORRECTIONS
from ndcg_spark.convention.cutoffs import Cutoff, ascending
from ndcg_spark.convention.requests import columns_of
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.plain import did_you_mean
from ndcg_spark.schemas import QUERY_SCORES

#: The columns of QUERY_SCORES that can be compared.
SCORES = tuple(field.name for field in QUERY_SCORES if field.dataType == DoubleType())
TESTS = ("t", "randomization")
#: A slice of fewer queries is not tested by default.
MIN_QUERIES = 10


@dataclasses.dataclass(frozen=True)
class ComparisonOptions:
    """The options of a comparison; ConfigurationError for one that has no meaning."""

    measures: tuple[str, ...] = ("ndcg",)
    alpha: float = 0.05
    correction: str = "holm"
    test: str = "t"
    tie: float = 1e-9
    #: The sizes of losses that are counted; the first is that of `large_losses`.
    losses: tuple[float, ...] = (0.2,)
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
        if not all(0 < loss < float("inf") for loss in self.losses):
            raise ConfigurationError(f"losses: {self.losses!r} are not differences above 0; 0.2 is usual")


def measures_of(text: str) -> dict[str, list[Cutoff] | None]:
    """Columns of scores and their cutoffs, of a text like ``ndcg@10,dcg,P@5 AP``; None is every cutoff.

    Raises
    ------
    ConfigurationError
        A measure or a cutoff is unknown.
    """
    found: dict[str, list[Cutoff] | None] = {}
    for column, cutoff in columns_of(text, SCORES):
        before = found.get(column, [])
        if cutoff == "each" or before is None:
            found[column] = None
        else:
            found[column] = ascending([*before, None if cutoff == "all" else int(cutoff)])
    return found


def _refuse_unknown(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        near = did_you_mean(str(value), known)
        raise ConfigurationError(f"{name}: unknown {name} {value!r}{near}; choose {', '.join(known)}")
