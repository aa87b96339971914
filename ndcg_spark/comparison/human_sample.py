"""The documents that people are asked to grade: drawn at random, with known probabilities.

Every document that moved is drawn independently (Poisson sampling). Whether it is drawn depends
only on its ids and the seed. So the same call draws the same documents, and a larger sample with
the same seed contains the smaller one.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison.corrected import MovedDocuments, squared_errors
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.convention.options import show

#: The placeholder for the grade of a document that the machine has not graded.
UNJUDGED = "unjudged"


def probabilities(
    moved: MovedDocuments, documents: int, errors: Mapping[str, float] | None = None
) -> Numbers:
    """Return each document's probability; they sum to `documents`, if there are that many.

    They are proportional to how much the document can change the difference: the change of its
    discount, divided by the ideal DCG of its query, times the size of the machine's errors at its
    grade, from `errors`. No probability is above 1.
    """
    sizes = np.abs(moved.weight) * _error_sizes(moved, errors or {})
    result = np.ones(len(sizes))
    if documents >= len(sizes):
        return result
    largest_first = np.argsort(-sizes, kind="stable")
    ordered = sizes[largest_first]
    # By place in this order: the sum of the sizes from there on.
    rest = np.cumsum(ordered[::-1])[::-1]
    # The largest are certain to be drawn, and the others share the remaining documents.
    for certain in range(len(ordered)):
        remaining = documents - certain
        if remaining * ordered[certain] < rest[certain]:
            result[largest_first[certain:]] = remaining * ordered[certain:] / rest[certain]
            break
    return result


def _error_sizes(moved: MovedDocuments, errors: Mapping[str, float]) -> Numbers:
    """The size of the machine's errors at each document's grade; 1 if no sizes are known."""
    if not errors:
        return np.ones(len(moved))
    # A grade without any human grades yet may be as wrong as the worst one.
    unknown = max(errors.values())
    names = list(map(grade_name, moved.grade.tolist()))
    return np.array([errors.get(name, unknown) for name in names])


def grade_name(grade: float) -> str:
    """A grade as text: `2`, or UNJUDGED."""
    return UNJUDGED if np.isnan(grade) else show(float(grade))


class GradeErrors(NamedTuple):
    """The machine's errors in documents to which it gives the same grade."""

    mean_square: float
    #: How many of the documents people have graded.
    documents: int


def errors_by_grade(moved: MovedDocuments, pi: Numbers, human: Numbers) -> dict[str, GradeErrors]:
    """The machine's errors by its grade, for the grades with a document that people have graded."""
    graded = ~np.isnan(human)
    errors = np.where(graded, human - moved.gain, 0.0)
    squares = squared_errors(moved, errors, graded, pi)
    names = [grade_name(grade) for grade in moved.grade[graded].tolist()]
    counts = Counter(names)
    # All documents with the same grade have the same mean square.
    mean_squares = dict(zip(names, squares[graded].tolist(), strict=True))
    return {name: GradeErrors(mean_squares[name], counts[name]) for name in counts}


def drawn_documents(
    moved: MovedDocuments, pi: Numbers, dataset: str, seed: int
) -> NDArray[np.bool_]:
    """Whether each document is drawn."""
    numbers = np.empty(len(moved))
    for at, (query, document) in enumerate(zip(moved.query.tolist(), moved.doc_ids, strict=True)):
        numbers[at] = _uniform([seed, dataset, moved.queries[query], document])
    return np.asarray(numbers < pi)


def _uniform(key: list[int | str]) -> float:
    """A pseudo-random number from 0 to 1 that is determined by a key."""
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    # A double holds 53 bits.
    return (int.from_bytes(digest[:8]) >> 11) / 2.0**53
