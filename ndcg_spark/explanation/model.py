"""The facts of an explanation (one query of one run as an evaluation scored it), and its findings."""

import dataclasses
import functools
from collections.abc import Sequence

from ndcg_spark.convention.convention import Convention

#: The name of a document in the ideal ranking if the convention needs more relevant documents than there are.
ANY_RELEVANT = "(any relevant document)"


@dataclasses.dataclass(frozen=True)
class ReturnedDocument:
    """A document that the run returned."""

    doc_id: str
    #: Its rank in the scored list, from 1; None if the convention removes it from that list.
    rank: int | None
    #: Its rank in the list as returned, from 1, and a number that tied documents share.
    place: int
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
class JudgedDocument:
    """A judged document. Its gain is None if its grade is negative and ignored."""

    doc_id: str
    relevance: float
    gain: float | None


@dataclasses.dataclass(frozen=True)
class Score:
    """The evaluation's scores of the query: a row of QUERY_SCORES without its key."""

    status: str
    ndcg: float | None
    dcg: float
    ideal_dcg: float
    returned: int
    judged: int


@dataclasses.dataclass(frozen=True)
class Facts:
    """One query of one run at one cutoff."""

    dataset: str
    run: str
    query_id: str
    #: None for the whole ranking.
    cutoff: int | None
    convention: Convention
    score: Score
    returned: Sequence[ReturnedDocument]
    judged: Sequence[JudgedDocument]
    #: The discount of every rank from 1, for one rank more than the longer list has.
    discounts: Sequence[float]
    #: Whether `returned` has the whole list and `judged` every judged document. If not, both have only documents within
    #: the cutoff, which is what a published night keeps.
    whole: bool = True

    @functools.cached_property
    def listed(self) -> list[ReturnedDocument]:
        """The documents of the scored list, by rank."""
        return sorted((each for each in self.returned if each.rank is not None), key=lambda each: each.rank or 0)

    @property
    def ideal_gains(self) -> dict[str, float]:
        """The gains of the documents in the ideal ranking, by document."""
        if self.convention.ideal == "retrieved":
            return {each.doc_id: each.own_gain for each in self.listed}
        return {each.doc_id: each.gain for each in self.judged if each.gain is not None}


@dataclasses.dataclass(frozen=True)
class RankLine:
    """One rank: its document and contribution, and the document of the ideal ranking and its contribution."""

    rank: int
    #: This and the following fields, except the discount, are None below the end of the list.
    doc_id: str | None
    score: float | None
    tied: bool
    relevance: float | None
    gain: float | None
    discount: float
    contribution: float | None
    ideal_doc_id: str | None
    ideal_contribution: float | None
    #: NDCG with this rank as the cutoff; None where the ideal DCG is 0 or not known.
    ndcg: float | None


@dataclasses.dataclass(frozen=True)
class Loss:
    """How much less (above 0) or more (below 0) a document adds than in the ideal ranking."""

    doc_id: str
    relevance: float | None
    #: Its rank in the scored list, None if it is not in it; `where` says where it is.
    rank: int | None
    where: str
    #: None if it is not within the cutoff of the ideal ranking.
    ideal_rank: int | None
    gain: float
    loss: float


@dataclasses.dataclass(frozen=True)
class UnjudgedDocument:
    """An unjudged document within the cutoff, or one that would be there if it were judged."""

    doc_id: str
    #: None if the convention removes it from the list.
    rank: int | None


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The explanation of one query of one run."""

    facts: Facts
    lines: list[RankLine]
    #: The losses that are not 0, the largest first. They sum to ideal DCG - DCG.
    losses: list[Loss]
    #: The relevant documents that are not within the cutoff.
    absent: list[Loss]
    unjudged: list[UnjudgedDocument]
    #: Whether every document of the ideal ranking is known. If not, there are only `lines`, without their ideal.
    ideal_known: bool
