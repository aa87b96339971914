"""A night's runs compared with its page's baseline.

If there is a gate, these are the rows that it decided by. Across a change of judgments each row
exists twice: both nights under the old judgments and under the new ones, or the lower and the
higher sides of a chain. The page shows both and their mean.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison.baselines import Baseline
from ndcg_spark.comparison.chain import RunScores, chain
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, slice_causes
from ndcg_spark.comparison.matrix import padded, read_attributes
from ndcg_spark.comparison.readings import FIRST_READING
from ndcg_spark.comparison.references import Reference
from ndcg_spark.comparison.sources import (
    NoCopyError,
    ScoreCache,
    both_sides,
    side_names,
    why_not_comparable,
)
from ndcg_spark.comparison.trend import History
from ndcg_spark.convention.measures import CATALOG_COLUMNS, conclusion_words, format_cutoff
from ndcg_spark.gate.against_reference import Question, ReferenceScores
from ndcg_spark.gate.verdict import FAIL
from ndcg_spark.nights.copies import has_copy, rescore_command, why_not_rescored
from ndcg_spark.report.outline import (
    Outline,
    chain_rows,
    is_chain,
    needed_copies,
    shown_rows,
)
from ndcg_spark.tolerance import EQUAL

Row = Mapping[str, Any]
#: The columns of which a row for both sides has the larger value, and those with the smaller one.
_LARGEST = ("p_value", "p_randomization", "p_adjusted", "p_decides", "interval_high")
_SMALLEST = ("interval_low", "queries")
#: The default number of nights that a gate compares with, and of queries that it needs.
_NIGHTS, _MIN_QUERIES = 7, 50


class NotCompared(NamedTuple):
    """Why a night is not compared with a night that has different judgments or items."""

    #: None if only copies are missing, which `rescore` makes.
    reason: str | None
    is_of_items: bool = False
    #: The commands that make the missing copies.
    commands: tuple[str, ...] = ()


class QueryScore(NamedTuple):
    query_id: str
    score: float
    before: float | None
    #: The difference, or the score if there is no score before.
    change: float
    #: The number of nights that `before` is averaged over.
    nights: int | None = None


@dataclasses.dataclass(frozen=True)
class ComparedRuns:
    """A night's runs that can be compared, or why none can be."""

    #: The rows of COMPARISONS for all queries by run, and those for slices.
    rows: Mapping[str, Row]
    slices: Mapping[str, Sequence[Row]]
    #: The runs whose p and conclusion come from the gate, which adjusts for its own checks.
    decided_by_gate: Sequence[str]
    options: ComparisonOptions
    #: The query scores of both nights, under the new judgments if they changed; None if nothing
    #: is compared, or only by chains.
    sides: Sides | None = None
    #: The reference of each run that is compared by a chain across changes of judgments.
    chains: Mapping[str, Reference] = dataclasses.field(default_factory=dict)
    refused: NotCompared | None = None
    #: The runs whose own good nights are not kept, or cannot be compared.
    left_out: Sequence[str] = ()

    def difference(self, run: str) -> float:
        """A run's difference, or 0 if it has none."""
        row = self.rows.get(run)
        return (row["difference"] or 0.0) if row else 0.0

    def causes(self, run: str) -> Sequence[Row]:
        """Each slice's share of a run's difference, the largest first."""
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
    """The gate's result for a run's mean, by the measure and baseline of the page."""
    name = shown.baseline.name
    if not name:
        return None
    measure, cutoff = shown.metric
    wanted = {
        "run": run,
        "measure": measure,
        "cutoff": format_cutoff(cutoff),
        "slice": None,
        "weighted": False,
        "baseline": name,
    }
    for row in results:
        if all(row.get(column) == value for column, value in wanted.items()):
            return row
    return None


def compare_shown(history: History, shown: Outline) -> ComparedRuns:
    """A night's runs compared with its baseline, with any decisions from the gate."""
    is_of_gate = any(baseline.name for baseline in shown.baselines)
    gate = shown.night.gate if is_of_gate else {}
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
        refused_by = NotCompared(_why_no_copy(shown), commands=_commands_for_copies(shown))
        return ComparedRuns({}, {}, [], options, refused=refused_by)


