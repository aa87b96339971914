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

#: `exact`: the convention gives every score of the job. `consistent`: it gives all means, but the
#: job's query scores are not known. `nearest`: no convention that was tried gives all scores, and
#: this one gives the most.
Verdict = Literal["exact", "consistent", "nearest"]
#: The number of means that distinguish conventions. Fewer may agree by coincidence.
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
    """A rank of a list: the document that is returned there, and the gain in the ideal ranking."""

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
    #: The number of scores that were compared.
    compared: int
    #: The number of these that are equal.
    equal: int
    #: The largest difference of the others.
    largest_difference: float
    #: The largest difference at which two numbers are considered equal.
    tolerance: float
    #: The labels of the presets that give the same scores.
    presets: Sequence[str] = ()
    alternatives: Sequence[Alternative] = ()
    first_difference: Difference | None = None
    #: The means of the runs according to the job, and according to the convention.
    means: Sequence[RunMean] = ()
    #: Whether the nearest convention gives at least half of the scores other than 0 and 1, up to a
    #: digit.
    is_near: bool = True
    #: Whether all possible conventions were tried before the deadline.
    is_finished: bool = True
    #: The number of conventions tried.
    tried: int = 0
    #: Sentences about scores that were ignored.
    notes: Sequence[str] = ()
    #: Whether the job seems to keep tied documents in the order of its rows.
    may_keep_order_of_rows: bool = False

    @property
    def has_enough_means(self) -> bool:
        """Whether the scores are enough to determine the convention, even if they are means."""
        return self.verdict != "consistent" or self.compared >= ENOUGH_MEANS

    @property
    def other_means(self) -> list[RunMean]:
        """The means that differ from the convention's by more than a rounding error."""
        return [mean for mean in self.means if mean.differs(self.tolerance)]

    @property
    def has_other_means(self) -> bool:
        """Whether a mean differs from the convention's."""
        return bool(self.other_means)

    @property
    def label(self) -> str:
        """The convention's label, such as `trec_eval gain=exp2`."""
        return self.convention.label


def sides_by_rank(one: OldList, convention: Convention, cutoff: Cutoff) -> list[SidesAtRank]:
    """Return the gains of a list and of its ideal ranking, by rank.

    Raise InputError if the convention refuses the list.
    """
    query = one.pair.query_id
    ranking = reference.rank_documents(query, one.judged, one.returned, convention)
    gains = list(ranking.gains[:cutoff])
    ideal_gains = reference.ideal_gains(ranking, convention, cutoff)
    depth = max(len(gains), len(ideal_gains))
    discounts = reference.discounts(depth, convention.discount)
    sides = []
    # Either ranking may be shorter, and so may the discounts, which are 0 at lower ranks.
    for at in range(depth):
        document = ranking.documents[at] if at < len(gains) else None
        side = SidesAtRank(
            rank=at + 1,
            doc_id=None if document is None else document.doc_id,
            relevance=None if document is None else document.grade,
            gain=None if document is None else gains[at],
            ideal_gain=ideal_gains[at] if at < len(ideal_gains) else None,
            discount=discounts[at] if at < len(discounts) else 0.0,
        )
        sides.append(side)
    return sides


def why_refused(one: OldList, convention: Convention, cutoff: Cutoff) -> str:
    """Return why a convention refuses a list, or "" if it does not."""
    try:
        reference.score(one.pair.query_id, one.judged, one.returned, convention, cutoff)
    except (InputError, ConventionError) as error:
        return error.sentence
    return ""
