"""Writes the metrics of a night to a file per dataset, for a collector such as Prometheus.

A failure to write it only causes a warning.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import first_line
from ndcg_spark.gate.acknowledged import acknowledgement_of
from ndcg_spark.gate.verdict import FAIL, NONE, PASS, Verdict
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.reader import night_rows, read_dataset_scores
from ndcg_spark.scratch import write_whole
from ndcg_spark.steps import report_step
from ndcg_spark.tables.table import split_slices
from ndcg_spark.text import expanded, masked

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome

#: The numbers of verdicts in the metrics.
_VERDICTS = {PASS: 0, FAIL: 1, NONE: 2}
#: A dataset's metrics, in the order in which they are written.
_HELP = {
    "score": "The mean of a measure over all queries of a run, or over the queries of a slice; "
    "for items, coverage, gini and personalization, one number for all its lists.",
    "judged_rate": "The share of the returned documents within the cutoff that are judged.",
    "queries": "The number of queries in the mean of NDCG.",
    "verdict": "The gate's verdict: 0 pass, or accepted without a verdict; 1 fail; 2 no verdict.",
    "acknowledged": "1 if the failure is acknowledged as known and not worse since, otherwise 0.",
    "duration_seconds": "How long the evaluation took.",
    "evaluated_on_timestamp_seconds": "The start of the night's day, in UTC.",
    "last_success_timestamp_seconds": "The end of the last evaluation that has scores.",
}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
#: The first line of a metrics file is a comment: this, and the date of its night.
_NIGHT = "# The night of "
#: The dataset names that are safe in a file name without changes.
_PLAIN = re.compile(r"[a-z0-9_-]{1,100}")
#: The characters that are not safe in other names.
_ODD = re.compile(r"[^A-Za-z0-9_-]")


@contextlib.contextmanager
def failures_as_warnings(name: str) -> Iterator[None]:
    """A context manager that turns a failure into a warning about this option."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # another program may fail in any way
        sentence = f"{name}: {masked(first_line(error))}; the scores are not affected"
        report_step("warning", sentence)


@dataclasses.dataclass(frozen=True)
class NightMetrics:
    """The numbers in a dataset's metrics file, for one night."""

    dataset: str
    evaluated_on: str
    #: Its DATASET_SCORES rows, without slices.
    rows: Sequence[Mapping[str, Any]]
    #: The columns of the requested measures besides ndcg.
    measures: Sequence[str]
    #: How long the evaluation took.
    seconds: float | None
    #: When it ended, in seconds since 1970.
    ended_at: float
    #: One of `_VERDICTS`; None if there is no gate.
    verdict: int | None
    #: Whether its failure is acknowledged; None if there is no gate.
    is_acknowledged: bool | None = None
    #: Its rows for the slices that a check or a warning of the gate names.
    slices: Sequence[Mapping[str, Any]] = ()


def metrics_of_outcome(outcome: "EvaluationOutcome", dataset: str) -> NightMetrics:
    """The metrics of a dataset in an evaluation that has just ended."""
    rows = [row for row in outcome.dataset_scores if row["dataset"] == dataset]
    number = is_acknowledged = None
    named_slices: Sequence[Mapping[str, str]] = ()
    for verdict in outcome.verdicts:
        if verdict.dataset == dataset:
            number = _verdict_number(verdict.verdict, verdict.accepted)
            is_acknowledged = verdict.acknowledged is not None
            named_slices = verdict.named_slices
    of_dataset = [row for row in outcome.slice_scores if row["dataset"] == dataset]
    return NightMetrics(
        dataset=dataset,
        evaluated_on=str(rows[0]["evaluated_on"]),
        rows=rows,
        measures=outcome.measures.columns_of_means,
        seconds=outcome.seconds["total"],
        ended_at=time.time(),
        verdict=number,
        is_acknowledged=is_acknowledged,
        slices=_rows_of_slices(of_dataset, named_slices),
    )


def metrics_of_night(night: Night) -> NightMetrics:
    """The metrics of a published night, which may have been accepted since then."""
    rows = read_dataset_scores([night])[0]
    row = night.row
    number = is_acknowledged = None
    named_slices: Sequence[Mapping[str, str]] = ()
    if row["verdict"] is not None:
        number = _verdict_number(row["verdict"], row["accepted"])
        is_acknowledged = acknowledgement_of(night) is not None
        # Nights from older versions did not keep them.
        named_slices = night.record["verdict"].get("named_slices", ())
    return NightMetrics(
        dataset=night.dataset,
        evaluated_on=night.evaluated_on,
        rows=rows,
        measures=night.measure_set.columns_of_means,
        seconds=row["seconds"],
        ended_at=datetime.datetime.fromisoformat(row["committed_at"]).timestamp(),
        verdict=number,
        is_acknowledged=is_acknowledged,
        slices=_rows_of_slices(_read_slices(night, named_slices), named_slices),
    )


