"""The gate on nights: on written ones before they are published, on published ones again, and rehearsed on all."""

import datetime
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.matrix import read_query_tables
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import DONE, GATE_FAILED, ConfigurationError
from ndcg_spark.gate.decide import Judged, judge, rehearse
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import Verdict, accept_command, can_begin, has_dated_baseline
from ndcg_spark.job.acceptance import taken_over, warn_if_ended
from ndcg_spark.nights import log
from ndcg_spark.nights.reader import missing_datasets, nights_of_dataset, read_again, select_nights
from ndcg_spark.steps import report_step
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.voices import Give

if TYPE_CHECKING:
    from ndcg_spark.nights.commit import Publication

#: The results that accepting a night does not change for later ones where a check names the date of its baseline.
_DIFFERENT = ("dropped", "may_be_chance", "other_judgments", "other_convention", "other_cutoff", "new_run")


def usable_gate(config: EvaluationConfig, accepted: str | None = None) -> GateConfig:
    """The gate; ConfigurationError if there is none, or its verdict or an acceptance cannot be published."""
    if config.gate is None:
        raise ConfigurationError("gate: the configuration has none; add [gate] and a [[gate.check]]")
    if config.output is None:
        what = "gate: a verdict is published with its night, but there is no output"
        raise ConfigurationError(what, Give("output", words="give"))
    if accepted is not None and not accepted.strip():
        raise ConfigurationError("it needs a reason, which the log keeps; say why", option="accept-baseline")
    return config.gate


def report_verdicts(verdicts: Sequence[Verdict], output: str, file: str | None = None) -> None:
    """Tell the verdicts; `file` is the configuration, for the command to accept a first night."""
    for verdict in verdicts:
        prefix = f"{verdict.dataset}: " if len(verdicts) > 1 else ""
        for warning in verdict.warnings:
            report_step("warning", prefix + warning)
        level = {DONE: logging.INFO, GATE_FAILED: logging.ERROR}.get(verdict.exit_code, logging.WARNING)
        report_step("gate", f"{prefix}{verdict_in_words(vars(verdict))}: {verdict.sentence}", level)
        if can_begin(row := verdict.as_json()):
            command = accept_command(output, file, row)
            report_step("note", f"{prefix}to make it the first baseline: {command}")
        elif verdict.accepted is not None:
            night = f"{verdict.dataset} of {verdict.evaluated_on}"
            report_step("accepted", f"{night}, as a baseline of later nights: {verdict.accepted}")
            different = [vars(result) for result in verdict.results if result.reason in _DIFFERENT]
            for date in dict.fromkeys(result["baseline"] for result in different if has_dated_baseline(result)):
                sentence = f"later nights are still compared with {date}"
                report_step("warning", f"{prefix}{sentence}; let `baseline` name {verdict.evaluated_on} in its place")


@read_again
def judge_written(
    gate: GateConfig,
    publication: "Publication",
    record: Mapping[str, Any],
    datasets: Collection[str],
    options: ComparisonOptions,
    accepted: str | None = None,
) -> dict[str, Judged]:
    """The verdict on every night that is written and not published yet, by dataset; also writes their comparisons."""
    written = [publication.night(dataset, record) for dataset in sorted(datasets)]
    replaced = {(night.dataset, night.evaluated_on) for night in written}
    known, scores = log.committed(written[0].store), ScoreCache()
    others = [night for night in known if (night.dataset, night.evaluated_on) not in replaced]
    nights = log.Nights(sorted([*others, *written]), known.rows, known.damaged)
    results = {}
    for night in written:
        reason = accepted if accepted is not None else taken_over(night, known)
        results[night.dataset] = judge(gate, night, nights, scores, options, reason)
        if accepted is None:
            warn_if_ended(night, known, record["configuration"]["file"])
    comparisons = [row for judged in results.values() for row in judged.rows]
    if comparisons:
        publication.write_rows("comparisons", comparisons)
        publication.verify("comparisons", len(comparisons))
    return results


@read_again
def gate_published(
    config: EvaluationConfig, output: str, dataset: str | None, accepted: str | None = None
) -> list[Verdict]:
    """The verdicts of the configured gate on the nights of its date, of all datasets or of one.

    The nights stay as they are, except that the log notes why they are `accepted` as baselines of later nights.
    """
    gate, date = usable_gate(config, accepted), config.date.isoformat()
    nights, scores = log.committed(output), ScoreCache()
    chosen = select_nights(nights, output, date, dataset)
    absent = missing_datasets(nights, date, dataset)
    if absent:
        report_step("note", absent)
    options = _options(config, chosen)
    verdicts = [
        judge(gate, night, nights, scores, options, accepted or night.row["accepted"]).verdict for night in chosen
    ]
    for night in chosen if accepted is not None else ():
        log.revise(night, accepted=accepted)
    report_verdicts(verdicts, output, config.source["file"])
    return verdicts


@read_again
def rehearse_published(config: EvaluationConfig, output: str, dataset: str | None) -> list[Verdict]:
    """The verdicts of the configured gate on every published night, of all datasets or of one, which do not change."""
    gate, nights = usable_gate(config), log.committed(output)
    nights_of_dataset(nights, output, dataset)
    return list(rehearse(gate, nights, _options(config, nights), dataset))


def _options(config: EvaluationConfig, nights: Sequence[log.Night]) -> ComparisonOptions:
    """What comparisons of published nights need, whose rows are not published."""
    attributes, weights = read_query_tables(config, nights)
    return ComparisonOptions(attributes=attributes, weights=weights, only_losses=True)


def newest_date(output: str, dataset: str | None = None) -> datetime.date | None:
    """The date of the newest night; StorageError if the log of a later date is damaged."""
    nights = log.committed(output)
    dates = [night.evaluated_on for night in nights if dataset in (None, night.dataset)]
    newest = max(dates, default="")
    nights.refuse_damaged(date for date in nights.damaged if date > newest)
    return datetime.date.fromisoformat(newest) if newest else None
