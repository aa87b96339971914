"""Compares runs with a baseline: the COMPARISONS rows for one night, measure and cutoff."""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison import statistics
from ndcg_spark.comparison.matrix import Metric, ScoreMatrix, Slice, masks, weight_vector
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.convention.measures import CATALOG_COLUMNS, Cutoff, conclusion_words
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.tolerance import DECIMALS, EQUAL

#: With fewer changed queries than this, the row is flagged.
_FEWEST_CHANGED = 10
#: A slice explains a change if its share of the change is at least _MIN_SHARE, and at least
#: _MIN_EXCESS times its share of the queries.
_MIN_SHARE, _MIN_EXCESS = 0.05, 1.5
#: Gains and losses cancel if less than this share of all changes remains; then no slice is the
#: cause.
_CANCELLED = 0.1
#: The keys of rows that are not columns of COMPARISONS.
_BESIDE = ("cancels", "change", "change_queries")
#: Flags of rows that are not tested: all differences are equal, or the slice is too small.
_UNTESTED = frozenset(
    {"too_few", "unchanged", "no_variation", "below_min_queries", "few_effective"}
)
#: Flags of rows with too few queries, or too few equally weighted ones, which have no p value.
_TOO_SMALL = frozenset({"below_min_queries", "few_effective"})
#: The columns of the tests, which such rows lack.
_TESTS = (
    "p_value",
    "p_randomization",
    "interval_low",
    "interval_high",
    "effect_size",
    "minimum_detectable",
)
#: The columns that identify what a row compares.
_HYPOTHESIS = (
    "dataset",
    "evaluated_on",
    "run",
    "baseline",
    "baseline_night",
    "measure",
    "cutoff",
    "attribute",
    "value",
)
#: The flag of a row if no query is judged on both sides, for example because ids were renamed.
NO_SHARED_QUERIES = "no_shared_queries"
#: Flags of rows whose run or baseline returned nothing, or nothing for the same queries, so that
#: nothing was measured.
MISSING_FLAGS = frozenset({"run_missing", "baseline_missing", NO_SHARED_QUERIES})
#: A side is flagged if the share of queries without results exceeds the other side's by this much.
FEW = 0.1


@dataclasses.dataclass(frozen=True)
class ComparisonOptions:
    """The options of a comparison; ConfigurationError for an invalid value."""

    #: The measure columns, each with the cutoffs at which to compare it, or None for all evaluated
    #: cutoffs.
    measures: Mapping[str, Sequence[Cutoff] | None] = dataclasses.field(
        default_factory=lambda: {"ndcg": None},
    )
    #: The runs that the others are compared with. If these are all runs, each pair is compared
    #: once. If there are none, runs are compared by name.
    baselines: Sequence[str] = ()
    runs: Sequence[str] = ()
    alpha: float = 0.05
    correction: str = "holm"
    #: A slice with fewer paired queries is not tested.
    min_queries: int = 10
    margin: float = 0.01
    #: Draw random signs only for losses that the t test finds significant.
    only_losses: bool = False
    attributes: pa.Table | None = None
    weights: pa.Table | None = None
    #: How many of the largest losses and gains to name for each run, measure and cutoff.
    queries: int = 0

    def __post_init__(self) -> None:
        known = statistics.CORRECTIONS
        if self.correction not in known:
            raise ConfigurationError(
                f"correction: unknown {self.correction!r}; choose {', '.join(known)}",
            )
        if not 0 < self.alpha < 1:
            raise ConfigurationError(f"alpha: {self.alpha!r} is not between 0 and 1; try 0.05")
        if not 0 < self.margin < float("inf"):
            raise ConfigurationError(
                f"margin: {self.margin!r} must be above 0; try 0.01",
            )


