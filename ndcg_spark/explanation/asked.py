"""What is asked to be explained, and the error where there is no such thing, which names what is near."""

import dataclasses
import difflib
from collections.abc import Iterable, Sequence

from ndcg_spark.convention.cutoffs import Cutoff, ascending
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.explanation import Explanation
from ndcg_spark.explanation.facts import Facts

#: Without a run, at most so many are explained, one after another.
MOST_RUNS = 10
#: So many near names are told.
_NEAR = 3


@dataclasses.dataclass(frozen=True)
class Asked:
    """Which query is to be explained, of which run, against which baseline, at which cutoff."""

    query: str
    run: str | None = None
    baseline: str | None = None
    dataset: str | None = None
    #: `all` or a rank; None for the one that stands for the NDCG of the evaluation.
    cutoff: str | None = None

    def at(self, default: Cutoff) -> Cutoff:
        """The cutoff that was asked for, or the default. Raises ConfigurationError."""
        if self.cutoff is None:
            return default
        text = self.cutoff.strip()
        if text == "all":
            return None
        return ascending([int(text) if text.isascii() and text.isdecimal() else text])[0]

    def dataset_of(self, known: Sequence[str]) -> str:
        """The dataset that was asked for, or the only one. Raises ConfigurationError."""
        if self.dataset is None and len(known) == 1:
            return known[0]
        if self.dataset is None:
            raise ConfigurationError(f"dataset: there are {len(known)}, e.g. {known[0]!r}; name one with --dataset")
        if self.dataset not in known:
            raise unknown("dataset", self.dataset, known, len(known), "datasets")
        return self.dataset

    def runs(self, known: Sequence[str]) -> list[str]:
        """The runs to explain, and the baseline. Raises ConfigurationError."""
        for option, name in (("run", self.run), ("baseline", self.baseline)):
            if name is not None and name not in known:
                raise unknown(option, name, known, len(known), "runs")
        if self.run is not None and self.run == self.baseline:
            raise ConfigurationError(f"baseline: {self.run!r} is the run itself; name another --baseline")
        asked = [self.run] if self.run is not None else [name for name in known if name != self.baseline]
        if not asked:
            raise ConfigurationError(f"run: {self.baseline!r} is the only run, and the baseline; leave --baseline out")
        if len(asked) > MOST_RUNS:
            raise ConfigurationError(
                f"run: {len(asked)} runs answer to no --run, and {MOST_RUNS} are explained at once, e.g. "
                f"{asked[0]!r}; name one with --run"
            )
        return list(dict.fromkeys([*asked, *([self.baseline] if self.baseline is not None else [])]))


@dataclasses.dataclass(frozen=True)
class Explained:
    """The explanations of the runs that were asked for, and the facts of the baseline, if there is one."""

    explanations: list[Explanation]
    baseline: Facts | None = None


def unknown(what: str, name: str, near: Iterable[str], count: int, of: str) -> ConfigurationError:
    """The error for a name that is not among so many; `near` are all names, or some that include the nearest."""
    known = list(dict.fromkeys(near))
    alike = difflib.get_close_matches(name, known, n=_NEAR, cutoff=0.0)
    nearest = (
        f"; the nearest are {', '.join(map(repr, alike))}" if len(alike) > 1 else f"; the only one is {alike[0]!r}"
    )
    return ConfigurationError(
        f"{what}: none of the {count:,} {of} is called {name!r}{nearest if alike else ''}; check --{what}"
    )
