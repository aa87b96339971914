"""What the page of a night is asked to show, and which nights or run it compares with."""

import dataclasses
import itertools
from collections.abc import Sequence

import pyarrow as pa

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.config import baseline_run
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.read import baseline_night, earlier, read_dataset_scores
from ndcg_spark.report.labels import Labels
from ndcg_spark.report.words import day
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
    #: The run that the others are compared with; None: every run with the one of its name.
    run: str | None = None
    #: The other nights that it is the mean of, the newest last; none if it is a run of the same night.
    nights: Sequence[Night] = ()
    #: The gate's name of it; None if the gate did not compare with it.
    name: str | None = None
    #: Whether there is no earlier night, so that runs are compared with the best one, if at all.
    is_first: bool = False

    @property
    def label(self) -> str:
        """Its name: `the mean of 7 good nights, 13 to 19 November`, `bm25 in the night of 19 November` or `bm25`."""
        if not self.nights:
            return self.run or ""
        first, last, good = *(self.nights[at].evaluated_on for at in (0, -1)), "good " if self.name == GOOD else ""
        since = str(int(first[8:])) if first[:7] == last[:7] else day(first)
        mean = f"the mean of {len(self.nights)} {good}nights, {since} to {day(last)}"
        nights = mean if len(self.nights) > 1 else f"the {good}night of {day(last)}"
        return nights if self.run is None else f"{self.run} in {nights}"


def choose_baseline(night: Night, nights: Nights, runs: Sequence[str], request: Request) -> PageBaseline:
    """What was asked for, what the gate compared with, or the newest comparable night; on a first one the best run."""
    if request.baseline_date is not None:
        named = baseline_night(nights, night, request.baseline_date)
        theirs = {row["run"] for rows in read_dataset_scores([named]) for row in rows} if request.baseline else set()
        if request.baseline not in (None, *theirs):
            raise unknown_name("baseline", "run", str(request.baseline), theirs)
        is_itself = named == night and request.baseline is None
        if is_itself or named.record["options"] != night.record["options"]:
            problem = "would be compared with itself" if is_itself else "has another convention"
            raise ConfigurationError(f"baseline-date: {named} {problem}; choose another night")
        return PageBaseline(request.baseline, [named])
    if request.baseline not in (None, *runs):
        raise unknown_name("baseline", "run", str(request.baseline), runs)
    if request.baseline is not None:
        return PageBaseline(request.baseline)
    verdict, options = night.record["verdict"] or {}, night.record["options"]
    known = [other for other in nights if other.dataset == night.dataset and other.record["options"] == options]
    decided = [row["baseline"] for row in verdict.get("results", ()) if row["result"] == verdict["verdict"] != "pass"]
    # The one that the verdict is about comes first.
    for entry in sorted(verdict.get("baselines", ()), key=lambda entry: entry["name"] not in decided[:1]):
        name, kept = entry["name"], [other for other in known if other.evaluated_on in entry["nights"]]
        if baseline_run(name) is not None:
            return PageBaseline(baseline_run(name), name=name)
        if kept and len(kept) == len(entry["nights"]):
            # One that was evaluated again has other numbers than those that the gate saw.
            return PageBaseline(None, kept, name if kept[-1].evaluation_id == entry["evaluation_id"] else None)
    judgments = night.row["judgments_fingerprint"]
    before = earlier(nights, night.dataset, night.evaluated_on)
    if same := [other for other in before if other in known and other.row["judgments_fingerprint"] == judgments]:
        return PageBaseline(None, same[-1:])
    return PageBaseline(runs[0] if len(runs) > 1 and not before else None, is_first=not before)


def failed_since_good(nights: Sequence[Night]) -> Night | None:
    """The newest night that failed, after the newest that is good."""
    after = itertools.takewhile(lambda night: not night.is_good, reversed(nights))
    return next((night for night in after if night.row["verdict"] == "fail"), None)
