"""The request for an explanation: which query, of which dataset, runs and cutoff."""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.convention import cutoffs
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.model import Explanation, Facts
from ndcg_spark.text import unknown_name

#: If no run is named, at most this many runs are explained.
MOST_RUNS = 10


@dataclasses.dataclass(frozen=True)
class ExplainRequest:
    """The query to explain, its run, the baseline and the cutoff."""

    query: str
    run: str | None = None
    baseline: str | None = None
    dataset: str | None = None
    #: `all` or a rank; None for the main cutoff of the evaluation.
    cutoff: str | None = None

    def cutoff_or(self, default: Cutoff) -> Cutoff:
        """The requested cutoff, or the default. Raises ConfigurationError."""
        return default if self.cutoff is None else cutoffs.parse_cutoff(self.cutoff)

    def dataset_of(self, known: Sequence[str]) -> str:
        """The requested dataset, or the only one. Raises ConfigurationError."""
        if self.dataset is None and len(known) == 1:
            return known[0]
        if self.dataset is None:
            raise ConfigurationError(f"dataset: there are {len(known)}, e.g. {known[0]!r}; choose one with --dataset")
        if self.dataset not in known:
            raise unknown_name("dataset", "dataset", self.dataset, known)
        return self.dataset

    def runs(self, known: Sequence[str]) -> list[str]:
        """The runs to explain, and the baseline. Raises ConfigurationError."""
        for option, name in (("run", self.run), ("baseline", self.baseline)):
            if name is not None and name not in known:
                raise unknown_name(option, "run", name, known)
        if self.run is not None and self.run == self.baseline:
            raise ConfigurationError(f"baseline: {self.run!r} is the run itself; choose another --baseline")
        runs = [self.run] if self.run is not None else [name for name in known if name != self.baseline]
        if not runs:
            raise ConfigurationError(f"run: {self.baseline!r} is the only run, and the baseline; omit --baseline")
        if len(runs) > MOST_RUNS:
            raise ConfigurationError(
                f"run: {len(runs)} runs match and at most {MOST_RUNS} are explained at once, e.g. {runs[0]!r}; choose "
                "one with --run"
            )
        return list(dict.fromkeys([*runs, *([self.baseline] if self.baseline is not None else [])]))


@dataclasses.dataclass(frozen=True)
class Explained:
    """The explanations of the requested runs, and the facts of the baseline, if there is one."""

    explanations: list[Explanation]
    baseline: Facts | None = None
