"""The gate on nights that are written but not yet published, on published nights, and rehearsed."""

import dataclasses
import datetime
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.matrix import read_query_tables
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import DONE, GATE_FAILED, ConfigurationError
from ndcg_spark.gate.acknowledged import acknowledged_in_words, until_date
from ndcg_spark.gate.decide import Acceptance, Judged, acceptance_of, judge, rehearse
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import (
    FAIL,
    Verdict,
    falls_in_words,
    has_dated_baseline,
    how_to_accept,
)
from ndcg_spark.job.acceptance import taken_over, warn_if_ended
from ndcg_spark.job.decisions import (
    NO_DECISION,
    Decision,
    accepted_or_acknowledged,
    refuse_contradictions,
    refuse_nothing_to_acknowledge,
    refuse_unknown_runs,
    report_accepted_means,
    withdraw,
)
from ndcg_spark.job.reasons import refuse_no_reason
from ndcg_spark.nights import log
from ndcg_spark.nights.reader import (
    datasets_left_out,
    newest_date,
    nights_of_dataset,
    read_again,
    select_nights,
)
from ndcg_spark.steps import report_step
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.voices import Give

if TYPE_CHECKING:
    from ndcg_spark.nights.commit import Publication

#: The results that accepting a night does not change for later ones if a check names the date of
#: its baseline.
_DIFFERENT = (
    "dropped",
    "rose",
    "may_be_chance",
    "other_judgments",
    "other_convention",
    "other_items",
    "other_cutoff",
    "new_run",
)


def usable_gate(config: EvaluationConfig, accepted: str | None = None) -> GateConfig:
    """A configuration's gate.

    Raises ConfigurationError if there is none, or if its verdict or an acceptance cannot be
    published.
    """
    if config.gate is None:
        absent = "gate: the configuration has none; add [gate] and a [[gate.check]]"
        raise ConfigurationError(absent)
    if config.output is None:
        what = "gate: a verdict is published with its night, but there is no output"
        raise ConfigurationError(what, Give("output", words="give"))
    refuse_no_reason(accepted, "accept-baseline")
    return config.gate


def report_verdicts(verdicts: Sequence[Verdict], output: str, file: str | None = None) -> None:
    """Report the verdicts; `file` is the configuration, for the command to accept a first night."""
    for verdict in verdicts:
        prefix = f"{verdict.dataset}: " if len(verdicts) > 1 else ""
        for warning in verdict.warnings:
            report_step("warning", prefix + warning)
        said = f"{verdict_in_words(vars(verdict))}: {verdict.sentence}"
        said = "; ".join([said, *falls_in_words(vars(verdict))])
        report_step("gate", prefix + said, _level(verdict))
        advice = how_to_accept(verdict.as_json(), output, file)
        for sentence in (*verdict.changes, *verdict.notes):
            report_step("note", prefix + sentence)
        if verdict.acknowledged is not None:
            report_step("acknowledged", prefix + acknowledged_in_words(verdict.acknowledged))
        if advice:
            report_step("note", prefix + advice)
        elif verdict.accepted is not None:
            _report_accepted(verdict, prefix)


def _level(verdict: Verdict) -> int:
    levels = {DONE: logging.INFO, GATE_FAILED: logging.ERROR}
    return levels.get(verdict.exit_code, logging.WARNING)


def _report_accepted(verdict: Verdict, prefix: str) -> None:
    """Report that a night is accepted, and warn about checks with a different dated baseline."""
    night = f"{verdict.dataset} of {verdict.evaluated_on}"
    report_step("accepted", f"{night}, as a baseline for later nights: {verdict.accepted}")
    dates = []
    for result in verdict.results:
        if result.reason in _DIFFERENT and has_dated_baseline(vars(result)):
            dates.append(result.baseline)
    for date in dict.fromkeys(dates):
        sentence = f"later nights are still compared with {date}"
        advice = f"let `baseline` name {verdict.evaluated_on} instead"
        report_step("warning", f"{prefix}{sentence}; {advice}")


@read_again
def judge_written(
    gate: GateConfig,
    publication: "Publication",
    record: Mapping[str, Any],
    datasets: Collection[str],
    options: ComparisonOptions,
    accepted: str | None = None,
) -> dict[str, Judged]:
    """The verdict on every night that is written but not yet published, by dataset.

    Also writes their comparisons.
    """
    written = [publication.night(dataset, record) for dataset in sorted(datasets)]
    known = log.committed(written[0].store)
    nights = _with_written(written, known)
    scores = ScoreCache()
    results = {}
    comparisons = []
    for night in written:
        same = taken_over(night, known)
        tonight = _with_known_loss(night, same)
        inputs = GateInputs(gate, tonight, nights, scores, options)
        judged = judge(inputs, _acceptance(accepted, same))
        known_loss = same.record["acknowledged"] or None if same is not None else None
        results[night.dataset] = judged._replace(known_loss=known_loss)
        comparisons.extend(judged.rows)
        if accepted is None:
            warn_if_ended(night, known, record["configuration"].get("file"))
    if comparisons:
        publication.write_rows("comparisons", comparisons)
        publication.verify("comparisons", len(comparisons))
    return results


