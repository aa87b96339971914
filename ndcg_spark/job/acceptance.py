"""What becomes of the acceptance of a night that is evaluated again."""

from collections.abc import Iterator, Mapping
from typing import Any

from ndcg_spark.gate.verdict import accept_command
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.steps import report_step


def taken_over(night: Night, known: Nights) -> str | None:
    """Why the night was accepted, if this evaluation of it has the same rows and options."""
    for before in _accepted(night, known):
        if _made_of(before) == _made_of(night):
            return str(before.row["accepted"])
    return None


def warn_if_ended(night: Night, known: Nights, file: str | None, is_kept: bool = True) -> None:
    """Warn, with the command that accepts the new scores, if the night was accepted and is not now.

    `file` is a configuration with a gate. Without `is_kept`, no acceptance is taken over.
    """
    for before in _accepted(night, known):
        if is_kept and _made_of(before) == _made_of(night):
            continue
        command = accept_command(night.store.location, file, vars(night))
        what = f"{night} was accepted, {before.row['accepted']}, but its new scores are not"
        report_step("warning", f"{what}; to accept them: {command}")


def _accepted(night: Night, known: Nights) -> Iterator[Night]:
    for before in known:
        is_same = (before.dataset, before.evaluated_on) == (night.dataset, night.evaluated_on)
        if is_same and before.row["accepted"]:
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
