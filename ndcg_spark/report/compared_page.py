"""The runs of a night compared with the baseline of its page."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.differences import ComparisonOptions, Sides, slice_causes
from ndcg_spark.comparison.matrix import read_attributes
from ndcg_spark.comparison.sources import ScoreCache, both_sides
from ndcg_spark.comparison.trend import History
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.gate.verdict import FAIL
from ndcg_spark.report.outline import Outline, shown_rows

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class ComparedRuns:
    #: The rows of COMPARISONS on all queries by run, and those of slices.
    rows: Mapping[str, Row]
    slices: Mapping[str, Sequence[Row]]
    #: The runs whose p and conclusion are those of the gate, which adjusts for its own checks.
    decided_by_gate: Sequence[str]
    options: ComparisonOptions
    #: The scores of queries; None without a baseline.
    sides: Sides | None = None

    def difference(self, run: str) -> float:
        """The difference of a run, 0 if there is none."""
        row = self.rows.get(run)
        return (row["difference"] or 0.0) if row else 0.0

    def causes(self, run: str) -> Sequence[Row]:
        """The share of the difference of a run that each slice has, the largest first."""
        row = self.rows.get(run)
        if row is None or self.sides is None:
            return []
        slices = self.slices.get(run, [])
        return slice_causes(self.sides, row, slices, self.options.attributes)

    @property
    def rejudged(self) -> int:
        """How many queries have other judgments and are compared all the same."""
        if self.sides is None or self.sides.only is not None:
            return 0
        return int(self.sides.rejudged.sum())


def gate_result(shown: Outline, results: Iterable[Row], run: str) -> Row | None:
    """The result of the gate for the mean of a run, by the measure and baseline of the page."""
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
    """The runs of a night compared with its baseline, as the gate decided if it did."""
    gate = shown.night.gate if shown.baseline.name else {}
    attributes = shown.request.attributes
    if attributes is None:
        attributes = read_attributes([shown.night])
    options = ComparisonOptions(alpha=gate.get("alpha", 0.05), attributes=attributes)
    sides = _read_sides(history, shown, gate)
    rows: dict[str, Row] = {}
    slices: dict[str, list[Row]] = {}
    decided = []
    results = (shown.night.record["verdict"] or {}).get("results", ())
    given = shown.request.attributes
    for row in shown_rows(shown, sides, options, given) if sides else []:
        run = row["run"]
        if row["attribute"] is not None:
            slices.setdefault(run, []).append(row)
            continue
        rows[run] = _as_decided(row, gate_result(shown, results, run), options.alpha)
        if rows[run] is not row:
            decided.append(run)
    return ComparedRuns(rows, slices, decided, options, sides)


def _read_sides(history: History, shown: Outline, gate: Row) -> Sides | None:
    baseline = shown.baseline
    if not baseline.nights and not baseline.run:
        return None
    sides = both_sides(baseline, shown.night, shown.metric, ScoreCache(history.scores))
    return sides.with_judgments_alike() if gate.get("unchanged_queries") else sides


def _as_decided(row: dict[str, Any], result: Row | None, alpha: float) -> dict[str, Any]:
    """The row with the p of the gate, and what follows from it, if the gate tested a loss.

    The gate adjusts p for its own checks. Of a gain it may know the t test alone.
    """
    p = result.get("p") if result else None
    is_loss = row["difference"] is not None and row["difference"] < 0
    if result is None or p is None or not is_loss:
        return row
    conclusion = "worse" if p < alpha else "cannot_tell"
    if row["conclusion"] == "same" and result["result"] != FAIL:
        conclusion = "same"
    flags = [flag for flag in row["flags"] if flag != "doubt"]
    return {**row, "p_decides": p, "conclusion": conclusion, "flags": flags}
