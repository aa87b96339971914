"""Runs compared with a baseline: the rows of COMPARISONS of one night, measure and cutoff."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison import statistics
from ndcg_spark.comparison.matrix import Metric, ScoreMatrix
from ndcg_spark.comparison.slices import Attributes, Slice, Weights
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.convention.measures import SCORES, Cutoff
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns, parse_cutoffs
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.schemas import COMPARISONS

#: The flag of a comparison in which some queries have other judgments than in the baseline, so that a difference says
#: nothing about the run.
OTHER_JUDGMENTS = "other_judgments"
#: Differences of at most this size are rounding noise from adding numbers in another order, and ties.
NOISE = 1e-9
#: Differences vary only by rounding if their deviation is at most this share of their mean.
_SAME = 1e-9
#: With fewer changed queries the row is flagged.
_FEWEST_CHANGED = 10
#: A slice explains a change if it has at least so many times its share of the queries.
_MIN_EXCESS = 1.5
#: Where the shares of slices, without their signs, add up to more than this, no slice is the cause.
_CANCELLED = 10.0
#: Flags of rows that are not tested: all differences are equal, or the slice is too small.
_UNTESTED = frozenset({"too_few", "unchanged", "no_variation", "below_min_queries"})


@dataclasses.dataclass(frozen=True)
class ComparisonOptions:
    """The options of a comparison; raises ConfigurationError for an invalid one."""

    #: Columns of numbers, each with the cutoffs at which to compare it; None for all cutoffs that were evaluated.
    measures: Mapping[str, Sequence[Cutoff] | None] = dataclasses.field(default_factory=lambda: {"ndcg": None})
    #: Intervals cover 1 - alpha.
    alpha: float = 0.05
    #: How p values are adjusted for their number: one of CORRECTIONS.
    correction: str = "holm"
    #: A slice of fewer paired queries is not tested.
    min_queries: int = 10
    #: The largest difference that does not matter: runs that certainly differ by less are the same.
    margin: float = 0.01
    #: Leave out queries whose judgments are not those of the baseline's night.
    unchanged_queries: bool = False
    #: Draw random signs only for losses that the t test finds significant.
    only_losses: bool = False

    def __post_init__(self) -> None:
        known = statistics.CORRECTIONS
        if self.correction not in known:
            raise ConfigurationError(f"correction: unknown {self.correction!r}; choose {', '.join(known)}")
        if not 0 < self.alpha < 1:
            raise ConfigurationError(f"alpha: {self.alpha!r} is not between 0 and 1; 0.05 is usual")
        if not 0 < self.margin < float("inf"):
            raise ConfigurationError(f"margin: {self.margin!r} is not a difference above 0; 0.01 is usual")


def parse_metrics(text: str) -> dict[str, list[Cutoff] | None]:
    """Columns of scores and their cutoffs from a text like ``ndcg@10,dcg,P@5 AP``; None stands for every cutoff.

    Raises ConfigurationError for an unknown measure or cutoff.
    """
    cutoffs: dict[str, list[str]] = {}
    for column, cutoff in parse_columns(text, SCORES):
        cutoffs.setdefault(column, []).append(cutoff)
    return {name: None if ALL_CUTOFFS in texts else parse_cutoffs(texts) for name, texts in cutoffs.items()}


@dataclasses.dataclass(frozen=True)
class Sides:
    """What is compared: the scores of a night, those of the baseline, and how both are named in the rows."""

    own: ScoreMatrix
    #: Of another night, or `own`.
    baseline: ScoreMatrix
    metric: Metric
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

    def scores(self, run: str, baseline: str) -> tuple[Numbers, Numbers]:
        """By query, the score of a run and that of what it is compared with; NaN where there is none to compare."""
        own, theirs = self.own.scores(run), self.baseline.scores(baseline)
        if self.only is None:
            return own, theirs
        return np.where(self.only, own, np.nan), np.where(self.only, theirs, np.nan)


def comparison_rows(
    sides: Sides, options: ComparisonOptions, attributes: Attributes | None = None, weights: Weights | None = None
) -> list[dict[str, Any]]:
    """The rows of COMPARISONS: by pair all queries and then the slices, each followed by its weighted row.

    p values are adjusted for all of them that were tested and changed, those with weights by themselves.
    """
    samples = list(_samples(sides, options, attributes, weights))
    rows = [row for row, _ in samples]
    tested = [(row, apart) for row, apart in samples if row["effect_size"] is not None]
    if options.only_losses:
        tested = [(row, apart) for row, apart in tested if row["difference"] < 0 and row["p_value"] < options.alpha]
    for precise in (False, True):
        for row, apart in tested:
            # Precise where it matters: near alpha, or near what the correction compares it with.
            known = [row["p_randomization"], row.get("p_decides")]
            if not precise or any(options.alpha / 2 < p < 2 * options.alpha for p in known):
                row["p_randomization"] = statistics.random_signs(apart, precise=precise)
        for is_weighted in (False, True):
            _adjust([row for row in rows if (row["weight_effective_n"] is not None) == is_weighted], options.correction)
    for row, _ in tested:
        if (row["p_value"] < options.alpha) != (row["p_randomization"] < options.alpha):
            row["flags"].append("doubt")
    for row in rows:
        row["conclusion"] = _conclusion(row, options)
    return [{name: row[name] for name in COMPARISONS.names} for row in rows]


def _samples(
    sides: Sides, options: ComparisonOptions, attributes: Attributes | None, weights: Weights | None
) -> Iterator[tuple[dict[str, Any], Numbers]]:
    """A row for every pair on every slice, without weights and with them, and the units whose signs are random."""
    dataset, queries, rejudged = sides.key["dataset"], sides.own.queries, sides.rejudged
    there = sides.own.there() | sides.baseline.there()
    slices: list[Slice] = [(None, None, np.ones(len(queries), np.bool_))]
    slices += attributes.masks(dataset, queries, there) if attributes else ()
    vectors = [np.ones(len(queries)), *([weights.vector(dataset, queries, there)] if weights else [])]
    for run, baseline in sides.pairs:
        scores, theirs = sides.scores(run, baseline)
        missing = [] if run in sides.own.runs else ["run_missing"]
        missing += [] if baseline in sides.baseline.runs else ["baseline_missing"]
        has, has_theirs = ~np.isnan(scores), ~np.isnan(theirs)
        for attribute, value, mask in slices:
            if attribute is not None and not (has | has_theirs)[mask].any():
                continue
            for is_weighted, vector in enumerate(vectors):
                counted = mask & ~np.isnan(vector)
                paired = np.flatnonzero(has & has_theirs & counted)
                small = ["below_min_queries"] if attribute is not None and len(paired) < options.min_queries else []
                row = {**sides.key, "run": run, "baseline": baseline, "attribute": attribute, "value": value}
                row |= {"measure": sides.metric[0], "cutoff": sides.metric[1], "p_randomization": None}
                row["unpaired_queries"] = int(np.count_nonzero((has != has_theirs) & counted))
                row["flags"] = [*small, *missing, *([OTHER_JUDGMENTS] if rejudged[paired].any() else [])]
                apart = _add_statistics(row, scores[paired], theirs[paired], vector[paired], options.alpha)
                row["effect_size" if is_weighted else "weight_effective_n"] = None
                if len(apart) > statistics.UNITS:
                    apart = np.bincount(queries.buckets[paired], apart, statistics.UNITS).astype(np.float64)
                yield row, apart


def _add_statistics(row: dict[str, Any], scores: Numbers, theirs: Numbers, weights: Numbers, alpha: float) -> Numbers:
    """Add to a row what its scores say by themselves; `largest` is the largest plausible difference.

    Returns the differences.
    """
    numbers: dict[str, Any] = dict.fromkeys(("mean", "baseline_mean", "difference"), np.nan)
    n, effective, deviation, flags = len(scores), 0.0, 0.0, row["flags"]
    with np.errstate(all="ignore"):
        apart = scores - theirs
        wins, losses = (int(np.count_nonzero(sign * apart > NOISE)) for sign in (1, -1))
        if n:
            means = (np.average(values, weights=weights) for values in (scores, theirs, apart))
            numbers = dict(zip(numbers, means, strict=True))
            # How many queries of equal weight would be as informative, and which deviation gives the weighted error.
            effective = weights.sum() ** 2 / np.sum(weights**2)
            deviation = statistics.weighted_error(apart, weights) * n**0.5
        if n < 2:
            flags.append("too_few")
        if n and not wins + losses:
            flags.append("unchanged")
        elif n > 1 and np.std(apart, ddof=1) <= _SAME * abs(np.mean(apart)):
            flags.append("no_variation")
        elif n > 1 and wins + losses < _FEWEST_CHANGED:
            flags.append("few_changed")
        if _UNTESTED & {*flags}:
            deviation = np.nan
        numbers |= statistics.paired_t(n, numbers["difference"], deviation, alpha, freedom=effective - 1)
        numbers["relative_difference"] = np.divide(numbers["difference"], numbers["baseline_mean"])
    row.update((name, float(value) if np.isfinite(value) else None) for name, value in numbers.items())
    row.update(queries=n, changed_queries=wins + losses, wins=wins, ties=n - wins - losses, losses=losses)
    row["weight_effective_n"] = float(effective)
    if "below_min_queries" not in flags:
        if "unchanged" in flags:
            row["p_value"] = 1.0
        elif "no_variation" in flags:
            # Of all combinations of signs only two have a sum as large: all as observed, and all flipped.
            row["p_value"] = max(2.0 ** (1 - n), statistics.MIN_P)
    return apart


def _adjust(rows: Sequence[dict[str, Any]], correction: str) -> None:
    """Give the rows of a family the p values that are adjusted for their number."""
    for row in rows:
        row.update(family_size=None, p_adjusted=row["p_value"], p_decides=deciding(row))
    family = [row for row in rows if row["p_value"] is not None and "unchanged" not in row["flags"]]
    for name in ("p_adjusted", "p_decides"):
        for row, p in zip(family, statistics.adjusted([row[name] for row in family], correction).tolist(), strict=True):
            row.update({name: p, "family_size": len(family)})


def deciding(row: Mapping[str, Any]) -> float | None:
    """The larger p value of both tests, not adjusted; None if there is none."""
    return max((row[name] for name in ("p_value", "p_randomization") if row[name] is not None), default=None)


def _conclusion(row: Mapping[str, Any], options: ComparisonOptions) -> str | None:
    """What may be concluded, None without a p value."""
    if row["p_decides"] is None:
        return None
    is_doubted = {OTHER_JUDGMENTS, "doubt"} & {*row["flags"]}
    if not is_doubted and row["largest"] is not None and row["largest"] < options.margin:
        return "same"
    if is_doubted or row["p_decides"] >= options.alpha:
        return "cannot_tell"
    return "better" if row["difference"] > 0 else "worse"


def causes(row: Mapping[str, Any], slices: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The share of a difference that each slice has, given their rows without weights, the largest first.

    Those that explain it come first; a slice of all queries is left out. None where the difference may be chance, or
    slices with opposite signs cancel.
    """
    low, high = row["interval_low"], row["interval_high"]
    if low is None or high is None or low <= 0 <= high:
        return []
    total, shares, sizes = row["difference"] * row["queries"], [], Counter[str]()
    for part in slices:
        if part["difference"] is not None and part["queries"] < row["queries"]:
            share = part["difference"] * part["queries"] / total
            sizes[part["attribute"]] += abs(share)
            counts = {"queries": part["queries"], "of_queries": row["queries"], "share": share}
            shares.append({"attribute": part["attribute"], "value": part["value"], **counts})
    if max(sizes.values(), default=0.0) > _CANCELLED:
        return []
    return sorted(shares, key=lambda cause: (not explains(cause), -cause["share"]))


