"""What a page is asked to show, and its one baseline: a named one, the gate's, or what can be compared."""

import dataclasses
from collections.abc import Sequence

import pyarrow as pa

from ndcg_spark.gate.config import baseline_run
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.select import baseline_night
from ndcg_spark.report.words import Labels, day
from ndcg_spark.text import GOOD, unknown_name


@dataclasses.dataclass(frozen=True)
class Request:
    """What a page is asked to show; None for what it chooses itself."""

    dataset: str | None = None
    run: str | None = None
    measure: str | None = None
    baseline: str | None = None
    baseline_date: str | None = None
    attributes: pa.Table | None = None
    labels: Labels = dataclasses.field(default_factory=Labels)


@dataclasses.dataclass(frozen=True)
class PageBaseline:
    """What every number of a page is compared with."""

    #: The run that the others are compared with; None: every run with the one of its name.
    run: str | None = None
    #: The other nights that it is the mean of, the newest last; none if it is a run of the same night.
    nights: Sequence[Night] = ()
    #: The gate's name of it; None if the gate did not compare with it.
    name: str | None = None

    @property
    def dates(self) -> list[str]:
        """The dates of its nights."""
        return [night.evaluated_on for night in self.nights]

    @property
    def label(self) -> str:
        """Its name: `the mean of 7 good nights, 13 to 19 November`, `bm25 in the night of 19 November` or `bm25`."""
        if not self.nights:
            return self.run or ""
        first, last, good = self.dates[0], self.dates[-1], "good " if self.name == GOOD else ""
        since = str(int(first[8:])) if first[:7] == last[:7] else day(first)
        mean = f"the mean of {len(self.dates)} {good}nights, {since} to {day(last)}"
        nights = mean if len(self.dates) > 1 else f"the {good}night of {day(last)}"
        return nights if self.run is None else f"{self.run} in {nights}"


def choose_baseline(
    night: Night, nights: Sequence[Night], runs: Sequence[str], request: Request
) -> PageBaseline | None:
    """What was asked for, else what the gate compared with, the newest comparable night, or the best of the `runs`.

    None if there is nothing to compare with. ConfigurationError for a run or a date that is not there.
    """
    if request.baseline_date is not None:
        return PageBaseline(request.baseline, [baseline_night(nights, night, request.baseline_date)])
    if request.baseline not in (None, *runs):
        raise unknown_name("baseline", "run", str(request.baseline), runs)
    if request.baseline is not None:
        return PageBaseline(request.baseline)
    verdict, known = night.record["verdict"] or {}, [other for other in nights if other.dataset == night.dataset]
    decided = [row["baseline"] for row in verdict.get("results", ()) if row["result"] == verdict["verdict"] != "pass"]
    # The one that the verdict is about comes first.
    for entry in sorted(verdict.get("baselines", ()), key=lambda entry: entry["name"] not in decided[:1]):
        name, kept = entry["name"], [other for other in known if other.evaluated_on in entry["nights"]]
        if baseline_run(name) is not None:
            return PageBaseline(baseline_run(name), name=name)
        if kept and len(kept) == len(entry["nights"]):
            # One that was evaluated again has other numbers than those that the gate saw.
            return PageBaseline(None, kept, name if kept[-1].evaluation_id == entry["evaluation_id"] else None)
    own = night.row["judgments_fingerprint"], night.record["options"]
    earlier = [other for other in known if other.evaluated_on < night.evaluated_on]
    same = [other for other in earlier if (other.row["judgments_fingerprint"], other.record["options"]) == own]
    if same:
        return PageBaseline(None, same[-1:])
    return PageBaseline(runs[0]) if len(runs) > 1 else None
