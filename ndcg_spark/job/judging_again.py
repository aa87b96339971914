"""A published night judged again: by another gate, or after somebody has accepted it as a baseline of later nights."""

import datetime
from collections.abc import Sequence

from ndcg_spark.comparison.judging import Kept, judge
from ndcg_spark.comparison.verdict import Verdict
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import open_engine
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.gating import refuse_unknown_measures, refuse_without_reason, tell_verdicts
from ndcg_spark.job.outcome import Tell
from ndcg_spark.job.preparing import slice_tables
from ndcg_spark.masking import masked
from ndcg_spark.nights.accepting import accept
from ndcg_spark.nights.committed import CommittedNight, committed
from ndcg_spark.plain import did_you_mean


def judge_again(
    config: EvaluationConfig, output: str, dataset: str | None, tell: Tell, accepted: str | None = None
) -> list[Verdict]:
    """The verdicts of the configured gate on the nights of its date, of all datasets or of one.

    What the nights have kept stays as it is, but for `accepted`: why they are baselines of later nights, which their
    records then say.

    Raises
    ------
    ConfigurationError
        There is no gate.
    StorageError
        There is no such night, or the output cannot be read.
    """
    if config.gate is None:
        raise ConfigurationError("gate: the configuration has none; add [gate] and a [[gate.check]]")
    refuse_without_reason(accepted)
    refuse_unknown_measures(config.gate)
    nights = committed(output)
    chosen = _chosen(output, nights, config.date, dataset)
    with open_engine(config.engine, config.remote) as opened, translated_failures(()):
        tell("engine", opened.name)
        kept, tables = Kept(output, nights, opened.session), slice_tables(opened, config)
        verdicts = []
        for night in chosen:
            tonight = kept.known(night)
            scores = kept.scores(tonight)
            judged = judge(config.gate, tonight, scores, kept, tables.attributes, tables.weights, accepted)
            verdicts.append(judged.verdict)
    if accepted is not None:
        for night in chosen:
            accept(output, night, accepted)
            tell("accepted", f"{night.dataset} of {night.evaluated_on}, as a baseline of later nights: {accepted}")
    tell_verdicts(verdicts, tell)
    return verdicts


def latest(output: str, dataset: str | None = None) -> datetime.date | None:
    """The date of the newest night, of all datasets or of one; None if there is none."""
    dates = [night.evaluated_on for night in committed(output) if dataset in (None, night.dataset)]
    return datetime.date.fromisoformat(max(dates)) if dates else None


def _chosen(
    output: str, nights: Sequence[CommittedNight], date: datetime.date, dataset: str | None
) -> list[CommittedNight]:
    known = sorted({night.dataset for night in nights})
    if nights and dataset is not None and dataset not in known:
        near = did_you_mean(dataset, known)
        raise StorageError(f"output: no dataset is called {dataset!r}{near}; there are {', '.join(known)}")
    own = [night for night in nights if dataset in (None, night.dataset)]
    chosen = [night for night in own if night.evaluated_on == date.isoformat()]
    if not chosen:
        if not own:
            raise StorageError(f"output: there is no night in {masked(output)}; check the path")
        last = max(night.evaluated_on for night in own)
        raise StorageError(f"output: no night of {date}; the newest is of {last}, ndcg-spark nights lists them")
    return chosen
