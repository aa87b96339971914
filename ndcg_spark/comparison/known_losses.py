"""The losses that somebody acknowledged as known, and the nights on which they were fixed.

An acknowledgement is for a loss that lasts. The gate, `expire` and the lists of what is
acknowledged use this module, so that they agree on what is in force.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import has_options_of, is_accepted_for
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier
from ndcg_spark.text import ACCEPTED, GOOD

#: The fields that identify the same result in two nights.
_SUBJECT = ("run", "measure", "cutoff", "slice", "weighted", "baseline")
#: The verdicts that are not "no verdict".
_DECIDED = ("pass", "fail")

#: A verdict's result in the log.
Result = Mapping[str, Any]
Subject = tuple[Any, ...]


def subject_of(result: Result) -> Subject:
    """What a result is about, so that a later result can be the same."""
    return tuple(map(result.get, _SUBJECT))


@dataclasses.dataclass(frozen=True)
class Acknowledgement:
    """What somebody acknowledged on a night, and the last date on which it is in force."""

    night: Night
    reason: str
    until: str
    #: The dates on which runs passed again, by run. Their losses are no longer acknowledged.
    fixed_on: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def as_json(self) -> dict[str, str]:
        return {"on": self.night.evaluated_on, "reason": self.reason, "until": self.until}

    @property
    def failed(self) -> list[Result]:
        """The results that failed on its night."""
        return _results_of(self.night, "fail")

    @property
    def lasting(self) -> list[Result]:
        """The results that failed on its night, except those of fixed runs."""
        return [result for result in self.failed if result["run"] not in self.fixed_on]

    @property
    def is_in_force(self) -> bool:
        """Whether any run's loss has not been fixed, except losses that are only warnings."""
        if not self.fixed_on:
            return True
        return "fail" in [loss["severity"] for loss in self.lasting]


def acknowledgements(nights: Sequence[Night], date: str) -> list[Acknowledgement]:
    """The acknowledgements that end on a date or later, the newest first.

    They include those whose losses were fixed on one of the nights. `nights`: those of one
    dataset, ordered by date.
    """
    found = []
    for at, night in enumerate(nights):
        said = night.record["acknowledged"]
        if said and said["until"] >= date:
            known = Acknowledgement(night, said["reason"], said["until"])
            fixed_on = _dates_of_fixes(known, nights[at + 1 :])
            found.append(dataclasses.replace(known, fixed_on=fixed_on))
    found.reverse()
    return found


def acknowledged_now(nights: Iterable[Night]) -> Iterator[Acknowledgement]:
    """The acknowledgements in force after each dataset's newest night, the oldest first."""
    by_dataset: dict[str, list[Night]] = {}
    for night in sorted(nights):
        by_dataset.setdefault(night.dataset, []).append(night)
    for own in by_dataset.values():
        for known in reversed(acknowledgements(own, own[-1].evaluated_on)):
            if known.is_in_force:
                yield known


def _dates_of_fixes(known: Acknowledgement, later: Sequence[Night]) -> dict[str, str]:
    """The first date on which each run passed every check that it failed when acknowledged."""
    failed: dict[str, set[Subject]] = {}
    for result in known.failed:
        # A check that only warns fails no night, so its loss need not be fixed.
        if result["severity"] == "fail":
            failed.setdefault(result["run"], set()).add(subject_of(result))
    dates: dict[str, str] = {}
    for night in later:
        if not has_options_of(night, known.night):
            continue
        passed = _passed_subjects(night)
        for run, subjects in failed.items():
            if subjects <= passed:
                dates.setdefault(run, night.evaluated_on)
    return dates


def _passed_subjects(night: Night) -> set[Subject]:
    """What passed on a night; nothing if the night has no verdict."""
    verdict = night.record["verdict"] or {}
    if verdict.get("verdict") not in _DECIDED:
        return set()
    return set(map(subject_of, _results_of(night, "pass")))


def _results_of(night: Night, word: str) -> list[Result]:
    """A night's results that are a `pass` or a `fail`."""
    verdict = night.record["verdict"] or {}
    results = []
    for result in verdict.get("results", ()):
        if result["result"] == word:
            results.append(result)
    return results


class PastLoss(NamedTuple):
    """A loss that becomes part of the baseline if a night is accepted."""

    run: str
    #: The date of the night that failed.
    date: str
    #: The result that failed on that night.
    result: Result
    #: Whether the loss was acknowledged and is not fixed.
    is_acknowledged: bool


def losses_to_accept(
    tonight: Night,
    results: Iterable[Result],
    nights: Iterable[Night],
    runs: Collection[str],
) -> list[PastLoss]:
    """These runs' known losses that become part of the baseline if a night is accepted.

    A run has such a loss if its loss is acknowledged, or if it failed on the newest night that
    compared it, and tonight does not compare it. A run that passes tonight has none. `results`:
    tonight's results.
    """
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    known = acknowledgements([*before, tonight], tonight.evaluated_on)
    tonights = list(results)
    found = []
    for run in runs:
        words = [result["result"] for result in _of_run(run, tonights)]
        has_failed = "fail" in words
        has_passed = "pass" in words and not has_failed
        if has_passed:
            continue
        loss = _acknowledged_loss(run, known)
        if loss is None and not has_failed:
            loss = _newest_loss(run, before)
        if loss is not None:
            found.append(loss)
    return found


def _acknowledged_loss(run: str, known: Iterable[Acknowledgement]) -> PastLoss | None:
    """A run's newest acknowledged loss that is not fixed."""
    for one in known:
        lasting = _against_nights(_of_run(run, one.lasting))
        if lasting:
            return PastLoss(run, one.night.evaluated_on, lasting[0], is_acknowledged=True)
    return None


def _newest_loss(run: str, before: Sequence[Night]) -> PastLoss | None:
    """A run's loss on the newest night that compared it, unless the run passed or somebody
    accepted the night for it.
    """
    for night in reversed(before):
        if is_accepted_for(night, run):
            return None
        failed = _against_nights(_of_run(run, _results_of(night, "fail")))
        if failed:
            return PastLoss(run, night.evaluated_on, failed[0], is_acknowledged=False)
        if _of_run(run, _results_of(night, "pass")):
            return None
    return None


def _against_nights(results: Iterable[Result]) -> list[Result]:
    """The results that accepting a night affects: those against good or accepted nights."""
    return [result for result in results if result["baseline"] in (GOOD, ACCEPTED)]


def _of_run(run: str, results: Iterable[Result]) -> list[Result]:
    return [result for result in results if result["run"] == run]
