"""The newest scores as a text file for the textfile collector of Prometheus' node exporter."""

import datetime
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.gate.verdict import FAIL, NONE, PASS
from ndcg_spark.job.outcome import EvaluationOutcome

_VERDICTS = {PASS: 0, FAIL: 1, NONE: 2}
_HELP = {
    "last_success_timestamp_seconds": "When the newest evaluation was done.",
    "evaluated_on_timestamp_seconds": "The date of its night, midnight in UTC.",
    "duration_seconds": "How long it took.",
    "score": "Mean of a measure over the queries of a run.",
    "judged_rate": "Fraction of the returned documents within the cutoff that are judged.",
    "queries": "Number of queries in the mean of NDCG.",
    "verdict": "Verdict of the gate: 0 pass, 1 fail, 2 none.",
}
_Sample = tuple[str, dict[str, object], float]


def write(file: Path, outcome: EvaluationOutcome) -> None:
    """Replace the file atomically with the metrics of an evaluation. OSError if it cannot be written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # The collector reads every *.prom of the folder, so the name of the part must not end like that.
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        part.write_text(metrics(outcome, time.time()), encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def metrics(outcome: EvaluationOutcome, now: float) -> str:
    """The metrics in Prometheus' text format, by name; `now` is in seconds since 1970.

    Scores that are null have no line. An evaluation that fails writes nothing, nor does that of an older date, so alert
    on the age of `last_success_timestamp_seconds`.
    """
    lines: dict[str, list[str]] = {}
    for name, labels, value in _samples(outcome, now):
        shown = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
        lines.setdefault(name, []).append(f"ndcg_spark_{name}{{{shown}}} {value!r}")
    heads = {name: [f"# HELP ndcg_spark_{name} {_HELP[name]}", f"# TYPE ndcg_spark_{name} gauge"] for name in lines}
    return "".join(f"{line}\n" for name in lines for line in [*heads[name], *lines[name]])


def _samples(outcome: EvaluationOutcome, now: float) -> Iterator[_Sample]:
    datasets = {row["dataset"]: row["evaluated_on"] for row in outcome.dataset_scores}
    for dataset, date in datasets.items():
        midnight = datetime.datetime.combine(datetime.date.fromisoformat(str(date)), datetime.time(), datetime.UTC)
        yield "last_success_timestamp_seconds", {"dataset": dataset}, now
        yield "evaluated_on_timestamp_seconds", {"dataset": dataset}, midnight.timestamp()
        yield "duration_seconds", {"dataset": dataset}, outcome.seconds["total"]
    for row in outcome.dataset_scores:
        labels = {"dataset": row["dataset"], "run": row["run"], "cutoff": format_cutoff(row["cutoff"])}
        yield "queries", labels, row["queries"]
        if row["judged_rate"] is not None:
            yield "judged_rate", labels, row["judged_rate"]
        for measure in ("ndcg", *outcome.measure_set.columns):
            if row[measure] is not None:
                yield "score", {**labels, "measure": measure}, row[measure]
    for verdict in outcome.verdicts:
        yield "verdict", {"dataset": verdict.dataset}, _VERDICTS[verdict.verdict]


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
