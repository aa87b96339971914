"""What a report compares the runs of a night with: as requested, as its gate did, or with an earlier night."""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.comparable import convention_key, doubts, fingerprint
from ndcg_spark.comparison.compare import Comparison
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.job.compare import ComparisonRequest, compare_nights
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import NightRows
from ndcg_spark.nights.select import earlier
from ndcg_spark.tables.comparison_notes import DOUBTED

Row = Mapping[str, Any]
#: A column of scores and its cutoff.
Place = tuple[str, Cutoff]


@dataclasses.dataclass(frozen=True)
class Baseline:
    """The requested baseline: a run, a date or both, as `compare` takes them; with neither the report chooses one."""

    run: str | None = None
    #: A date, or good.
    date: str | None = None
    slices: str | None = None
    engine: str = "auto"
    remote: str | None = None
    #: The comparison with it, if that is known already.
    found: Comparison | None = None

    @property
    def is_named(self) -> bool:
        """Whether a run or a date is named."""
        return bool(self.run or self.date)


@dataclasses.dataclass(frozen=True)
class NightComparison:
    """The rows of COMPARISONS of a night with its baseline: all the statistics of a report."""

    rows: Sequence[Row]
    #: The run that every other one is compared with; None where each is compared with the one of its name.
    run: str | None
    #: The date of another night; None for the same night.
    date: str | None
    #: That night, or the same; None if it is no longer kept as it was.
    night: Night | None
    correction: str = ComparisonOptions.correction
    alpha: float = ComparisonOptions.alpha
    warnings: Sequence[str] = ()
    #: What the gate has found about these rows, as its record has it; none if the gate did not compare them.
    findings: Sequence[Row] = ()
    #: If the baseline is the mean of several nights: the date of the first one, and how many; `date` is the last one.
    mean_of: tuple[str, int] | None = None

    def by_run(self, place: Place) -> dict[str, Row]:
        """The comparison of every run that has one by this measure, on all queries, without weights."""
        whole = (row for row in self.rows if row["attribute"] is None and row["weight_effective_n"] is None)
        return {row["run"]: row for row in whole if (row["measure"], row["cutoff"]) == place}

    def is_sure(self, row: Row) -> bool:
        """Whether a difference is significant, and both sides have the same judgments."""
        return row["p_decides"] is not None and not DOUBTED.intersection(row["flags"]) and row["p_decides"] < self.alpha

    def allowed_drop(self, run: str, place: Place) -> float | None:
        """How much the gate lets a run lose by this measure; None if it does not limit that."""
        key = _key({"run": run, "measure": place[0]}, format_cutoff(place[1]), None, False)
        limits = (each["allowed"] for each in self.findings if _key_of_finding(each) == key)
        return next((float(limit) for limit in limits if limit is not None), None)

    def baseline_of(self, run: str) -> str:
        """What the queries of a run are shown beside, in words."""
        return f"{self.run or run}{f' of {self.date}' if self.date else ''}"

    def against(self, run: str) -> str:
        """What a run is compared with, in words."""
        if self.mean_of is None:
            return self.baseline_of(run)
        first, nights = self.mean_of
        return f"its mean of {nights} nights, {first} to {self.date}"

    def is_baseline(self, run: str) -> bool:
        """Whether a run is the baseline itself."""
        return self.date is None and run == self.run


def comparison_of(
    output: str,
    night: Night,
    nights: Sequence[Night],
    baseline: Baseline,
    place: Place,
) -> NightComparison | None:
    """The comparison of a night: with what is requested, as its gate did, else with the newest comparable night.

    Comparable is an earlier night with the same judgments and convention. None if there is none. It is made
    unless the gate has compared by this measure, or it is known.

    Raises
    ------
    NdcgSparkError
        As `compare_nights`.
    """
    if not baseline.is_named:
        by_gate = gate_comparison(night, nights)
        if by_gate and by_gate.by_run(place):
            return by_gate
        before = _newest_comparable(night, nights)
        if before is None:
            return None
        baseline = dataclasses.replace(baseline, date=before.evaluated_on)
    found = baseline.found or _compare(output, night, baseline, place)
    rows = [row for row in found.rows if row["dataset"] == night.dataset]
    then = next((row["baseline_night"].isoformat() for row in rows if row["baseline_night"] is not None), None)
    other = _night_of(then, night, nights)
    warnings = [*(doubts(night.dataset, night.record, other.record, then) if other and then else []), *found.warnings]
    once = list(dict.fromkeys(warnings))
    return NightComparison(rows, baseline.run, then, other, warnings=once)


