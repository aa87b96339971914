"""A published night judged again: by another gate, or after somebody has accepted it as a baseline of later nights."""

import dataclasses
import datetime

from ndcg_spark.comparison.judging import judge, judge_absent
from ndcg_spark.comparison.kept import Kept
from ndcg_spark.comparison.verdict import Verdict
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import open_engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate_config import GateConfig
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.gating import refuse_unknown_measures, refuse_without_reason, tell_verdicts
from ndcg_spark.job.outcome import Tell
from ndcg_spark.job.preparing import slice_tables
from ndcg_spark.nights.choosing import chosen, left_out
from ndcg_spark.nights.records import CommittedNight, accept, committed, read_again_if_replaced, unreplaced


def judge_again(
    config: EvaluationConfig, output: str, dataset: str | None, tell: Tell, accepted: str | None = None
) -> list[Verdict]:
    """The verdicts of the configured gate on the nights of its date, of all datasets or of one.

    Without `dataset`, one that has earlier nights and none of the date has no verdict.

    What the nights have kept stays as it is, but for `accepted`: why they are baselines of later nights, which their
    records then say.

    Raises
    ------
    ConfigurationError
        There is no gate, or no such night.
    StorageError
        The output cannot be read.
    """
    gate = config.gate
    if gate is None:
        raise ConfigurationError("gate: the configuration has none; add [gate] and a [[gate.check]]")
    refuse_without_reason(accepted)
    refuse_unknown_measures(gate)
    asked, verdicts = read_again_if_replaced(lambda: _verdicts(config, gate, output, dataset, tell, accepted))
    if accepted is not None:
        for night in asked:
            accept(night, accepted)
    tell_verdicts(verdicts, tell)
    return verdicts


def _verdicts(
    config: EvaluationConfig, gate: GateConfig, output: str, dataset: str | None, tell: Tell, accepted: str | None
) -> tuple[list[CommittedNight], list[Verdict]]:
    """The nights of the configured date, and the verdicts on them and on the datasets that are absent."""
    nights = committed(output)
    date = config.date.isoformat()
    asked = chosen(nights, output, date, dataset)
    absent = left_out(nights, date, dataset)
    # A gate that compares nights says so by its verdicts.
    if absent and all(baseline.run is not None for baseline in gate.baseline):
        tell("note", absent)
    there = sorted({night.dataset for night in nights if night.evaluated_on == date})
    with unreplaced(asked), open_engine(config.engine, config.remote) as opened, translated_failures(()):
        tell("engine", opened.name)
        kept, tables = Kept(output, nights, opened.session), slice_tables(opened, config)
        verdicts = []
        for night in asked:
            tonight = dataclasses.replace(kept.known(night), datasets=there)
            scores = kept.scores(tonight)
            reason = accepted or (night.record.get("accepted") or {}).get("reason")
            judged = judge(gate, tonight, scores, kept, tables.attributes, tables.weights, reason)
            verdicts.append(judged.verdict)
        every = {night.dataset for night in nights} if dataset is None else set()
        missing = (judge_absent(gate, name, date, there, kept) for name in sorted(every.difference(there)))
        verdicts += [verdict for verdict in missing if verdict is not None]
    return asked, verdicts


def latest(output: str, dataset: str | None = None) -> datetime.date | None:
    """The date of the newest night, of all datasets or of one; None if there is none."""
    dates = [night.evaluated_on for night in committed(output) if dataset in (None, night.dataset)]
    return datetime.date.fromisoformat(max(dates)) if dates else None
