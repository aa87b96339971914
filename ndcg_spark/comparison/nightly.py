"""The trends of an output folder: its dataset scores by dataset, run, measure and cutoff, read without an engine."""

import dataclasses
import datetime
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql.types import DoubleType

from ndcg_spark.comparison.trend import Night, Point, trend
from ndcg_spark.convention.measures import written
from ndcg_spark.convention.parsing import columns_of, measure_set_in
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.choosing import nights_of
from ndcg_spark.nights.read import dataset_scores
from ndcg_spark.nights.records import CommittedNight, committed, read_again_if_replaced
from ndcg_spark.schemas import DATASET_SCORES
from ndcg_spark.text import did_you_mean

#: What can be followed from night to night.
MEASURES = tuple(field.name for field in DATASET_SCORES if isinstance(field.dataType, DoubleType))


#: A night, and a row of its dataset scores.
_Scored = tuple[CommittedNight, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Which trends are asked for."""

    dataset: str | None = None
    run: str | None = None
    #: Only these runs; all if none is named.
    runs: Collection[str] = ()
    #: Like `ndcg@10,judged_rate`; None for the headline of the newest night, whose cutoff is also that of a measure
    #: without one, if the night has it there.
    measures: str | None = None
    #: How many of the newest nights are shown; all are reckoned with.
    last: int = 60
    anchor: str | None = None
    allowed_drop: float = 0.02


@dataclasses.dataclass(frozen=True)
class Line:
    """The trend of one run and measure at one cutoff."""

    dataset: str
    run: str
    measure: str
    cutoff: int | None
    points: Sequence[Point]
    #: Of each point, how many queries it is a mean of, and the verdict on its night, if there is one.
    queries: Sequence[int]
    verdicts: Sequence[str | None]


def lines(output: str, wanted: Wanted) -> list[Line]:
    """The trends that are asked for, by dataset, run, and measure as asked; only of nights with the run.

    Raises
    ------
    ConfigurationError
        There is no night, or no such dataset, run, measure or cutoff.
    StorageError
        The output cannot be read.
    """
    try:
        datetime.date.fromisoformat(wanted.anchor or "2026-01-01")
    except ValueError as error:
        raise ConfigurationError(f"since: {wanted.anchor!r} is not a date; write YYYY-MM-DD") from error
    rows = read_again_if_replaced(lambda: _read(output, wanted.dataset))
    runs = sorted({row["run"] for _, of_night in rows for row in of_night})
    if wanted.run is not None and wanted.run not in runs:
        near = did_you_mean(wanted.run, runs)
        raise ConfigurationError(f"run: no run is called {wanted.run!r}{near}; there are {len(runs)}, e.g. {runs[0]!r}")
    found = []
    for dataset in dict.fromkeys(night.dataset for night, _ in rows):
        of_dataset = [(night, of_night) for night, of_night in rows if night.dataset == dataset]
        measures = _measures(wanted.measures, of_dataset)
        # Once for all runs: there may be thousands, each a few rows of every night.
        series: dict[tuple[str, int | None], list[_Scored]] = {}
        for night, of_night in of_dataset:
            for row in of_night:
                series.setdefault((row["run"], row["cutoff"]), []).append((night, row))
        names = {run for run, _ in series if wanted.run in (None, run) and (not wanted.runs or run in wanted.runs)}
        for run in sorted(names):
            found += [
                _line(series.get((run, cutoff), []), run, (measure, cutoff), wanted) for measure, cutoff in measures
            ]
    return [line for line in found if line.points]


def _read(output: str, dataset: str | None) -> list[tuple[CommittedNight, Sequence[Mapping[str, Any]]]]:
    """The nights of a dataset, or of all, each with its rows of DATASET_SCORES."""
    nights = nights_of(committed(output), output, dataset)
    return list(zip(nights, dataset_scores(nights), strict=True))


def _line(scored: Sequence[_Scored], run: str, measure: tuple[str, int | None], wanted: Wanted) -> Line:
    of_nights = [
        Night(night.evaluated_on, row[measure[0]], convention_of(night.record), judgments_of(night.record))
        for night, row in scored
    ]
    points = trend(of_nights, wanted.allowed_drop, wanted.anchor)[-wanted.last :]
    queries = [row["queries"] for _, row in scored][-wanted.last :]
    verdicts = [verdict_of(night) for night, _ in scored][-wanted.last :]
    return Line(scored[0][0].dataset if scored else "", run, *measure, points, queries, verdicts)


def convention_of(record: Mapping[str, Any]) -> str:
    """What tells conventions apart: their options, and not their name."""
    return json.dumps(record.get("options"), sort_keys=True)


def judgments_of(record: Mapping[str, Any]) -> str:
    """What tells judgments apart: their fingerprint."""
    return str(record.get("inputs", {}).get("judgments", {}).get("fingerprint"))


def verdict_of(night: CommittedNight) -> str | None:
    """The verdict on a night, None if it was not judged."""
    verdict = night.record.get("verdict")
    return verdict.get("verdict") if isinstance(verdict, Mapping) else verdict


def _measures(
    text: str | None, nights: Sequence[tuple[CommittedNight, Sequence[Mapping[str, Any]]]]
) -> list[tuple[str, int | None]]:
    """The measures and cutoffs of a text like `ndcg@10,judged_rate@all`, or the headline of the newest night."""
    known = list(dict.fromkeys(row["cutoff"] for _, rows in reversed(nights) for row in rows))
    night, newest = nights[-1]
    asked = measure_set_in(night.record.get("configuration") or {})
    headline = written(*asked.headline([row["cutoff"] for row in newest]))
    found = []
    for measure, cutoff in columns_of(text or headline, MEASURES):
        names: dict[str, int | None] = {str(each or "all"): each for each in known}
        if cutoff != "each" and cutoff not in names:
            raise ConfigurationError(
                f"measures: {measure}@{cutoff} was not evaluated; the cutoffs are {', '.join(names)}"
            )
        valued = [row["cutoff"] for row in newest if row.get(measure) is not None]
        kept = asked.main_cutoff(measure, valued) if cutoff == "each" else names[cutoff]
        if measure != "ndcg" and not any(
            row.get(measure) is not None for _, rows in nights for row in rows if row["cutoff"] == kept
        ):
            raise ConfigurationError(
                f"measures: {measure}@{kept or 'all'} was not evaluated in these nights; ndcg-spark nights OUTPUT "
                "--format csv has what was"
            )
        found.append((measure, kept))
    return list(dict.fromkeys(found))
