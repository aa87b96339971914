"""How far two rankings of the runs agree, as functions of their means. No Spark, no table."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Means that are equal to this many digits are tied.
_DIGITS = 9


def tau_b(a: ArrayLike, b: ArrayLike) -> float:
    """Kendall's tau-b (1945) of two arrays of means: 1 for the same order, -1 for the reverse; nan if one is tied.

    Concordant minus discordant pairs, over the geometric mean of the numbers of pairs that are not tied in a and in b.
    """
    ours, theirs = order(a), order(b)
    pairs = np.sqrt(np.abs(ours).sum() * np.abs(theirs).sum())
    return float((ours * theirs).sum() / pairs) if pairs else float("nan")


def tau_ap(a: ArrayLike, b: ArrayLike) -> float:
    """The AP correlation of b with the reference a (Yilmaz, Aslam and Robertson 2008), which weighs the top most.

    2 / (n - 1) * sum over the runs i of b but the first of C(i) / (rank(i) - 1), minus 1, where C(i) counts the runs
    above i in b that are above it in a too. Tied runs of b are in random order, of which this is the mean, and a tie in
    a counts half. 1 for the same order, -1 for the reverse; nan for fewer than two runs.
    """
    ours, above, tied = order(a), order(b) > 0, order(b) == 0
    total = 0.0
    for right, rank, group in zip(((ours + 1) / 2 * above).sum(0), above.sum(0), tied.sum(0), strict=True):
        # The position of a run in its group of ties; half of the runs before it in the group count as right.
        places = np.arange(rank == 0, group)
        total += ((right + places / 2) / (rank + places)).sum() / group
    return 2 * total / (len(ours) - 1) - 1 if len(ours) > 1 else float("nan")


def order(values: ArrayLike) -> NDArray[np.float64]:
    """The sign of the difference of every pair of values: 1 where that of the row is larger."""
    rounded = np.round(np.asarray(values, np.float64), _DIGITS)
    return np.asarray(np.sign(rounded[:, None] - rounded[None, :]))
