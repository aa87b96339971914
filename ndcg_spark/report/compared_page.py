"""The runs of a night compared with the baseline of its page.

If there is a gate, these are the rows that it decided by. Across a change of judgments each row
exists twice: both nights under the old judgments and under the new ones, or the lower and the
higher sides of a chain. The page shows both and their mean.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison.chain import RunScores, chain
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, slice_causes
from ndcg_spark.comparison.matrix import read_attributes
from ndcg_spark.comparison.readings import FIRST
from ndcg_spark.comparison.references import Reference
from ndcg_spark.comparison.sources import (
    NoCopyError,
    ScoreCache,
    both_sides,
    side_names,
    why_not_comparable,
)
from ndcg_spark.comparison.trend import History
from ndcg_spark.convention.measures import CATALOG_COLUMNS, conclusions_of, format_cutoff
from ndcg_spark.gate.against_reference import Question, ReferenceScores
from ndcg_spark.gate.checks import unknown_ids_of
from ndcg_spark.gate.verdict import FAIL
from ndcg_spark.nights.copies import why_not_rescored
from ndcg_spark.report.outline import (
    Outline,
    chain_rows,
    is_chain,
    needed_copies,
    shown_rows,
)
from ndcg_spark.tolerance import EQUAL

Row = Mapping[str, Any]
#: Columns whose largest value is kept of two sides, and those whose smallest is kept.
_LARGEST = ("p_value", "p_randomization", "p_adjusted", "p_decides", "interval_high")
_SMALLEST = ("interval_low", "queries")
#: The default number of nights that a gate compares with, and of queries that it needs.
_NIGHTS, _MIN_QUERIES = 7, 50


class NotCompared(NamedTuple):
    """Why a night is not compared with a night that has different judgments or items."""

    #: None if only copies are missing, which `rescore` makes.
    reason: str | None
    is_of_items: bool = False


class Changes(NamedTuple):
    """The queries of a run that have a difference: their ids and both scores."""

    ids: Sequence[str]
    own: Sequence[float]
    before: Sequence[float]
    #: How many nights each earlier score is averaged over.
    nights: Sequence[int | None]


@dataclasses.dataclass(frozen=True)
class ComparedRuns:
    #: The rows of COMPARISONS for all queries by run, and those for slices.
    rows: Mapping[str, Row]
    slices: Mapping[str, Sequence[Row]]
    #: The runs whose p and conclusion come from the gate, which adjusts for its own checks.
    decided_by_gate: Sequence[str]
    options: ComparisonOptions
    #: The scores of queries, after a change under the new judgments; None if nothing is compared.
    sides: Sides | None = None
    #: The reference of each run that is compared by a chain across changes of judgments.
    chains: Mapping[str, Reference] = dataclasses.field(default_factory=dict)
    refused: NotCompared | None = None

    def difference(self, run: str) -> float:
        """The difference of a run, or 0 if it has none."""
        row = self.rows.get(run)
        return (row["difference"] or 0.0) if row else 0.0

    def causes(self, run: str) -> Sequence[Row]:
        """Each slice's share of the difference of a run, the largest first."""
        row = self.rows.get(run)
        if row is None or self.sides is None:
            return []
        slices = self.slices.get(run, [])
        return slice_causes(self.sides, row, slices, self.options.attributes)

    @property
    def rejudged(self) -> int:
        """How many queries are compared although their judgments differ."""
        if self.sides is None or self.sides.only is not None:
            return 0
        return int(self.sides.rejudged.sum())


def gate_result(shown: Outline, results: Iterable[Row], run: str) -> Row | None:
    """The gate's result for the mean of a run, by the measure and baseline of the page."""
    name = shown.baseline.name
    if not name:
        return None
    measure, cutoff = shown.metric
    wanted: Row = {
        "run": run,
        "measure": measure,
        "cutoff": format_cutoff(cutoff),
        "slice": None,
        "weighted": False,
        "baseline": name,
    }
    return next((row for row in results if wanted.items() <= row.items()), None)


