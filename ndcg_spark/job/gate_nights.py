"""The gate on nights: on staged ones before they are committed, and on published ones again.

A published night is decided on again by another gate, or after somebody accepts it as a baseline of later nights.
"""

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ndcg_spark.comparison.api import as_table
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.counts import JudgmentCounts, ResultCounts
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.engine import open_engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.baseline import Night
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.history import History, night_of
from ndcg_spark.gate.run import GateResult, run_gate, run_gate_on_absent
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.gate import GatedNights, refuse_unknown_measures, refuse_without_reason, report_verdicts
from ndcg_spark.job.outcome import Tell
from ndcg_spark.job.preparing import SliceTables, slice_tables
from ndcg_spark.nights.choosing import chosen, left_out
from ndcg_spark.nights.publish import Publication
from ndcg_spark.nights.record_format import acceptance
from ndcg_spark.nights.records import CommittedNight, accept, committed, read_again_if_replaced, unreplaced
from ndcg_spark.schemas import KEPT, QUERY_SCORES
from ndcg_spark.scoring.evaluation import Evaluation


def gate_staged(
    gate: GateConfig,
    publication: Publication,
    output: str,
    session: SparkSession,
    evaluation: Evaluation,
    checked: CheckedTables,
    rows: Iterable[Mapping[str, Any]],
    tables: SliceTables,
    accepted: str | None,
    lost: int = 0,
) -> GatedNights:
    """Run the gate on every staged night, and stage the comparisons that the verdicts rest on. Runs Spark jobs.

    `rows` are those of DATASET_SCORES. `lost` is how many of the queries that lost most are named for each run.
    """
    scores = publication.read("query_scores", session, QUERY_SCORES)
    of_datasets: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        of_datasets.setdefault(row["dataset"], []).append(row)

    def result(dataset: str) -> GateResult:
        tonight = Night(
            dataset,
            evaluation.evaluated_on.isoformat(),
            evaluation.evaluation_id,
            evaluation.convention.options(),
            _fingerprint(checked.judgment_counts, dataset),
            _fingerprint(checked.result_counts, dataset),
            of_datasets[dataset],
            sorted(of_datasets),
        )
        own, history = scores.where(F.col("dataset") == F.lit(dataset)), History.of(output, session)
        return run_gate(gate, tonight, own, history, tables.attributes, tables.weights, accepted, lost)

    found = {dataset: read_again_if_replaced(functools.partial(result, dataset)) for dataset in of_datasets}
    compared = [row for each in found.values() for row in each.rows]
    if compared:
        publication.stage("comparisons", as_table(compared, session).select(*KEPT["comparisons"].names))
        publication.verify("comparisons", len(compared))
    accepts = {} if accepted is None else {"accepted": acceptance(accepted)}
    of_records = {name: {"verdict": each.verdict.as_json(), **accepts} for name, each in found.items()}
    queries = [(dataset, *query) for dataset, each in found.items() for query in each.lost]
    return GatedNights([each.verdict for each in found.values()], of_records, queries)


def _fingerprint(counts: JudgmentCounts | ResultCounts, dataset: str) -> str | None:
    # Of a table that names no dataset, all is of the one.
    return counts.fingerprints.get(dataset, counts.fingerprints.get(None))


def gate_published(
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
    nights, verdicts = read_again_if_replaced(lambda: _published(config, gate, output, dataset, tell, accepted))
    if accepted is not None:
        for night in nights:
            accept(night, accepted)
    report_verdicts(verdicts, tell)
    return verdicts


def _published(
    config: EvaluationConfig, gate: GateConfig, output: str, dataset: str | None, tell: Tell, accepted: str | None
) -> tuple[list[CommittedNight], list[Verdict]]:
    """The nights of the configured date, and the verdicts on them and on the datasets that are absent."""
    nights = committed(output)
    date = config.date.isoformat()
    of_date = chosen(nights, output, date, dataset)
    absent = left_out(nights, date, dataset)
    # A gate that compares nights says so by its verdicts.
    if absent and not gate.compares_nights:
        tell("note", absent)
    there = sorted({night.dataset for night in nights if night.evaluated_on == date})
    with unreplaced(of_date), open_engine(config.engine, config.remote) as engine, translated_failures(()):
        tell("engine", engine.name)
        history, tables = History(nights, engine.session), slice_tables(engine, config)
        verdicts = []
        for night in of_date:
            tonight = dataclasses.replace(night_of(night), datasets=there)
            reason = accepted or (night.record.get("accepted") or {}).get("reason")
            scores = history.scores(tonight)
            found = run_gate(gate, tonight, scores, history, tables.attributes, tables.weights, reason)
            verdicts.append(found.verdict)
        others = {night.dataset for night in nights}.difference(there) if dataset is None else set()
        missing = (run_gate_on_absent(gate, name, date, there, history) for name in sorted(others))
        verdicts += [verdict for verdict in missing if verdict is not None]
    return of_date, verdicts


def newest_date(output: str, dataset: str | None = None) -> datetime.date | None:
    """The date of the newest night, of all datasets or of one; None if there is none."""
    dates = [night.evaluated_on for night in committed(output) if dataset in (None, night.dataset)]
    return datetime.date.fromisoformat(max(dates)) if dates else None
