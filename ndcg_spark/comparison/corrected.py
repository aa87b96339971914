"""The difference between two rankings by a machine's grades, corrected by a few human grades.

NDCG is linear in the gains as long as the ideal is fixed. With the machine's ideal of each query,
the difference between two rankings is a sum over the documents that moved. A sample of these
documents with known probabilities therefore corrects it, however wrong the machine is. CORRECTED.md
has the formulas.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison import statistics
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.tolerance import EQUAL

#: The estimate's name: it is not NDCG, whose ideal would come from human grades.
MEASURE = "difference_at_judges_ideal"
#: The estimate's name in words.
MEASURE_IN_WORDS = "difference at the judge's ideal"
#: With fewer machine errors among the graded documents than this, the row is flagged.
FEWEST_ERRORS = 10
#: An estimate's flags, and what they mean.
FLAGS = {
    "few_errors": f"few errors: people changed fewer than {FEWEST_ERRORS} of the machine's grades",
    "all_graded": "all graded: every document that moved was graded, so nothing is left to chance",
    "missing_grades": "missing grades: some are blank and assumed to be missing at random",
}


@dataclasses.dataclass(frozen=True)
class MovedDocuments:
    """The documents whose discount differs between two rankings, and their queries."""

    #: The ids of the queries that are compared.
    queries: Sequence[str]
    #: By document: the index of its query in `queries`, and its id.
    query: NDArray[np.int64]
    doc_ids: Sequence[str]
    #: By document: the change in its discount, divided by the machine's ideal DCG for its query.
    weight: Numbers
    #: By document: the machine's grade, NaN if it is unjudged, and its gain.
    grade: Numbers
    gain: Numbers
    #: By query: the baseline's score by the machine's grades.
    baseline: Numbers
    #: The gains of all grades that the machine gives, ascending.
    gains: Numbers
    #: How many queries are left out because their machine ideal is 0 or only one side has them.
    without_ideal: int = 0
    unpaired: int = 0

    def __len__(self) -> int:
        return len(self.weight)

    def sums(self, values: Numbers) -> Numbers:
        """The sum of a value over each query's documents."""
        return np.bincount(self.query, values, len(self.queries)).astype(np.float64)


class Interval(NamedTuple):
    """The standard error, interval and p value of an estimate; None if it does not have one."""

    error: float | None
    low: float | None
    high: float | None
    p_value: float | None


@dataclasses.dataclass(frozen=True)
class Corrected:
    """The machine's difference, and the difference after correction."""

    machine: float
    #: The paired t test's interval. It is a claim about all queries like these.
    machine_interval: Interval
    difference: float
    #: The baseline's mean by the machine's grades; relative differences are shares of it.
    baseline_mean: float
    these_queries: Interval
    all_queries: Interval
    #: How many documents were drawn and graded, and for how many of these the machine's grade
    #: differs.
    drawn: int
    graded: int
    errors: int
    moved: int
    queries: int
    without_ideal: int
    unpaired: int
    flags: Sequence[str]
    alpha: float

    def relative(self, difference: float) -> float | None:
        """A difference as a share of the baseline's mean."""
        return difference / self.baseline_mean if self.baseline_mean else None


def corrected_difference(
    moved: MovedDocuments,
    probabilities: Numbers,
    human: Numbers,
    drawn: NDArray[np.bool_],
    alpha: float = 0.05,
) -> Corrected:
    """The estimate from the gains that people gave to drawn documents; NaN means no grade.

    Drawn documents without a gain are assumed to be missing at random: each was graded with the
    same probability, which is the share that was graded.
    """
    graded = ~np.isnan(human)
    share = np.count_nonzero(graded) / np.count_nonzero(drawn) if drawn.any() else 1.0
    pi = probabilities * share
    errors = np.where(graded, human - moved.gain, 0.0)
    machine = moved.sums(moved.weight * moved.gain)
    corrected = machine + moved.sums(moved.weight * errors / pi)
    spread = squared_errors(moved, errors, graded, pi)
    these_queries = _of_sample(moved, pi, spread, _mean(corrected), graded, alpha)
    wrong = int(np.count_nonzero(np.abs(errors) > EQUAL))
    return Corrected(
        machine=_mean(machine),
        machine_interval=_of_queries(machine, alpha),
        difference=_mean(corrected),
        baseline_mean=_mean(moved.baseline),
        these_queries=these_queries,
        all_queries=_of_queries(corrected, alpha, these_queries.error or 0.0, _freedom(graded, pi)),
        drawn=int(np.count_nonzero(drawn)),
        graded=int(np.count_nonzero(graded)),
        errors=wrong,
        moved=len(moved),
        queries=len(moved.queries),
        without_ideal=moved.without_ideal,
        unpaired=moved.unpaired,
        flags=_flags(pi, share, wrong),
        alpha=alpha,
    )


