"""The gate on nights: on written ones before they are published, and on published ones again.

A published night is decided on again by another gate, or after somebody accepts it as a baseline of later nights.
"""

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.comparison.comparable import arrived
from ndcg_spark.comparison.compare import kept_attributes, of_night, of_nights
from ndcg_spark.comparison.options import SCORES
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.baseline import Night
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.decision import decide_absent
from ndcg_spark.gate.history import History, night_of
from ndcg_spark.gate.run import GateResult, run_gate, run_gate_on_absent
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.job.about_queries import read_tables_of_queries, tables_of_queries
from ndcg_spark.nights import log
from ndcg_spark.nights.select import missing_datasets, select_nights
from ndcg_spark.steps import report_step
from ndcg_spark.text import did_you_mean

if TYPE_CHECKING:
    from ndcg_spark.contract.check import CheckedTables
    from ndcg_spark.contract.scan import Counts
    from ndcg_spark.job.setup import Context
    from ndcg_spark.nights.publish import Publication

#: The verdicts; by dataset, their part of the log; and dataset, run and id of the queries that changed most.
_Written = tuple[list[Verdict], dict[str, dict[str, Any]], list[tuple[str, str, str]]]


def refuse_unusable(config: EvaluationConfig, accepted: str | None) -> None:
    """ConfigurationError if the gate of an evaluation cannot decide, or its verdict cannot be published."""
    if config.gate is None:
        raise ConfigurationError("arguments: --accept-baseline needs a gate; add [gate] to the configuration")
    if config.output is None:
        raise ConfigurationError("gate: a verdict is published with its night, but there is no output; give --output")
    usable_gate(config.gate, accepted)


def usable_gate(gate: GateConfig | None, accepted: str | None = None) -> GateConfig:
    """The gate; ConfigurationError if it is missing, an acceptance has no reason, or a checked measure is unknown."""
    if gate is None:
        raise ConfigurationError("gate: the configuration has none; add [gate] and a [[gate.check]]")
    if accepted is not None and not accepted.strip():
        raise ConfigurationError("arguments: --accept-baseline needs a reason, which the log keeps; say why")
    known = list(SCORES)
    for number, check in enumerate(gate.check):
        if check.measure not in known:
            near = did_you_mean(check.measure, known)
            raise ConfigurationError(
                f"gate.check.{number}.measure: unknown measure {check.measure!r}{near}; choose {', '.join(known)}"
            )
    return gate


