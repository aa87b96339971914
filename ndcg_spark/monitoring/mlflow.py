"""A night as MLflow runs: an experiment for each dataset, a run for its night, and a nested run for each system."""

import datetime
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ndcg_spark.config import MlflowConfig
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job.outcome import EvaluationOutcome
from ndcg_spark.nights.log import Night, committed

#: The tags by which the runs of a night are found again.
_NIGHT = "ndcg_spark.night"
_PARENT = "mlflow.parentRunId"
#: Without these, MLflow's client tries for half an hour to reach a server that is down, and prints links to our stdout.
_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
#: MLflow takes these characters in the names of metrics.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_\-. /]")
#: How many metrics one request may have.
_BATCH = 1000


def log(config: MlflowConfig, outcome: EvaluationOutcome, report: Path | None) -> None:
    """Log every night of a published evaluation, and remove the runs of evaluations that it supersedes.

    Raises
    ------
    ConfigurationError
        MLflow is not installed.
    MlflowException
        The server cannot be reached, or refuses.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        raise ConfigurationError("MLflow is not installed; install ndcg-spark[mlflow]") from error
    client = MlflowClient(tracking_uri=config.uri)
    nights = [night for night in committed(str(outcome.output)) if night.evaluation_id == outcome.evaluation_id]
    for night in nights:
        rows = [row for row in outcome.dataset_scores if row["dataset"] == night.dataset]
        name = config.experiment.replace("{dataset}", night.dataset)
        found = client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else client.create_experiment(name)
        _log_night(client, experiment, night, rows, outcome, report)


def _log_night(
    client: Any,
    experiment: str,
    night: Night,
    rows: Sequence[Mapping[str, Any]],
    outcome: EvaluationOutcome,
    report: Path | None,
) -> None:
    same_night = f"tags.`{_NIGHT}` = '{night.evaluated_on}'"
    earlier = [run.info.run_id for run in client.search_runs([experiment], same_night, max_results=50_000)]
    tags = {_NIGHT: night.evaluated_on, **_tags(night.record, night)}
    parent = client.create_run(experiment, tags=tags, run_name=night.evaluated_on).info.run_id
    for option, value in night.record["options"].items():
        client.log_param(parent, option, json.dumps(value) if isinstance(value, dict) else value)
    client.log_text(parent, json.dumps(night.record, indent=2, ensure_ascii=False), "record.json")
    if report is not None and report.expanduser().is_file():
        client.log_artifact(parent, str(report.expanduser()))
    systems: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        systems.setdefault(row["run"], []).append(row)
    for system, of_system in systems.items():
        child = client.create_run(experiment, tags={**tags, _PARENT: parent, "ndcg_spark.run": system}, run_name=system)
        _log_metrics(client, child.info.run_id, of_system, night.evaluated_on, outcome)
        client.set_terminated(child.info.run_id)
    client.set_terminated(parent)
    # This comes last: if the process is killed before this, the earlier runs of the night still exist.
    for run in earlier:
        client.delete_run(run)


def _tags(record: Mapping[str, Any], night: Night) -> dict[str, str]:
    judgments = record["inputs"].get("judgments", {}).get("fingerprints", {}).get(night.dataset)
    verdict = (record.get("verdict") or {}).get("verdict")
    tags = {
        "evaluation_id": night.evaluation_id,
        "convention": record["convention"],
        "judgments": judgments,
        "verdict": verdict,
    }
    return {f"ndcg_spark.{name}": str(value) for name, value in tags.items() if value is not None}


def _log_metrics(
    client: Any, run: str, rows: Sequence[Mapping[str, Any]], night: str, outcome: EvaluationOutcome
) -> None:
    from mlflow.entities import Metric

    # A day is a step, so that the runs of a system draw a trend.
    day = (datetime.date.fromisoformat(night) - datetime.date(1970, 1, 1)).days
    now = int(time.time() * 1000)
    names = ("ndcg", *outcome.measure_set.columns, "judged_rate", "queries", "missing_queries", "no_relevant_queries")
    values = {f"{name}_at_{format_cutoff(row['cutoff'])}": row[name] for row in rows for name in names}
    metrics = [
        Metric(_NOT_IN_NAMES.sub("_", name), float(value), now, day)
        for name, value in values.items()
        if value is not None
    ]
    for at in range(0, len(metrics), _BATCH):
        client.log_batch(run, metrics=metrics[at : at + _BATCH])