def compare_shown(history: History, shown: Outline) -> ComparedRuns:
    """The runs of a night compared with its baseline, with the decisions of the gate if any."""
    gate = shown.night.gate if shown.baseline.name else {}
    attributes = shown.request.attributes
    if attributes is None:
        attributes = read_attributes([shown.night])
    options = ComparisonOptions(alpha=gate.get("alpha", 0.05), attributes=attributes)
    if not shown.baseline.nights and not shown.baseline.run:
        return ComparedRuns({}, {}, [], options)
    nights = [one for one in shown.baseline.nights if shown.metric in one.measure_set.metrics]
    refused = why_not_comparable(shown.night, nights, shown.metric)
    if refused is not None:
        not_compared = NotCompared(refused.sentence, is_of_items=True)
        return ComparedRuns({}, {}, [], options, refused=not_compared)
    cache = ScoreCache(history.scores)
    try:
        if is_chain(shown):
            return _compare_chains(history, shown, cache, options)
        return _compare_sides(shown, cache, options)
    except NoCopyError:
        return ComparedRuns({}, {}, [], options, refused=NotCompared(_why_no_copy(shown)))


def _why_no_copy(shown: Outline) -> str | None:
    """Why the other sides cannot be computed; None if nobody has computed them yet."""
    for night, judgments in needed_copies(shown):
        reason = why_not_rescored(night, shown.metric, judgments)
        if reason is not None:
            return reason
    return None


def _compare_sides(shown: Outline, cache: ScoreCache, options: ComparisonOptions) -> ComparedRuns:
    """The runs against the nights of the baseline, on both sides if the judgments differ."""
    names = side_names(shown.baseline, shown.night, shown.metric)
    given = shown.request.attributes
    known = [both_sides(shown.baseline, shown.night, shown.metric, cache, side) for side in names]
    by_side = [shown_rows(shown, sides, options, given) for sides in known]
    return _together(shown, by_side, options, sides=known[-1])


def _together(
    shown: Outline,
    by_side: Sequence[Sequence[Row]],
    options: ComparisonOptions,
    **more: Any,
) -> ComparedRuns:
    """One row per run and slice, from the rows of each side."""
    rows: dict[str, Row] = {}
    slices: dict[str, list[Row]] = {}
    decided = []
    results = (shown.night.record["verdict"] or {}).get("results", ())
    unknown = unknown_ids_of(shown.night)
    for parts in _by_subject(by_side):
        row = one_row(parts)
        run = row["run"]
        # Nothing was measured if no judgment has the document ids of the run.
        if run in unknown:
            continue
        if row["attribute"] is not None:
            slices.setdefault(run, []).append(row)
            continue
        rows[run] = _as_decided(row, gate_result(shown, results, run), options.alpha)
        if rows[run] is not row:
            decided.append(run)
    return ComparedRuns(rows, slices, decided, options, **more)


