"""What the command `compare` is asked for: which night, against what, by which measures and test."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence

from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.errors import ConfigurationError

#: What --baseline-date takes beside a date.
LAST_GOOD = "last_good"


@dataclasses.dataclass(frozen=True)
class Request:
    """What is compared with what, as the command line says it."""

    output: str
    #: Of the night; None for the newest.
    date: datetime.date | None = None
    dataset: str | None = None
    baseline: str | None = None
    #: A date, or LAST_GOOD.
    baseline_date: str | None = None
    runs: Sequence[str] | None = None
    #: Measures and their cutoffs; None for NDCG at every cutoff.
    measures: Mapping[str, Sequence[Cutoff] | None] = dataclasses.field(default_factory=lambda: {"ndcg": None})
    slices: str | None = None
    weights: str | None = None
    correction: str = "holm"
    test: str = "t"
    alpha: float = 0.05
    queries: int = 0
    engine: str = "auto"
    remote: str | None = None

    def __post_init__(self) -> None:
        if self.baseline is None and self.baseline_date is None:
            raise ConfigurationError(
                f"arguments: there is no baseline; give --baseline RUN, or --baseline-date YYYY-MM-DD or {LAST_GOOD}"
            )
        if self.baseline_date not in (None, LAST_GOOD):
            date_of("baseline-date", self.baseline_date)


def date_of(option: str, given: str | None) -> datetime.date | None:
    """The date that an option gives. ConfigurationError if it is none."""
    if given is None:
        return None
    try:
        return datetime.date.fromisoformat(given)
    except ValueError:
        raise ConfigurationError(f"arguments: --{option} {given!r} is not a date; write YYYY-MM-DD") from None