def _mean(values: Numbers) -> float:
    return float(np.mean(values))


def _flags(pi: Numbers, share: float, wrong: int) -> list[str]:
    """An estimate's flags. `share`: the share of drawn documents that were graded."""
    is_whole = bool(np.all(pi >= 1))
    flags = []
    if wrong < FEWEST_ERRORS and not is_whole:
        flags.append("few_errors")
    if is_whole:
        flags.append("all_graded")
    if share < 1:
        flags.append("missing_grades")
    return flags


def grade_steps(moved: MovedDocuments) -> Numbers:
    """The distance from each document's gain to the gain of the farther neighbouring grade."""
    known = np.union1d(moved.gains, moved.gain)
    if len(known) < 2:
        return np.maximum(np.abs(moved.gain), 1.0)
    steps = np.diff(known)
    below = np.concatenate([[0.0], steps])
    above = np.concatenate([steps, [0.0]])
    return np.asarray(np.maximum(below, above)[np.searchsorted(known, moved.gain)])


def squared_errors(
    moved: MovedDocuments,
    errors: Numbers,
    graded: NDArray[np.bool_],
    pi: Numbers,
) -> Numbers:
    """The mean square of the machine's errors by document, over documents with the same grade.

    Each mean includes one extra error of a grade step. A machine that rarely errs shows no error
    in a small sample, and would otherwise seem to make none.
    """
    # Weighted so that the variance, a sum over all moved documents, is unbiased.
    weights = (1 - pi) / pi**2 * moved.weight**2
    steps = grade_steps(moved)
    squares = steps**2
    for value in np.unique(moved.grade):
        own = np.isnan(moved.grade) if np.isnan(value) else moved.grade == value
        known = own & graded & (weights > 0)
        many = np.count_nonzero(known)
        if not many:
            continue
        shares = weights[known] / weights[known].mean()
        total = float(np.sum(shares * errors[known] ** 2))
        squares[own] = (total + steps[own] ** 2) / (many + 1)
    return squares


def _of_sample(
    moved: MovedDocuments,
    pi: Numbers,
    spread: Numbers,
    difference: float,
    graded: NDArray[np.bool_],
    alpha: float,
) -> Interval:
    """A claim about these queries, whose only uncertainty comes from the sample."""
    terms = (1 - pi) / pi * moved.weight**2 * spread
    error = float(np.sqrt(np.sum(terms))) / len(moved.queries)
    if error == 0:
        return Interval(0.0, difference, difference, None)
    return _interval(difference, error, _freedom(graded, pi), alpha)


def _freedom(graded: NDArray[np.bool_], pi: Numbers) -> int:
    """The degrees of freedom of a sample, without documents that were certain to be drawn."""
    return max(int(np.count_nonzero(graded & (pi < 1))) - 1, 1)


def _of_queries(
    values: Numbers, alpha: float, sample_error: float = 0.0, sample_freedom: int = 1
) -> Interval:
    """A claim about all queries like these, from the values of these queries.

    The values contain the sample's uncertainty, so nothing is added for it. The sample's part
    and the queries' part have separate degrees of freedom (Welch and Satterthwaite).
    """
    if len(values) < 2:
        return Interval(None, None, None, None)
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5
    if error == 0:
        return Interval(None, None, None, None)
    # The shares of the variance that come from the sample and from the queries.
    of_sample = min(sample_error / error, 1.0) ** 2
    of_queries = 1 - of_sample
    freedom = 1 / (of_sample**2 / sample_freedom + of_queries**2 / (len(values) - 1))
    return _interval(_mean(values), error, freedom, alpha)


def _interval(difference: float, error: float, freedom: float, alpha: float) -> Interval:
    """A t interval around a difference, and its p value."""
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(freedom, 1 - alpha / 2)) * error
    p = max(2 * float(stdtr(freedom, -abs(difference / error))), statistics.MIN_P)
    return Interval(error, difference - half, difference + half, p)