def _by_subject(by_side: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """The rows about the same run and slice, if every side has one."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for rows in by_side:
        for row in rows:
            key = (row["run"], row["attribute"], row["value"])
            found.setdefault(key, []).append(row)
    return [parts for parts in found.values() if len(parts) == len(by_side)]


def one_row(parts: Sequence[Row]) -> dict[str, Any]:
    """Return one row for both sides, which come with the old or lower side first.

    It has the mean of the differences, the union of the intervals, the larger p, the smaller n
    and `sides`. The conclusion is `cannot_tell` unless both sides agree.
    """
    last = dict(parts[-1])
    if len(parts) == 1:
        return {**last, "sides": []}
    for names, choose in ((_LARGEST, max), (_SMALLEST, min)):
        for name in names:
            known = [part[name] for part in parts if part[name] is not None]
            last[name] = choose(known, default=None)
    differences = [part["difference"] for part in parts]
    last["sides"] = list(map(_side_of, parts))
    if None in differences:
        return {**last, "difference": None, "conclusion": None}
    last["difference"] = sum(differences) / len(differences)
    last["baseline_mean"] = last["mean"] - last["difference"]
    conclusions = {part["conclusion"] for part in parts}
    if len(conclusions) > 1:
        last["conclusion"] = "cannot_tell"
    if "unchanged" in last["flags"] and any(abs(value) > 0 for value in differences):
        last["flags"] = [flag for flag in last["flags"] if flag != "unchanged"]
    return last


def _side_of(part: Row) -> dict[str, Any]:
    return {"side": part["side"], "difference": part["difference"]}


def _as_decided(row: dict[str, Any], result: Row | None, alpha: float) -> dict[str, Any]:
    """The row with the p value and conclusion of the gate, if the gate tested a loss, or a
    change of a catalog measure.

    The gate adjusts p for its own checks. For a gain it may have only the t test.
    """
    p = result.get("p") if result else None
    differences = [side["difference"] for side in row["sides"]] or [row["difference"]]
    is_of_catalog = row["measure"] in CATALOG_COLUMNS
    is_tested = all(value is not None and (value < 0 or is_of_catalog) for value in differences)
    if result is None or p is None or not is_tested:
        return row
    below, above = conclusions_of(row["measure"])
    conclusion = "cannot_tell"
    if p < alpha:
        conclusion = below if row["difference"] < 0 else above
    if row["conclusion"] == "same" and result["result"] != FAIL:
        conclusion = "same"
    flags = [flag for flag in row["flags"] if flag != "doubt"]
    return {**row, "p_decides": p, "conclusion": conclusion, "flags": flags}


# A chain across changes of judgments.


def _compare_chains(
    history: History,
    shown: Outline,
    cache: ScoreCache,
    options: ComparisonOptions,
) -> ComparedRuns:
    """The runs against the accepted or a dated night, across the changes of judgments since."""
    night, baseline, gate = shown.night, shown.baseline, shown.night.gate
    most = gate.get("nights", _NIGHTS)
    beside = ReferenceScores(night, history.nights, cache, options, most)
    rows: list[Row] = []
    chains: dict[str, Reference] = {}
    for run in cache.source(night).runs:
        found = beside.compare(baseline, _question(shown, gate, run))
        if found.reference is None or not found.reference.links:
            continue
        made = [row for row in found.of_reading(FIRST) if row["difference"] is not None]
        if made:
            chains[run] = found.reference
            rows += [_with_counts(row, shown, cache, found.reference) for row in made]
    if not rows:
        raise NoCopyError(f"no chain leads from {baseline.in_words} to {night}")
    return _together(shown, chain_rows(rows, options), options, chains=chains)


def _question(shown: Outline, gate: Row, run: str) -> Question:
    """The strictest check of the run, which also limits how far the sides may be apart."""
    result = gate_result(shown, (shown.night.record["verdict"] or {}).get("results", ()), run) or {}
    allowed = result.get("allowed")

    def may_fall(_mean: float) -> float:
        return ComparisonOptions().margin if allowed is None else float(allowed)

    return Question(run, shown.metric, may_fall, gate.get("min_queries", _MIN_QUERIES))


def _with_counts(row: Row, shown: Outline, cache: ScoreCache, reference: Reference) -> Row:
    """A row of a chain, with the numbers of queries that won, tied and lost."""
    apart = _chain_changes(row["run"], shown, cache, reference)
    known = apart[~np.isnan(apart)]
    wins = int((known > EQUAL).sum())
    losses = int((known < -EQUAL).sum())
    counts = {"wins": wins, "losses": losses, "ties": len(known) - wins - losses}
    return {**row, **counts, "unpaired_queries": 0}


def _chain_changes(
    run: str,
    shown: Outline,
    cache: ScoreCache,
    reference: Reference,
) -> NDArray[np.float64]:
    """The change of a run by query over a chain, with the mean of both sides of each link."""
    made = chain(reference, shown.night, RunScores(run, shown.metric, cache), FIRST)
    if made is None:
        raise NoCopyError("a copy has disappeared")
    parts = [piece.apart for piece in made.pieces]
    for link in made.links:
        parts.append((_padded(link.old, cache, shown) + _padded(link.new, cache, shown)) / 2)
    padded = [_padded(apart, cache, shown) for apart in parts]
    return np.asarray(np.sum(padded, axis=0))


def _padded(
    apart: NDArray[np.float64],
    cache: ScoreCache,
    shown: Outline,
) -> NDArray[np.float64]:
    """The differences padded to all queries, including those that were first seen later."""
    many = len(cache.queries(shown.night.dataset))
    return np.pad(apart, (0, many - len(apart)), constant_values=np.nan)


def chain_queries(shown: Outline, history: History, compared: ComparedRuns, run: str) -> Changes:
    """The queries that are in every piece of the chain of a run."""
    cache = ScoreCache(history.scores)
    apart = _chain_changes(run, shown, cache, compared.chains[run])
    own = cache.matrix(shown.night, shown.metric).scores(run)
    apart = _padded(apart, cache, shown)
    at = np.flatnonzero(~np.isnan(apart) & ~np.isnan(own))
    ids = cache.queries(shown.night.dataset).ids.take(at).to_pylist()
    before = (own - apart)[at].tolist()
    return Changes(ids, own[at].tolist(), before, [None] * len(ids))
