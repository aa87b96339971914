"""Runs compared with a baseline: the rows of COMPARISONS of one night, measure and cutoff."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison import randomization, statistics
from ndcg_spark.comparison.matrix import BUCKETS, Numbers, Place, ScoreMatrix
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.comparison.slices import Attributes, Slice, Weights
from ndcg_spark.tables.comparison_notes import OTHER_JUDGMENTS

BETTER, WORSE, SAME, CANNOT_TELL = "better", "worse", "same", "cannot_tell"
#: Differences of at most this size are rounding noise from adding numbers in another order.
NOISE = 1e-9

_Mask = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Sides:
    """What is compared: the scores of a night, those of the baseline, and how both are named in the rows."""

    own: ScoreMatrix
    #: Of another night, or `own`.
    baseline: ScoreMatrix
    place: Place
    #: dataset, evaluated_on, evaluation_id, baseline_night and baseline_nights of the rows.
    key: Mapping[str, Any]
    #: A run and what it is compared with.
    pairs: Sequence[tuple[str, str]]
    #: By query, whether it takes part; all by default.
    only: NDArray[np.bool_] | None = None

    @property
    def rejudged(self) -> NDArray[np.bool_]:
        """By query, whether both sides know its judgments, and they differ."""
        ours, theirs = self.own.hashes(), self.baseline.hashes()
        return np.asarray((ours != theirs) & (ours != 0) & (theirs != 0))


@dataclasses.dataclass
class Difference:
    """A run and its baseline on some queries, with weights or without."""

    run: str
    baseline: str
    attribute: str | None
    value: str | None
    scores: Numbers
    theirs: Numbers
    #: By query that is paired: its number, and its weight if there are weights.
    paired: NDArray[np.int64]
    weights: Numbers | None
    unpaired: int
    flags: list[str]

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            self.apart = self.scores - self.theirs
            self.changed = int(np.count_nonzero(np.abs(self.apart) > NOISE))
            self.mean = self._mean(self.apart)
            self.n = len(self.apart)
            self.deviation = float(np.std(self.apart, ddof=1)) if self.n > 1 else 0.0
            is_equal = self.deviation <= statistics.SAME * abs(float(np.mean(self.apart))) if self.n > 1 else False
            if self.weights is not None and self.n > 1:
                squares = np.sum((self.weights * (self.apart - self.mean)) ** 2)
                error = float(statistics.weighted_error(self.n, squares, self.weights.sum()))
                # The standard deviation that would give this error.
                self.deviation = error * self.n**0.5
        if self.n < 2:
            self.flags.append("too_few")
        if self.n and not self.changed:
            self.flags.append("unchanged")
        elif is_equal:
            self.flags.append("no_variation")
        elif self.n > 1 and self.changed < statistics.FEWEST_CHANGED:
            self.flags.append("few_changed")

    @property
    def is_tested(self) -> bool:
        """Whether t can say anything about it."""
        return self.n > 1 and not {"unchanged", "no_variation", "below_min_queries"}.intersection(self.flags)

    @property
    def effective_n(self) -> float:
        """How many queries of equal weight would be as informative as these."""
        if self.weights is None:
            return self.n
        return float(self.weights.sum() ** 2 / np.sum(self.weights**2)) if self.n else 0.0

    def _mean(self, values: Numbers) -> float:
        if not len(values):
            return float("nan")
        return float(np.mean(values) if self.weights is None else np.sum(values * self.weights) / self.weights.sum())

    def means(self) -> dict[str, float | None]:
        """The means of both sides over the paired queries, and how they differ."""
        with np.errstate(all="ignore"):
            mean, baseline = self._mean(self.scores), self._mean(self.theirs)
        relative = self.mean / baseline if baseline else float("nan")
        names = ("mean", "baseline_mean", "difference", "relative_difference")
        return dict(zip(names, map(_number, (mean, baseline, self.mean, relative)), strict=True))


def rows_of(
    sides: Sides, options: ComparisonOptions, attributes: Attributes | None = None, weights: Weights | None = None
) -> list[dict[str, Any]]:
    """The rows of COMPARISONS: by pair all queries and then the slices, each followed by its weighted row.

    p values are adjusted for all of them that were tested and changed, those with weights by themselves.
    """
    found = [
        difference
        for run, baseline in sides.pairs
        for difference in _differences(sides, run, baseline, options, attributes, weights)
    ]
    t = statistics.paired_t(
        [each.n for each in found],
        [each.mean for each in found],
        [each.deviation if each.is_tested else np.nan for each in found],
        options.alpha,
        freedom=[each.effective_n - 1 for each in found],
    )
    # The interval that says that a difference is within the margin: two one-sided tests at alpha.
    narrow = statistics.paired_t(
        [each.n for each in found],
        [each.mean for each in found],
        [each.deviation if each.is_tested else np.nan for each in found],
        2 * options.alpha,
        freedom=[each.effective_n - 1 for each in found],
    )
    rows = [
        _row(sides, each, options, {name: _number(getattr(t, name)[at]) for name in _OF_T})
        for at, each in enumerate(found)
    ]
    _decide(sides, rows, found, options)
    for row, low, high in zip(rows, narrow.interval_low, narrow.interval_high, strict=True):
        within = bool(max(-low, high) < options.margin)
        row["conclusion"] = conclusion(row, options.alpha, within)
    return rows


_OF_T = ("p_value", "interval_low", "interval_high", "effect_size", "minimum_detectable")


def _differences(
    sides: Sides,
    run: str,
    baseline: str,
    options: ComparisonOptions,
    attributes: Attributes | None,
    weights: Weights | None,
) -> Iterable[Difference]:
    """The comparison of a pair on all queries and on every slice, each without weights and with them."""
    own, other = sides.own, sides.baseline
    scores, theirs, there = own.scores(run), other.scores(baseline), own.there() | other.there()
    every = np.ones(len(scores), np.bool_) if sides.only is None else sides.only
    flags = [flag for flag, side, name in ((_OURS, own, run), (_THEIRS, other, baseline)) if name not in side.runs]
    rejudged = sides.rejudged
    dataset = sides.key["dataset"]
    slices: list[Slice] = [(None, None, every)]
    if attributes is not None:
        slices += [(name, value, mask & every) for name, value, mask in attributes.masks(dataset, own.queries, there)]
    weight = None if weights is None else weights.vector(dataset, own.queries, there)
    has, has_theirs = ~np.isnan(scores), ~np.isnan(theirs)
    for attribute, value, mask in slices:
        for vector in (None, *([] if weight is None else [weight])):
            counted: _Mask = mask if vector is None else mask & ~np.isnan(vector)
            paired = np.flatnonzero(has & has_theirs & counted)
            if attribute is not None and not (has | has_theirs)[mask].any():
                continue
            more = list(flags)
            if attribute is not None and len(paired) < options.min_queries:
                more.insert(0, "below_min_queries")
            if rejudged[paired].any():
                more.append(OTHER_JUDGMENTS)
            unpaired = int(np.count_nonzero((has != has_theirs) & counted))
            of_weights = None if vector is None else vector[paired]
            if of_weights is not None:
                if len(paired) < np.count_nonzero(has & has_theirs & mask):
                    more.append("without_weight")
                more += _doubts_of_weights(of_weights)
            yield Difference(
                run, baseline, attribute, value, scores[paired], theirs[paired], paired, of_weights, unpaired, more
            )


_OURS, _THEIRS = "run_missing", "baseline_missing"


def _doubts_of_weights(weights: Numbers) -> list[str]:
    if not len(weights):
        return []
    effective = weights.sum() ** 2 / np.sum(weights**2)
    return statistics.doubts_of_weights(effective, float(weights.max() / weights.sum()))


def _row(
    sides: Sides, each: Difference, options: ComparisonOptions, of_t: Mapping[str, float | None]
) -> dict[str, Any]:
    measure, cutoff = sides.place
    wins, losses = (int(np.count_nonzero(sign * each.apart > options.tie)) for sign in (1, -1))
    row = {
        **sides.key,
        "run": each.run,
        "baseline": each.baseline,
        "measure": measure,
        "cutoff": cutoff,
        "attribute": each.attribute,
        "value": each.value,
        "queries": each.n,
        "unpaired_queries": each.unpaired,
        "changed_queries": each.changed,
        "wins": wins,
        "ties": each.n - wins - losses,
        "losses": losses,
        # A loss that equals the limit up to rounding counts as a loss.
        "large_losses": int(np.count_nonzero(each.apart <= -options.losses[0] + NOISE)),
        "lost": {loss: int(np.count_nonzero(each.apart <= -loss + NOISE)) for loss in options.losses},
        "flags": each.flags,
        **each.means(),
        **of_t,
        "p_randomization": None,
        "weight_effective_n": None if each.weights is None else each.effective_n,
    }
    if each.weights is not None:
        row["effect_size"] = None
    if "below_min_queries" not in each.flags:
        if "unchanged" in each.flags:
            row["p_value"] = 1.0
        elif "no_variation" in each.flags:
            # Of all combinations of signs only two have a sum as large: all as observed, and all flipped.
            row["p_value"] = max(2.0 ** (1 - each.n), randomization.LEAST)
    return row


def _decide(
    sides: Sides, rows: Sequence[dict[str, Any]], found: Sequence[Difference], options: ComparisonOptions
) -> None:
    """Give rows their p value of random signs, the adjusted ones, and the one that decides."""
    tested = [
        (row, each)
        for row, each in zip(rows, found, strict=True)
        if row["p_value"] is not None and each.is_tested and each.weights is None
    ]
    for row, each in tested:
        row["p_randomization"] = _randomized(sides, each, options, options.precise)
    _adjust(rows, options)
    if not options.precise:
        # Precise where it matters: near alpha, or near what the correction compares it with.
        for row, each in tested:
            p, adjusted = row["p_randomization"], row["p_decides"]
            if any(options.alpha / 2 < near < 2 * options.alpha for near in (p, adjusted)):
                row["p_randomization"] = _randomized(sides, each, options, True)
        _adjust(rows, options)
    for row, _ in tested:
        if (row["p_value"] < options.alpha) != (row["p_randomization"] < options.alpha):
            row["flags"].append("doubt")


def _adjust(rows: Sequence[dict[str, Any]], options: ComparisonOptions) -> None:
    for is_weighted in (False, True):
        of_kind = [row for row in rows if (row["weight_effective_n"] is not None) == is_weighted]
        family = [row for row in of_kind if row["p_value"] is not None and "unchanged" not in row["flags"]]
        for row in of_kind:
            row.update(family_size=None, p_adjusted=row["p_value"], p_decides=deciding(row))
        adjust = statistics.CORRECTIONS[options.correction]
        for name, p_values in (
            ("p_adjusted", [row["p_value"] for row in family]),
            ("p_decides", [deciding(row) for row in family]),
        ):
            for row, p in zip(family, adjust(np.array(p_values, np.float64)), strict=True):
                row.update({name: float(p), "family_size": len(family)})


def deciding(row: Mapping[str, Any]) -> float | None:
    """The larger p value of both tests, not adjusted; None if there is none."""
    known = [row[name] for name in ("p_value", "p_randomization") if row[name] is not None]
    return max(known) if known else None


def _randomized(sides: Sides, each: Difference, options: ComparisonOptions, precise: bool) -> float:
    apart = each.apart
    if each.n > randomization.UNITS:
        buckets = sides.own.queries.buckets()[each.paired]
        apart = np.bincount(buckets, weights=apart, minlength=BUCKETS).astype(np.float64)
    return randomization.p_value(apart, options.seed, precise=precise)


def conclusion(row: Mapping[str, Any], alpha: float, within: bool) -> str | None:
    """BETTER, WORSE, SAME or CANNOT_TELL; None for a row without a p value.

    `within`: whether the interval at 1 - 2 alpha lies within the margin.
    """
    if row["p_decides"] is None:
        return None
    if OTHER_JUDGMENTS in row["flags"] or "doubt" in row["flags"]:
        return CANNOT_TELL
    if within:
        return SAME
    if row["p_decides"] >= alpha:
        return CANNOT_TELL
    return BETTER if row["difference"] > 0 else WORSE


def extremes(sides: Sides, run: str, baseline: str, most: int) -> list[dict[str, Any]]:
    """The queries that lost most, the largest loss first, and then those that won most; at most `most` of each."""
    scores, theirs = sides.own.scores(run), sides.baseline.scores(baseline)
    apart = scores - theirs
    if sides.only is not None:
        apart[~sides.only] = np.nan
    rows = []
    for sign in (-1, 1):
        at = np.flatnonzero(sign * apart > NOISE)
        if len(at) > most:
            # All that may be among them, whatever the last digits of a sum.
            least = np.partition(sign * apart[at], -most)[-most]
            at = at[sign * apart[at] >= least - NOISE]
        ids = dict(zip(at.tolist(), sides.own.queries.ids.take(at).to_pylist(), strict=True))
        ranked = sorted(ids, key=lambda query: (-round(sign * float(apart[query]), 12), ids[query]))
        rows += [
            {
                "dataset": sides.key["dataset"],
                "evaluated_on": sides.key["evaluated_on"],
                "run": run,
                "baseline": baseline,
                "measure": sides.place[0],
                "cutoff": sides.place[1],
                "query_id": ids[query],
                "baseline_score": float(theirs[query]),
                "score": float(scores[query]),
                "difference": float(apart[query]),
            }
            for query in ranked[:most]
        ]
    return rows


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