def report_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Report each verdict in a sentence, and its warnings."""
    for verdict in verdicts:
        of_dataset = f"{verdict.dataset}: " if len(verdicts) > 1 else ""
        for warning in verdict.warnings:
            report_step("warning", of_dataset + warning)
        report_step("gate", f"{of_dataset}{verdict.in_words}: {verdict.reason}")
        if verdict.accepted is not None:
            night = f"{verdict.dataset} of {verdict.evaluated_on}"
            report_step("accepted", f"{night}, as a baseline of later nights: {verdict.accepted}")


def gate_written(
    gate: GateConfig,
    context: "Context",
    checked: "CheckedTables",
    publication: "Publication",
    output: str,
    rows: Iterable[Mapping[str, Any]],
    most_changed: int,
) -> _Written:
    """Run the gate on every written night, and write the comparisons that the verdicts rest on.

    `rows` are those of DATASET_SCORES. `most_changed` is how many of the queries that changed most are named for each
    run.
    """
    evaluation = context.evaluation
    tables = tables_of_queries(context.slices)
    rows_of: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        rows_of.setdefault(row["dataset"], []).append(row)

    def result(dataset: str) -> GateResult:
        tonight = Night(
            dataset,
            evaluation.evaluated_on.isoformat(),
            evaluation.evaluation_id,
            evaluation.convention.options(),
            _fingerprint(checked.judgment_counts, dataset),
            _fingerprint(checked.result_counts, dataset),
            rows_of[dataset],
            sorted(rows_of),
            without_results=checked.datasets_without_results,
        )
        scores = of_night(publication.night(dataset), rows_of[dataset])
        return run_gate(gate, tonight, scores, History.of(output), *tables, context.accepted, most_changed)

    results = {dataset: log.read_again_if_replaced(functools.partial(result, dataset)) for dataset in rows_of}
    comparisons = [row for each in results.values() for row in each.rows]
    if comparisons:
        publication.write_rows("comparisons", comparisons)
        publication.verify("comparisons", len(comparisons))
    of_datasets = {
        name: {"verdict": each.verdict.as_json(), "accepted": context.accepted} for name, each in results.items()
    }
    changed = [(dataset, *query) for dataset, each in results.items() for query in each.changed]
    date = evaluation.evaluated_on.isoformat()
    absent = [decide_absent(gate, dataset, date) for dataset in checked.datasets_without_results]
    return [*(each.verdict for each in results.values()), *absent], of_datasets, changed


def _fingerprint(counts: "Counts", dataset: str) -> str | None:
    # All rows of a table that names no dataset belong to the only one.
    return counts.fingerprints.get(dataset, counts.fingerprints.get(None))


def gate_published(
    config: EvaluationConfig, output: str, dataset: str | None, accepted: str | None = None
) -> list[Verdict]:
    """The verdicts of the configured gate on the nights of its date, of all datasets or of one.

    Without `dataset`, a dataset that has earlier nights but none of the date has no verdict. The nights stay as they
    are, except that their records note why they are `accepted` as baselines of later nights, if they are.

    Raises
    ------
    ConfigurationError
        There is no gate, or no such night.
    StorageError
        The output cannot be read.
    """
    gate = usable_gate(config.gate, accepted)
    nights, verdicts = log.read_again_if_replaced(lambda: _published(config, gate, output, dataset, accepted))
    if accepted is not None:
        for night in nights:
            log.accept(night, accepted)
    report_verdicts(verdicts)
    return verdicts


def _published(
    config: EvaluationConfig,
    gate: GateConfig,
    output: str,
    dataset: str | None,
    accepted: str | None,
) -> tuple[list[log.Night], list[Verdict]]:
    """The nights of the configured date, and the verdicts on them and on the datasets that are absent."""
    nights = log.committed(output)
    date = config.date.isoformat()
    of_date = select_nights(nights, output, date, dataset)
    there = sorted(arrived(nights, date))
    all_of_date = (night for night in nights if night.evaluated_on == date)
    without_results = {name for night in all_of_date for name in night.record.get("datasets_without_results", ())}
    judged_only = {name for name in without_results.difference(there) if dataset in (None, name)}
    of_date = [night for night in of_date if night.dataset not in judged_only]
    absent = missing_datasets(nights, date, dataset)
    # A gate that compares nights reports this in its verdicts.
    if absent and not gate.compares_nights:
        report_step("note", absent)
    with log.unreplaced(of_date):
        history = History(nights)
        attributes, weights = read_tables_of_queries(config, of_date)
        verdicts = []
        for night in of_date:
            tonight = dataclasses.replace(night_of(night), datasets=there)
            reason = accepted or (night.record.get("accepted") or {}).get("reason")
            (scores,) = of_nights([night])
            result = run_gate(gate, tonight, scores, history, kept_attributes([night]) or attributes, weights, reason)
            verdicts.append(result.verdict)
        verdicts += [decide_absent(gate, name, date) for name in sorted(judged_only)]
        others = {night.dataset for night in nights}.difference(there, judged_only) if dataset is None else set()
        missing = (run_gate_on_absent(gate, name, date, there, history) for name in sorted(others))
        verdicts += [verdict for verdict in missing if verdict is not None]
    return of_date, verdicts


def newest_date(output: str, dataset: str | None = None) -> datetime.date | None:
    """The date of the newest night, of all datasets or of one; None if there is none."""
    dates = [night.evaluated_on for night in log.committed(output) if dataset in (None, night.dataset)]
    return datetime.date.fromisoformat(max(dates)) if dates else None
