"""The options of a comparison: its measures, its correction, its limits."""

import dataclasses
from collections.abc import Mapping, Sequence

from ndcg_spark.comparison.statistics import CORRECTIONS
from ndcg_spark.convention.cutoffs import Cutoff, ascending, parse_cutoff
from ndcg_spark.convention.measures import COLUMNS
from ndcg_spark.convention.parsing import columns_of
from ndcg_spark.errors import ConfigurationError

#: The columns of QUERY_SCORES that can be compared.
SCORES = ("ndcg", "dcg", "ideal_dcg", "cg", *COLUMNS)


@dataclasses.dataclass(frozen=True)
class ComparisonOptions:
    """The options of a comparison; raises ConfigurationError for an invalid one."""

    #: Columns of numbers, each with the cutoffs at which to compare it; None for all cutoffs that were evaluated.
    measures: Mapping[str, Sequence[Cutoff] | None] = dataclasses.field(default_factory=lambda: {"ndcg": None})
    #: Intervals cover 1 - alpha.
    alpha: float = 0.05
    #: How p values are adjusted for their number: one of CORRECTIONS.
    correction: str = "holm"
    #: The sizes of losses that are counted; the first is that of `large_losses`.
    losses: tuple[float, ...] = (0.2,)
    #: A slice of fewer paired queries is not tested.
    min_queries: int = 10
    #: The largest difference that does not matter: runs that certainly differ by less are the same.
    margin: float = 0.01
    #: Leave out queries whose judgments are not those of the baseline's night.
    unchanged_queries: bool = False
    #: Draw random signs only for losses that the t test finds significant.
    only_losses: bool = False
    #: Draw so many signs that every p value of the randomization test is precise.
    precise: bool = False

    def __post_init__(self) -> None:
        if self.correction not in CORRECTIONS:
            raise ConfigurationError(f"correction: unknown {self.correction!r}; choose {', '.join(CORRECTIONS)}")
        if not 0 < self.alpha < 1:
            raise ConfigurationError(f"alpha: {self.alpha!r} is not between 0 and 1; 0.05 is usual")
        if not 0 < self.margin < float("inf"):
            raise ConfigurationError(f"margin: {self.margin!r} is not a difference above 0; 0.01 is usual")


def measures_of(text: str) -> dict[str, list[Cutoff] | None]:
    """Columns of scores and their cutoffs from a text like ``ndcg@10,dcg,P@5 AP``; None stands for every cutoff.

    Raises ConfigurationError for an unknown measure or cutoff.
    """
    measures: dict[str, list[Cutoff] | None] = {}
    for column, cutoff in columns_of(text, SCORES):
        before = measures.get(column, [])
        if cutoff == "each" or before is None:
            measures[column] = None
        else:
            measures[column] = ascending([*before, parse_cutoff(cutoff)])
    return measures
