"""Known losses: a night that fails, but is not worse than on the date when it was acknowledged."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import is_accepted_for
from ndcg_spark.comparison.known_losses import (
    Acknowledgement,
    PastLoss,
    acknowledgements,
    subject_of,
)
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.verdict import FAIL, PASS, Result, Verdict, checked_mean_of
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.text import ACCEPTED, GOOD, baseline_run, day
from ndcg_spark.tolerance import ROUNDING

#: The number of days that a loss is acknowledged for, if no date is given.
DAYS = 14


class NotCovered(NamedTuple):
    """Why an acknowledgement does not cover a failed night: a code, and a clause."""

    code: str
    sentence: str


def acknowledged_in_words(known: Mapping[str, str]) -> str:
    """The sentence for a night with a known loss; `known` is the acknowledgement in its verdict."""
    until = day(known["until"])
    return f"still failing, acknowledged until {until}: {known['reason']}; not worse since"


def uncovered_in_words(known: Acknowledgement, uncovered: NotCovered) -> str:
    """The warning on a failed night that an acknowledgement in force does not cover."""
    date = day(known.night.evaluated_on)
    return f"not covered by the acknowledgement of {date}: {uncovered.sentence}"


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
    """An acknowledgement's last date; ConfigurationError if it is before the night."""
    date = datetime.date.fromisoformat(evaluated_on)
    if until is None:
        return (date + datetime.timedelta(days=DAYS)).isoformat()
    if until < evaluated_on:
        sentence = f"{until} is before the night {evaluated_on}; give a later date"
        raise ConfigurationError(sentence, option="until")
    return until


def known_before(tonight: Night, nights: Iterable[Night]) -> list[Acknowledgement]:
    """The acknowledgements that may be about a night, the newest first.

    They include those whose losses have been fixed. The night's own acknowledgement comes first.
    """
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    # The night itself does not show that an earlier loss was fixed: it is being judged.
    own = acknowledgements([tonight], tonight.evaluated_on)
    return own + acknowledgements(before, tonight.evaluated_on)


def in_force(known: Iterable[Acknowledgement]) -> Acknowledgement | None:
    """The newest acknowledgement with a loss that has not been fixed."""
    for one in known:
        if one.is_in_force:
            return one
    return None


def accepted_loss_in_words(loss: PastLoss) -> str:
    """The warning that accepting a night makes a known loss part of the baseline."""
    result = loss.result
    subject = checked_mean_of(result, loss.run)
    details = [signed(result["difference"])]
    if loss.is_acknowledged:
        details.append("acknowledged")
    failed = f"{subject} failed on {day(loss.date)} ({', '.join(details)})"
    return f"accepting this night also accepts a known loss: {failed}"


def losses_that_returned(
    verdict: Verdict, known: Iterable[Acknowledgement], nights: Iterable[Night]
) -> list[str]:
    """A sentence for each run that fails again after its acknowledged loss was fixed."""
    failed = {subject_of(vars(result)) for result in verdict.results if result.result == FAIL}
    sentences: dict[str, str] = {}
    for one in known:
        for run, date in one.fixed_on.items():
            of_run = {subject_of(result) for result in one.failed if result["run"] == run}
            is_back = not failed.isdisjoint(of_run)
            if is_back and not _was_accepted(one.night, run, date, nights):
                sentences.setdefault(run, _returned(run, one.night, date))
    return list(sentences.values())


def _was_accepted(acknowledged: Night, run: str, date: str, nights: Iterable[Night]) -> bool:
    """Whether a loss was accepted before a date, so that its run passed without a fix."""
    since = earlier(nights, acknowledged.dataset, date)
    return any(is_accepted_for(night, run) for night in since if night >= acknowledged)


def _returned(run: str, acknowledged: Night, fixed: str) -> str:
    known = f"the loss of {run} that was acknowledged on {day(acknowledged.evaluated_on)}"
    return f"{known} was fixed on {day(fixed)} and is back"


def why_not_known(verdict: Verdict, known: Acknowledgement) -> NotCovered | None:
    """A night's first result that an acknowledgement does not cover, or None if all are covered.

    It covers what passed, and what also failed on its night. Nothing may be missing or undecided.
    """
    before = {subject_of(result): result for result in known.lasting}
    compared = {_mean_of(result) for result in verdict.results if result.baseline is not None}
    for result in verdict.results:
        if result.result == PASS:
            continue
        if result.result != FAIL:
            return NotCovered("not_a_failure", result.sentence)
        own = before.get(subject_of(vars(result)))
        if own is None:
            return NotCovered("other_failure", _other_failure(result, known))
        # If no baseline shows that the mean falls further, it must not be lower than it was.
        if _mean_of(result) not in compared and _is_lower(result.mean, own["mean"]):
            return NotCovered("lower", f"{_in_words(result)} is lower than on that night")
    return None


def _other_failure(result: Result, known: Acknowledgement) -> str:
    """A failure that was not acknowledged: of a different mean, or against a different baseline."""
    also = f"{_in_words(result)} also fails"
    means = {_mean_in_log(before) for before in known.failed}
    if _mean_of(result) not in means:
        return also
    return f"{also} {_against(result.baseline)}"


def _in_words(result: Result) -> str:
    return checked_mean_of(vars(result), result.run)


def _against(baseline: str | None) -> str:
    """A baseline in words, after a failure."""
    if baseline is None:
        return "its minimum"
    named = {GOOD: "the good nights", ACCEPTED: "the accepted night"}
    return f"against {named.get(baseline) or baseline_run(baseline) or baseline}"


def _mean_of(result: Result) -> tuple[Any, ...]:
    """The mean that a result is about, whatever it is compared with."""
    return _mean_in_log(vars(result))


def _mean_in_log(result: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(map(result.get, ("run", "measure", "cutoff", "slice", "weighted")))


def _is_lower(mean: float | None, before: float | None) -> bool:
    """Whether a mean is lower than it was; a missing mean is taken as lower."""
    if mean is None or before is None:
        return True
    return mean < before - ROUNDING * max(1.0, abs(before))


def why_fallen(since_then: Verdict) -> NotCovered | None:
    """Why a night is worse than the acknowledged one, by a verdict against only that night.

    None if it is not worse. Checks against a minimum are not compared with a night, so
    `why_not_known` looks at them.
    """
    compared = [result for result in since_then.results if result.baseline is not None]
    for result in compared:
        if result.result != PASS:
            return NotCovered("fallen", result.sentence)
    if since_then.lost_slices:
        return NotCovered("lost_slice", since_then.lost_slices[0])
    if not compared:
        return NotCovered("not_compared", "nothing can be compared with that night")
    return None
