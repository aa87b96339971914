"""What a page is asked to show, and its one baseline: a named one, the gate's, or what can be compared."""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.comparison.slices import Attributes
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.select import baseline_night, earlier
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
    attributes: Attributes | None = None
    labels: Labels = dataclasses.field(default_factory=Labels)


@dataclasses.dataclass(frozen=True)
class PageBaseline:
    """What every number of a page is compared with."""

    #: The run that the others are compared with; None: every run with the one of its name.
    run: str | None = None
    #: The other nights that it is the mean of, the newest last; none if it is a run of the same night.
    nights: Sequence[Night] = ()
    #: The dates of these nights, whether they are still kept or not.
    dates: Sequence[str] = ()
    #: The gate's name of it; None if the gate did not compare with it.
    name: str | None = None

    @property
    def label(self) -> str:
        """Its name in words: `mean of 7 good nights, 13 to 19 November`, `night of 19 November` or `bm25`."""
        if not self.dates:
            return str(self.run)
        first, last, good = self.dates[0], self.dates[-1], "good " if self.name == GOOD else ""
        since = str(int(first[8:])) if first[:7] == last[:7] else day(first)
        mean = f"mean of {len(self.dates)} {good}nights, {since} to {day(last)}"
        nights = mean if len(self.dates) > 1 else f"{good}night of {day(last)}"
        return nights if self.run is None else f"{self.run}, its {nights}"

    def phrase(self, article: str) -> str:
        """Its label after `the` or `its`, unless it is a run."""
        return self.label if self.run is not None else f"{article} {self.label}"

    def run_for(self, run: str) -> str:
        """The run whose scores those of a run are compared with."""
        return self.run or run

    def refusal(self, night: Night) -> str | None:
        """Why a night cannot be compared with it."""
        if len(self.nights) < len(self.dates):
            return f"The {self.label} is not kept any more: nothing is compared."
        if any(other.record["options"] != night.record["options"] for other in self.nights):
            return f"The {self.label} has another convention: nothing is compared."
        return None


def choose_baseline(
    night: Night, nights: Sequence[Night], runs: Sequence[str], request: Request
) -> PageBaseline | None:
    """What was asked for, else what the gate compared with, the newest comparable night, or the best of the `runs`.

    None if there is nothing to compare with. ConfigurationError for a run or a date that is not there.
    """
    if request.baseline_date is not None:
        named = baseline_night(nights, night, request.baseline_date)
        return PageBaseline(request.baseline, [named], [named.evaluated_on])
    if request.baseline not in (None, *runs):
        raise unknown_name("baseline", "run", str(request.baseline), runs)
    if request.baseline is not None:
        return PageBaseline(request.baseline)
    before, verdict = earlier(nights, night.dataset, night.evaluated_on), night.record["verdict"] or {}
    decided = [row["baseline"] for row in verdict.get("results", ()) if row["result"] == verdict["verdict"] != "pass"]
    # The one that the verdict is about, else the first.
    entry = min(verdict.get("baselines", ()), key=lambda entry: entry["name"] not in decided[:1], default=None)
    if entry is not None:
        dates, name = entry["nights"], entry["name"]
        kept = [other for other in before if other.evaluated_on in dates]
        # One that was evaluated again has other numbers than those that the gate saw.
        is_same = not kept or kept[-1].evaluation_id == entry["evaluation_id"]
        return PageBaseline(None if dates else name.removeprefix("run "), kept, dates, name if is_same else None)
    own = night.row["judgments_fingerprint"], night.record["options"]
    same = [other for other in before if (other.row["judgments_fingerprint"], other.record["options"]) == own]
    if same:
        return PageBaseline(None, same[-1:], [same[-1].evaluated_on])
    return PageBaseline(runs[0]) if len(runs) > 1 else None
