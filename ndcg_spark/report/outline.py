"""What the page of a night is asked to show, and which nights or run it compares with."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.comparison.baselines import (
    Baseline,
    Kind,
    baseline_of_verdict,
    failed_since_good,
    named_baseline,
    newest_comparable,
)
from ndcg_spark.comparison.differences import (
    ComparisonOptions,
    Sides,
    comparison_rows,
    in_one_family,
)
from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.comparison.sources import published_rows, row_order
from ndcg_spark.comparison.trend import History, Point, metrics_of_lines
from ndcg_spark.convention.measures import COLUMNS, SCORES
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier
from ndcg_spark.report.labels import Labels
from ndcg_spark.tables.table import best_first
from ndcg_spark.text import unknown_name

#: The nights of a trend.
NIGHTS = 28


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
class Outline:
    """What a page shows of a night, as far as the log and the means of nights say it."""

    request: Request
    night: Night
    metric: Metric
    #: Its runs, the best first.
    runs: Sequence[str]
    baseline: Baseline
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
        raise StorageError(
            f"output: {night} has no scores; restore its files, or evaluate it again",
        )
    # Scores that are not verified are compared with nothing.
    baseline = Baseline(Kind.NOTHING)
    if night.unverified is None:
        baseline = choose_baseline(history, night, runs, request)
    before = earlier(history.nights, night.dataset, night.evaluated_on)
    # Without a gate there is nothing to accept.
    failed = failed_since_good(before) if night.row["verdict"] else None
    previous = before[-1] if before and before[-1].unverified is None else None
    return Outline(request, night, metric, runs, baseline, previous, failed)


def _shown_metric(night: Night, rows: Sequence[Mapping[str, Any]], measure: str | None) -> Metric:
    """What was asked for, that of the first check of the gate for the dataset, or the headline."""
    shown: list[Metric] = []
    for check in night.gate.get("check", ()):
        column, datasets = check.get("measure", "ndcg"), check.get("datasets")
        # A trend has these measures only.
        if (datasets is None or night.dataset in datasets) and column in ("ndcg", *COLUMNS):
            shown.append((column, check["cutoff"]))
    metric = shown[0] if shown and not measure else metrics_of_lines(measure, [(night, rows)])[0]
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
) -> Baseline:
    """What was asked for or what the gate compared with, else the newest comparable night.

    On a first night it is the best run.
    """
    if request.baseline_date is not None:
        asked = [request.baseline] if request.baseline else []
        baseline = named_baseline(history.nights, night, request.baseline_date, asked)
        if request.baseline is not None:
            theirs = {row["run"] for row in history.scores(baseline.nights[-1])}
            _refuse_unknown_baseline(request.baseline, theirs)
        return baseline
    if request.baseline is not None:
        _refuse_unknown_baseline(request.baseline, runs)
        return Baseline(Kind.RUN, run=request.baseline)
    of_verdict = baseline_of_verdict(night, history.nights)
    return of_verdict or newest_comparable(night, history.nights, runs)


def _refuse_unknown_baseline(run: str, known: Collection[str]) -> None:
    if run not in known:
        raise unknown_name("baseline", "run", run, known)


def shown_rows(
    shown: Outline, sides: Sides, options: ComparisonOptions, slices: pa.Table | None
) -> list[dict[str, Any]]:
    """The rows of COMPARISONS of a page, without weights: by run, all queries before the slices.

    They are those that the gate of the night has published. Only runs that it has not compared are
    compared here, or all of them if the page is asked for other `slices` than the night keeps. p
    values are adjusted for all rows of the page, which may be more than the gate had.
    """
    published = published_rows(shown.night, shown.baseline, shown.metric) if slices is None else []
    there = {row["run"] for row in published}
    others = [pair for pair in sides.pairs if pair[0] not in there]
    computed = comparison_rows(dataclasses.replace(sides, pairs=others), options)
    return in_one_family(sorted(published + computed, key=row_order), options)
