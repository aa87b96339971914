"""The result of a search, and the first query for which a convention and a job disagree."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, final

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.search.hints import RunMean
from ndcg_spark.search.old_lists import OldList

#: `exact`: it gives every score of the job. `consistent`: it gives all means, but the job's query
#: scores are not known. `nearest`: no convention that was tried gives all scores; this one gives
#: most.
Verdict = Literal["exact", "consistent", "nearest"]
#: The number of means that tell conventions apart; fewer may agree by coincidence.
ENOUGH_MEANS = 3


class Alternative(NamedTuple):
    """A different value of an option that gives the same scores."""

    option: str
    value: Any
    #: What inputs must contain to distinguish the two values.
    separated_by: str
    #: Whether all rows were scored with it, not just some queries.
    on_all_rows: bool


class SidesAtRank(NamedTuple):
    """A rank of a list: what is returned there, and what the ideal ranking has."""

    rank: int
    doc_id: str | None
    relevance: float | None
    gain: float | None
    ideal_gain: float | None
    discount: float


class Difference(NamedTuple):
    """The first score that differs; a mean has no query and no ranks."""

    dataset: str
    run: str
    query_id: str | None
    cutoff: Cutoff
    given: float | None
    ours: float | None
    ranks: Sequence[SidesAtRank] = ()
    #: Why the convention refuses the query, if it does.
    refused: str = ""


@final
@dataclasses.dataclass(frozen=True)
class FoundConvention:
    """The convention of an earlier job's scores, as far as the scores determine it.

    If several give the same scores, `convention` is the one with the fewest options that differ
    from `standard`; `presets` and `alternatives` are the others.
    """

    verdict: Verdict
    convention: Convention
    #: The cutoffs of the scores, or a cutoff that the search found if the job does not name any.
    cutoffs: Sequence[Cutoff]
    #: How many scores were compared, how many are equal, and the largest difference of the others.
    compared: int
    equal: int
    largest_difference: float
    #: The largest difference at which two numbers are considered equal.
    tolerance: float
    #: The labels of the presets that give the same scores.
    presets: Sequence[str] = ()
    alternatives: Sequence[Alternative] = ()
    first_difference: Difference | None = None
    #: The means of the runs, with those of the convention.
    means: Sequence[RunMean] = ()
    #: Whether the nearest gives at least half of the scores other than 0 and 1, up to a digit.
    is_near: bool = True
    #: Whether all possible conventions were tried before the time was over.
    is_finished: bool = True
    #: The number of conventions tried.
    tried: int = 0
    #: Sentences about scores that were ignored.
    notes: Sequence[str] = ()
    #: Whether the job seems to keep tied documents in the order of its rows.
    may_keep_order_of_rows: bool = False

    @property
    def is_exact(self) -> bool:
        return self.verdict == "exact"

    @property
    def has_enough_means(self) -> bool:
        """Whether means alone are enough to determine the convention."""
        return self.verdict != "consistent" or self.compared >= ENOUGH_MEANS

    @property
    def other_means(self) -> list[RunMean]:
        """The means that differ from the convention's, up to the digits of the scores."""
        return [mean for mean in self.means if mean.differs(self.tolerance)]

    @property
    def has_other_means(self) -> bool:
        return bool(self.other_means)

    @property
    def label(self) -> str:
        return self.convention.label


def sides_by_rank(one: OldList, convention: Convention, cutoff: Cutoff) -> list[SidesAtRank]:
    """The gains of a list and of its ideal ranking, by rank. Raises InputError if it is refused."""
    query = one.pair.query_id
    ranking = reference.rank_documents(query, one.judged, one.returned, convention)
    gains = list(ranking.gains[:cutoff])
    ideal = reference.ideal_gains(ranking, convention, cutoff)
    depth = max(len(gains), len(ideal))
    weights = reference.discounts(depth, convention.discount)
    sides = []
    for at in range(depth):
        document = ranking.documents[at] if at < len(gains) else None
        sides.append(
            SidesAtRank(
                at + 1,
                document.doc_id if document else None,
                document.grade if document else None,
                gains[at] if document else None,
                ideal[at] if at < len(ideal) else None,
                weights[at] if at < len(weights) else 0.0,
            )
        )
    return sides


def why_refused(one: OldList, convention: Convention, cutoff: Cutoff) -> str:
    """Why a convention refuses a list, or "" if it does not."""
    try:
        reference.score(one.pair.query_id, one.judged, one.returned, convention, cutoff)
    except (InputError, ConventionError) as error:
        return error.sentence
    return ""
