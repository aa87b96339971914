"""What becomes of the acceptance of a night that is evaluated again."""

from collections.abc import Iterator, Mapping
from typing import Any

from ndcg_spark.nights.log import Night, Nights


def taken_over(night: Night, known: Nights) -> Night | None:
    """The evaluation before this one of a night that somebody accepted or acknowledged.

    None if this one has other rows or options.
    """
    for before in _accepted(night, known):
        if _made_of(before) == _made_of(night):
            return before
    return None


def ended(night: Night, known: Nights) -> Night | None:
    """The accepted or acknowledged evaluation of the night, if this one has other rows or options."""
    for before in _accepted(night, known):
        if _made_of(before) != _made_of(night):
            return before
    return None


def _accepted(night: Night, known: Nights) -> Iterator[Night]:
    for before in known:
        is_same = (before.dataset, before.evaluated_on) == (night.dataset, night.evaluated_on)
        if is_same and (before.row["accepted"] or before.row["acknowledged"]):
            yield before


def _made_of(night: Night) -> Mapping[str, Any]:
    """What the scores of a night follow from: the rows that were read, and the options."""
    record = night.record
    return {
        "options": record["options"],
        "judgments": record["judgments_fingerprint"],
        "results": record["results_fingerprint"],
        "exclude": record["configuration"].get("exclude"),
        "excluded": record["counts"].get("excluded_results"),
    }
