"""Changes of judgments whose sides disagreed: what happened there is unknown until somebody accepts
a night.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.baselines import is_accepted_for
from ndcg_spark.gate.verdict import checked_mean_of, side_changes
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier
from ndcg_spark.tables.format import count
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.text import day

#: The code of a result whose sides disagree.
SIDES_DISAGREE = "sides_disagree"


def unknown_changes(tonight: Night, nights: Iterable[Night]) -> list[str]:
    """A sentence for each change of a run whose sides disagreed, until a later night is accepted
    for the run.
    """
    unknown: dict[tuple[str, str], str] = {}
    accepted: list[Night] = []
    for night in reversed(earlier(nights, tonight.dataset, tonight.evaluated_on)):
        if night.row["accepted"]:
            accepted.append(night)
        for run, results in _disagreeing_results(night).items():
            if any(is_accepted_for(other, run) for other in accepted):
                continue
            # Later nights with the same judgments are compared across the same change.
            change = run, str(night.row["judgments_fingerprint"])
            unknown[change] = _sentence(night, results)
    return list(unknown.values())


def _disagreeing_results(night: Night) -> dict[str, list[Mapping[str, Any]]]:
    """A night's results whose sides disagree, by run."""
    by_run: dict[str, list[Mapping[str, Any]]] = {}
    verdict = night.record["verdict"] or {}
    for result in verdict.get("results", ()):
        if result["reason"] == SIDES_DISAGREE:
            by_run.setdefault(str(result["run"]), []).append(result)
    return by_run


def _sentence(night: Night, results: Sequence[Mapping[str, Any]]) -> str:
    """The sentence for a run's results whose sides disagree. It names the first result."""
    # A result over all queries says more than a result for a slice.
    first = min(results, key=lambda result: result["slice"] is not None)
    changes = side_changes(first.get("sides", ())).values()
    ends = ""
    if changes:
        ends = f" ({signed(min(changes))} to {signed(max(changes))})"
    subjects = dict.fromkeys(map(_subject, results))
    more = len(subjects) - 1
    others = f" and {count(more, 'more check')}" if more else ""
    change = f"it is unclear how {_subject(first)}{others} changed when the judgments did on"
    return f"{change} {day(night.evaluated_on)}{ends}; look at that night, or accept a night"


def _subject(result: Mapping[str, Any]) -> str:
    """What a check looked at: `ndcg@10 of ltr for device=tablet`."""
    return checked_mean_of(result, result["run"])
