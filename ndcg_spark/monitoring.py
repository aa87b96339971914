"""Notifies other programs of the end of an evaluation; if that fails, it is a warning and changes nothing."""

import contextlib
import dataclasses
import datetime
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import BUG, ConfigurationError, NdcgSparkError, StorageError, first_line
from ndcg_spark.gate.verdict import FAIL, NONE, PASS, Verdict, accept_command, can_begin
from ndcg_spark.nights.export import export
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.reader import read_dataset_scores
from ndcg_spark.scratch import write_whole
from ndcg_spark.steps import report_step
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import expanded, masked, masked_within, printable, program_of
from ndcg_spark.voices import KEYS, OPTIONS, command_line

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome

#: A command that takes longer is ended, because the scheduler is waiting for the evaluation.
_SECONDS = 300
_VERDICTS = {PASS: 0, FAIL: 1, NONE: 2}
#: The metrics of a dataset, in the order in which they are written.
_HELP = {
    "score": "The mean of a measure over the queries of a run.",
    "judged_rate": "The share of the returned documents within the cutoff that are judged.",
    "queries": "How many queries the mean of NDCG is over.",
    "verdict": "What the gate said: 0 pass, or accepted without a verdict, 1 fail, 2 no verdict.",
    "duration_seconds": "How long the evaluation took.",
    "evaluated_on_timestamp_seconds": "When the day of the night began, in UTC.",
    "last_success_timestamp_seconds": "When the last evaluation ended that has scores.",
}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
#: The first line of a metrics file, a comment, before the date of its night.
_NIGHT = "# The night of "
#: The names of datasets that are safe in a file name as they are; and what is not, in others.
_PLAIN, _ODD = re.compile(r"[a-z0-9_-]{1,100}"), re.compile(r"[^A-Za-z0-9_-]")


def notify_failure(
    config: EvaluationConfig,
    error: BaseException,
    outcome: "EvaluationOutcome | None" = None,
    is_silent: bool = False,
) -> None:
    """Notify programs of an evaluation that this error has ended, perhaps after it had an outcome.

    What the command prints is not shown if `is_silent`.
    """
    if isinstance(error, SystemExit):
        notify(config, int(error.code or 0), None, outcome, is_silent)
        return
    kind = "" if isinstance(error, NdcgSparkError) else f"{type(error).__name__}: "
    exit_code = getattr(error, "exit_code", BUG)
    notify(config, exit_code, f"{kind}{_worded(error, config)}", outcome, is_silent)


def _worded(error: BaseException, config: EvaluationConfig) -> str:
    if isinstance(error, NdcgSparkError):
        return error.worded(KEYS if config.source["file"] else OPTIONS)
    return str(error)


def notify(
    config: EvaluationConfig,
    exit_code: int,
    failure: str | None = None,
    outcome: "EvaluationOutcome | None" = None,
    is_silent: bool = False,
) -> None:
    """Write the metrics files if there is an outcome, and run the command, if they are configured.

    What the command prints is not shown if `is_silent`.
    """
    nights: Sequence[Night] = ()
    if config.output and (config.on_end or config.metrics_file):
        with contextlib.suppress(StorageError):
            nights = committed(config.dated(config.output))
    if config.metrics_file and outcome:
        for dataset in outcome.datasets:
            with _failures_shown("metrics-file"):
                _write_metrics(config, measured_outcome(outcome, dataset), nights)
    if config.on_end:
        content = masked_within(_content(config, exit_code, failure, outcome, nights))
        with _failures_shown("on-end"):
            _run(config.on_end, json.dumps(content, ensure_ascii=False).encode(), is_silent)