def gate_comparison(night: Night, nights: Iterable[Night]) -> NightComparison | None:
    """The comparison with the first baseline of the night's gate that has rows; None if none has.

    The numbers are those that the gate decided by, where it did.
    """
    rows = NightRows(night).comparisons()
    gate = (night.record.get("configuration") or {}).get("gate") or {}
    how = (ComparisonOptions.correction, gate.get("alpha", ComparisonOptions.alpha))
    verdict = night.record.get("verdict") or {}
    for baseline in verdict.get("baselines", []):
        name, dates = baseline["name"], baseline["nights"]
        date = dates[-1] if dates else None
        own = [row for row in rows if _is_of(row, name, date, len(dates) or 1)]
        if not own:
            continue
        drops = [each for each in verdict["results"] if each["baseline"] == name and each["measure"]]
        decided = {_key_of_finding(each): _numbers(each) for each in drops}
        own = [{**row, **decided.get(_key_of(row), {})} for row in own]
        then = _night_of(date, night, nights)
        if then and date and then.evaluation_id != baseline["evaluation_id"]:
            then = None
        run, warnings = (None, _limits(baseline, then is not None)) if date else (own[0]["baseline"], [])
        mean_of = (dates[0], len(dates)) if len(dates) > 1 else None
        return NightComparison(own, run, date, then, *how, warnings=warnings, findings=drops, mean_of=mean_of)
    return None


def _compare(output: str, night: Night, baseline: Baseline, place: Place) -> Comparison:
    measure, cutoff = place
    options = ComparisonOptions({"ndcg": None} if measure == "ndcg" else {measure: [cutoff], "ndcg": None})
    request = ComparisonRequest(
        output,
        datetime.date.fromisoformat(night.evaluated_on),
        night.dataset,
        [baseline.run] if baseline.run else [],
        baseline.date,
        options=options,
        slices=baseline.slices,
        engine=baseline.engine,
        remote=baseline.remote,
    )
    return compare_nights(request)


def _newest_comparable(night: Night, nights: Iterable[Night]) -> Night | None:
    """The newest earlier night with the same judgments and convention."""

    def meaning(each: Night) -> tuple[str | None, str]:
        return fingerprint(each.record, "judgments", night.dataset), convention_key(each.record)

    before = reversed(earlier(nights, night.dataset, night.evaluated_on))
    return next((each for each in before if meaning(each) == meaning(night)), None)


def _is_of(row: Row, baseline: str, date: str | None, nights: int) -> bool:
    if row["baseline_night"] is None:
        return date is None and f"run {row['baseline']}" == baseline
    return (row["baseline_night"].isoformat(), row["baseline_nights"]) == (date, nights)


def _key_of(row: Row) -> tuple[Any, ...]:
    of_slice = None if row["attribute"] is None else f"{row['attribute']}={row['value']}"
    return _key(row, format_cutoff(row["cutoff"]), of_slice, row["weight_effective_n"] is not None)


def _key_of_finding(finding: Row) -> tuple[Any, ...]:
    return _key(finding, finding["cutoff"], finding["slice"], bool(finding.get("weighted")))


def _key(row: Row, cutoff: str, of_slice: str | None, is_weighted: bool) -> tuple[Any, ...]:
    return row["run"], row["measure"], cutoff, of_slice, is_weighted


def _numbers(finding: Row) -> dict[str, Any]:
    """The numbers of a comparison that a finding rests on; none if it could not be measured."""
    names = ("mean", "baseline_mean", "difference", "interval_low", "interval_high")
    if finding["difference"] is None:
        return {}
    return {"p_decides": finding["p"], **{n: finding[n] for n in names}}


def _limits(baseline: Row, is_kept: bool) -> list[str]:
    """Warnings where a report shows something other than what the gate compared with this baseline."""
    date, changed, nights = baseline["nights"][-1], baseline["changed_judgments"], len(baseline["nights"])
    warnings = []
    if nights > 1:
        warnings.append(f"the gate compared with the mean of {nights} nights; queries are shown beside {date} alone")
    if changed:
        warnings.append(
            f"{changed:,} queries have other judgments than on {date}: they were not compared, but are among those "
            "shown one by one"
        )
    if not is_kept:
        warnings.append(f"the night of {date} has been replaced since, so its queries are not shown")
    return warnings


def _night_of(date: str | None, night: Night, nights: Iterable[Night]) -> Night | None:
    """The night of this date of the same dataset; without a date the night itself."""
    return next((n for n in nights if (n.dataset, n.evaluated_on) == (night.dataset, date)), None) if date else night
