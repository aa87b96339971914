"""Runs compared with a baseline: the rows of COMPARISONS of one night, measure and cutoff."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison import randomization, statistics
from ndcg_spark.comparison.matrix import BUCKETS, Numbers, Place, ScoreMatrix
from ndcg_spark.comparison.slices import Attributes, Slice, Weights
from ndcg_spark.convention.cutoffs import Cutoff, ascending, parse_cutoff
from ndcg_spark.convention.measures import SCORES
from ndcg_spark.convention.parsing import columns_of
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.schemas import COMPARISONS

#: The flag of a comparison in which some queries have other judgments than in the baseline, so that a difference says
#: nothing about the run.
OTHER_JUDGMENTS = "other_judgments"
#: Differences of at most this size are rounding noise from adding numbers in another order, and ties.
NOISE = 1e-9
#: Where the shares of slices, without their signs, add up to more than this, no slice is the cause.
_CANCELLED = 10.0
#: Flags of rows without a p value of t: all differences are equal, or the slice is too small.
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


def measures_of(text: str) -> dict[str, list[Cutoff] | None]:
    """Columns of scores and their cutoffs from a text like ``ndcg@10,dcg,P@5 AP``; None stands for every cutoff.

    Raises ConfigurationError for an unknown measure or cutoff.
    """
    measures: dict[str, list[Cutoff] | None] = {}
    for column, cutoff in columns_of(text, SCORES):
        before = measures.get(column, [])
        if cutoff == "each" or before is None:
            measures[column] = None
        else:
            measures[column] = ascending([*before, parse_cutoff(cutoff)])
    return measures


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
class _Sample:
    """The paired queries of a run and its baseline, in a slice or all of them, with weights or without."""

    #: The row of COMPARISONS; its statistics are added bit by bit.
    row: dict[str, Any]
    #: By query: its number, both scores, and its weight if there are weights.
    queries: NDArray[np.int64]
    scores: Numbers
    theirs: Numbers
    weights: Numbers | None

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            self.apart, n, weights = self.scores - self.theirs, len(self.queries), self.weights
            self.mean, mean, baseline = (self._mean(values) for values in (self.apart, self.scores, self.theirs))
            self.deviation = float(np.std(self.apart, ddof=1)) if n > 1 else 0.0
            is_equal = n > 1 and self.deviation <= statistics.SAME * abs(float(np.mean(self.apart)))
            #: How many queries of equal weight would be as informative.
            self.effective = n if weights is None or not n else float(weights.sum() ** 2 / np.sum(weights**2))
            if weights is not None:
                # The standard deviation that would give the error of the weighted mean.
                self.deviation = statistics.weighted_error(self.apart, weights) * n**0.5
        changed = int(np.count_nonzero(np.abs(self.apart) > NOISE))
        wins, losses = (int(np.count_nonzero(sign * self.apart > NOISE)) for sign in (1, -1))
        unchanged = ["unchanged"] if n and not changed else ["no_variation"] if is_equal else []
        few = ["few_changed"] if not unchanged and n > 1 and changed < statistics.FEWEST_CHANGED else []
        self.row["flags"] += [*(["too_few"] if n < 2 else []), *unchanged, *few]
        relative = self.mean / baseline if baseline else np.nan
        self.row.update(queries=n, changed_queries=changed, wins=wins, ties=n - wins - losses, losses=losses)
        self.row.update(mean=_number(mean), baseline_mean=_number(baseline), difference=_number(self.mean))
        self.row.update(relative_difference=_number(relative), p_randomization=None)
        self.row.update(weight_effective_n=None if weights is None else self.effective)

    def _mean(self, values: Numbers) -> float:
        return float(np.average(values, weights=self.weights)) if len(values) else float("nan")

    @property
    def is_tested(self) -> bool:
        """Whether t can say anything about it."""
        return not _UNTESTED.intersection(self.row["flags"])


def rows_of(
    sides: Sides, options: ComparisonOptions, attributes: Attributes | None = None, weights: Weights | None = None
) -> list[dict[str, Any]]:
    """The rows of COMPARISONS: by pair all queries and then the slices, each followed by its weighted row.

    p values are adjusted for all of them that were tested and changed, those with weights by themselves.
    """
    dataset, there = sides.key["dataset"], sides.own.there() | sides.baseline.there()
    every = np.ones(len(there), np.bool_) if sides.only is None else sides.only
    slices: list[Slice] = [(None, None, every)]
    if attributes is not None:
        own = attributes.masks(dataset, sides.own.queries, there)
        slices += [(attribute, value, mask & every) for attribute, value, mask in own]
    vectors = [None, *([] if weights is None else [weights.vector(dataset, sides.own.queries, there)])]
    samples = [
        sample for pair in sides.pairs for sample in _samples(sides, *pair, slices, vectors, options.min_queries)
    ]
    test = statistics.paired_t(
        [len(sample.apart) for sample in samples],
        [sample.mean for sample in samples],
        [sample.deviation if sample.is_tested else np.nan for sample in samples],
        options.alpha,
        freedom=[sample.effective - 1 for sample in samples],
    )
    for at, sample in enumerate(samples):
        row = sample.row
        row |= {name: _number(values[at]) for name, values in vars(test).items() if name != "largest"}
        if sample.weights is not None:
            row["effect_size"] = None
        if "below_min_queries" not in row["flags"]:
            if "unchanged" in row["flags"]:
                row["p_value"] = 1.0
            elif "no_variation" in row["flags"]:
                # Of all combinations of signs only two have a sum as large: all as observed, and all flipped.
                row["p_value"] = max(2.0 ** (1 - row["queries"]), randomization.LEAST)
    _randomize(sides, samples, options)
    for at, sample in enumerate(samples):
        sample.row["conclusion"] = _conclusion(sample.row, options.alpha, bool(test.largest[at] < options.margin))
    return [{name: sample.row[name] for name in COMPARISONS.names} for sample in samples]


def _samples(
    sides: Sides,
    run: str,
    baseline: str,
    slices: Sequence[Slice],
    vectors: Sequence[Numbers | None],
    min_queries: int,
) -> Iterator[_Sample]:
    """A pair on every slice, each without weights and with them."""
    scores, theirs, rejudged = sides.own.scores(run), sides.baseline.scores(baseline), sides.rejudged
    missing = ["run_missing"] if run not in sides.own.runs else []
    missing += ["baseline_missing"] if baseline not in sides.baseline.runs else []
    has, has_theirs = ~np.isnan(scores), ~np.isnan(theirs)
    for attribute, value, mask in slices:
        if attribute is not None and not (has | has_theirs)[mask].any():
            continue
        for vector in vectors:
            counted = mask if vector is None else mask & ~np.isnan(vector)
            paired = np.flatnonzero(has & has_theirs & counted)
            is_small = attribute is not None and len(paired) < min_queries
            flags = [*(["below_min_queries"] if is_small else []), *missing]
            flags += [OTHER_JUDGMENTS] if rejudged[paired].any() else []
            row = {**sides.key, "run": run, "baseline": baseline, "measure": sides.place[0], "cutoff": sides.place[1]}
            row.update(attribute=attribute, value=value, flags=flags)
            row.update(unpaired_queries=int(np.count_nonzero((has != has_theirs) & counted)))
            yield _Sample(row, paired, scores[paired], theirs[paired], None if vector is None else vector[paired])


def _randomize(sides: Sides, samples: Sequence[_Sample], options: ComparisonOptions) -> None:
    """Give rows their p value of random signs, the adjusted ones, and the one that decides."""
    tested = [sample for sample in samples if sample.is_tested and sample.weights is None]
    tested = [sample for sample in tested if sample.row["p_value"] is not None]
    if options.only_losses:
        tested = [sample for sample in tested if sample.mean < 0 and sample.row["p_value"] < options.alpha]
    rows = [sample.row for sample in samples]
    for precise in (False, True):
        for sample in tested:
            # Precise where it matters: near alpha, or near what the correction compares it with.
            known = [sample.row["p_randomization"], sample.row.get("p_decides")]
            if not precise or any(options.alpha / 2 < p < 2 * options.alpha for p in known):
                sample.row["p_randomization"] = _random_signs(sides, sample, precise)
        for is_weighted in (False, True):
            _adjust([row for row in rows if (row["weight_effective_n"] is not None) == is_weighted], options)
    for row in (sample.row for sample in tested):
        if (row["p_value"] < options.alpha) != (row["p_randomization"] < options.alpha):
            row["flags"].append("doubt")


def _random_signs(sides: Sides, sample: _Sample, precise: bool) -> float:
    apart = sample.apart
    if len(apart) > randomization.UNITS:
        buckets = sides.own.queries.buckets[sample.queries]
        apart = np.bincount(buckets, weights=apart, minlength=BUCKETS).astype(np.float64)
    return randomization.p_value(apart, precise=precise)


def _adjust(rows: Sequence[dict[str, Any]], options: ComparisonOptions) -> None:
    for row in rows:
        row |= {"family_size": None, "p_adjusted": row["p_value"], "p_decides": deciding(row)}
    family = [row for row in rows if row["p_value"] is not None and "unchanged" not in row["flags"]]
    for name in ("p_adjusted", "p_decides"):
        for row, p in zip(family, statistics.adjusted([row[name] for row in family], options.correction), strict=True):
            row |= {name: float(p), "family_size": len(family)}


def deciding(row: Mapping[str, Any]) -> float | None:
    """The larger p value of both tests, not adjusted; None if there is none."""
    return max((row[name] for name in ("p_value", "p_randomization") if row[name] is not None), default=None)


def _conclusion(row: Mapping[str, Any], alpha: float, within: bool) -> str | None:
    """What may be concluded, None without a p value; `within`: whether all plausible differences are small."""
    if row["p_decides"] is None:
        return None
    if OTHER_JUDGMENTS in row["flags"] or "doubt" in row["flags"]:
        return "cannot_tell"
    if within:
        return "same"
    if row["p_decides"] >= alpha:
        return "cannot_tell"
    return "better" if row["difference"] > 0 else "worse"


def causes(row: Mapping[str, Any], slices: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The share of a difference that each slice has, given their rows without weights, the largest first.

    None where the difference may be chance, or where slices with opposite signs cancel.
    """
    low, high = row["interval_low"], row["interval_high"]
    if low is None or high is None or low <= 0 <= high:
        return []
    total, found, sizes = row["difference"] * row["queries"], [], Counter[str]()
    for part in slices:
        if part["difference"] is not None:
            share = part["difference"] * part["queries"] / total
            sizes[part["attribute"]] += abs(share)
            counts = {"queries": part["queries"], "of_queries": row["queries"]}
            found.append({"attribute": part["attribute"], "value": part["value"], **counts, "share": share})
    if max(sizes.values(), default=0.0) > _CANCELLED:
        return []
    return sorted(found, key=lambda cause: -cause["share"])