def explains(cause: Mapping[str, Any]) -> bool:
    """Whether a slice has clearly more of a difference than of the queries, so that it is worth a sentence."""
    return bool(cause["share"] >= _MIN_EXCESS * cause["queries"] / cause["of_queries"])


def extremes(sides: Sides, run: str, baseline: str, limit: int) -> list[dict[str, Any]]:
    """The queries that lost most, the largest loss first, and then those that won most; at most `limit` of each."""
    scores, theirs = sides.scores(run, baseline)
    apart, rows = scores - theirs, []
    key = {name: sides.key[name] for name in ("dataset", "evaluated_on")}
    key |= {"run": run, "baseline": baseline, "measure": sides.metric[0], "cutoff": sides.metric[1]}
    for sign in (-1, 1):
        at = np.flatnonzero(sign * apart > NOISE)
        if not len(at):
            continue
        # The last digits of a sum are not compared.
        table = pa.table({"size": np.round(sign * apart[at], 12), "id": sides.own.queries.ids.take(at)})
        for number in pc.select_k_unstable(table, limit, [("size", "descending"), ("id", "ascending")]).to_numpy():
            values = {"baseline_score": theirs, "score": scores, "difference": apart}
            row = {name: float(by_query[at[number]]) for name, by_query in values.items()}
            rows.append({**key, "query_id": table["id"][int(number)].as_py(), **row})
    return rows
