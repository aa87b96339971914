"""NDCG in plain Python, written from the definition and not from the program: what the properties compare with."""

import math
from collections.abc import Mapping, Sequence

Judged = Mapping[str, float]
Returned = Sequence[tuple[str, float]]


def ndcg(judged: Judged, returned: Returned, cutoff: int | None, *, exp2: bool = True) -> float | None:
    """NDCG of one query with its ideal of all judged documents; None where nothing is relevant.

    `returned` has (document, score) in any order; ties go to the document whose id is larger in UTF-8.
    """
    order = sorted(returned, key=lambda row: (row[1], row[0].encode()), reverse=True)
    ideal = dcg(sorted((gain(grade, exp2) for grade in judged.values()), reverse=True)[:cutoff])
    found = dcg([gain(judged.get(document, 0.0), exp2) for document, _ in order][:cutoff])
    return found / ideal if ideal else None


def gain(grade: float, exp2: bool) -> float:
    """The worth of a grade; negative grades are as unjudged."""
    positive = max(grade, 0.0)
    return 2**positive - 1 if exp2 else positive


def dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
