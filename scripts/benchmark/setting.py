"""What a scenario is, and the setting that every one is built from."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scripts.benchmark.data import Data, Size, make, make_unranked, warm_up
from scripts.benchmark.programs import Program

#: The figures of every program, and of every case that a program counts, by its name.
Figures = Mapping[str, Mapping[str, float]]


@dataclasses.dataclass(frozen=True)
class Target:
    """A ratio of two programs' medians, or one program's own figure, and the most it may be."""

    what: str
    of: str
    limit: float
    against: str | None = None
    #: seconds or peak_gb; of what a program counts, the name of a count
    figure: str = "seconds"


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Programs that are run in turn, and what is expected of them."""

    title: str
    programs: Sequence[Program]
    targets: Sequence[Target]
    #: The program that the others are shown as multiples of.
    reference: str
    #: Programs left out, each with the reason.
    skipped: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Tables of what the programs count, as lines of Markdown.
    tables: Callable[[Figures], list[str]] = lambda counted: []


@dataclasses.dataclass(frozen=True)
class Setting:
    """What every scenario is built from."""

    size: Size
    cutoffs: str
    cache: Path
    rounds: int
    #: What the sizes of all data are multiplied by.
    scale: float = 1.0

    def scaled(self, number: int, least: int = 1) -> int:
        """The number at this scale."""
        return max(least, round(number * self.scale))

    def data(self, **changes: int) -> Data:
        """The data of this size, or another, in memory already."""
        data = make(dataclasses.replace(self.size, **changes), self.cache)
        warm_up(data.folder)
        return data

    def with_unranked(self, **changes: int) -> Data:
        """The data of one run, or with other changes, and the same without ranks."""
        data = make(dataclasses.replace(self.size, **{"runs": 1, **changes}), self.cache)
        make_unranked(data)
        warm_up(data.folder)
        return data
