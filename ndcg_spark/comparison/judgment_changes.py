"""A run's changes of judgments, from the log or from kept copies of the lists around each.

They join a run's nights into one line: earlier nights are shifted to the scores that their
lists would have under the later judgments.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.measures import Cutoff, format_cutoff
from ndcg_spark.nights.log import Night

#: A column of scores and its cutoff.
Metric = tuple[str, Cutoff]
#: Computes what the log would say about a run between two nights from copies; None without copies.
FactsOfCopies = Callable[[str, Metric, Night, Night], Mapping[str, Any] | None]

#: Without a gate: how many queries both sets must judge, and how far the sides may be apart.
_MIN_QUERIES, _MARGIN = 50, 0.01
#: The fields that a link in the log needs to join two parts of a line.
_NEEDED = ("old", "new", "mean", "before_mean")


@dataclasses.dataclass(frozen=True)
class Change:
    """A change of judgments across which a run's line continues."""

    #: The dates of the last night before it and of the first night after it.
    before: str
    after: str
    #: The run's change under the old and under the new judgments.
    old: float
    new: float
    #: The mean of both, and half the distance between them.
    difference: float
    uncertainty: float
    #: The number of queries that both sets of judgments have.
    queries: int
    #: How far the earlier nights are shifted, into units of the new judgments.
    shift: float
    #: Whether the sides are so far apart that it is not known what happened here.
    sides_disagree: bool


def changes_of_run(
    run: str,
    metric: Metric,
    nights: Sequence[Night],
    facts_of_copies: FactsOfCopies,
) -> tuple[dict[str, Change], list[str]]:
    """The changes of judgments that can be crossed, and the dates of the others.

    The changes are by the date of the first night after each. `nights`: the run's nights with a
    value, by date. If the log has no link for a change, it is computed from the copies that are
    kept.
    """
    changes: dict[str, Change] = {}
    others: list[str] = []
    for before, after in _pairs(nights):
        facts = _link_in_log(run, metric, before, after)
        if facts is None:
            facts = facts_of_copies(run, metric, before, after)
        min_queries = after.gate.get("min_queries") or _MIN_QUERIES
        is_known = facts is not None and _is_complete(facts)
        if facts is None or not is_known or facts["queries_in_both"] < min_queries:
            others.append(after.evaluated_on)
        else:
            changes[after.evaluated_on] = _change(facts, _allowed_drop(run, metric, after, facts))
    return changes, others


def _pairs(nights: Iterable[Night]) -> Iterator[tuple[Night, Night]]:
    """The nights around each change of judgments: the last before it, and the first after it.

    Nights with different conventions are considered separately.
    """
    newest: dict[str, Night] = {}
    for night in nights:
        options = json.dumps(night.record["options"], sort_keys=True)
        before = newest.get(options)
        own = night.row["judgments_fingerprint"]
        if before is not None and before.row["judgments_fingerprint"] != own:
            yield before, night
        newest[options] = night


def _link_in_log(run: str, metric: Metric, before: Night, after: Night) -> Mapping[str, Any] | None:
    """The link in the log between these two evaluations; None if it was not recorded."""
    for link in after.record["links"] or ():
        if link["before_id"] != before.evaluation_id:
            continue
        of_link = link["run"], link["measure"], link["cutoff"]
        if of_link == (run, *metric):
            return dict(link)
    return None


def _is_complete(facts: Mapping[str, Any]) -> bool:
    return all(facts.get(name) is not None for name in _NEEDED)


def _change(facts: Mapping[str, Any], allowed: float) -> Change:
    """The change that a link in the log or kept copies describe."""
    old, new = facts["old"], facts["new"]
    moved = (old + new) / 2
    return Change(
        before=facts["before"],
        after=facts["after"],
        old=old,
        new=new,
        difference=moved,
        uncertainty=abs(new - old) / 2,
        queries=facts["queries_in_both"],
        shift=facts["mean"] - moved - facts["before_mean"],
        sides_disagree=abs(new - old) > allowed,
    )


def _allowed_drop(run: str, metric: Metric, night: Night, facts: Mapping[str, Any]) -> float:
    """The drop that the strictest check of the night's own gate allows for a run and measure."""
    measure, cutoff = metric
    limits: list[float] = []
    for check in night.gate.get("check", ()):
        of_check = check["measure"], format_cutoff(check["cutoff"])
        is_of_metric = of_check == (measure, format_cutoff(cutoff))
        is_for_all = check.get("slice") is None and not check.get("weighted")
        if is_of_metric and is_for_all and _includes(check, run, night.dataset):
            mean = abs(facts["before_mean"])
            limits.extend(_limits(check, mean))
    return min(limits, default=_MARGIN)


def _includes(check: Mapping[str, Any], run: str, dataset: str) -> bool:
    """Whether a check in the log covers a run of a dataset."""
    runs = check.get("runs")
    if runs is not None and run not in runs:
        return False
    datasets = check.get("datasets")
    return datasets is None or dataset in datasets


def _limits(check: Mapping[str, Any], mean: float) -> Iterator[float]:
    """How far a check in the log lets a mean fall, by each of its limits."""
    if check.get("max_drop") is not None:
        yield check["max_drop"]
    if check.get("max_relative_drop") is not None:
        yield check["max_relative_drop"] * mean
