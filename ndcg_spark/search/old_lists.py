"""The lists whose scores are compared: results of a query with its judgments."""

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
    judged: Sequence[tuple[str, float]]
    returned: Sequence[Returned]

    def place(self, cutoff: Cutoff) -> ScoreKey:
        return ScoreKey(self.dataset, self.pair.run, self.pair.query_id, cutoff)

    @property
    def has_tied_scores(self) -> bool:
        scores = [score for _, score, _ in self.returned]
        return len(set(scores)) < len(scores)


def highest_grade(lists: Iterable[OldList]) -> float:
    return max((grade for one in lists for _, grade in one.judged), default=0.0)


def is_always_scored(one: OldList, highest: float) -> bool:
    """Whether every convention scores a list: its first document has the highest grade.

    It is the first by score and by rank, and not tied with a document of a lower grade.
    """
    if not one.returned or highest <= 0:
        return False
    best = {document for document, grade in one.judged if grade == highest}
    return _first_by_score(one) | _first_by_rank(one) <= best


def _first_by_score(one: OldList) -> set[str]:
    scores = [score for _, score, _ in one.returned if score is not None]
    most = max(scores, default=0.0)
    return {document for document, score, _ in one.returned if score == most}


def _first_by_rank(one: OldList) -> set[str]:
    ranks = [rank for *_, rank in one.returned if rank is not None]
    least = min(ranks, default=0)
    return {document for document, _, rank in one.returned if rank == least}
