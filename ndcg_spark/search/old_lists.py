"""The lists whose scores are compared, each with the judgments of its query."""

import dataclasses
from collections.abc import Iterable, Sequence

from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.reference import Returned
from ndcg_spark.search.targets import ScoreKey
from ndcg_spark.spot_check.plain_rows import Pair


@dataclasses.dataclass
class OldList:
    """A list of the results, and the judgments of its query."""

    pair: Pair
    dataset: str
    #: Each judged document with its grade.
    judged: Sequence[tuple[str, float]]
    #: Each returned document with its score and its rank.
    returned: Sequence[Returned]

    def place(self, cutoff: Cutoff) -> ScoreKey:
        """Return the key of the list's score at a cutoff."""
        return ScoreKey(self.dataset, self.pair.run, self.pair.query_id, cutoff)

    @property
    def has_tied_scores(self) -> bool:
        """Whether two documents have the same score."""
        scores = [score for _, score, _ in self.returned]
        return len(set(scores)) < len(scores)


def highest_grade(lists: Iterable[OldList]) -> float:
    """Return the highest grade of any judgment, or 0 if there are no judgments."""
    return max((grade for one in lists for _, grade in one.judged), default=0.0)


def is_always_scored(one: OldList, highest: float) -> bool:
    """Whether every convention scores a list, because its first document has the highest grade.

    The document must be first by score and by rank, and not tied with a lower grade.
    """
    if not one.returned or highest <= 0:
        return False
    best = {document for document, grade in one.judged if grade == highest}
    first = _first_by_score(one) | _first_by_rank(one)
    return first <= best


def _first_by_score(one: OldList) -> set[str]:
    """Return the documents with the highest score."""
    scores = [score for _, score, _ in one.returned if score is not None]
    highest = max(scores, default=0.0)
    return {document for document, score, _ in one.returned if score == highest}


def _first_by_rank(one: OldList) -> set[str]:
    """Return the documents with the lowest rank."""
    ranks = [rank for _, _, rank in one.returned if rank is not None]
    lowest = min(ranks, default=0)
    return {document for document, _, rank in one.returned if rank == lowest}
