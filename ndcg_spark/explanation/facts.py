"""What an explanation is made of: one query of one run as an evaluation scored it, and the request for it."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.convention.parsing import parse_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import unknown_name

Row = Mapping[str, Any]


@final
@dataclasses.dataclass(frozen=True)
class ReturnedDocument:
    """A document that the run returned."""

    doc_id: str
    #: Its rank in the scored list, from 1; None if the convention removes it from that list.
    rank: int | None
    #: Its rank in the list as returned, from 1, and a number that tied documents share.
    returned_rank: int
    tie_group: int
    #: None if the results have ranks only.
    score: float | None
    #: None if it is unjudged.
    relevance: float | None
    #: Its own gain, and the gain at its rank: with averaged ties the mean of its tie group.
    own_gain: float
    gain: float
    tied: bool


@dataclasses.dataclass(frozen=True)
class Facts:
    """One query of one run at one cutoff, None for the whole ranking."""

    dataset: str
    run: str
    query_id: str
    cutoff: Cutoff
    convention: Convention
    score: reference.Score
    returned: Sequence[ReturnedDocument]
    #: The grade and the gain of each judged document; the gain is None if its grade is negative and ignored.
    judged: Mapping[str, tuple[float, float | None]]
    #: Whether `returned` has the whole list and `judged` every judged document. If not, both have only documents within
    #: the cutoff, which is what a published night keeps.
    whole: bool = True

    @functools.cached_property
    def discounts(self) -> list[float]:
        """The discounts of at least the ranks that a document may have, actually or ideally."""
        depth = max(len(self.returned), len(self.judged), self.cutoff or 0)
        return reference.discounts(depth, self.convention.discount)

    @functools.cached_property
    def listed(self) -> list[ReturnedDocument]:
        """The documents of the scored list, by rank."""
        return sorted((row for row in self.returned if row.rank is not None), key=lambda row: row.rank or 0)

    @functools.cached_property
    def ideal(self) -> list[tuple[str | None, float]]:
        """The documents of the ideal ranking and their gains, by rank; None for any relevant document."""
        gains = {document: gain for document, (_, gain) in self.judged.items() if gain is not None}
        if self.convention.ideal == "retrieved":
            gains = {row.doc_id: row.own_gain for row in self.listed}
        first = [row.doc_id for row in self.listed]
        return reference.ideal_ranking(gains, self.convention, self.cutoff, len(first), first)

    def is_within(self, rank: int | None) -> bool:
        """Whether a rank is within the cutoff."""
        return rank is not None and (self.cutoff is None or rank <= self.cutoff)


def query_facts(
    score: Row, returned: Iterable[Row], judged: Iterable[Row], convention: Convention, whole: bool = True
) -> Facts:
    """The facts of one run.

    `score` is its row of QUERY_SCORES at the cutoff to explain, `returned` are rows of `returned_documents` of this and
    perhaps of other runs, `judged` have doc_id, relevance and gain of the judged documents of the query.
    """
    score_names, names = ([f.name for f in dataclasses.fields(kind)] for kind in (reference.Score, ReturnedDocument))
    own = (row if row["on_list"] else {**row, "rank": None, "tied": False} for row in returned)
    return Facts(
        **{name: score[name] for name in ("dataset", "run", "query_id", "cutoff")},
        convention=convention,
        score=reference.Score(**{name: score[name] for name in score_names}),
        returned=[ReturnedDocument(**{name: row[name] for name in names}) for row in own if row["run"] == score["run"]],
        judged={row["doc_id"]: (row["relevance"], row["gain"]) for row in judged},
        whole=whole,
    )


@dataclasses.dataclass(frozen=True)
class ExplainRequest:
    """Which query to explain, of which run and dataset, and the run that it is compared with."""

    query: str
    run: str | None = None
    baseline: str | None = None
    dataset: str | None = None
    #: `all` or a rank; None for the main cutoff of the evaluation.
    cutoff: str | None = None
    #: The night that it is compared with.
    baseline_date: str | None = None

    def cutoff_or(self, default: Cutoff) -> Cutoff:
        """The requested cutoff, or the default. Raises ConfigurationError."""
        return default if self.cutoff is None else parse_cutoff(self.cutoff)

    def dataset_from(self, known: Sequence[str]) -> str:
        """The requested dataset, or the only one. Raises ConfigurationError."""
        if self.dataset is None and len(known) > 1:
            raise ConfigurationError(f"dataset: there are {len(known)}, e.g. {known[0]!r}; choose one with --dataset")
        if self.dataset not in (None, *known):
            raise unknown_name("dataset", "dataset", str(self.dataset), known)
        return self.dataset or known[0]

    def runs(self, known: Sequence[str]) -> list[str]:
        """The runs to explain, and the baseline. Raises ConfigurationError."""
        for option, name in (("run", self.run), ("baseline", self.baseline)):
            if name not in (None, *known):
                raise unknown_name(option, "run", str(name), known)
        runs = [name for name in known if name != self.baseline and self.run in (None, name)]
        if not runs:
            raise ConfigurationError(f"baseline: {self.baseline!r} leaves no run to explain; choose another --baseline")
        return [*runs, *filter(None, [self.baseline])]
