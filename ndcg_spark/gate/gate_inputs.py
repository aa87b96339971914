"""A night to judge, with everything that its gate reads."""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.gate.settings import CheckConfig, GateConfig
from ndcg_spark.nights.log import Night, Nights


@dataclasses.dataclass(frozen=True)
class GateInputs:
    gate: GateConfig
    tonight: Night
    #: All nights that tonight may be compared with, and tonight itself.
    nights: Nights
    scores: ScoreCache
    #: Attributes and weights of queries; attributes that the night keeps take precedence.
    options: ComparisonOptions

    @property
    def runs(self) -> Sequence[str]:
        """Tonight's runs that returned anything."""
        return self.scores.runs_of(self.tonight)

    @property
    def checks(self) -> list[tuple[str, CheckConfig]]:
        """The checks of tonight's dataset, each with its name."""
        return self.gate.checks(self.tonight.dataset)
