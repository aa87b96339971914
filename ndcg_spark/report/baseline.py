"""The one baseline of a page: what its gate compared with, what was asked for, or what can be compared."""

import dataclasses
import datetime
from collections.abc import Sequence

from ndcg_spark.nights.log import Night
from ndcg_spark.nights.select import baseline_night, earlier
from ndcg_spark.text import GOOD, unknown_name


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
    #: Whether the nights were chosen because they are good.
    is_good: bool = False
    #: Whether its newest night has been evaluated again since the gate compared with it.
    is_newer: bool = False
    #: Whether the run is simply the best one of a first night.
    is_leader: bool = False

    @property
    def label(self) -> str:
        """Its name in words: `mean of 7 good nights, 13 to 19 November`, `night of 19 November` or `bm25`."""
        if not self.dates:
            return str(self.run)
        first, last, good = self.dates[0], self.dates[-1], "good " if self.is_good else ""
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


def day(date: str, year: bool = False) -> str:
    """A date as people write it: 20 November, perhaps with its year."""
    parsed = datetime.date.fromisoformat(date)
    return f"{parsed.day} {parsed:%B %Y}" if year else f"{parsed.day} {parsed:%B}"


def choose(
    night: Night, nights: Sequence[Night], runs: Sequence[str], run: str | None = None, date: str | None = None
) -> PageBaseline | None:
    """The baseline: a named run or date, what the gate compared with, or the newest night that can be compared.

    On a first night the best of its `runs`. None if there is nothing to compare with. ConfigurationError for a run or a
    date that is not there.
    """
    before = earlier(nights, night.dataset, night.evaluated_on)
    if date is not None:
        named = baseline_night(nights, night, date)
        return PageBaseline(run, [named], [named.evaluated_on], is_good=date == GOOD)
    if run is not None and run not in runs:
        raise unknown_name("baseline", "run", run, runs)
    if run is not None:
        return PageBaseline(run)
    verdict = night.record["verdict"] or {}
    decided = [row["baseline"] for row in verdict.get("results", ()) if row["result"] == verdict["verdict"] != "pass"]
    # The one that the verdict is about, else the first.
    entry = min(verdict.get("baselines", ()), key=lambda entry: entry["name"] not in decided[:1], default=None)
    if entry is not None:
        dates = entry["nights"]
        kept = [other for other in before if other.evaluated_on in dates]
        kept = kept if len(kept) == len(dates) else []
        named_run = None if dates else entry["name"].removeprefix("run ")
        is_newer = bool(kept) and kept[-1].evaluation_id != entry["evaluation_id"]
        return PageBaseline(named_run, kept, dates, entry["name"], entry["name"] == GOOD, is_newer)
    judgments, options = night.row["judgments_fingerprint"], night.record["options"]
    same = [other for other in before if other.row["judgments_fingerprint"] == judgments]
    same = [other for other in same if other.record["options"] == options]
    if same:
        return PageBaseline(None, same[-1:], [same[-1].evaluated_on])
    return PageBaseline(runs[0], is_leader=True) if len(runs) > 1 else None
