"""What a night's page is asked to show, and the nights or run that it compares with."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.comparison.baselines import (
    Baseline,
    Kind,
    baseline_of_verdict,
    baselines_beside,
    comparable_nights,
    has_judgments_of,
    is_good_for,
    named_baseline,
    newest_comparable,
)
from ndcg_spark.comparison.chain import HIGH, LOW
from ndcg_spark.comparison.differences import (
    ComparisonOptions,
    Sides,
    comparison_rows,
    in_one_family,
)
from ndcg_spark.comparison.human_grades import HumanGrades
from ndcg_spark.comparison.known_losses import PastLoss, losses_to_accept
from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.comparison.sources import published_rows, row_order, with_comparable_nights
from ndcg_spark.comparison.trend import History, Point, chained_stretch, metrics_of_lines
from ndcg_spark.convention.measures import CATALOG_COLUMNS, COLUMNS, SCORES
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.gate.verdict import FAIL, PASS
from ndcg_spark.nights.copies import Copy, copies_of_both_sides
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier
from ndcg_spark.report.labels import Labels
from ndcg_spark.tables.table import best_first
from ndcg_spark.text import ACCEPTED, unknown_name
from ndcg_spark.tolerance import DECIMALS

#: The measures that a page may choose by itself: those with a trend for which more is better. A
#: page is about a catalog measure only if it is requested.
_OF_PAGES = {"ndcg", *COLUMNS}.difference(CATALOG_COLUMNS)
#: The number of nights in a trend.
NIGHTS = 28


@dataclasses.dataclass(frozen=True)
class Request:
    """What a page is asked to show; None lets the page choose."""

    dataset: str | None = None
    run: str | None = None
    measure: str | None = None
    baseline: str | None = None
    baseline_date: str | None = None
    attributes: pa.Table | None = None
    labels: Labels = dataclasses.field(default_factory=Labels)
    #: A sample from this night with human grades.
    human: HumanGrades | None = None


@dataclasses.dataclass(frozen=True)
class Outline:
    """The parts of a page that depend only on the log and the dataset scores."""

    request: Request
    night: Night
    metric: Metric
    #: Its runs, the best first.
    runs: Sequence[str]
    baseline: Baseline
    #: The night before, if there is one.
    previous: Night | None
    #: The known losses that accepting this night adds to the baseline without showing them.
    losses_before: Sequence[PastLoss] = ()
    #: The gate's baselines for the runs that have other good nights.
    beside: Sequence[Baseline] = ()

    def about(self, run: str) -> "Outline":
        """The outline with the nights of a run as its baseline."""
        if self.baseline.is_for(run):
            return self
        for baseline in self.beside:
            if baseline.is_for(run):
                others = [other for other in self.baselines if other is not baseline]
                return dataclasses.replace(self, baseline=baseline, beside=others)
        return self

    def against(self, baseline: Baseline) -> "Outline":
        """The outline with one of its baselines alone."""
        return dataclasses.replace(self, baseline=baseline, beside=())

    @property
    def baselines(self) -> list[Baseline]:
        return [self.baseline, *self.beside]

    @property
    def verdict(self) -> Mapping[str, Any]:
        """The gate's verdict; empty without a gate."""
        return verdict_of(self.night)

    @property
    def results(self) -> Sequence[Mapping[str, Any]]:
        return results_of(self.night)

    @property
    def is_of_catalog(self) -> bool:
        """Whether more of the measure is neither better nor worse."""
        return self.metric[0] in CATALOG_COLUMNS

    @property
    def over_change(self) -> bool:
        """Whether the night's and its baseline's judgments differ, so that there are two sides."""
        if self.is_of_catalog:
            # Catalog measures do not depend on judgments.
            return False
        return self.baseline.has_other_judgments(self.night)


def outline(history: History, night: Night, request: Request) -> Outline:
    """What a page shows of a night. ConfigurationError if the night lacks what is requested."""
    rows = history.scores(night)
    metric = _shown_metric(night, rows, request.measure)
    values = {row["run"]: row.get(metric[0]) for row in rows if row["cutoff"] == metric[1]}
    runs = sorted(values, key=lambda run: best_first(values[run], run))
    if request.run is not None and request.run not in runs:
        raise unknown_name("run", "run", request.run, runs)
    if not rows:
        raise StorageError(
            f"output: {night} has no scores; restore its files, or evaluate it again",
        )
    # Unverified scores are not compared with anything.
    baseline = Baseline(Kind.NOTHING)
    beside: list[Baseline] = []
    if night.unverified is None:
        baseline = choose_baseline(history, night, runs, request)
        for other in baselines_beside(night, history.nights, baseline):
            beside.append(with_comparable_nights(other, night, metric))
        baseline = with_comparable_nights(baseline, night, metric)
    before = earlier(history.nights, night.dataset, night.evaluated_on)
    previous = None
    if before and before[-1].unverified is None:
        previous = before[-1]
    losses: Sequence[PastLoss] = ()
    if night.row["verdict"]:
        # Without a gate there is nothing to accept.
        losses = losses_to_accept(night, results_of(night), before, runs)
    return Outline(
        request=request,
        night=night,
        metric=metric,
        runs=runs,
        baseline=baseline,
        previous=previous,
        losses_before=losses,
        beside=beside,
    )


