"""Finds the nights that must be scored under different judgments before a verdict."""

from ndcg_spark.comparison.baselines import Kind
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
from ndcg_spark.nights.copies import Copy, copies_of_both_sides
from ndcg_spark.nights.log import Night, Nights


def needed_copies(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    scores: ScoreCache,
) -> list[Copy]:
    """The copies needed for both sides of every change of judgments that tonight's verdict uses.

    These are the changes between the good nights and tonight, and the changes between tonight and a
    night that was accepted or that the gate names. `tonight` need not be published.
    """
    if not tonight.row["judgments_fingerprint"]:
        return []
    needed: list[Copy] = []
    for baseline in resolve_baselines(gate, tonight, nights, scores):
        if baseline.kind is Kind.GOOD and baseline.has_other_judgments(tonight):
            needed.extend(copies_of_both_sides(baseline.nights, tonight))
    for link in _links(gate, tonight, nights, scores):
        needed.extend(copies_of_both_sides([link.before], link.after))
    return list(dict.fromkeys(needed))


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
) -> list[Reference]:
    """A run's references: the accepted night, and each night that the gate names."""
    found = [accepted_reference(run, tonight, nights, scores.runs_of, gate.nights)]
    for name in gate.all_baselines:
        # A name that is not a date has no night.
        found.append(dated_reference(run, name, tonight, nights, scores.runs_of))
    return [reference for reference in found if reference is not None]
