"""Decisions of people about a published night: accept it, acknowledge its loss, or withdraw
either.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import has_judgments_of
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.references import accepted_reference
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.convention.measures import MEASURES, Cutoff, measure_at
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.decide import judge
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import FAIL, Verdict
from ndcg_spark.job.reasons import refuse_no_reason
from ndcg_spark.nights import log
from ndcg_spark.nights.reader import earlier
from ndcg_spark.steps import report_step
from ndcg_spark.tables.format import score
from ndcg_spark.text import unknown_name


class Decision(NamedTuple):
    """A decision about a published night: to accept it, to acknowledge its loss, or to withdraw."""

    #: Why it is accepted as a baseline for later nights, and for which runs (empty means all).
    accepted: str | None = None
    runs: tuple[str, ...] = ()
    #: Why its failure is a known loss, and until which date.
    acknowledged: str | None = None
    until: str | None = None
    #: Whether the acceptance or the acknowledgement is withdrawn.
    withdrawn: bool = False


NO_DECISION = Decision()


def refuse_contradictions(decision: Decision) -> None:
    """Raise ConfigurationError for two decisions at once, or for a detail without its decision."""
    given = {
        "accept-baseline": decision.accepted is not None,
        "acknowledge": decision.acknowledged is not None,
        "withdraw": decision.withdrawn,
    }
    chosen = [name for name, is_given in given.items() if is_given]
    if len(chosen) > 1:
        raise ConfigurationError("one decision at a time; leave this out", option=chosen[1])
    if decision.runs and decision.accepted is None:
        raise ConfigurationError("it says which runs are accepted; give a reason", option="run")
    if decision.until is not None and decision.acknowledged is None:
        sentence = "it says how long a loss is acknowledged; give a reason"
        raise ConfigurationError(sentence, option="until")
    refuse_no_reason(decision.acknowledged, "acknowledge")


def refuse_unknown_runs(
    runs: Sequence[str], night: log.Night, nights: log.Nights, scores: ScoreCache
) -> None:
    """Raise ConfigurationError for a run that neither this night nor an earlier one has."""
    known = set(scores.source(night).runs) | set(scores.source(night).silent)
    if known.issuperset(runs):
        return
    for other in earlier(nights, night.dataset, night.evaluated_on):
        known.update(scores.source(other).runs)
    for run in runs:
        if run not in known:
            raise unknown_name("run", "run", run, known)


def refuse_nothing_to_acknowledge(nights: Sequence[log.Night], verdicts: Sequence[Verdict]) -> None:
    """Raise ConfigurationError unless a night fails, and each failing night was published as
    failed.

    Later nights are compared with the results in the log, which were stored at publication.
    """
    failed = []
    for night, verdict in zip(nights, verdicts, strict=True):
        if verdict.verdict == FAIL:
            failed.append(night)
    if not failed:
        sentence = "no night of the date failed, and only a failure can be a known loss"
        raise ConfigurationError(sentence, option="acknowledge")
    for night in failed:
        published = night.row["verdict"]
        if published != FAIL:
            said = "without a gate" if published is None else "by a gate that it did not fail"
            sentence = (
                f"{night} was published {said}, so the log has no failure that later nights "
                "could repeat; evaluate it again with this gate"
            )
            raise ConfigurationError(sentence, option="acknowledge")


def accepted_or_acknowledged(nights: Sequence[log.Night]) -> list[log.Night]:
    """The nights with a decision to withdraw. ConfigurationError if there are none."""
    decided = []
    for night in nights:
        if night.row["accepted"] or night.row["acknowledged"]:
            decided.append(night)
    if not decided:
        names = " and ".join(map(str, nights))
        verb = "is" if len(nights) == 1 else "are"
        sentence = f"{names} {verb} neither accepted nor acknowledged"
        raise ConfigurationError(sentence, option="withdraw")
    return decided


def withdraw(
    gate: GateConfig,
    night: log.Night,
    nights: log.Nights,
    scores: ScoreCache,
    options: ComparisonOptions,
) -> Verdict:
    """Withdraw what was accepted or acknowledged on a night; return its verdict without that."""
    withdrawn = []
    if night.row["accepted"]:
        withdrawn.append(log.ACCEPTANCE)
    if night.row["acknowledged"]:
        withdrawn.append(log.ACKNOWLEDGEMENT)
    plain = {**night.row, "accepted": None, "accepted_runs": None, "acknowledged": None}
    without = dataclasses.replace(night, row=plain)
    others = [without if other == night else other for other in nights]
    known = log.Nights(others, nights.rows, nights.damaged)
    verdict = judge(GateInputs(gate, without, known, scores, options)).verdict
    log.revise(without, withdrawn=withdrawn, is_baseline=verdict.is_good)
    report_step("withdrawn", f"{' and '.join(withdrawn)} of {night}")
    return verdict


def report_accepted_means(
    gate: GateConfig,
    night: log.Night,
    nights: log.Nights,
    scores: ScoreCache,
    runs: Sequence[str],
) -> None:
    """Report the level that an acceptance sets for each run, and its previous level."""
    rows = scores.mean_rows(night)
    measure, cutoff = night.measure_set.headline([row["cutoff"] for row in rows])
    column = MEASURES[measure].column
    for row in rows:
        run = row["run"]
        is_named = not runs or run in runs
        if row["cutoff"] != cutoff or not is_named or row[column] is None:
            continue
        if run in night.unmeasured:
            report_step("accepted", f"{run}: not measured, so its level does not change")
            continue
        before = accepted_reference(
            run, night, nights, lambda other: scores.source(other).runs, gate.nights
        )
        previous = ""
        if before is not None:
            old = _mean_of_run(scores.mean_rows(before.nights[0]), run, column, cutoff)
            previous = f", was {score(old)} on {before.first}"
            if not has_judgments_of(before.nights[0], night):
                previous += " under different judgments, so the two cannot be compared"
        what = f"{run}: {measure_at(column, cutoff)} {score(row[column])}{previous}"
        report_step("accepted", what)


def _mean_of_run(
    rows: Sequence[Mapping[str, Any]], run: str, column: str, cutoff: Cutoff
) -> float | None:
    for row in rows:
        if (row["run"], row["cutoff"]) == (run, cutoff):
            value: float | None = row[column]
            return value
    return None
