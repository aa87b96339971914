"""What the page of a night is asked to show, and which nights or run it compares with."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.comparison.trend import History, Point, metrics
from ndcg_spark.convention.measures import COLUMNS, SCORES
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.gate.config import baseline_run
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import baseline_night, earlier
from ndcg_spark.report.labels import Labels
from ndcg_spark.report.words import NIGHTS, day
from ndcg_spark.tables.table import best_first
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


@dataclasses.dataclass(frozen=True)
class Outline:
    """What a page shows of a night, as far as the log and the means of nights say it."""

    request: Request
    night: Night
    metric: Metric
    #: Its runs, the best first.
    runs: Sequence[str]
    baseline: PageBaseline
    #: The night before, if there is one.
    previous: Night | None
    #: Who accepts this night accepts the loss of the one that failed, too.
    failed_before: Night | None


def outline(history: History, night: Night, request: Request) -> Outline:
    """What a page shows of a night. ConfigurationError for what it does not have."""
    rows = history.scores(night)
    metric = _shown_metric(night, rows, request.measure)
    values = {row["run"]: row.get(metric[0]) for row in rows if row["cutoff"] == metric[1]}
    runs = sorted(values, key=lambda run: best_first(values[run], run))
    if request.run not in (None, *runs):
        raise unknown_name("run", "run", str(request.run), runs)
    if not rows:
        raise StorageError(f"output: {night} has no scores; restore its files, or evaluate it again")
    # Scores that are not verified are compared with nothing.
    is_verified = night.unverified is None
    baseline = choose_baseline(history, night, runs, request) if is_verified else PageBaseline()
    before = earlier(history.nights, night.dataset, night.evaluated_on)
    # Without a gate there is nothing to accept.
    failed = failed_since_good(before) if night.row["verdict"] else None
    previous = before[-1] if before and before[-1].unverified is None else None
    return Outline(request, night, metric, runs, baseline, previous, failed)


def _shown_metric(night: Night, rows: Sequence[Mapping[str, Any]], measure: str | None) -> Metric:
    """What was asked for, that of the first check of the gate for the dataset, or the headline."""
    shown: list[Metric] = []
    gate = night.record["configuration"].get("gate") or {}
    for check in gate.get("check", ()):
        column, datasets = check.get("measure", "ndcg"), check.get("datasets")
        # A trend has these measures only.
        if (datasets is None or night.dataset in datasets) and column in ("ndcg", *COLUMNS):
            shown.append((column, check["cutoff"]))
    metric = shown[0] if shown and not measure else metrics(measure, [(night, rows)])[0]
    if metric[0] not in SCORES:
        choices = ", ".join(SCORES)
        raise ConfigurationError(f"measure: {metric[0]} has no score of a query; choose {choices}")
    return metric


def shown_points(history: History, shown: Outline, run: str) -> list[Point]:
    """The trend of a page: the last nights of a run up to its own."""
    points = history.points(shown.night.dataset, run, *shown.metric)
    return [point for point in points if point.date <= shown.night.evaluated_on][-NIGHTS:]


def choose_baseline(
    history: History,
    night: Night,
    runs: Sequence[str],
    request: Request,
) -> PageBaseline:
    """What was asked for, what the gate compared with, or the newest comparable night; on a first one the best run."""
    nights = history.nights
    if request.baseline_date is not None:
        named = baseline_night(nights, night, request.baseline_date)
        theirs = {row["run"] for row in history.scores(named)} if request.baseline else set()
        if request.baseline not in (None, *theirs):
            raise unknown_name("baseline", "run", str(request.baseline), theirs)
        is_itself = named == night and request.baseline is None
        if is_itself or named.record["options"] != night.record["options"]:
            problem = "would be compared with itself" if is_itself else "has another convention"
            raise ConfigurationError(f"{named} {problem}; choose another night", option="baseline-date")
        return PageBaseline(request.baseline, [named])
    if request.baseline not in (None, *runs):
        raise unknown_name("baseline", "run", str(request.baseline), runs)
    if request.baseline is not None:
        return PageBaseline(request.baseline)
    verdict, options = night.record["verdict"] or {}, night.record["options"]
    own = [other for other in nights if other.dataset == night.dataset and other.unverified is None]
    known = [other for other in own if other.record["options"] == options]
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
