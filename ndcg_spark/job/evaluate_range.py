"""Evaluates a range of dates, in order and on one engine."""

import dataclasses
import datetime
import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import Engine
from ndcg_spark.errors import (
    DONE,
    GATE_FAILED,
    NO_VERDICT,
    ConfigurationError,
    InputError,
    MissingInputError,
)
from ndcg_spark.gate.verdict import Verdict, accept_command
from ndcg_spark.job.evaluate_inputs import EvaluationOutcome, evaluate
from ndcg_spark.job.gate import usable_gate
from ndcg_spark.job.inputs import engine_for
from ndcg_spark.job.reasons import refuse_no_reason
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.scratch import Scratch
from ndcg_spark.steps import report_step
from ndcg_spark.voices import Either, Give, Notice

#: A date's exit codes, the worst first. Other failures end the range.
_WORST = (InputError.exit_code, GATE_FAILED, NO_VERDICT, DONE)


class Evaluated(NamedTuple):
    """The result for one date of a range: an outcome, or why its input was refused."""

    config: EvaluationConfig
    outcome: EvaluationOutcome | None = None
    refusal: InputError | None = None
    #: The commands that accept the nights whose acceptance this evaluation ended. If there are any,
    #: the range stops after it.
    stopped: Sequence[str] = ()

    @property
    def date(self) -> str:
        return self.config.date.isoformat()

    @property
    def exit_code(self) -> int:
        if self.refusal is not None:
            return self.refusal.exit_code
        return self.outcome.exit_code if self.outcome is not None else DONE

    @property
    def verdicts(self) -> Sequence[Verdict]:
        return () if self.outcome is None else self.outcome.verdicts

    @property
    def has_no_input(self) -> bool:
        return isinstance(self.refusal, MissingInputError)


def dates_between(first: str, last: str) -> list[str]:
    """Both dates and all dates between them. Raises ConfigurationError if they are reversed."""
    begin, end = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
    if end < begin:
        problem = f"it is {last}, before the first date, {first}; exchange them"
        raise ConfigurationError(problem, option="to")
    return [(begin + datetime.timedelta(day)).isoformat() for day in range((end - begin).days + 1)]


def worst_of(evaluated: Sequence[Evaluated]) -> int:
    """A range's exit code: its worst date's code; at least 6 (no verdict) if it stopped."""
    codes = {one.exit_code for one in evaluated}
    if any(one.stopped for one in evaluated):
        codes.add(NO_VERDICT)
    return min(codes, key=_WORST.index, default=DONE)


def evaluate_range(
    configs: Sequence[EvaluationConfig],
    accept_first: str | None = None,
) -> Iterator[Evaluated]:
    """Evaluate and publish every date in order, and yield the result of each.

    `configs` has the configuration of each date. A date whose input is missing or refused is
    skipped; any other failure is raised and ends the range. `accept_first` is the reason for
    accepting the first published night as a baseline. Without it, the range ends after a date that
    ended a night's acceptance, unless it is the last date.
    """
    _refuse_unusable(configs, accept_first)
    reason = accept_first
    with engine_for(configs[0]) as engine:
        for config, following in zip(configs, [*configs[1:], None], strict=True):
            accepted = _accepted_nights(config)
            evaluated = _evaluated(engine, config, reason)
            if evaluated.outcome is not None:
                # Only the first published night is accepted.
                reason = None
            no_longer = _no_longer_accepted(config, accepted) if accept_first is None else []
            if no_longer and following is not None:
                evaluated = evaluated._replace(stopped=_accept_commands(config, no_longer))
                _report_stop(evaluated, following)
            yield evaluated
            if evaluated.stopped:
                return


def _refuse_unusable(configs: Sequence[EvaluationConfig], accept_first: str | None) -> None:
    first, last = configs[0], configs[-1]
    if first.output is None:
        what = "a range of nights is published, but there is no output"
        raise ConfigurationError(what, Give("output", words="give"), option="from")
    if accept_first is not None:
        refuse_no_reason(accept_first, "accept-first")
        usable_gate(first)
    if first is not last and first.results.on(first.date) == first.results.on(last.date):
        what = "results: every date of the range would use the same results"
        raise ConfigurationError(f"{what}; write {{date}} in their path or as_of")


def _evaluated(engine: Engine, config: EvaluationConfig, accepted: str | None) -> Evaluated:
    """Evaluate one date; a refused input is part of the result."""
    date = config.date.isoformat()
    report_step("date", date)
    # Files that are copied for one date are removed before the next one.
    of_this_date = dataclasses.replace(engine, scratch=Scratch())
    try:
        return Evaluated(config, outcome=evaluate(config, accepted, engine=of_this_date))
    except InputError as refusal:
        step = "no input" if isinstance(refusal, MissingInputError) else "refused"
        sentence = Notice(f"{date}: {refusal.sentence}", refusal.advice)
        report_step(step, sentence, logging.ERROR)
        return Evaluated(config, refusal=refusal)
    finally:
        of_this_date.scratch.remove()


def _accepted_nights(config: EvaluationConfig) -> list[Night]:
    nights = committed(config.dated(str(config.output)), [config.date.isoformat()])
    return [night for night in nights if night.row["accepted"]]


def _no_longer_accepted(config: EvaluationConfig, before: Sequence[Night]) -> list[Night]:
    """The nights that were accepted before this date was evaluated again, but no longer are."""
    if not before:
        return []
    still_accepted = {night.dataset for night in _accepted_nights(config)}
    return [night for night in before if night.dataset not in still_accepted]


def _accept_commands(config: EvaluationConfig, nights: Sequence[Night]) -> list[str]:
    """The commands that accept the new scores of these nights."""
    output = config.dated(str(config.output))
    file = config.source["file"]
    commands = []
    for night in nights:
        commands.append(accept_command(output, file, night.dataset, night.evaluated_on))
    return commands


def _report_stop(evaluated: Evaluated, following: EvaluationConfig) -> None:
    """Report that the range stopped, because later nights would have different baselines."""
    commands = " && ".join(evaluated.stopped)
    what = f"before {following.date}, because the acceptance of {evaluated.date} has ended"
    resume = Give("from", following.date.isoformat(), words="and continue with")
    accept_first = Give("accept_first", words="or accept the first night of a range with")
    advice = Either((resume, accept_first), ", ")
    sentence = f"{what}; to accept its new scores: {commands}"
    report_step("stopped", Notice(sentence, advice), logging.ERROR)