def _replaced(night: log.Night, written: Sequence[log.Night]) -> bool:
    """Whether one of the written nights replaces a published one."""
    own = (night.dataset, night.evaluated_on)
    return any((other.dataset, other.evaluated_on) == own for other in written)


def _with_known_loss(night: log.Night, same: log.Night | None) -> log.Night:
    """The night, with the acknowledgement from an earlier evaluation of the same rows."""
    if same is None:
        return night
    return dataclasses.replace(night, row={**night.row, "acknowledged": same.row["acknowledged"]})


def _acceptance(accepted: str | None, same: log.Night | None) -> Acceptance | None:
    """Why a night is accepted: for the given reason, or as an evaluation of the same rows was."""
    if accepted is not None:
        return Acceptance(accepted)
    return None if same is None else acceptance_of(same)


def _with_written(written: Sequence[log.Night], known: log.Nights) -> log.Nights:
    """The nights as they will be when the written ones are published."""
    others = [night for night in known if not _replaced(night, written)]
    nights = sorted(others + list(written))
    return log.Nights(nights, known.rows, known.damaged)


@read_again
def gate_published(
    config: EvaluationConfig,
    output: str,
    dataset: str | None,
    decision: Decision = NO_DECISION,
) -> list[Verdict]:
    """The verdicts of the configured gate on the nights of its date, for all datasets or for one.

    The nights do not change, except that the log records decisions about them.
    """
    refuse_contradictions(decision)
    gate = usable_gate(config, decision.accepted)
    date = config.date.isoformat()
    nights = log.committed(output)
    chosen = select_nights(nights, output, date, dataset)
    absent = datasets_left_out(nights, date, dataset)
    if absent:
        report_step("note", absent)
    options = _comparison_options(config, chosen)
    scores = ScoreCache()
    if decision.withdrawn:
        withdrawn = []
        for night in accepted_or_acknowledged(chosen):
            withdrawn.append(_as_command(withdraw(gate, night, nights, scores, options)))
        return withdrawn
    verdicts = []
    for night in chosen:
        inputs = GateInputs(gate, night, nights, scores, options)
        verdicts.append(_verdict_with_decision(inputs, decision))
    if decision.acknowledged is not None:
        refuse_nothing_to_acknowledge(chosen, verdicts)
    for night, verdict in zip(chosen, verdicts, strict=True):
        if decision.accepted is not None:
            report_accepted_means(gate, night, nights, scores, decision.runs)
            runs = list(decision.runs) or None
            log.revise(night, accepted=decision.accepted, accepted_runs=runs)
        elif decision.acknowledged is not None and verdict.verdict == FAIL:
            _record_acknowledgement(night, decision)
    report_verdicts(verdicts, output, config.source["file"])
    return verdicts


def _verdict_with_decision(inputs: GateInputs, decision: Decision) -> Verdict:
    """The verdict on a published night, as if the log already had the decision about it."""
    acceptance = acceptance_of(inputs.tonight)
    if decision.accepted is not None:
        acceptance = Acceptance(decision.accepted, decision.runs or None)
        refuse_unknown_runs(decision.runs, inputs.tonight, inputs.nights, inputs.scores)
    return _as_command(judge(inputs, acceptance).verdict)


def _record_acknowledgement(night: log.Night, decision: Decision) -> None:
    until = until_date(night.evaluated_on, decision.until)
    log.revise(night, acknowledged={"reason": decision.acknowledged, "until": until})
    report_step("acknowledged", f"{night}, until {until}: {decision.acknowledged}")
    kept = "this command's exit code is still the verdict's"
    report_step("note", f"{kept}; later nights that are not worse exit with {DONE}")


def _as_command(verdict: Verdict) -> Verdict:
    """The verdict for the command `gate`, which fails even for a known loss.

    A deployment that calls the command must not pass with a known loss.
    """
    if verdict.verdict != FAIL:
        return verdict
    return dataclasses.replace(verdict, exit_code=GATE_FAILED)


@read_again
def rehearse_published(
    config: EvaluationConfig,
    output: str,
    dataset: str | None,
) -> list[Verdict]:
    """The verdicts that the configured gate would give to every published night, without storing
    them.

    They cover all datasets, or one.
    """
    gate = usable_gate(config)
    nights = log.committed(output)
    nights_of_dataset(nights, output, dataset)
    return list(rehearse(gate, nights, _comparison_options(config, nights), dataset))


def _comparison_options(config: EvaluationConfig, nights: Sequence[log.Night]) -> ComparisonOptions:
    """The options that comparisons of published nights need; their rows are not published."""
    attributes, weights = read_query_tables(config, nights)
    return ComparisonOptions(attributes=attributes, weights=weights, only_losses=True)


def date_to_judge(output: str, dataset: str | None = None) -> datetime.date | None:
    """The date that a gate judges if none is named: that of the newest night, or None without
    nights.

    Raises StorageError if a later date's log is damaged.
    """
    newest = newest_date(log.committed(output), dataset)
    return datetime.date.fromisoformat(newest) if newest else None