def _why_no_copy(shown: Outline) -> str | None:
    """Why the other sides cannot be computed; None if nobody has computed them yet."""
    for night, judgments in needed_copies(shown):
        reason = why_not_rescored(night, shown.metric, judgments)
        if reason is not None:
            return reason
    return None


def _commands_for_copies(shown: Outline) -> tuple[str, ...]:
    """The commands that make the missing copies, each once."""
    commands: dict[str, None] = {}
    for night, judgments in needed_copies(shown):
        if not has_copy(night, judgments):
            commands[rescore_command(night, judgments)] = None
    return tuple(commands)


def _compare_sides(shown: Outline, cache: ScoreCache, options: ComparisonOptions) -> ComparedRuns:
    """Compare the runs with the baseline's nights, on both sides if the judgments differ."""
    baseline, night, metric = shown.baseline, shown.night, shown.metric
    names = side_names(baseline, night, metric)
    all_sides = [both_sides(baseline, night, metric, cache, name) for name in names]
    rows_by_side = [shown_rows(shown, sides, options) for sides in all_sides]
    compared = _combine_sides(shown, rows_by_side, options)
    # The side under the new judgments comes last.
    compared = dataclasses.replace(compared, sides=all_sides[-1])
    return _with_runs_beside(compared, shown, cache, options)


def _with_runs_beside(
    compared: ComparedRuns, shown: Outline, cache: ScoreCache, options: ComparisonOptions
) -> ComparedRuns:
    """The comparison, with the runs that the gate compares with other nights."""
    rows, slices = dict(compared.rows), dict(compared.slices)
    decided = list(compared.decided_by_gate)
    baselines = [shown.baseline]
    for baseline in shown.beside:
        if why_not_comparable(shown.night, baseline.nights, shown.metric) is not None:
            continue
        try:
            other = _compare_sides(shown.against(baseline), cache, options)
        except NoCopyError:
            # The gate did not compare these runs either.
            continue
        rows |= other.rows
        slices |= other.slices
        decided.extend(other.decided_by_gate)
        baselines.append(baseline)
    return dataclasses.replace(
        compared,
        rows=rows,
        slices=slices,
        decided_by_gate=decided,
        left_out=_runs_of_none(shown.runs, baselines),
    )


def _runs_of_none(runs: Iterable[str], baselines: Sequence[Baseline]) -> list[str]:
    """The runs that none of these baselines is for."""
    left = []
    for run in runs:
        if not any(baseline.is_for(run) for baseline in baselines):
            left.append(run)
    return left


def _combine_sides(
    shown: Outline,
    rows_by_side: Sequence[Sequence[Row]],
    options: ComparisonOptions,
) -> ComparedRuns:
    """One row per run and slice, from each side's rows."""
    rows: dict[str, Row] = {}
    slices: dict[str, list[Row]] = {}
    decided = []
    unknown = shown.night.unmeasured
    for parts in _by_run_and_slice(rows_by_side):
        row = one_row(parts)
        run = row["run"]
        # Nothing was measured if no judgment has the run's document ids.
        if run in unknown:
            continue
        if row["attribute"] is not None:
            slices.setdefault(run, []).append(row)
            continue
        result = gate_result(shown, shown.results, run)
        if result is not None and _is_tested_by_gate(row, result):
            row = _as_decided(row, result, options.alpha)
            decided.append(run)
        rows[run] = row
    return ComparedRuns(rows, slices, decided, options)


