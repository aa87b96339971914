"""The trends of an output folder: its dataset scores by dataset, run, measure and cutoff, read without an engine."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark import config_values
from ndcg_spark.comparison.comparable import convention_key, fingerprint
from ndcg_spark.comparison.trend import ALLOWED_DROP, FLOOR, NightScore, Point, trend
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.convention.measures import COLUMNS, written
from ndcg_spark.convention.parsing import columns_of, measure_set_in
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, committed, read_again_if_replaced
from ndcg_spark.nights.read import read_dataset_scores
from ndcg_spark.nights.select import nights_of_dataset, unpublished
from ndcg_spark.text import unknown_name

#: What can be followed from night to night.
MEASURES = ("ndcg", "ndcg_pooled", "ndcg_stddev", "ndcg_stderr", "dcg", "judged_rate", *COLUMNS)

#: A night, and a row of its dataset scores; and all of its rows.
_Scored = tuple[Night, Mapping[str, Any]]
_Night = tuple[Night, Sequence[Mapping[str, Any]]]


@dataclasses.dataclass(frozen=True)
class TrendRequest:
    """Which trends are requested."""

    dataset: str | None = None
    run: str | None = None
    #: The runs to show; all if none is named.
    runs: Collection[str] = ()
    #: A text like `ndcg@10,judged_rate`; None for the headline of the newest night. The headline's cutoff is also used
    #: for a measure without one, if the night has a value there.
    measures: str | None = None
    #: How many of the newest nights are shown; the statistics use all nights.
    last: int = 60
    anchor: str | None = None
    allowed_drop: float = ALLOWED_DROP
    #: The smallest distance from the median that is flagged.
    floor: float = FLOOR


@dataclasses.dataclass(frozen=True)
class TrendLine:
    """The trend of one run and measure at one cutoff."""

    dataset: str
    run: str
    measure: str
    cutoff: int | None
    points: Sequence[Point]
    #: For each point: how many queries it is a mean of, the verdict on its night, if there is one, and the reason why
    #: somebody accepted the night, if anybody did.
    queries: Sequence[int]
    verdicts: Sequence[str | None]
    accepted: Sequence[str | None] = ()
    #: The notes on the night of each point.
    notes: Sequence[Sequence[str]] = ()


def lines(output: str, request: TrendRequest) -> tuple[list[TrendLine], list[str]]:
    """The requested trends, by dataset, run, and measure in the order of the request; only of nights with the run.

    And a sentence for each night that is missing.

    Raises
    ------
    ConfigurationError
        There is no night, or no such dataset, run, measure or cutoff.
    StorageError
        The output cannot be read.
    """
    try:
        config_values.date(request.anchor or "2026-01-01")
    except ValueError as error:
        raise ConfigurationError(f"since: {error}") from None
    nights, missing = read_again_if_replaced(lambda: _read(output, request.dataset))
    # Once for all runs: there may be thousands, each a few rows of every night.
    series: dict[str, dict[tuple[str, Cutoff], list[_Scored]]] = {}
    for night, rows in nights:
        of_dataset = series.setdefault(night.dataset, {})
        for row in rows:
            of_dataset.setdefault((row["run"], row["cutoff"]), []).append((night, row))
    runs = {run for of_dataset in series.values() for run, _ in of_dataset}
    if request.run is not None and request.run not in runs:
        raise unknown_name("run", "run", request.run, runs)
    found = []
    for dataset, of_dataset in series.items():
        measures = _measures(request.measures, [each for each in nights if each[0].dataset == dataset])
        names = {run for run, _ in of_dataset if request.run in (None, run) and run in (request.runs or {run})}
        found += [
            _line(of_dataset[run, cutoff], run, measure, cutoff, request)
            for run in sorted(names)
            for measure, cutoff in measures
            if (run, cutoff) in of_dataset
        ]
    return [line for line in found if line.points], missing


def _read(output: str, dataset: str | None) -> tuple[list[_Night], list[str]]:
    """The nights of a dataset, or of all, each with its rows of DATASET_SCORES; and which are missing."""
    known = committed(output)
    nights = nights_of_dataset(known, output, dataset)
    return list(zip(nights, read_dataset_scores(nights), strict=True)), unpublished(known, dataset)


def _line(scored: Sequence[_Scored], run: str, measure: str, cutoff: Cutoff, request: TrendRequest) -> TrendLine:
    of_nights = [
        NightScore(
            night.evaluated_on,
            row[measure],
            convention_key(night.record),
            str(fingerprint(night.record, "judgments", night.dataset)),
        )
        for night, row in scored
    ]
    points = trend(of_nights, request.allowed_drop, request.anchor, request.floor)[-request.last :]
    queries = [row["queries"] for _, row in scored][-request.last :]
    verdicts = [verdict_of(night) for night, _ in scored][-request.last :]
    accepted = [(night.record.get("accepted") or {}).get("reason") for night, _ in scored][-request.last :]
    notes = [[note["text"] for note in night.record.get("notes", ())] for night, _ in scored][-request.last :]
    return TrendLine(scored[0][0].dataset, run, measure, cutoff, points, queries, verdicts, accepted, notes)


def verdict_of(night: Night) -> str | None:
    """The verdict on a night, None if no gate ran."""
    return (night.record.get("verdict") or {}).get("verdict")


def _measures(text: str | None, nights: Sequence[_Night]) -> list[tuple[str, Cutoff]]:
    """The measures and cutoffs from a text like `ndcg@10,judged_rate@all`, or the headline of the newest night."""
    known = {format_cutoff(row["cutoff"]): row["cutoff"] for _, rows in reversed(nights) for row in rows}
    night, newest = nights[-1]
    asked = measure_set_in(night.record.get("configuration") or {})
    headline = written(*asked.headline([row["cutoff"] for row in newest]))
    found = []
    for measure, cutoff in columns_of(text or headline, MEASURES):
        if cutoff != "each" and cutoff not in known:
            raise ConfigurationError(
                f"measures: {measure}@{cutoff} was not evaluated; the cutoffs are {', '.join(known)}"
            )
        chosen = asked.main_cutoff(measure, _cutoffs(newest, measure)) if cutoff == "each" else known[cutoff]
        if measure != "ndcg" and not any(chosen in _cutoffs(rows, measure) for _, rows in nights):
            raise ConfigurationError(
                f"measures: {measure}@{format_cutoff(chosen)} was not evaluated in these nights; ndcg-spark nights "
                "OUTPUT --format csv shows what was"
            )
        found.append((measure, chosen))
    return list(dict.fromkeys(found))


def _cutoffs(rows: Iterable[Mapping[str, Any]], measure: str) -> list[Cutoff]:
    """The cutoffs at which a measure has a value."""
    return [row["cutoff"] for row in rows if row.get(measure) is not None]
