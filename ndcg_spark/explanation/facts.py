"""What an explanation is made of: one query of one run, as an evaluation has scored it."""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.convention.convention import Convention


@dataclasses.dataclass(frozen=True)
class Returned:
    """A document that the run returned."""

    doc_id: str
    #: Its rank in the list that is scored, from 1; None if the convention takes it off that list.
    rank: int | None
    #: Its rank in the list as it was returned, from 1, and a number that tied documents share.
    place: int
    tie_group: int
    #: None if the results have ranks only.
    score: float | None
    #: None if nobody judged it.
    relevance: float | None
    #: Its own gain, and the gain that counts at its rank: with averaged ties the mean of its tie group.
    own_gain: float
    gain: float
    tied: bool


@dataclasses.dataclass(frozen=True)
class Judged:
    """A judged document. Its gain is None if its grade is negative and does not count."""

    doc_id: str
    relevance: float
    gain: float | None


@dataclasses.dataclass(frozen=True)
class Grade:
    """A grade that an unjudged document could get, and what it would gain (None: as if it were not judged)."""

    relevance: float
    gain: float | None


@dataclasses.dataclass(frozen=True)
class Score:
    """What the evaluation says of the query: a row of QUERY_SCORES without its key."""

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
    returned: Sequence[Returned]
    judged: Sequence[Judged]
    #: The discount of every rank from 1, one rank more than the longer of both lists has.
    discounts: Sequence[float]
    #: The gain of a document that nobody judged, and the best and the worst grade of the judgments.
    unjudged_gain: float
    best: Grade | None
    worst: Grade | None
    #: Whether `returned` has the whole list and `judged` every judged document, or both only what lies within the
    #: cutoff, as a published night keeps it.
    whole: bool = True

    @property
    def listed(self) -> list[Returned]:
        """The documents of the list that is scored, by rank."""
        return sorted((each for each in self.returned if each.rank is not None), key=lambda each: each.rank or 0)
