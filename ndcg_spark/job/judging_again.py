"""A published night judged again: by another gate, or after somebody has accepted it as a baseline of later nights."""

import datetime

from ndcg_spark.comparison.judging import Kept, judge
from ndcg_spark.comparison.verdict import Verdict
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import open_engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.gating import refuse_unknown_measures, refuse_without_reason, tell_verdicts
from ndcg_spark.job.outcome import Tell
from ndcg_spark.job.preparing import slice_tables
from ndcg_spark.nights.choosing import chosen
from ndcg_spark.nights.records import accept, committed


def judge_again(
    config: EvaluationConfig, output: str, dataset: str | None, tell: Tell, accepted: str | None = None
) -> list[Verdict]:
    """The verdicts of the configured gate on the nights of its date, of all datasets or of one.

    What the nights have kept stays as it is, but for `accepted`: why they are baselines of later nights, which their
    records then say.

    Raises
    ------
    ConfigurationError
        There is no gate, or no such night.
    StorageError
        The output cannot be read.
    """
    if config.gate is None:
        raise ConfigurationError("gate: the configuration has none; add [gate] and a [[gate.check]]")
    refuse_without_reason(accepted)
    refuse_unknown_measures(config.gate)
    nights = committed(output)
    asked = chosen(nights, output, config.date.isoformat(), dataset)
    with open_engine(config.engine, config.remote) as opened, translated_failures(()):
        tell("engine", opened.name)
        kept, tables = Kept(output, nights, opened.session), slice_tables(opened, config)
        verdicts = []
        for night in asked:
            tonight = kept.known(night)
            scores = kept.scores(tonight)
            judged = judge(config.gate, tonight, scores, kept, tables.attributes, tables.weights, accepted)
            verdicts.append(judged.verdict)
    if accepted is not None:
        for night in asked:
            accept(night, accepted)
            tell("accepted", f"{night.dataset} of {night.evaluated_on}, as a baseline of later nights: {accepted}")
    tell_verdicts(verdicts, tell)
    return verdicts


def latest(output: str, dataset: str | None = None) -> datetime.date | None:
    """The date of the newest night, of all datasets or of one; None if there is none."""
    dates = [night.evaluated_on for night in committed(output) if dataset in (None, night.dataset)]
    return datetime.date.fromisoformat(max(dates)) if dates else None