def extremes(sides: Sides, run: str, baseline: str, most: int) -> list[dict[str, Any]]:
    """The queries that lost most, the largest loss first, and then those that won most; at most `most` of each."""
    scores, theirs = sides.own.scores(run), sides.baseline.scores(baseline)
    apart = scores - theirs if sides.only is None else np.where(sides.only, scores - theirs, np.nan)
    key = {name: sides.key[name] for name in ("dataset", "evaluated_on")}
    key |= {"run": run, "baseline": baseline, "measure": sides.place[0], "cutoff": sides.place[1]}
    rows = []
    for sign in (-1, 1):
        at = np.flatnonzero(sign * apart > NOISE)
        if len(at) > most:
            # All that may be among them, whatever the last digits of a sum.
            least = np.partition(sign * apart[at], -most)[-most]
            at = at[sign * apart[at] >= least - NOISE]
        ids = dict(zip(at.tolist(), sides.own.queries.ids.take(at).to_pylist(), strict=True))
        for query in sorted(ids, key=lambda number: (-round(sign * float(apart[number]), 12), ids[number]))[:most]:
            values = {"baseline_score": theirs[query], "score": scores[query], "difference": apart[query]}
            rows.append({**key, "query_id": ids[query], **{name: float(value) for name, value in values.items()}})
    return rows


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