def _shown_metric(night: Night, rows: Sequence[Mapping[str, Any]], measure: str | None) -> Metric:
    """The requested measure, that of the gate's first check for the dataset, or the headline."""
    metric = None if measure else _metric_of_first_check(night)
    if metric is None:
        metric = metrics_of_lines(measure, [(night, rows)])[0]
    if metric[0] not in SCORES:
        choices = ", ".join(SCORES)
        raise ConfigurationError(f"measure: {metric[0]} has no query scores; choose {choices}")
    return metric


def _metric_of_first_check(night: Night) -> Metric | None:
    """The measure of the first check whose measure a page may choose by itself."""
    for check in checks_of(night):
        column = check.get("measure", "ndcg")
        if column in _OF_PAGES:
            return column, check["cutoff"]
    return None


def checks_of(night: Night) -> list[Mapping[str, Any]]:
    """The gate's checks that apply to a night's dataset."""
    checks = []
    for check in night.gate.get("check", ()):
        datasets = check.get("datasets")
        if datasets is None or night.dataset in datasets:
            checks.append(check)
    return checks


def shown_points(history: History, shown: Outline, run: str) -> list[Point]:
    """A page's trend: the last nights of a run up to its own."""
    return in_units_of_last(_points_until_tonight(history, shown, run))[-NIGHTS:]


def level_points(history: History, shown: Outline, run: str) -> list[Point]:
    """A run's nights that are comparable with the page's, including those before its trend."""
    points = _points_until_tonight(history, shown, run)
    if not points:
        return []
    return in_units_of_last(chained_stretch(points))


def _points_until_tonight(history: History, shown: Outline, run: str) -> list[Point]:
    points = history.points(shown.night.dataset, run, *shown.metric)
    return [point for point in points if point.date <= shown.night.evaluated_on]


def in_units_of_last(points: Sequence[Point]) -> list[Point]:
    """The points of a line with `chained` values in units of the last point's judgments.

    This removes the effect of judgments that changed after the last point.
    """
    known = [point for point in points if point.chained is not None]
    if not known:
        return list(points)
    offset = (known[-1].value or 0.0) - (known[-1].chained or 0.0)
    # Earlier points are not connected with the last one, so they keep their values.
    first = len(points) - len(chained_stretch(points))
    shifted = list(points[:first])
    for point in points[first:]:
        chained = point.chained
        if chained is not None:
            chained = round(chained + offset, DECIMALS)
        shifted.append(dataclasses.replace(point, chained=chained))
    return shifted


def choose_baseline(
    history: History,
    night: Night,
    runs: Sequence[str],
    request: Request,
) -> Baseline:
    """The requested baseline, or the gate's, or the newest comparable night.

    On a first night it is the best run.
    """
    run, date = request.baseline, request.baseline_date
    if date is not None:
        baseline = named_baseline(history.nights, night, date, [run] if run else [])
        if run is not None:
            known = {row["run"] for row in history.scores(baseline.nights[-1])}
            _refuse_unknown_baseline(run, known)
        return baseline
    if run is not None:
        _refuse_unknown_baseline(run, runs)
        return Baseline(Kind.RUN, run=run)
    return _default_baseline(history, night, runs, request.run)


def _default_baseline(
    history: History, night: Night, runs: Sequence[str], run: str | None
) -> Baseline:
    """The verdict's baseline, or one that the gate compared with, or an earlier night."""
    decided = deciding_result(night)
    if decided is not None and decided["result"] == FAIL:
        accepted = _accepted_nights(history, night, decided)
        if accepted is not None:
            return accepted
    of_verdict = baseline_of_verdict(night, history.nights, run)
    if of_verdict is not None:
        return of_verdict
    for result in results_of(night):
        accepted = _accepted_nights(history, night, result)
        if accepted is not None:
            return accepted
    newest = newest_comparable(night, history.nights, runs)
    if newest.kind is Kind.NOTHING:
        return _night_before_new_judgments(history, night)
    return newest


