"""What is compared with what: each run at each cutoff, and the scores of the baseline there."""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.cutoffs import Cutoff, by_depth, format_cutoff
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.text import unknown_name

#: The night of scores without a date. It is not earlier because Java's calendar differs for earlier years.
NO_NIGHT = datetime.date(1900, 1, 1)


@dataclasses.dataclass(frozen=True)
class Scored:
    """The scores of one run at one cutoff; 0 is the whole ranking."""

    dataset: str
    night: datetime.date
    run: str
    cutoff: int


@dataclasses.dataclass(frozen=True)
class Place:
    """What is compared: a run at a cutoff and the scores of the baseline there, None if it has none."""

    own: Scored
    baseline: Scored | None
    #: The date of another night that the run is compared with; None for the same night.
    baseline_night: datetime.date | None
    #: The evaluation_id of the run's scores.
    evaluation_id: str | None
    #: The run that is the baseline.
    baseline_run: str

    @property
    def cutoff(self) -> Cutoff:
        """The cutoff; None for the whole ranking."""
        return self.own.cutoff or None

    @property
    def night(self) -> datetime.date | None:
        """The date of the run's scores; None for scores without a date."""
        return date_of(self.own.night)


def date_of(night: datetime.date) -> datetime.date | None:
    """The date of a night; None for scores without a date."""
    return None if night == NO_NIGHT else night


def places(
    own: DataFrame,
    baseline: DataFrame | None,
    baseline_runs: Sequence[str],
    runs: Sequence[str] | None,
    cutoffs: Sequence[Cutoff] | None,
) -> list[Place]:
    """Everything that is compared, sorted by dataset, night, run, baseline and cutoff. Runs a job for each table.

    `own` and `baseline` are tables of `pairing.scores`; without `baseline`, the baselines are runs of the same night,
    which are not compared with each other; without `baseline_runs` every run is compared with the baseline's run of the
    same name. A run has a place wherever a baseline has scores, even if the run itself has none there.

    Raises
    ------
    ConfigurationError
        A baseline or a cutoff has no scores.
    InputError
        The baseline has scores of several nights.
    """
    ids = _inventory(own)
    of_baseline = ids if baseline is None else _inventory(baseline)
    chosen = [each for each in ids if runs is None or each.run in runs]
    if baseline is None:
        chosen = [each for each in chosen if each.run not in baseline_runs]
    known = baseline_runs or runs
    theirs = [each for each in of_baseline if known is None or each.run in known]
    if cutoffs is not None:
        _refuse_cutoffs(cutoffs, {each.cutoff or None for each in (*chosen, *theirs)})
        chosen, theirs = ([each for each in side if (each.cutoff or None) in cutoffs] for side in (chosen, theirs))
    _refuse_absent(baseline_runs, {each.run for each in theirs}, {each.run for each in of_baseline})
    if baseline is not None:
        _refuse_nights(theirs)
    pairs: dict[tuple[Scored, str], Scored | None] = {
        (each, other): None for each in chosen for other in baseline_runs or [each.run]
    }
    runs_of: dict[tuple[str, datetime.date], set[str]] = {}
    for each in chosen:
        runs_of.setdefault((each.dataset, each.night), set()).add(each.run)
    nights_of: dict[str, list[datetime.date]] = {}
    for dataset, night in runs_of:
        nights_of.setdefault(dataset, []).append(night)
    every = set().union(*runs_of.values())
    for other in theirs:
        for night in [other.night] if baseline is None else nights_of.get(other.dataset, [NO_NIGHT]):
            for run in runs_of.get((other.dataset, night), every) if baseline_runs else {other.run}:
                pairs[Scored(other.dataset, night, run, other.cutoff), other.run] = other

    def key(pair: tuple[Scored, str]) -> tuple[Any, ...]:
        own, name = pair
        return own.dataset, own.night, own.run, name, by_depth(own.cutoff or None)

    return [
        Place(scored, other, date_of(other.night) if other and baseline is not None else None, ids.get(scored), name)
        for scored, name in sorted(pairs, key=key)
        for other in [pairs[scored, name]]
    ]


def _inventory(scores: DataFrame) -> dict[Scored, str | None]:
    """The runs and cutoffs that a table has scores of, each with its evaluation_id. Runs a job."""
    names = ("dataset", "night", "run", "cutoff")
    rows = scores.groupBy(*names).agg(F.max("evaluation_id").alias("evaluation_id")).collect()
    return {Scored(*(row[name] for name in names)): row["evaluation_id"] for row in rows}


def _refuse_absent(baseline_runs: Iterable[str], there: Collection[str], known: Collection[str]) -> None:
    """ConfigurationError unless all baselines exist; `known` are the runs that have scores at any cutoff."""
    absent = [run for run in baseline_runs if run not in there]
    unknown = [run for run in absent if known and run not in known]
    if unknown:
        raise unknown_name("baseline", "run", unknown[0], known)
    if absent or not there:
        raise ConfigurationError(
            "baseline: it has no scores to compare with; check the night, the runs and the cutoffs"
        )


def _refuse_cutoffs(cutoffs: Iterable[Cutoff], known: Collection[Cutoff]) -> None:
    absent = [format_cutoff(cutoff) for cutoff in cutoffs if cutoff not in known]
    if absent:
        there = ", ".join(format_cutoff(cutoff) for cutoff in sorted(known, key=by_depth))
        raise ConfigurationError(f"cutoffs: no scores at {', '.join(absent)}; there are scores at {there}")


def _refuse_nights(theirs: Iterable[Scored]) -> None:
    nights: dict[str, set[datetime.date]] = {}
    for each in theirs:
        nights.setdefault(each.dataset, set()).add(each.night)
    for dates in nights.values():
        if len(dates) > 1:
            raise InputError(
                f"baseline: scores of {len(dates)} nights, e.g. {min(dates)} and {max(dates)}; give those of one"
            )
