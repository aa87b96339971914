"""How far two sets of judgments agree, as functions of matrices of counts. No Spark, no table."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

Numbers = NDArray[np.float64]


def coefficients(matrices: ArrayLike) -> dict[str, Numbers]:
    """The coefficients of `schemas.AGREEMENT_MEASURES` for every matrix; nan where they are not defined.

    Parameters
    ----------
    matrices : array of shape (..., grades, grades)
        How many documents have the grade of the row in A and that of the column in B, the grades ascending.

    Returns
    -------
    dict of arrays of shape (...)
        `agreement`: the share of equal grades. `kappa` (Cohen 1960), `kappa_linear` and `kappa_quadratic` (Cohen 1968):
        1 - observed / expected disagreement, from -1 to 1, like scikit-learn's `cohen_kappa_score`; neighbouring grades
        are one step apart, whatever their numbers. `alpha`: `krippendorff_alpha` of the two as observers.
    """
    counts = np.asarray(matrices, np.float64)
    total, in_a, in_b = counts.sum((-2, -1)), counts.sum(-1), counts.sum(-2)
    grades = np.arange(counts.shape[-1])
    steps = np.abs(np.subtract.outer(grades, grades)).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {"agreement": np.trace(counts, axis1=-2, axis2=-1) / total}
        for name, weights in (("kappa", np.sign(steps)), ("kappa_linear", steps), ("kappa_quadratic", steps**2)):
            expected = np.einsum("...i,ij,...j->...", in_a, weights, in_b) / total
            found[name] = 1 - (counts * weights).sum((-2, -1)) / expected
    return {**found, "alpha": krippendorff_alpha(counts + np.swapaxes(counts, -2, -1))}


def krippendorff_alpha(coincidences: ArrayLike) -> Numbers:
    """Krippendorff's alpha for ordinal grades ("Computing Krippendorff's alpha-reliability", 2011), 1 at most.

    `coincidences` has the shape (..., grades, grades): for two observers, the matrix of counts plus its transpose.
    alpha = 1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck, where the distance d_ck of two grades is the squared
    difference of their mean ranks among all n values. nan if all values are equal.
    """
    pairs = np.asarray(coincidences, np.float64)
    values = pairs.sum(-1)
    mean_ranks = values.cumsum(-1) - values / 2
    distances = (mean_ranks[..., :, None] - mean_ranks[..., None, :]) ** 2
    observed = (pairs * distances).sum((-2, -1))
    expected = (values[..., :, None] * values[..., None, :] * distances).sum((-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - (values.sum(-1) - 1) * observed / expected)


def jackknife_margin(without: ArrayLike) -> float:
    """Half the width of the 95 % interval of an estimate, by the jackknife over queries (Tukey 1958), n - 1 d.f.

    `without` has the estimate without each of the n queries in turn. nan for n < 2, and where an estimate is nan.
    """
    values = np.asarray(without, np.float64)
    n = len(values)
    squares = ((values - values.mean()) ** 2).sum() if n > 1 else np.nan
    return float(stdtrit(max(n - 1, 1), 0.975) * np.sqrt((n - 1) / max(n, 1) * squares))
