"""What a report compares the runs of a night with, and what comparing them has found."""

import dataclasses
import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.compare import Comparison
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.job.compare import ComparisonRequest, compare_nights, doubts_of
from ndcg_spark.job.progress import ReportStep
from ndcg_spark.nights.read import NightRows
from ndcg_spark.nights.records import CommittedNight

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Baseline:
    """What a report is asked to compare the runs with: a run, a date or both, as `compare` takes them."""

    run: str | None = None
    #: A date, or last_good.
    date: str | None = None
    slices: str | None = None
    engine: str = "auto"
    remote: str | None = None
    #: What comparing has found, if that is known already.
    found: Comparison | None = None


@dataclasses.dataclass(frozen=True)
class NightComparison:
    """The rows of COMPARISONS of a night with its baseline: all the statistics of a report."""

    rows: Sequence[Row]
    #: These and all rows, of other datasets too, for whose number their p values are adjusted.
    family: Sequence[Row]
    #: The run that every other one is compared with; None where each is compared with the one of its name.
    run: str | None
    #: The date of another night; None for the same night.
    date: str | None
    #: That night, or the same; None if it is not kept any more as it was.
    night: CommittedNight | None
    correction: str = ComparisonOptions.correction
    alpha: float = ComparisonOptions.alpha
    #: What queries of each pair of statuses did to the means, as `Comparison` has it; None where that is not published.
    transitions: Sequence[Row] | None = None
    warnings: Sequence[str] = ()

    @property
    def cutoffs(self) -> set[int | None]:
        """The cutoffs at which NDCG is compared."""
        return {row["cutoff"] for row in self._of_all_queries}

    def by_run(self, cutoff: int | None) -> dict[str, Row]:
        """The comparison of the NDCG of every run that has one, on all queries, without weights."""
        return {row["run"]: row for row in self._of_all_queries if row["cutoff"] == cutoff}

    def baseline_of(self, run: str) -> str:
        """What a run is compared with, in words."""
        return f"{self.run or run}{f' of {self.date}' if self.date else ''}"

    def is_baseline(self, run: str) -> bool:
        """Whether a run is the baseline itself."""
        return self.date is None and run == self.run

    @property
    def _of_all_queries(self) -> Iterable[Row]:
        return (
            row
            for row in self.rows
            if row["measure"] == "ndcg" and row["attribute"] is None and row["weight_effective_n"] is None
        )


def compare_with_baseline(
    output: str,
    nights: Sequence[CommittedNight],
    known: Sequence[CommittedNight],
    baseline: Baseline,
    report_step: ReportStep,
) -> dict[str, NightComparison]:
    """The comparison of each night, by dataset. The nights are of one date; starts an engine if nothing is found yet.

    Raises
    ------
    NdcgSparkError
        As `compare_nights`.
    """
    found = baseline.found
    if found is None:
        options = {name: getattr(baseline, name) for name in ("slices", "engine", "remote")}
        date = datetime.date.fromisoformat(nights[0].evaluated_on)
        dataset = nights[0].dataset if len(nights) == 1 else None
        request = ComparisonRequest(output, date, dataset, baseline.run, baseline.date, **options)
        found = compare_nights(request, report_step)
    comparisons = {}
    for night in nights:
        rows, parts = ([r for r in of if r["dataset"] == night.dataset] for of in (found.rows, found.transitions))
        date_of = next((row["baseline_night"].isoformat() for row in rows if row["baseline_night"] is not None), None)
        other = night if date_of is None else _night(known, night.dataset, date_of)
        warnings = [*(doubts_of([night], {night.dataset: other}) if other else []), *found.warnings]
        comparisons[night.dataset] = NightComparison(
            rows, found.rows, baseline.run, date_of, other, transitions=parts, warnings=list(dict.fromkeys(warnings))
        )
    return comparisons


def gate_comparison(night: CommittedNight, known: Iterable[CommittedNight]) -> NightComparison | None:
    """The comparison with the first baseline of the night's gate that there are rows of; None if there are none."""
    rows = NightRows(night).comparisons()
    gate = (night.record.get("configuration") or {}).get("gate") or {}
    how = (gate.get("correction", ComparisonOptions.correction), gate.get("alpha", ComparisonOptions.alpha))
    for baseline in (night.record.get("verdict") or {}).get("baselines", []):
        date = baseline["night"]
        if date is None:
            own = [r for r in rows if r["baseline_night"] is None and f"run {r['baseline']}" == baseline["baseline"]]
            if own:
                return NightComparison(own, own, own[0]["baseline"], None, night, *how)
            continue
        own = [row for row in rows if row["baseline_night"] is not None and row["baseline_night"].isoformat() == date]
        if own:
            then = _night(known, night.dataset, date)
            if then and then.record.get("evaluation_id") != baseline["evaluation_id"]:
                then = None
            return NightComparison(own, own, None, date, then, *how, warnings=_limits(baseline, then is not None))
    return None


def _limits(baseline: Mapping[str, Any], is_kept: bool) -> list[str]:
    """What differs between the comparisons with a baseline of a record and what is shown beside them."""
    date, changed = baseline["night"], baseline.get("queries_with_other_judgments")
    warnings = []
    if changed:
        warnings.append(
            f"{changed:,} queries have other judgments than on {date}: they were not compared, but are among those "
            "shown one by one"
        )
    if not is_kept:
        warnings.append(f"the night of {date} has been replaced since, so its queries are not shown")
    return warnings


def status_pairs(run: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How many queries have which status on both sides, of {query: (status, score)}; None where a side lacks it."""
    nothing = (None, None)
    pairs = Counter((baseline.get(q, nothing)[0], run.get(q, nothing)[0]) for q in {**baseline, **run})
    return [{"baseline_status": one, "status": two, "queries": n} for (one, two), n in pairs.most_common()]


def _night(nights: Iterable[CommittedNight], dataset: str, date: str) -> CommittedNight | None:
    return next((each for each in nights if (each.dataset, each.evaluated_on) == (dataset, date)), None)