def _by_run_and_slice(by_side: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """The rows about the same run and slice, one from each side, if every side has one."""
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
    row = dict(parts[-1])
    if len(parts) == 1:
        return {**row, "sides": []}
    for column in _LARGEST:
        row[column] = max(_known(parts, column), default=None)
    for column in _SMALLEST:
        row[column] = min(_known(parts, column), default=None)
    differences = [part["difference"] for part in parts]
    row["sides"] = [{"side": part["side"], "difference": part["difference"]} for part in parts]
    # The flags are those of the last side, but this one is about the run.
    if not all("unchanged" in part["flags"] for part in parts):
        row["flags"] = [flag for flag in row["flags"] if flag != "unchanged"]
    if None in differences:
        return {**row, "difference": None, "conclusion": None}
    row["difference"] = sum(differences) / len(differences)
    row["baseline_mean"] = row["mean"] - row["difference"]
    conclusions = {part["conclusion"] for part in parts}
    if len(conclusions) > 1:
        row["conclusion"] = "cannot_tell"
    return row


def _known(parts: Iterable[Row], column: str) -> list[Any]:
    return [part[column] for part in parts if part[column] is not None]


def _is_tested_by_gate(row: Row, result: Row) -> bool:
    """Whether the gate tested a run's change: a loss, or any change of a catalog measure.

    For a gain, the gate may have only the t test's p value.
    """
    if result.get("p") is None:
        return False
    changes = [side["difference"] for side in row["sides"]] or [row["difference"]]
    if None in changes:
        return False
    return row["measure"] in CATALOG_COLUMNS or all(change < 0 for change in changes)


def _as_decided(row: Row, result: Row, alpha: float) -> dict[str, Any]:
    """The row with the gate's p value, adjusted for its own checks, and its conclusion."""
    p = result["p"]
    below, above = conclusion_words(row["measure"])
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
    night, baseline = shown.night, shown.baseline
    most = night.gate.get("nights", _NIGHTS)
    reference_scores = ReferenceScores(night, history.nights, cache, options, most)
    rows: list[Row] = []
    chains: dict[str, Reference] = {}
    for run in cache.source(night).runs:
        found = reference_scores.compare(baseline, _question(shown, run))
        # Without a link, no change of judgments was crossed.
        if found.reference is None or not found.reference.links:
            continue
        known = [row for row in found.of_reading(FIRST_READING) if row["difference"] is not None]
        if known:
            chains[run] = found.reference
            counts = _query_counts(_chain_changes(run, shown, cache, found.reference))
            rows += [{**row, **counts} for row in known]
    if not rows:
        raise NoCopyError(f"no chain leads from {baseline.in_words} to {night}")
    compared = _combine_sides(shown, chain_rows(rows, options), options)
    return dataclasses.replace(compared, chains=chains)


def _question(shown: Outline, run: str) -> Question:
    """What to ask about a run: how far it may fall, which also limits how far its sides differ."""
    result = gate_result(shown, shown.results, run) or {}
    allowed = result.get("allowed")

    def may_fall(_mean: float) -> float:
        return ComparisonOptions().margin if allowed is None else float(allowed)

    min_queries = shown.night.gate.get("min_queries", _MIN_QUERIES)
    return Question(run, shown.metric, may_fall, min_queries)


def _query_counts(changes: NDArray[np.float64]) -> dict[str, int]:
    """How many queries won, tied and lost, as columns of COMPARISONS."""
    known = changes[~np.isnan(changes)]
    wins = int((known > EQUAL).sum())
    losses = int((known < -EQUAL).sum())
    ties = len(known) - wins - losses
    return {"wins": wins, "losses": losses, "ties": ties, "unpaired_queries": 0}


def _chain_changes(
    run: str,
    shown: Outline,
    cache: ScoreCache,
    reference: Reference,
) -> NDArray[np.float64]:
    """A run's change over a chain, by query; NaN for a query that is not in every piece.

    Each change of judgments adds the mean of its two sides.
    """
    found = chain(reference, shown.night, RunScores(run, shown.metric, cache), FIRST_READING)
    if found is None:
        raise NoCopyError("a copy has disappeared")
    # More queries may have been seen since the differences were computed.
    number = len(cache.queries(shown.night.dataset))
    changes = [padded(piece.differences, number, np.nan) for piece in found.pieces]
    for link in found.links:
        changes.append(padded((link.old + link.new) / 2, number, np.nan))
    return np.asarray(np.sum(changes, axis=0))


def chain_queries(
    shown: Outline,
    history: History,
    compared: ComparedRuns,
    run: str,
) -> list[QueryScore]:
    """The queries that every piece of a run's chain compares.

    `before` is not a score of one night: it is tonight's score minus the change over the chain.
    """
    cache = ScoreCache(history.scores)
    changes = _chain_changes(run, shown, cache, compared.chains[run])
    own = cache.matrix(shown.night, shown.metric).scores(run)
    before = own - padded(changes, len(own), np.nan)
    at = np.flatnonzero(~np.isnan(before))
    ids = cache.queries(shown.night.dataset).ids.take(at).to_pylist()
    queries = []
    for query_id, score, was in zip(ids, own[at].tolist(), before[at].tolist(), strict=True):
        queries.append(QueryScore(query_id, score, was, score - was))
    return queries