def verdict_of(night: Night) -> Mapping[str, Any]:
    """The gate's verdict on a night; empty without a gate."""
    verdict: Mapping[str, Any] | None = night.record["verdict"]
    return verdict or {}


def results_of(night: Night) -> Sequence[Mapping[str, Any]]:
    """The results of the gate's checks on a night."""
    return list(verdict_of(night).get("results", ()))


def deciding_result(night: Night) -> Mapping[str, Any] | None:
    """The result that a verdict is about, or None for a pass.

    If several results decide, it is the one whose sentence begins the verdict's sentence.
    """
    verdict = verdict_of(night)
    if not verdict or verdict["verdict"] == PASS:
        return None
    if verdict["verdict"] == FAIL:
        deciding = [row for row in results_of(night) if fails_night(row)]
    else:
        deciding = [row for row in results_of(night) if row["result"] != PASS]
    sentence = str(verdict["sentence"])
    for row in deciding:
        if sentence.startswith(row["sentence"]):
            return row
    if not deciding:
        return None
    return deciding[0]


def fails_night(result: Mapping[str, Any]) -> bool:
    """Whether a check failed that does not only warn."""
    return bool(result["result"] == FAIL and result["severity"] == FAIL)


def _accepted_nights(
    history: History,
    night: Night,
    result: Mapping[str, Any],
) -> Baseline | None:
    """The accepted night and the good nights after it that a result compares its run with.

    None if the result is not compared with an accepted night, or if these nights are not kept.
    """
    first = result.get("since")
    last = result["baseline_night"]
    if result["baseline"] != ACCEPTED or first is None or last is None:
        return None
    nights = []
    for one in comparable_nights(night, history.nights):
        if first <= one.evaluated_on <= last:
            if one.evaluated_on == first or is_good_for(one, result["run"]):
                nights.append(one)
    dates = [one.evaluated_on for one in nights]
    if first not in dates or last not in dates:
        return None
    with_same_judgments = [one for one in nights if has_judgments_of(one, nights[0])]
    return Baseline(Kind.ACCEPTED, ACCEPTED, nights=tuple(with_same_judgments))


def _night_before_new_judgments(history: History, night: Night) -> Baseline:
    """The night before, if only the judgments differ: both are then compared on two sides."""
    before = earlier(history.nights, night.dataset, night.evaluated_on)
    comparable = comparable_nights(night, before)
    if not comparable:
        return Baseline(Kind.NOTHING)
    return Baseline(Kind.NIGHTS, nights=(comparable[-1],))


def is_chain(shown: Outline) -> bool:
    """Whether the judgments changed since a baseline that a gate names or somebody accepted.

    All changes of judgments since then are crossed one by one, as a chain.
    """
    return shown.baseline.is_reference and shown.over_change


def needed_copies(shown: Outline) -> list[Copy]:
    """The copies that both sides of a change of judgments need."""
    if not shown.over_change:
        return []
    return copies_of_both_sides(shown.baseline.nights, shown.night)


def _refuse_unknown_baseline(run: str, known: Collection[str]) -> None:
    if run not in known:
        raise unknown_name("baseline", "run", run, known)


def shown_rows(
    shown: Outline,
    sides: Sides,
    options: ComparisonOptions,
) -> list[dict[str, Any]]:
    """The rows of COMPARISONS for a page, without weights: by run, all queries before the slices.

    They are the rows that the night's gate published. Only runs that the gate did not compare are
    compared here, or all runs if slices are requested that differ from those of the night.
    p values are adjusted for all rows of the page, which may be more than the gate had.
    """
    published: list[dict[str, Any]] = []
    if shown.request.attributes is None:
        side = sides.key["side"]
        published = published_rows(shown.night, shown.baseline, shown.metric, side)
    complete = {row["run"] for row in published if row["attribute"] is None}
    if options.attributes is not None:
        # A run also needs rows for slices, which the gate does not compute for an accepted night.
        complete = {row["run"] for row in published if row["attribute"] is not None}
    kept = [row for row in published if row["run"] in complete]
    missing = [pair for pair in sides.pairs if pair[0] not in complete]
    computed = comparison_rows(dataclasses.replace(sides, pairs=missing), options)
    return in_one_family(sorted(kept + computed, key=row_order), options)


def chain_rows(
    rows: Sequence[Mapping[str, Any]],
    options: ComparisonOptions,
) -> list[list[dict[str, Any]]]:
    """A chain's rows: those with the lower sides, then those with the higher sides."""
    families = []
    for side in (LOW, HIGH):
        own = [row for row in rows if row["side"] == side]
        families.append(in_one_family(own, options))
    return families
