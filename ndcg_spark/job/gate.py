"""The gate on nights: on written ones before they are published, on published ones again, and rehearsed on all."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.comparison.slices import QueryTables, read_query_tables
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.baselines import ScoreCache
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.decide import Judged, judge, rehearse
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.nights import log
from ndcg_spark.nights.select import missing_datasets, nights_of_dataset, select_nights
from ndcg_spark.steps import report_step
from ndcg_spark.tables.table import verdict_in_words

if TYPE_CHECKING:
    from ndcg_spark.nights.publish import Publication

#: The verdicts; by dataset, their part of the log; and dataset, run and id of the queries that changed most.
_Written = tuple[list[Verdict], dict[str, dict[str, Any]], list[tuple[str, str, str]]]


def refuse_unusable_gate(config: EvaluationConfig, accepted: str | None) -> None:
    """ConfigurationError if the gate of an evaluation cannot decide, or its verdict cannot be published."""
    if config.gate is None:
        raise ConfigurationError("arguments: --accept-baseline needs a gate; add [gate] to the configuration")
    if config.output is None:
        raise ConfigurationError("gate: a verdict is published with its night, but there is no output; give --output")
    usable_gate(config.gate, accepted)


def usable_gate(gate: GateConfig | None, accepted: str | None = None) -> GateConfig:
    """The gate; ConfigurationError if it is missing, or an acceptance has no reason."""
    if gate is None:
        raise ConfigurationError("gate: the configuration has none; add [gate] and a [[gate.check]]")
    if accepted is not None and not accepted.strip():
        raise ConfigurationError("arguments: --accept-baseline needs a reason, which the log keeps; say why")
    return gate


def report_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Report each verdict in a sentence, and its warnings."""
    for verdict in verdicts:
        prefix = f"{verdict.dataset}: " if len(verdicts) > 1 else ""
        for warning in verdict.warnings:
            report_step("warning", prefix + warning)
        report_step("gate", f"{prefix}{verdict_in_words(vars(verdict))}: {verdict.sentence}")
        if verdict.accepted is not None:
            night = f"{verdict.dataset} of {verdict.evaluated_on}"
            report_step("accepted", f"{night}, as a baseline of later nights: {verdict.accepted}")


def gate_written(
    gate: GateConfig,
    publication: "Publication",
    record: Mapping[str, Any],
    output: str,
    rows: Iterable[Mapping[str, Any]],
    tables: QueryTables,
    accepted: str | None,
    most_changed: int,
) -> _Written:
    """Judge every written night, and write the comparisons that the verdicts rest on.

    `rows` are those of DATASET_SCORES. `most_changed` is how many of the queries that changed most are named for each
    run.
    """
    written = [publication.night(dataset, record) for dataset in sorted({row["dataset"] for row in rows})]
    results = judge_written(gate, output, written, tables, accepted, most_changed)
    comparisons = [row for judged in results.values() for row in judged.rows]
    if comparisons:
        publication.write_rows("comparisons", comparisons)
        publication.verify("comparisons", len(comparisons))
    by_dataset = {
        name: {"verdict": verdict.as_json(), "accepted": accepted, "is_baseline": verdict.is_baseline}
        for name, (verdict, *_) in results.items()
    }
    changed = [(dataset, *query) for dataset, judged in results.items() for query in judged.changed]
    return [judged.verdict for judged in results.values()], by_dataset, changed


def judge_written(
    gate: GateConfig,
    output: str,
    written: Sequence[log.Night],
    tables: QueryTables = (None, None),
    accepted: str | None = None,
    most_changed: int = 0,
) -> dict[str, Judged]:
    """The verdicts on nights of one evaluation that are not published yet, with their comparisons, by dataset."""
    replaced = {(night.dataset, night.evaluated_on) for night in written}

    def judged() -> dict[str, Judged]:
        known, scores = log.committed(output), ScoreCache(*tables, most_changed=most_changed)
        others = [night for night in known if (night.dataset, night.evaluated_on) not in replaced]
        nights = log.Nights(sorted([*others, *written]), known.rows, known.damaged)
        return {night.dataset: judge(gate, night, nights, scores, accepted) for night in written}

    return judged()


def gate_published(
    config: EvaluationConfig, output: str, dataset: str | None, accepted: str | None = None
) -> list[Verdict]:
    """The verdicts of the configured gate on the nights of its date, of all datasets or of one.

    The nights stay as they are, except that the log notes why they are `accepted` as baselines of later nights.
    """
    gate = usable_gate(config.gate, accepted)
    date = config.date.isoformat()

    def judged() -> tuple[list[log.Night], list[Verdict]]:
        nights = log.committed(output)
        chosen = select_nights(nights, output, date, dataset)
        absent = missing_datasets(nights, date, dataset)
        if absent:
            report_step("note", absent)
        scores = ScoreCache(*read_query_tables(config, chosen), only_losses=True)
        return chosen, [
            judge(gate, night, nights, scores, accepted or night.row["accepted"]).verdict for night in chosen
        ]

    chosen, verdicts = judged()
    for night in chosen if accepted is not None else ():
        log.revise(night, accepted=accepted)
    report_verdicts(verdicts)
    return verdicts


def rehearse_published(config: EvaluationConfig, output: str, dataset: str | None) -> list[Verdict]:
    """The verdicts of the configured gate on every published night, of all datasets or of one, which do not change."""
    gate = usable_gate(config.gate)

    def judged() -> list[Verdict]:
        nights = log.committed(output)
        nights_of_dataset(nights, output, dataset)
        scores = ScoreCache(*read_query_tables(config, nights), only_losses=True)
        return list(rehearse(gate, nights, scores, dataset))

    return judged()


def newest_date(output: str, dataset: str | None = None) -> datetime.date | None:
    """The date of the newest night, of all datasets or of one; None if there is none."""
    dates = [night.evaluated_on for night in log.committed(output) if dataset in (None, night.dataset)]
    return datetime.date.fromisoformat(max(dates)) if dates else None
