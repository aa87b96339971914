"""Finds the nights that must be scored under different judgments before a verdict."""

from collections.abc import Iterator
from typing import NamedTuple

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.references import (
    Link,
    Reference,
    accepted_reference,
    dated_reference,
    newest_link,
)
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.gate.compared_night import resolve_baselines
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.text import ACCEPTED


class Needed(NamedTuple):
    """A night, and the fingerprint of the judgments under which its scores are needed."""

    night: Night
    judgments: str


def needed_copies(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    scores: ScoreCache | None = None,
) -> list[Needed]:
    """The copies needed for both sides of every change of judgments that tonight's verdict uses.

    These are the changes between the good nights and tonight, and the changes between tonight and a
    night that was accepted or that the gate names. `tonight` need not be published. `scores`: a
    cache of the scores that were already read.
    """
    if not tonight.row["judgments_fingerprint"]:
        return []
    if scores is None:
        scores = ScoreCache()
    needed: list[Needed] = []
    for baseline in resolve_baselines(gate, tonight, nights, scores):
        if baseline.kind is Kind.GOOD and baseline.has_other_judgments(tonight):
            needed.extend(_both_sides(baseline, tonight))
    for link in _links(gate, tonight, nights, scores):
        needed.append(Needed(link.before, link.after.row["judgments_fingerprint"]))
        needed.append(Needed(link.after, link.before.row["judgments_fingerprint"]))
    return list(filter(_is_copy, dict.fromkeys(needed)))


def _is_copy(needed: Needed) -> bool:
    """Whether a night was published under different judgments."""
    own = needed.night.row["judgments_fingerprint"]
    return bool(needed.judgments) and needed.judgments != own


def _both_sides(baseline: Baseline, tonight: Night) -> Iterator[Needed]:
    """The baseline's nights under tonight's judgments, and all nights under the old judgments."""
    old_judgments = baseline.nights[-1].row["judgments_fingerprint"]
    for night in baseline.nights:
        yield Needed(night, tonight.row["judgments_fingerprint"])
        yield Needed(night, old_judgments)
    yield Needed(tonight, old_judgments)


def _links(gate: GateConfig, tonight: Night, nights: Nights, scores: ScoreCache) -> list[Link]:
    """The changes of judgments between the references of tonight's runs and tonight."""
    links: dict[Link, None] = {}
    for run in scores.source(tonight).runs:
        newest = newest_link(run, tonight, nights, scores.runs_of)
        if newest is not None:
            links[newest] = None
        for reference in _references(gate, run, tonight, nights, scores):
            links.update(dict.fromkeys(reference.links))
    return list(links)


def _references(
    gate: GateConfig,
    run: str,
    tonight: Night,
    nights: Nights,
    scores: ScoreCache,
) -> Iterator[Reference]:
    """A run's references: the accepted night, and each night that the gate names."""
    for name in dict.fromkeys([ACCEPTED, *gate.all_baselines]):
        if name == ACCEPTED:
            reference = accepted_reference(run, tonight, nights, scores.runs_of, gate.nights)
        else:
            # A name that is not a date has no night.
            reference = dated_reference(run, name, tonight, nights, scores.runs_of)
        if reference is not None:
            yield reference
