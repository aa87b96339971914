"""Changes of judgments whose sides disagreed: what happened there is unknown until somebody accepts
a night.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ndcg_spark.gate.verdict import side_changes
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.text import day

#: The code of a result whose sides disagree.
SIDES_DISAGREE = "sides_disagree"


def unknown_changes(tonight: Night, nights: Iterable[Night]) -> list[str]:
    """A sentence for each change whose sides disagreed, if no night was accepted since then."""
    unknown: dict[tuple[str, str], str] = {}
    for night in reversed(earlier(nights, tonight.dataset, tonight.evaluated_on)):
        if night.row["accepted"]:
            break
        verdict = night.record["verdict"] or {}
        for result in verdict.get("results", ()):
            if result["reason"] == SIDES_DISAGREE:
                # Later nights with the same judgments are compared across the same change.
                change = str(result["run"]), str(night.row["judgments_fingerprint"])
                unknown[change] = _sentence(night, result)
    return list(unknown.values())


def _sentence(night: Night, result: Mapping[str, Any]) -> str:
    """The sentence for a result whose sides disagree."""
    changes = side_changes(result.get("sides", ())).values()
    ends = ""
    if changes:
        ends = f" ({signed(min(changes))} to {signed(max(changes))})"
    change = f"what happened to {result['run']} at the change of {day(night.evaluated_on)}"
    return f"{change} is not known{ends}; look at it, or accept a night"
