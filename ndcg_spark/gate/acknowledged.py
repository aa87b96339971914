"""Known losses: a night that fails, but is not worse than on the date of its acknowledgement."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.verdict import FAIL, PASS, Result, Verdict
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier
from ndcg_spark.text import day
from ndcg_spark.tolerance import ROUNDING

#: The fields that identify the same result in two nights.
_SUBJECT = ("run", "measure", "cutoff", "slice", "weighted", "baseline")
#: The number of days that a loss is acknowledged for, if no date is given.
DAYS = 14


class Acknowledgement(NamedTuple):
    """What somebody acknowledged on a night, and the last date on which it is in force."""

    night: Night
    reason: str
    until: str

    def as_json(self) -> dict[str, str]:
        return {"on": self.night.evaluated_on, "reason": self.reason, "until": self.until}


def acknowledged_in_words(known: Mapping[str, str]) -> str:
    """The sentence for a night with a known loss; `known` is the acknowledgement in its verdict."""
    until = day(known["until"])
    return f"still failing, acknowledged until {until}: {known['reason']}; not worse since"


def acknowledgement_of(night: Night) -> Mapping[str, str] | None:
    """The acknowledgement that covers a failed night: on, reason, until."""
    if night.row["verdict"] != FAIL:
        return None
    own = night.record["acknowledged"]
    if own:
        return {"on": night.evaluated_on, **own}
    verdict = night.record["verdict"]
    known: Mapping[str, str] | None = verdict.get("acknowledged")
    # An acknowledgement that was withdrawn on the night itself is no longer in force.
    if known is not None and known["on"] == night.evaluated_on:
        return None
    return known


def until_date(evaluated_on: str, until: str | None) -> str:
    """The last date of an acknowledgement; ConfigurationError if it is before the night."""
    date = datetime.date.fromisoformat(evaluated_on)
    if until is None:
        return (date + datetime.timedelta(days=DAYS)).isoformat()
    if until < evaluated_on:
        sentence = f"{until} is before the night {evaluated_on}; give a later date"
        raise ConfigurationError(sentence, option="until")
    return until


def in_force(tonight: Night, nights: Iterable[Night]) -> Acknowledgement | None:
    """The newest acknowledgement that may cover a night: its own, or an earlier one."""
    candidates = earlier(nights, tonight.dataset, tonight.evaluated_on)
    candidates.append(tonight)
    for night in reversed(candidates):
        acknowledged = night.record["acknowledged"]
        if acknowledged and acknowledged["until"] >= tonight.evaluated_on:
            return Acknowledgement(night, acknowledged["reason"], acknowledged["until"])
    return None


def is_known(verdict: Verdict, acknowledged: Mapping[str, Any]) -> bool:
    """Whether every result of a night either passed or also failed on the acknowledged night.

    Nothing may be missing or undecided. `acknowledged`: the verdict of the acknowledged night.
    """
    failed_before = {}
    for before in acknowledged.get("results", ()):
        if before["result"] == FAIL:
            failed_before[_subject(before)] = before
    compared = {_mean_of(result) for result in verdict.results if result.baseline is not None}
    for result in verdict.results:
        if result.result == PASS:
            continue
        before = failed_before.get(_subject(vars(result)))
        if result.result != FAIL or before is None:
            return False
        # `has_fallen` looks at the means that are compared with a baseline.
        has_baseline = _mean_of(result) in compared
        if not has_baseline and _is_lower(result.mean, before["mean"]):
            return False
    return True


def _subject(result: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a result is about, including its baseline."""
    return tuple(map(result.get, _SUBJECT))


def _mean_of(result: Result) -> tuple[Any, ...]:
    """The mean that a result is about, whatever it is compared with."""
    return result.run, result.measure, result.cutoff, result.slice, result.weighted


def _is_lower(mean: float | None, before: float | None) -> bool:
    """Whether a mean is lower than it was; a missing mean is taken as lower."""
    if mean is None or before is None:
        return True
    return mean < before - ROUNDING * max(1.0, abs(before))


def has_fallen(results: Iterable[Result], lost_slices: Sequence[str]) -> bool:
    """Whether a night is worse than the acknowledged one, by a verdict against only that night.

    It ignores checks against a minimum, which are not compared with a night; `is_known` looks at
    these.
    """
    compared = [result for result in results if result.baseline is not None]
    if not compared or lost_slices:
        return True
    return any(result.result != PASS for result in compared)
