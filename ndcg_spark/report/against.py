"""What the runs of a night are held against in a report, and what comparing them with it has found."""

import dataclasses
import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.compare import Comparison as Compared
from ndcg_spark.comparison.options import ComparisonOptions as Asked
from ndcg_spark.job.compare import ComparisonRequest as Request
from ndcg_spark.job.compare import compare_nights
from ndcg_spark.job.compare import doubts_of as doubts
from ndcg_spark.job.night_rows import NightRows
from ndcg_spark.job.outcome import Tell
from ndcg_spark.nights.records import CommittedNight

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Baseline:
    """What a report is asked to hold the runs against: a run, a date or both, as `compare` takes them."""

    run: str | None = None
    #: A date, or last_good.
    date: str | None = None
    slices: str | None = None
    engine: str = "auto"
    remote: str | None = None
    #: What comparing has found, if that is known already.
    found: Compared | None = None


@dataclasses.dataclass(frozen=True)
class Held:
    """What a night is held against, and the rows of COMPARISONS with it: all the statistics of a report."""

    rows: Sequence[Row]
    #: These and all rows, of other datasets too, for whose number their p values are adjusted.
    family: Sequence[Row]
    #: The run that every other one is compared with; None where each is compared with the one of its name.
    run: str | None
    #: The date of another night; None for the same night.
    date: str | None
    #: That night, or the same; None if it is not kept any more as it was.
    night: CommittedNight | None
    correction: str = Asked.correction
    alpha: float = Asked.alpha
    #: What queries of each pair of statuses did to the means, as `Compared` has it; None where that is not published.
    transitions: Sequence[Row] | None = None
    warnings: Sequence[str] = ()

    @property
    def cutoffs(self) -> set[int | None]:
        """The cutoffs at which NDCG is compared."""
        return {row["cutoff"] for row in self.rows if _is_of_all(row)}

    def row(self, run: str, cutoff: int | None) -> Row | None:
        """The comparison of a run's NDCG on all queries, without weights."""
        return next((r for r in self.rows if _is_of_all(r) and (r["run"], r["cutoff"]) == (run, cutoff)), None)

    def by_run(self, cutoff: int | None) -> dict[str, Row]:
        """Such a comparison of every run that has one."""
        return {row["run"]: row for row in self.rows if _is_of_all(row) and row["cutoff"] == cutoff}

    def named(self, run: str) -> str:
        """What a run is compared with, in words."""
        return f"{self.run or run}{f' of {self.date}' if self.date else ''}"

    def is_itself(self, run: str) -> bool:
        """Whether a run is the baseline."""
        return self.date is None and run == self.run


def compared(
    output: str, nights: Sequence[CommittedNight], known: Sequence[CommittedNight], asked: Baseline, tell: Tell
) -> dict[str, Held]:
    """By dataset, what was asked for. The nights are of one date; starts an engine unless it is known what was found.

    Raises
    ------
    NdcgSparkError
        As `compare_nights`.
    """
    found = asked.found
    if found is None:
        dataset = nights[0].dataset if len(nights) == 1 else None
        date = datetime.date.fromisoformat(nights[0].evaluated_on)
        wanted = Request(
            output, date, dataset, asked.run, asked.date, slices=asked.slices, engine=asked.engine, remote=asked.remote
        )
        found = compare_nights(wanted, tell)
    held = {}
    for night in nights:
        rows, parts = ([r for r in of if r["dataset"] == night.dataset] for of in (found.rows, found.transitions))
        other = next((row["baseline_night"] for row in rows if row["baseline_night"] is not None), None)
        date_of = None if other is None else other.isoformat()
        its_night = night if date_of is None else _night(known, night.dataset, date_of)
        said = [*(doubts([night], {night.dataset: its_night}) if its_night else []), *found.warnings]
        held[night.dataset] = Held(rows, found.rows, asked.run, date_of, its_night, transitions=parts, warnings=said)
    return held


def of_gate(output: str, night: CommittedNight, known: Iterable[CommittedNight]) -> Held | None:
    """What the gate has compared the night with: its first baseline that there are comparisons with; None if none."""
    rows = NightRows(night).comparisons()
    gate = (night.record.get("configuration") or {}).get("gate") or {}
    how = (gate.get("correction", Asked.correction), gate.get("alpha", Asked.alpha))
    for baseline in (night.record.get("verdict") or {}).get("baselines", []):
        date = baseline["night"]
        if date is None:
            own = [r for r in rows if r["baseline_night"] is None and f"run {r['baseline']}" == baseline["baseline"]]
            if own:
                return Held(own, own, own[0]["baseline"], None, night, *how)
            continue
        own = [row for row in rows if row["baseline_night"] is not None and row["baseline_night"].isoformat() == date]
        if own:
            then = _night(known, night.dataset, date)
            is_same = then is not None and then.record.get("evaluation_id") == baseline["evaluation_id"]
            return Held(own, own, None, date, then if is_same else None, *how, warnings=_limits(baseline, is_same))
    return None


def _limits(baseline: Mapping[str, Any], is_same: bool) -> list[str]:
    """What does not fit together between the comparisons with a baseline of a record and what is shown beside them."""
    date, changed = baseline["night"], baseline.get("queries_with_other_judgments")
    said = []
    if changed:
        said.append(
            f"{changed:,} queries are judged otherwise than on {date}: they are not among those compared, and are "
            "among those shown one by one"
        )
    if not is_same:
        said.append(f"the night of {date} is not kept as it was then, so its queries are not shown beside these")
    return said


def counted(run: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How many queries have which status on both sides, of {query: (status, score)}; None where a side lacks it."""
    nothing = (None, None)
    pairs = Counter((baseline.get(q, nothing)[0], run.get(q, nothing)[0]) for q in {**baseline, **run})
    return [{"baseline_status": one, "status": two, "queries": n} for (one, two), n in pairs.most_common()]


def _is_of_all(row: Row) -> bool:
    return row["measure"] == "ndcg" and row["attribute"] is None and row["weight_effective_n"] is None


def _night(nights: Iterable[CommittedNight], dataset: str, date: str) -> CommittedNight | None:
    return next((each for each in nights if (each.dataset, each.evaluated_on) == (dataset, date)), None)
