"""The nights that `expire` keeps because a gate compares with them, however old they are."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.known_losses import acknowledged_now
from ndcg_spark.comparison.references import Reference, accepted_reference, dated_reference
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.errors import StorageError
from ndcg_spark.nights.log import Night
from ndcg_spark.text import ACCEPTED, GOOD

#: A date after all nights.
_NEXT = "9999-12-31"
#: A run that is missing tonight may come back if it was in one of this many nights.
_RECENT = 7


def needed_dates(nights: Sequence[Night], old: set[str]) -> set[str]:
    """The dates that the gates of the kept nights compare with.

    A night is kept if its date is not `old`, or if a kept night needs it. The newest night of a
    dataset, however old, determines what the next one is compared with. So the dates include the
    reference of each run, the nights around the changes of judgments since then, and the nights
    with an acknowledgement that is still in force.
    """
    by_dataset: dict[str, list[Night]] = {}
    for night in nights:
        by_dataset.setdefault(night.dataset, []).append(night)
    needed: set[str] = set()
    scores = ScoreCache()
    for own in by_dataset.values():
        needed |= _dates_of_references(own, scores)
    # The gates of needed nights may need further nights.
    while True:
        removable = old - needed
        more = set(needed)
        for own in by_dataset.values():
            kept = [night for night in own[:-1] if night.evaluated_on not in removable]
            more |= _dates_of_gates(own, [*kept, own[-1]])
        if more == needed:
            return needed
        needed = more


def _names_of(gate: Mapping[str, Any]) -> set[str]:
    """The names of the baselines that a gate and its checks use."""
    names = set(gate.get("baseline", ()))
    for check in gate.get("check", ()):
        names.update(check.get("baselines") or ())
    return names


def _dates_of_gates(nights: Sequence[Night], kept: Sequence[Night]) -> set[str]:
    """The dates that the gates of the kept nights compare with.

    These are the newest good nights, as many as any of the gates uses, and the dates that the gates
    name. The newest good night is always included, because it determines the expected runs.
    """
    most = 1
    dates: set[str] = set()
    for night in kept:
        gate = night.gate
        names = _names_of(gate)
        dates.update(names - {ACCEPTED})
        if GOOD in names:
            most = max(most, gate.get("nights", 1))
    good = [night.evaluated_on for night in nights if night.is_good]
    return dates.union(good[-most:])


def _dates_of_references(nights: Sequence[Night], scores: ScoreCache) -> set[str]:
    """The dates of the references for a dataset's newest night, and for the night after it."""
    newest = nights[-1]
    next_night = dataclasses.replace(newest, evaluated_on=_NEXT)
    dates = {known.night.evaluated_on for known in acknowledged_now(nights)}
    named = sorted(_names_of(newest.gate) | dates)
    runs: set[str] = set()
    for night in nights[-_RECENT:]:
        runs.update(_runs_of(night, scores))
    for tonight in (newest, next_night):
        for run in runs:
            for reference in _references(run, tonight, nights, named, scores):
                dates.update(_dates_of(reference))
    return dates - {_NEXT}


def _dates_of(reference: Reference) -> Iterator[str]:
    """The reference's own nights, and those around each known change of judgments."""
    for night in reference.nights:
        yield night.evaluated_on
    for link in reference.links:
        before = link.before.row["judgments_fingerprint"]
        after = link.after.row["judgments_fingerprint"]
        if before and after:
            yield link.before.evaluated_on
            yield link.after.evaluated_on


def _references(
    run: str,
    tonight: Night,
    nights: Sequence[Night],
    named: Sequence[str],
    scores: ScoreCache,
) -> Iterator[Reference]:
    """A run's references on a night: the accepted night, and each named date."""

    def runs_of(night: Night) -> Collection[str]:
        return _runs_of(night, scores)

    found: list[Reference | None] = []
    gate = tonight.gate
    # Slices are compared with the accepted night, whatever the baselines are.
    has_slices = tonight.record["configuration"].get("query_attributes") is not None
    if ACCEPTED in named or (gate and has_slices):
        found.append(accepted_reference(run, tonight, nights, runs_of, gate.get("nights", 1)))
    for name in named:
        if name not in (GOOD, ACCEPTED):
            found.append(dated_reference(run, name, tonight, nights, runs_of))
    yield from (reference for reference in found if reference is not None)


def _runs_of(night: Night, scores: ScoreCache) -> Collection[str]:
    """The runs that returned anything or, if the scores cannot be read, all runs in the log."""
    try:
        return scores.source(night).runs
    except StorageError:
        return {row["run"] for row in night.record["means"] or ()}
