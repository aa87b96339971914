"""Whether a night that is evaluated again keeps its acceptance."""

from collections.abc import Iterator, Mapping
from typing import Any

from ndcg_spark.gate.verdict import accept_command, acknowledge_command
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.steps import report_step


def taken_over(night: Night, known: Nights) -> Night | None:
    """The night's previous evaluation whose acceptance or acknowledgement applies to it too.

    None if nobody accepted or acknowledged it, or if it had different rows or options.
    """
    for before in _accepted(night, known):
        if _inputs_of(before) == _inputs_of(night):
            return before
    return None


def warn_if_ended(night: Night, known: Nights, file: str | None, is_kept: bool = True) -> None:
    """Warn if an evaluation ends an acceptance or an acknowledgement, with the command to renew it.

    `file` is a configuration with a gate. With `is_kept` (a gate judged the evaluation), a decision
    about the same rows and options is kept, so there is no warning.
    """
    for before in _accepted(night, known):
        if is_kept and _inputs_of(before) == _inputs_of(night):
            continue
        _warn_of_ended(night, before, file)


def _warn_of_ended(night: Night, before: Night, file: str | None) -> None:
    output, date = night.store.location, night.evaluated_on
    if before.row["accepted"]:
        runs = before.record.get("accepted_runs") or ()
        command = accept_command(output, file, night.dataset, date, runs)
        what = f"{night} was accepted, {before.row['accepted']}, but its new scores are not"
        report_step("warning", f"{what}; to accept them: {command}")
    if before.row["acknowledged"]:
        reason = before.record["acknowledged"]["reason"]
        command = acknowledge_command(output, file, night.dataset, date)
        what = f"a loss of {night} was acknowledged, {reason}, but not the loss of its new scores"
        report_step("warning", f"{what}; to acknowledge it: {command}")


def _accepted(night: Night, known: Nights) -> Iterator[Night]:
    """The night's previous evaluation, if somebody accepted or acknowledged it."""
    for before in known:
        is_same = (before.dataset, before.evaluated_on) == (night.dataset, night.evaluated_on)
        if is_same and (before.row["accepted"] or before.row["acknowledged"]):
            yield before


def _inputs_of(night: Night) -> Mapping[str, Any]:
    """What a night's scores depend on: the rows that were read, and the options."""
    record = night.record
    return {
        "options": record["options"],
        "judgments": record["judgments_fingerprint"],
        "results": record["results_fingerprint"],
        "exclude": record["configuration"].get("exclude"),
        "excluded": record["counts"].get("excluded_results"),
    }