def _run(command: str, content: bytes, is_silent: bool) -> None:
    """Run the command of the user. What is said of its failure has none of its arguments, which may be secret."""
    words, program = shlex.split(command), program_of(command)
    # Our stdout is for scores alone.
    shown: dict[str, Any] = {"stdout": 2}
    if is_silent:
        shown = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    try:
        done = subprocess.run(words, input=content, timeout=_SECONDS, check=False, **shown)  # noqa: S603  # the user's
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{program} took longer than {_SECONDS} s and was ended") from error
    except OSError as error:
        raise OSError(f"{program} cannot be run, {error.strerror}") from error
    if done.returncode:
        raise OSError(f"{program} ended with exit code {done.returncode}")


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the metrics file of a dataset says of a night."""

    dataset: str
    evaluated_on: str
    #: Its rows of DATASET_SCORES, without slices.
    rows: Sequence[Mapping[str, Any]]
    #: The columns of the requested measures besides ndcg.
    measures: Sequence[str]
    #: How long the evaluation took.
    seconds: float | None
    #: When it ended, in seconds since 1970.
    ended_at: float
    #: One of `_VERDICTS`; None without a gate.
    verdict: int | None


def measured_outcome(outcome: "EvaluationOutcome", dataset: str) -> Measured:
    rows = [row for row in outcome.dataset_scores if row["dataset"] == dataset]
    verdicts = [verdict for verdict in outcome.verdicts if verdict.dataset == dataset]
    verdict = _verdict_number(verdicts[0].verdict, verdicts[0].accepted) if verdicts else None
    night, measures = str(rows[0]["evaluated_on"]), outcome.measures.columns
    return Measured(dataset, night, rows, measures, outcome.seconds["total"], time.time(), verdict)


def measured_night(night: Night) -> Measured:
    """The same of a published night, which may have been accepted since."""
    (rows,) = read_dataset_scores([night])
    verdict = None
    if night.row["verdict"] is not None:
        verdict = _verdict_number(night.row["verdict"], night.row["accepted"])
    ended_at = datetime.datetime.fromisoformat(night.row["committed_at"]).timestamp()
    measures, seconds = night.measure_set.columns, night.row["seconds"]
    return Measured(night.dataset, night.evaluated_on, rows, measures, seconds, ended_at, verdict)


def _verdict_number(verdict: str, accepted: str | None) -> int:
    return _VERDICTS[PASS if verdict == NONE and accepted is not None else verdict]


def _write_metrics(config: EvaluationConfig, measured: Measured, nights: Sequence[Night]) -> None:
    """Replace the metrics file of a dataset, unless it is, or the output has, of a newer night.

    The collector, which reads every *.prom of the folder, never sees a part of it.
    """
    dataset = measured.dataset
    file = metrics_file(config, dataset)
    if not file.parent.is_dir():
        raise FileNotFoundError(f"no folder {file.parent}, so create it")
    known = [night.evaluated_on for night in nights if night.dataset == dataset]
    # Evaluations into other outputs may have written the file.
    newest = max([*known, _night_of(file)])
    if newest > measured.evaluated_on:
        reason = f"the night {newest} of {dataset} is newer"
        report_step("metrics", f"{file} stays as it is, because {reason}")
    else:
        write_whole(file, prometheus_text(measured).encode())


def metrics_file(config: EvaluationConfig, dataset: str) -> Path:
    """The file of a dataset; no two datasets have the same, not even where case is ignored."""
    if _PLAIN.fullmatch(dataset):
        name = f"ndcg_spark.{dataset}.prom"
    else:
        digest = hashlib.sha256(dataset.encode()).hexdigest()[:16]
        name = f"ndcg_spark-{_ODD.sub('_', dataset)[:40]}-{digest}.prom"
    return Path(expanded(config.dated(config.metrics_file or ""))) / name


def _night_of(file: Path) -> str:
    """The date of the night of a metrics file; empty if there is no file, or it does not say."""
    if not file.exists():
        return ""
    with file.open("rb") as opened:
        first = opened.readline().decode(errors="replace").rstrip("\n")
    return first.removeprefix(_NIGHT) if first.startswith(_NIGHT) else ""


def mark_accepted(config: EvaluationConfig, output: str, verdicts: Sequence[Verdict]) -> None:
    """Write the metrics files of nights that are accepted now, from what is published of them."""
    if not config.metrics_file:
        return
    accepted = {(verdict.dataset, verdict.evaluated_on) for verdict in verdicts}
    with _failures_shown("metrics-file"):
        nights = committed(output)
        for night in nights:
            if (night.dataset, night.evaluated_on) in accepted:
                with _failures_shown("metrics-file"):
                    _write_metrics(config, measured_night(night), nights)


def after_evaluation(config: EvaluationConfig, exit_code: int) -> None:
    """When an evaluation's process has ended: notify of a signal, or copy nights.

    They are copied to the tables that NDCG_SPARK_EXPORT names.
    """
    tables = os.environ.get("NDCG_SPARK_EXPORT")
    # The exit code of a process that a signal has ended is 128 and the signal's number.
    if exit_code > 128:
        notify(config, exit_code, f"ended by signal {exit_code - 128}")
    elif config.output and tables:
        report = functools.partial(report_step, "export")
        export(config.dated(config.output), tables, config.date.isoformat(), report=report)


@contextlib.contextmanager
def _failures_shown(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001  # whatever happens to another program
        report_step("warning", f"{name}: {masked(first_line(error))}; the scores are not affected")


def _content(
    config: EvaluationConfig, exit_code: int, failure: str | None, outcome: Any, nights: Sequence[Night]
) -> dict[str, Any]:
    """The JSON that the command gets; `text` is what to post to a chat."""
    date, datasets = config.date.isoformat(), outcome.datasets if outcome else []
    verdicts = [verdict.as_json() for verdict in outcome.verdicts] if outcome else []
    lines = [f"{one['dataset']} of {date}: {verdict_in_words(one)}. {one['sentence']}" for one in verdicts]
    if failure or not lines:
        named = datasets or [config.dataset] * (config.dataset != "default") or ["evaluation"]
        lines.append(f"{', '.join(named)} of {date}: exit code {exit_code}. {failure or ''}")
    output = config.output and config.dated(config.output)
    if output:
        commands = [accept_command(output, config.source["file"], verdict) for verdict in filter(can_begin, verdicts)]
        lines += [f"To make it the first baseline: {command}" for command in commands]
        command, options = ("report", {"date": date, "html": f"{date}.html"}) if datasets else ("nights", {})
        # What a signal or the configuration has ended is not in the log.
        if datasets or (exit_code != ConfigurationError.exit_code and exit_code <= 128):
            lines.append(command_line(command, [masked(output)], options))
    return {
        "evaluation_id": outcome.evaluation_id if outcome else None,
        "datasets": datasets,
        "evaluated_on": date,
        "output": output,
        "exit_code": exit_code,
        "reason": failure or "; ".join(verdict["sentence"] for verdict in verdicts) or None,
        "verdicts": verdicts,
        "verified": outcome.verified if outcome else None,
        # Nights are sorted by date, so that the last one of a dataset stays.
        "previous": {
            night.dataset: {name: night.row[name] for name in ("evaluated_on", "verdict", "reason", "accepted")}
            for night in nights
            if night.evaluated_on < date and (not datasets or night.dataset in datasets)
        },
        # A name with the end of a line in it makes no line of its own.
        "text": "\n".join(map(printable, lines)),
    }


def prometheus_text(measured: Measured) -> str:
    """The metrics of a dataset in Prometheus' text format; scores that are null have no line."""
    begin = datetime.datetime.fromisoformat(f"{measured.evaluated_on}T00:00Z").timestamp()
    samples: dict[str, list[str]] = {name: [] for name in _HELP}

    def add(name: str, value: float | None, **labels: str) -> None:
        if value is not None:
            samples[name].append(_sample(name, value, dataset=measured.dataset, **labels))

    add("last_success_timestamp_seconds", measured.ended_at)
    add("evaluated_on_timestamp_seconds", begin)
    add("duration_seconds", measured.seconds)
    add("verdict", measured.verdict)
    for row in measured.rows:
        labels = {"run": row["run"], "cutoff": format_cutoff(row["cutoff"])}
        add("queries", row["queries"], **labels)
        add("judged_rate", row["judged_rate"], **labels)
        for measure in ("ndcg", *measured.measures):
            add("score", row[measure], **labels, measure=measure)
    lines = [f"{_NIGHT}{measured.evaluated_on}"]
    for name, own in samples.items():
        if own:
            lines.append(f"# HELP ndcg_spark_{name} {_HELP[name]}")
            lines.append(f"# TYPE ndcg_spark_{name} gauge")
            lines.extend(own)
    return "".join(f"{line}\n" for line in lines)


def _sample(name: str, value: float, **labels: str) -> str:
    """A line of the format, whose label values have three escapes, and all other characters as they are."""
    shown = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
    return f"ndcg_spark_{name}{{{shown}}} {value!r}"