@dataclasses.dataclass(frozen=True)
class Sides:
    """The scores of a night and of its baseline, with the runs to compare."""

    own: ScoreMatrix
    #: The matrix of another night, or `own`.
    baseline: ScoreMatrix
    metric: Metric
    #: The rows' dataset, evaluated_on, evaluation_id, baseline_night, baseline_nights, side and
    #: reading.
    key: Mapping[str, Any]
    #: Each run with the run of the baseline that it is compared with.
    pairs: Sequence[tuple[str, str]]
    #: Whether each query is included; by default all are.
    only: NDArray[np.bool_] | None = None

    @property
    def measure(self) -> str:
        return self.metric[0]

    @property
    def cutoff(self) -> Cutoff:
        return self.metric[1]

    @property
    def rejudged(self) -> NDArray[np.bool_]:
        """Whether each query is rejudged: both sides judge it, and their judgments differ."""
        ours, theirs = self.own.hashes(), self.baseline.hashes()
        return np.asarray((ours != theirs) & (ours != 0) & (theirs != 0))

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Whether each query is included, and judged on both sides or on neither."""
        is_judged = self.own.hashes() != 0
        is_judged_there = self.baseline.hashes() != 0
        both_or_neither = np.asarray(is_judged == is_judged_there)
        return both_or_neither if self.only is None else both_or_neither & self.only

    @property
    def in_both(self) -> NDArray[np.bool_]:
        """Whether both sides have each query."""
        return self.own.covers() & self.baseline.covers()

    def without_rejudged(self) -> "Sides":
        """Only the queries that the two sides do not judge differently."""
        return dataclasses.replace(self, only=~self.rejudged)

    def with_same_judgments(self) -> "Sides":
        """Only the queries whose judgments are the same on both sides."""
        has_same_judgments = self.own.hashes() == self.baseline.hashes()
        return dataclasses.replace(self, only=np.asarray(has_same_judgments))

    def answered(self, run: str, baseline: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether a run returned anything for each query, and whether its baseline did."""
        return self.own.answered(run), self.baseline.answered(baseline)

    def scores(self, run: str, baseline: str) -> tuple[Numbers, Numbers]:
        """The scores of a run and of its baseline by query; NaN if there is none."""
        own, theirs = self.own.scores(run), self.baseline.scores(baseline)
        if self.only is None:
            return own, theirs
        return np.where(self.only, own, np.nan), np.where(self.only, theirs, np.nan)


def comparison_rows(sides: Sides, options: ComparisonOptions) -> list[dict[str, Any]]:
    """The COMPARISONS rows of each pair: all queries, then slices, each before its weighted row.

    p values are adjusted for all rows that were tested and changed, and weighted rows are adjusted
    separately. The rows also have what `causes` needs: `cancels`, whether the gains and losses of
    the queries cancel; and `change`, the sum of the differences of `change_queries` queries,
    including those that a run did not answer.
    """
    return rows_of_sides([sides], options)


def rows_of_sides(
    both: Sequence[Sides],
    options: ComparisonOptions,
) -> list[dict[str, Any]]:
    """The rows of `comparison_rows` for both sides of a change of judgments, one after the other.

    The two rows of a comparison are one hypothesis. They share the adjusted p values, which come
    from the larger p, and a conclusion, which both sides must support.
    """
    samples: list[_Sample] = []
    for sides in both:
        samples.extend(_samples(sides, options))
    rows = [sample.row for sample in samples]
    tested = [sample for sample in samples if _needs_signs(sample.row, options)]
    for sample in tested:
        sample.row["p_randomization"] = statistics.random_signs(sample.units)
    _adjust_families(rows, options.correction)
    # Drawing enough signs for a precise p takes long, so it is done only if p is near alpha.
    for sample in tested:
        if _is_near_alpha(sample.row, options.alpha):
            precise = statistics.random_signs(sample.units, precise=True)
            sample.row["p_randomization"] = precise
    _adjust_families(rows, options.correction)
    _conclude(rows, options)
    return _with_columns(rows, (*COMPARISONS.names, *_BESIDE))