def _read_slices(night: Night, slices: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """The rows for the attributes of these slices, which have all of their values."""
    attributes = sorted({slice_["attribute"] for slice_ in slices})
    return night_rows(night, "dataset_scores", attribute=attributes) if attributes else []


def _rows_of_slices(
    rows: Iterable[Mapping[str, Any]],
    slices: Sequence[Mapping[str, str]],
) -> list[dict[str, Any]]:
    """The sorted rows of these slices: `[{"attribute": "language", "value": "de"}]`."""
    pairs = {(slice_["attribute"], slice_["value"]) for slice_ in slices}
    of_slices = [row for row in rows if (row["attribute"], row["value"]) in pairs]
    return split_slices(of_slices).slices


def _verdict_number(verdict: str, accepted: str | None) -> int:
    """The number of a verdict; an accepted night without a verdict is shown as a pass."""
    is_accepted = verdict == NONE and accepted is not None
    return _VERDICTS[PASS if is_accepted else verdict]


def write_metrics(config: EvaluationConfig, metrics: NightMetrics, nights: Sequence[Night]) -> None:
    """Replace a dataset's metrics file, unless the file or the output has a newer night.

    The collector, which reads every *.prom file in the folder, never sees a partial file.
    """
    dataset = metrics.dataset
    file = metrics_file(config, dataset)
    if not file.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {file.parent}; create it")
    dates = [night.evaluated_on for night in nights if night.dataset == dataset]
    # Evaluations with other outputs may have written the file.
    dates.append(_night_of(file))
    newest = max(dates)
    if newest > metrics.evaluated_on:
        reason = f"the night {newest} of {dataset} is newer"
        report_step("metrics", f"{file} was not replaced, because {reason}")
    else:
        write_whole(file, prometheus_text(metrics).encode())


def metrics_file(config: EvaluationConfig, dataset: str) -> Path:
    """A dataset's file; it is unique, even if the file system ignores case."""
    if _PLAIN.fullmatch(dataset):
        name = f"ndcg_spark.{dataset}.prom"
    else:
        digest = hashlib.sha256(dataset.encode()).hexdigest()[:16]
        name = f"ndcg_spark-{_ODD.sub('_', dataset)[:40]}-{digest}.prom"
    folder = expanded(config.dated(config.metrics_file or ""))
    return Path(folder) / name


def _night_of(file: Path) -> str:
    """The date of the night in a metrics file; empty if there is no file, or it has no date."""
    if not file.exists():
        return ""
    with file.open("rb") as opened:
        first = opened.readline().decode(errors="replace").rstrip("\n")
    return first.removeprefix(_NIGHT) if first.startswith(_NIGHT) else ""


def mark_accepted(config: EvaluationConfig, output: str, verdicts: Sequence[Verdict]) -> None:
    """Write the metrics files of nights that are accepted now, from their published data."""
    if not config.metrics_file:
        return
    accepted = {(verdict.dataset, verdict.evaluated_on) for verdict in verdicts}
    with failures_as_warnings("metrics-file"):
        nights = committed(output)
        for night in nights:
            if (night.dataset, night.evaluated_on) in accepted:
                with failures_as_warnings("metrics-file"):
                    write_metrics(config, metrics_of_night(night), nights)


def prometheus_text(metrics: NightMetrics) -> str:
    """The metrics of a dataset in the Prometheus text format; null scores have no line."""
    begin = datetime.datetime.fromisoformat(f"{metrics.evaluated_on}T00:00Z").timestamp()
    samples: dict[str, list[str]] = {name: [] for name in _HELP}

    # Its own arguments are positional, because a label may also be called `name` or `value`.
    def add(name: str, value: float | None, /, **labels: str) -> None:
        if value is not None:
            samples[name].append(_sample_line(name, value, dataset=metrics.dataset, **labels))

    add("last_success_timestamp_seconds", metrics.ended_at)
    add("evaluated_on_timestamp_seconds", begin)
    add("duration_seconds", metrics.seconds)
    add("verdict", metrics.verdict)
    if metrics.is_acknowledged is not None:
        add("acknowledged", int(metrics.is_acknowledged))
    for row in metrics.rows:
        add("queries", row["queries"], **_labels_of(row))
        add("judged_rate", row["judged_rate"], **_labels_of(row))
    for row in (*metrics.rows, *metrics.slices):
        for measure in ("ndcg", *metrics.measures):
            add("score", row[measure], **_labels_of(row), measure=measure)
    lines = [f"{_NIGHT}{metrics.evaluated_on}"]
    for name, of_metric in samples.items():
        if of_metric:
            lines.append(f"# HELP ndcg_spark_{name} {_HELP[name]}")
            lines.append(f"# TYPE ndcg_spark_{name} gauge")
            lines.extend(of_metric)
    return "".join(f"{line}\n" for line in lines)


def _labels_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a row of dataset scores.

    The row for all queries has no slice labels; a selector matches it with `attribute=""`.
    """
    labels = {"run": row["run"], "cutoff": format_cutoff(row["cutoff"])}
    if row.get("attribute") is not None:
        labels |= {"attribute": row["attribute"], "value": row["value"]}
    return labels


def _sample_line(name: str, value: float, /, **labels: str) -> str:
    """A line of the format: `ndcg_spark_score{dataset="web",run="bm25"} 0.41`.

    Backslashes, quotes and line breaks are escaped in label values.
    """
    texts = [f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items()]
    return f"ndcg_spark_{name}{{{','.join(texts)}}} {value!r}"
