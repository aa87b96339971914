"""What a scenario is, and the setting that every one is built from."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.benchmark.data import QUERIES, Data, Size, make
from scripts.benchmark.programs import Program

#: The figures of every program, and of every case that a program counts, by its name.
Figures = Mapping[str, Mapping[str, float]]


@dataclasses.dataclass(frozen=True)
class Target:
    """A ratio of two programs' medians, or one program's own figure, and the most it may be."""

    of: str
    limit: float
    against: str | None = None
    #: seconds, peak_gb or busy, see `report.medians`; of what a program counts, the name of a count
    figure: str = "seconds"

    @property
    def what(self) -> str:
        """The target in words."""
        figure = self.figure.replace("_", " ")
        return f"{self.of}: {figure}" + (f", against {self.against}" if self.against else "")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Programs that are run in turn, and what is expected of them; the others are shown as multiples of the first."""

    title: str
    programs: Sequence[Program]
    targets: Sequence[Target] = ()


@dataclasses.dataclass(frozen=True)
class Setting:
    """What every scenario is built from."""

    cache: Path
    rounds: int = 1
    #: What the sizes of all data are multiplied by.
    scale: float = 1.0
    seed: int = 0

    def scaled(self, number: int, least: int = 1) -> int:
        """The number at this scale."""
        return max(least, round(number * self.scale))

    def data(self, queries: int = QUERIES, **changes: int) -> Data:
        """The data of so many queries at this scale."""
        return make(Size(self.scaled(queries, min(queries, 20)), seed=self.seed, **changes), self.cache)