def _with_columns(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The rows with only these columns, in this order."""
    chosen = []
    for row in rows:
        chosen.append({name: row[name] for name in names})
    return chosen


def in_one_family(
    rows: Iterable[Mapping[str, Any]],
    options: ComparisonOptions,
) -> list[dict[str, Any]]:
    """Return COMPARISONS rows that were computed separately as if computed together.

    p values are adjusted for all of them. Slices with fewer queries than the options require, and
    rows whose weights leave fewer, are no longer tested.
    """
    together = []
    for row in rows:
        # These two flags depend on the other rows.
        flags = [flag for flag in row["flags"] if flag not in ("doubt", "sides_disagree")]
        largest = _largest_plausible(row, options.alpha)
        copied = {**row, "flags": flags, "largest": largest}
        if MISSING_FLAGS.union(_TOO_SMALL).isdisjoint(flags):
            too_small = _too_small(row, options.min_queries)
            if too_small:
                copied |= dict.fromkeys(_TESTS)
                copied["flags"] = [*too_small, *flags]
        together.append(copied)
    _adjust_families(together, options.correction)
    _conclude(together, options)
    return _with_columns(together, COMPARISONS.names)


def _too_small(row: Mapping[str, Any], min_queries: int) -> list[str]:
    """The flags of a row with too few queries, or too few equally weighted ones."""
    flags = []
    if row["attribute"] is not None and row["queries"] < min_queries:
        flags.append("below_min_queries")
    effective = row["weight_effective_n"]
    if effective is not None and _leaves_few(effective, row["queries"], min_queries):
        flags.append("few_effective")
    return flags


def _leaves_few(effective: float, queries: int, min_queries: int) -> bool:
    """Whether the weights leave fewer equally weighted queries than are needed for a test.

    With an effective number near 1, the t distribution has nearly no degrees of freedom, and the
    interval covers differences that no score can have. Equal weights leave all queries.
    """
    return effective < min_queries and effective < queries * (1 - EQUAL)


def _largest_plausible(row: Mapping[str, Any], alpha: float) -> float | None:
    """The largest plausible difference, from the interval of a row."""
    if row["interval_low"] is None or row["interval_high"] is None:
        return None
    half = (row["interval_high"] - row["interval_low"]) / 2
    return statistics.largest_plausible(row["queries"], row["difference"], half, alpha)


def _conclude(rows: Iterable[dict[str, Any]], options: ComparisonOptions) -> None:
    """Add the conclusion of each row, and the flags of tests or sides that disagree."""
    for hypothesis in _hypotheses(rows):
        for row in hypothesis:
            if _is_doubtful(row, options.alpha):
                row["flags"].append("doubt")
            row["conclusion"] = _conclusion(row, options)
        _conclude_together(hypothesis)


def _conclude_together(sides: Sequence[dict[str, Any]]) -> None:
    """Keep a conclusion about a change of judgments only if both sides support it."""
    conclusions = {row["conclusion"] for row in sides}
    if len(conclusions) == 1:
        return
    sides_disagree = conclusions.isdisjoint({None, "cannot_tell"})
    for row in sides:
        row["conclusion"] = None if None in conclusions else "cannot_tell"
        if sides_disagree:
            row["flags"].append("sides_disagree")


def _hypotheses(rows: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The rows grouped by what they compare; a group differs only in side and reading."""
    together: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        is_weighted = row["weight_effective_n"] is not None
        key = (is_weighted, *(row[name] for name in _HYPOTHESIS))
        together.setdefault(key, []).append(row)
    return list(together.values())


def _needs_signs(row: Mapping[str, Any], options: ComparisonOptions) -> bool:
    """Whether to run the randomization test, which takes the longest."""
    if row["effect_size"] is None:
        return False
    if not options.only_losses:
        return True
    is_loss = row["difference"] < 0 or row["measure"] in CATALOG_COLUMNS
    return bool(is_loss and row["p_value"] < options.alpha)


def _is_near_alpha(row: Mapping[str, Any], alpha: float) -> bool:
    """Whether p is near alpha, either as it is or after the correction."""
    if row["p_decides"] is None:
        return False
    return any(alpha / 2 < row[name] < 2 * alpha for name in ("p_randomization", "p_decides"))


def _is_doubtful(row: Mapping[str, Any], alpha: float) -> bool:
    """Whether the tests disagree, either as they are or after adjustment for other rows."""
    for one, other in (("p_value", "p_randomization"), ("p_adjusted", "p_decides")):
        if row[one] is None or row[other] is None:
            continue
        if (row[one] < alpha) != (row[other] < alpha):
            return True
    return False


class _Weighting(NamedTuple):
    """How the queries of a row are weighted."""

    weights: Numbers
    #: The column that rows with this weighting do not have.
    unused_column: str


class _Sample(NamedTuple):
    """A row before it is tested."""

    row: dict[str, Any]
    #: The differences whose signs are randomized.
    units: Numbers


def _samples(sides: Sides, options: ComparisonOptions) -> Iterator[_Sample]:
    """The rows of every pair on every slice, each without and with weights."""
    dataset, queries = sides.key["dataset"], sides.own.queries
    slices: list[Slice] = [(None, None, np.ones(len(queries), np.bool_))]
    if options.attributes is not None:
        slices.extend(masks(options.attributes, dataset, queries))
    weightings = [_Weighting(np.ones(len(queries)), "weight_effective_n")]
    if options.weights is not None:
        weights = weight_vector(options.weights, dataset, queries)
        weightings.append(_Weighting(weights, "effect_size"))
    for run, baseline in sides.pairs:
        pair = _Pair.of(sides, run, baseline)
        known = pair.known
        for attribute, value, mask in slices:
            is_slice = attribute is not None
            if is_slice and not known[mask].any():
                continue
            row: dict[str, Any] = {
                **sides.key,
                "run": run,
                "baseline": baseline,
                "attribute": attribute,
                "value": value,
                "measure": sides.measure,
                "cutoff": sides.cutoff,
                "p_randomization": None,
            }
            for weighting in weightings:
                paired, numbers = _describe(pair, is_slice, mask, weighting.weights, options)
                units = statistics.in_buckets(pair.differences[paired], queries.buckets[paired])
                yield _Sample({**row, **numbers, weighting.unused_column: None}, units)


def heaviest_query(sides: Sides, weights: pa.Table) -> tuple[str, float]:
    """The query with the largest weight among those of both sides, and its share of the weight."""
    queries = sides.own.queries
    vector = weight_vector(weights, sides.key["dataset"], queries)
    known = np.where(sides.in_both & ~np.isnan(vector), vector, 0.0)
    at = int(np.argmax(known))
    return queries.ids[at].as_py(), float(known[at] / known.sum())


@dataclasses.dataclass(frozen=True)
class _Pair:
    """A run and its baseline, by query."""

    sides: Sides
    run: str
    baseline: str
    scores: Numbers
    theirs: Numbers
    #: The differences of their scores.
    differences: Numbers
    answered: NDArray[np.bool_]
    theirs_answered: NDArray[np.bool_]
    has: NDArray[np.bool_]
    has_theirs: NDArray[np.bool_]
    rejudged: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    #: Whether both sides have the query.
    in_both: NDArray[np.bool_]

    @classmethod
    def of(cls, sides: Sides, run: str, baseline: str) -> "_Pair":
        scores, theirs = sides.scores(run, baseline)
        answered, theirs_answered = sides.answered(run, baseline)
        with np.errstate(over="ignore"):
            differences = scores - theirs
        return cls(
            sides=sides,
            run=run,
            baseline=baseline,
            scores=scores,
            theirs=theirs,
            differences=differences,
            has=~np.isnan(scores),
            has_theirs=~np.isnan(theirs),
            answered=answered,
            theirs_answered=theirs_answered,
            rejudged=sides.rejudged,
            judged=sides.judged,
            in_both=sides.in_both,
        )

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each query has a score, or was not answered, on at least one side."""
        is_unanswered = self.judged & ~(self.answered & self.theirs_answered)
        return np.asarray(self.has | self.has_theirs | is_unanswered)


def _describe(
    pair: _Pair,
    is_slice: bool,
    mask: NDArray[np.bool_],
    weights: Numbers,
    options: ComparisonOptions,
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """The paired queries of a slice, and the columns that describe them."""
    counted = mask & ~np.isnan(weights)
    both = pair.has & pair.has_theirs & counted
    # A run that returned nothing was not measured, so that no query is paired.
    missing = _missing_sides(pair, counted)
    paired = np.flatnonzero(both & (not missing))
    unpaired = _is_unpaired(pair, is_missing=bool(missing)) & counted
    counts = _answered_counts(pair.answered, pair.theirs_answered, counted & pair.judged)
    flags = list(missing)
    if not missing and _answered_few(counts):
        flags.append("few_answered")
    if not missing and is_slice and len(paired) < options.min_queries:
        flags.insert(0, "below_min_queries")
    effective = _effective_number(weights[paired])
    if not missing and _leaves_few(effective, len(paired), options.min_queries):
        flags.append("few_effective")
    if pair.rejudged[paired].any():
        flags.append("other_judgments")
    flags.extend(_flags_of(pair.differences[paired]))
    row = {"flags": flags, **counts, "unpaired_queries": int(np.count_nonzero(unpaired))}
    row["weight_effective_n"] = effective
    row |= _total_change(pair.differences[both])
    row |= _wins_and_losses(pair.differences[paired])
    row |= _means_and_test(
        pair.scores[paired],
        pair.theirs[paired],
        pair.differences[paired],
        weights[paired],
        effective,
        flags,
        options.alpha,
    )
    return paired, row


def _effective_number(weights: Numbers) -> float:
    """The number of equally weighted queries that would be as informative; 0 without queries."""
    if not len(weights):
        return 0.0
    return float(weights.sum() ** 2 / np.sum(weights**2))


def _missing_sides(pair: _Pair, queries: NDArray[np.bool_]) -> list[str]:
    """The flags of sides that returned nothing for any of these queries, or not for the same."""
    own, theirs = pair.sides.own, pair.sides.baseline
    are_there = pair.run in own.runs and pair.baseline in theirs.runs
    if are_there and queries.any():
        # What a side returned for queries that the other side lacks says nothing.
        if not pair.in_both[queries].any():
            return [NO_SHARED_QUERIES]
    missing = []
    if not _answers(pair.run, own, queries):
        missing.append("run_missing")
    if not _answers(pair.baseline, theirs, queries):
        missing.append("baseline_missing")
    return missing


def _is_unpaired(pair: _Pair, *, is_missing: bool) -> NDArray[np.bool_]:
    """Whether each query has a value on only one side, or on any side if a side is missing."""
    if is_missing:
        return pair.has | pair.has_theirs
    if pair.sides.measure in CATALOG_COLUMNS:
        # A query without a list has nothing to compare, so its value is not missing.
        return np.zeros_like(pair.has)
    return np.asarray(pair.has != pair.has_theirs)


def _total_change(differences: Numbers) -> dict[str, Any]:
    """What `causes` needs in addition to the columns of COMPARISONS."""
    with np.errstate(all="ignore"):
        total = float(np.sum(differences))
        cancels = bool(abs(total) < _CANCELLED * np.sum(np.abs(differences)))
    return {"cancels": cancels, "change": total, "change_queries": len(differences)}


def _answers(run: str, matrix: ScoreMatrix, queries: NDArray[np.bool_]) -> bool:
    """Whether a run exists and returned anything for any of these queries, if there are any."""
    if run not in matrix.runs:
        return False
    return not queries.any() or bool(matrix.answered(run)[queries].any())


def _answered_counts(
    answered: NDArray[np.bool_],
    theirs: NDArray[np.bool_],
    queries: NDArray[np.bool_],
) -> dict[str, int]:
    """How many of these queries each side answered."""
    return {
        "judged_queries": int(np.count_nonzero(queries)),
        "answered_queries": int(np.count_nonzero(answered & queries)),
        "baseline_answered_queries": int(np.count_nonzero(theirs & queries)),
    }


def _answered_few(counts: Mapping[str, int]) -> bool:
    """Whether one side answered clearly fewer queries than the other."""
    difference = abs(counts["answered_queries"] - counts["baseline_answered_queries"])
    return difference > 0 and difference >= FEW * counts["judged_queries"]


def _wins_and_losses(differences: Numbers) -> dict[str, int]:
    """How many queries there are, and how many are wins, ties and losses."""
    queries = len(differences)
    wins = int(np.count_nonzero(differences > EQUAL))
    losses = int(np.count_nonzero(differences < -EQUAL))
    return {
        "queries": queries,
        "changed_queries": wins + losses,
        "wins": wins,
        "ties": queries - wins - losses,
        "losses": losses,
    }


def _means_and_test(
    scores: Numbers,
    theirs: Numbers,
    differences: Numbers,
    weights: Numbers,
    effective: float,
    flags: Collection[str],
    alpha: float,
) -> dict[str, Any]:
    """The weighted means of paired scores, and the t test unless a flag rules it out.

    `largest` is the largest plausible difference.
    """
    n = len(scores)
    deviation = 0.0
    numbers: dict[str, Any] = dict.fromkeys(("mean", "baseline_mean", "difference"), np.nan)
    with np.errstate(all="ignore"):
        if n:
            numbers["mean"] = np.average(scores, weights=weights)
            numbers["baseline_mean"] = np.average(theirs, weights=weights)
            numbers["difference"] = np.average(differences, weights=weights)
            # The deviation that gives the weighted error.
            deviation = statistics.weighted_error(differences, weights) * n**0.5
        if not _UNTESTED.union(MISSING_FLAGS).isdisjoint(flags):
            deviation = np.nan
        freedom = effective - 1
        numbers |= statistics.paired_t(n, numbers["difference"], deviation, alpha, freedom=freedom)
        numbers["relative_difference"] = np.divide(numbers["difference"], numbers["baseline_mean"])
    finite = {name: float(value) if np.isfinite(value) else None for name, value in numbers.items()}
    if _TOO_SMALL.isdisjoint(flags):
        if "unchanged" in flags:
            finite["p_value"] = 1.0
        elif "no_variation" in flags:
            # Only two combinations of signs have a sum as large: as observed, and all flipped.
            finite["p_value"] = max(2.0 ** (1 - n), statistics.MIN_P)
    return finite


def _flags_of(differences: Numbers) -> list[str]:
    """The flags for what these differences cannot show."""
    n = len(differences)
    changed = np.count_nonzero(np.abs(differences) > EQUAL)
    flags = []
    if n < 2:
        flags.append("too_few")
    if n and not changed:
        flags.append("unchanged")
    elif n > 1 and _vary_only_by_rounding(differences):
        flags.append("no_variation")
    elif n > 1 and changed < _FEWEST_CHANGED:
        flags.append("few_changed")
    return flags


def _vary_only_by_rounding(differences: Numbers) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.std(differences, ddof=1) <= EQUAL * abs(np.mean(differences)))


def _adjust_families(rows: Sequence[dict[str, Any]], correction: str) -> None:
    """Adjust p values, separately for the rows without weights and for those with weights."""
    _adjust([row for row in rows if row["weight_effective_n"] is None], correction)
    _adjust([row for row in rows if row["weight_effective_n"] is not None], correction)


def _adjust(rows: Sequence[dict[str, Any]], correction: str) -> None:
    """Adjust the p values of one family: its hypotheses that were tested and changed."""
    for row in rows:
        row.update(family_size=None, p_adjusted=row["p_value"], p_decides=larger_p(row))
    family = []
    for hypothesis in _hypotheses(rows):
        is_tested = all(row["p_value"] is not None for row in hypothesis)
        is_unchanged = all("unchanged" in row["flags"] for row in hypothesis)
        if not is_tested:
            # A hypothesis that is not tested on one side is not tested on either.
            for row in hypothesis:
                row.update(p_adjusted=None, p_decides=None)
        elif not is_unchanged:
            family.append(hypothesis)
    for name in ("p_adjusted", "p_decides"):
        largest = [_largest(hypothesis, name) for hypothesis in family]
        adjusted = statistics.adjusted(largest, correction).tolist()
        for hypothesis, p in zip(family, adjusted, strict=True):
            for row in hypothesis:
                row[name] = p
                row["family_size"] = len(family)


def _largest(rows: Iterable[Mapping[str, Any]], name: str) -> float:
    """The largest value of a column that all of these rows have."""
    return max(float(row[name]) for row in rows)


def larger_p(row: Mapping[str, Any]) -> float | None:
    """The larger of the two tests' unadjusted p values, or None if neither test has one."""
    p_values = [row["p_value"], row["p_randomization"]]
    return max((p for p in p_values if p is not None), default=None)


def _conclusion(row: Mapping[str, Any], options: ComparisonOptions) -> str | None:
    """What a row concludes: `better`, `worse`, `same` or `cannot_tell`; None if it is not tested.

    A catalog measure is `higher` or `lower`.
    """
    if row["p_decides"] is None:
        return None
    # If queries have different judgments, a difference says nothing about the run.
    if "other_judgments" in row["flags"] or "doubt" in row["flags"]:
        return "cannot_tell"
    # The margin is meant for values from 0 to 1.
    is_of_catalog = row["measure"] in CATALOG_COLUMNS
    if not is_of_catalog and row["largest"] is not None and row["largest"] < options.margin:
        return "same"
    if row["p_decides"] >= options.alpha:
        return "cannot_tell"
    below, above = conclusion_words(row["measure"])
    return above if row["difference"] > 0 else below


def causes(row: Mapping[str, Any], slices: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each slice's share of a difference, the largest first, from rows without weights.

    Slices that explain the difference come first; a slice of all queries is left out. The list is
    empty if the difference may be due to chance, or if gains and losses cancel.
    """
    low, high = row["interval_low"], row["interval_high"]
    if row["cancels"] or low is None or high is None or low <= 0 <= high:
        return []
    found = []
    for part in slices:
        if 0 < part["change_queries"] < row["queries"]:
            cause = {
                "attribute": part["attribute"],
                "value": part["value"],
                "queries": part["change_queries"],
                "of_queries": row["queries"],
                "share": part["change"] / row["change"],
            }
            found.append(cause)
    return sorted(found, key=_cause_order)


def _cause_order(cause: Mapping[str, Any]) -> tuple[bool, float]:
    """A sort key: slices that explain a change come first, then those with the largest share."""
    return not explains_change(cause), -cause["share"]


def slice_causes(
    sides: Sides,
    row: Mapping[str, Any],
    slices: Sequence[Mapping[str, Any]],
    attributes: pa.Table | None,
) -> list[dict[str, Any]]:
    """The causes for published COMPARISONS rows, which lack the keys that `causes` needs."""
    pair = _Pair.of(sides, row["run"], row["baseline"])
    both = pair.has & pair.has_theirs
    changes = {}
    if attributes is not None:
        for attribute, value, mask in masks(attributes, sides.key["dataset"], sides.own.queries):
            changes[attribute, value] = _total_change(pair.differences[both & mask])
    parts = []
    for part in slices:
        parts.append({**part, **changes[part["attribute"], part["value"]]})
    return causes({**row, **_total_change(pair.differences[both])}, parts)


def explains_change(cause: Mapping[str, Any]) -> bool:
    """Whether a slice's share of a difference clearly exceeds its share of the queries."""
    share_of_queries = cause["queries"] / cause["of_queries"]
    return bool(cause["share"] >= max(_MIN_SHARE, _MIN_EXCESS * share_of_queries))


def extremes(sides: Sides, run: str, baseline: str, limit: int) -> list[dict[str, Any]]:
    """The queries that lost most, then those that won most; at most `limit` of each.

    `baseline_nights`: the number of nights that the baseline's score is averaged over; null within
    one night.
    """
    scores, theirs = sides.scores(run, baseline)
    nights = sides.baseline.night_counts(baseline)
    is_within_night = sides.own is sides.baseline
    rows = []
    for sign in (-1, 1):
        for at in _largest_changes(sign * (scores - theirs), sides.own.queries.ids, limit):
            score, before = float(scores[at]), float(theirs[at])
            row = {
                "dataset": sides.key["dataset"],
                "evaluated_on": sides.key["evaluated_on"],
                "side": sides.key["side"],
                "run": run,
                "baseline": baseline,
                "measure": sides.measure,
                "cutoff": sides.cutoff,
                "query_id": sides.own.queries.ids[at].as_py(),
                "baseline_score": before,
                "score": score,
                "difference": score - before,
                "baseline_nights": None if is_within_night else int(nights[at]),
            }
            rows.append(row)
    return rows


def _largest_changes(changes: Numbers, ids: pa.Array, limit: int) -> list[int]:
    """The numbers of the queries with the largest changes above 0, at most `limit` of them."""
    above = np.flatnonzero(changes > EQUAL)
    if not len(above):
        return []
    # The last digits of a sum are ignored, so that equal changes are ordered by id.
    sizes = np.round(changes[above], DECIMALS)
    table = pa.table({"size": sizes, "id": ids.take(pa.array(above)), "at": above})
    order = [("size", "descending"), ("id", "ascending")]
    largest = pc.select_k_unstable(table, limit, order)
    numbers: list[int] = table["at"].take(largest).to_pylist()
    return numbers
