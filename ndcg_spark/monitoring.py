"""Notifies other programs of the end of an evaluation; if that fails, it is a warning and changes nothing."""

import contextlib
import datetime
import functools
import itertools
import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import BUG, ConfigurationError, NdcgSparkError, StorageError, engine_imports, first_line
from ndcg_spark.gate.verdict import FAIL, NONE, PASS, Verdict, accept_command, can_begin
from ndcg_spark.nights.export import export
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.steps import report_step
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import expanded, masked, masked_within, program_of

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate import EvaluationOutcome

#: A command that takes longer is ended, because the scheduler is waiting for the evaluation.
_SECONDS = 300
_VERDICTS = {PASS: 0, FAIL: 1, NONE: 2}
#: The line of a metrics file with the date of a dataset's night.
_DATED = re.compile(r'^ndcg_spark_evaluated_on_timestamp_seconds\{dataset=(".*")\} ([\d.-]+)$', re.MULTILINE)


@contextlib.contextmanager
def notifying(config: EvaluationConfig, is_silent: bool = False) -> Iterator["list[EvaluationOutcome]"]:
    """Around an evaluation, whose outcome the block adds to the list that it gets: notify programs however it ends.

    What the command prints is not shown if `is_silent`.
    """
    outcomes: list[EvaluationOutcome] = []
    exit_code, failure = 0, None
    try:
        with engine_imports():
            yield outcomes
    except SystemExit as end:
        exit_code = int(end.code or 0)
        raise
    except Exception as error:
        kind = "" if isinstance(error, NdcgSparkError) else f"{type(error).__name__}: "
        exit_code, failure = getattr(error, "exit_code", BUG), f"{kind}{error}"
        raise
    finally:
        outcome = outcomes[-1] if outcomes else None
        notify(config, exit_code or (outcome.exit_code if outcome else 0), failure, outcome, is_silent)


def notify(
    config: EvaluationConfig,
    exit_code: int,
    failure: str | None = None,
    outcome: "EvaluationOutcome | None" = None,
    is_silent: bool = False,
) -> None:
    """Write the metrics file if there is an outcome, and run the command, as far as each is configured."""
    nights: Sequence[Night] = ()
    if config.output and (config.on_end or config.metrics_file):
        with contextlib.suppress(StorageError):
            nights = committed(config.dated(config.output))
    if config.metrics_file and outcome:
        with _failures_shown("metrics-file"):
            file = _metrics_file(config)
            before = file.read_text("utf-8") if file.exists() else ""
            # Evaluations into other outputs may have written the file.
            known = [*((night.dataset, night.evaluated_on) for night in nights), *_dates(before).items()]
            newer = [one for one in known if one[0] in outcome.datasets and one[1] > config.date.isoformat()]
            if newer:
                what = "the night {1} of {0} is newer".format(*newer[-1])
                report_step("metrics", f"{config.metrics_file} stays as it is, because {what}")
            else:
                _replace(file, metrics(outcome, before))
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


def _metrics_file(config: EvaluationConfig) -> Path:
    return Path(expanded(config.dated(config.metrics_file or "")))


def _replace(file: Path, text: str) -> None:
    if not file.parent.is_dir():
        raise FileNotFoundError(f"no folder {file.parent}, so create it")
    # The collector reads every *.prom of the folder, so the name of the part must not end like that.
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def _dates(text: str) -> dict[str, str]:
    """The dates of the nights in a metrics file, by dataset."""
    times = {json.loads(name): float(seconds) for name, seconds in _DATED.findall(text)}
    return {name: datetime.datetime.fromtimestamp(at, datetime.UTC).date().isoformat() for name, at in times.items()}


def mark_accepted(config: EvaluationConfig, verdicts: Sequence[Verdict]) -> None:
    """In the metrics file, nights that it has and that were without a verdict are now accepted."""
    if config.metrics_file and (file := _metrics_file(config)).exists():
        with _failures_shown("metrics-file"):
            text = file.read_text("utf-8")
            for verdict in verdicts:
                if _dates(text).get(verdict.dataset) == verdict.evaluated_on:
                    line = f"\nndcg_spark_verdict{{dataset={json.dumps(verdict.dataset, ensure_ascii=False)}}} "
                    text = text.replace(f"{line}{_VERDICTS[NONE]}\n", f"{line}0\n")
            _replace(file, text)


def finish(config: EvaluationConfig, exit_code: int) -> None:
    """When an evaluation's process has ended: notify of a signal, or copy nights to the tables of NDCG_SPARK_EXPORT."""
    # The exit code of a process that a signal has ended is 128 and the signal's number.
    if exit_code > 128:
        notify(config, exit_code, f"ended by signal {exit_code - 128}")
    elif config.output and (tables := os.environ.get("NDCG_SPARK_EXPORT")):
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
        command, options = ("report", f" --date {date} --html {date}.html") if datasets else ("nights", "")
        # What a signal or the configuration has ended is not in the log.
        if datasets or (exit_code != ConfigurationError.exit_code and exit_code <= 128):
            lines.append(f"ndcg-spark {command} {shlex.quote(masked(output))}{options}")
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
        "text": "\n".join(lines),
    }


def metrics(outcome: "EvaluationOutcome", before: str = "") -> str:
    """The metrics of an evaluation in Prometheus' text format; scores that are null have no line.

    Datasets that it has not evaluated keep their lines of `before`, so that one which stops arriving grows old.
    """
    # Prometheus escapes quotes, backslashes and ends of lines as JSON does.
    quoted = functools.partial(json.dumps, ensure_ascii=False)
    own = [f"{{dataset={quoted(dataset)}" for dataset in outcome.datasets]
    lines = [line for line in before.split("\n") if "{" in line and not any(name in line for name in own)]

    def add(name: str, value: float | None, **labels: str) -> None:
        if value is not None:
            shown = ",".join(f"{label}={quoted(text)}" for label, text in labels.items())
            lines.append(f"ndcg_spark_{name}{{{shown}}} {value!r}")

    begin = datetime.datetime.fromisoformat(f"{outcome.dataset_scores[0]['evaluated_on']}T00:00Z").timestamp()
    for dataset in outcome.datasets:
        add("last_success_timestamp_seconds", time.time(), dataset=dataset)
        add("evaluated_on_timestamp_seconds", begin, dataset=dataset)
        add("duration_seconds", outcome.seconds["total"], dataset=dataset)
    for verdict in outcome.verdicts:
        add("verdict", _VERDICTS[verdict.verdict] if verdict.exit_code else 0, dataset=verdict.dataset)
    for row in outcome.dataset_scores:
        labels = {"dataset": row["dataset"], "run": row["run"], "cutoff": format_cutoff(row["cutoff"])}
        for name in ("queries", "judged_rate"):
            add(name, row[name], **labels)
        for measure in ("ndcg", *outcome.measure_set.columns):
            add("score", row[measure], **labels, measure=measure)
    groups = itertools.groupby(sorted(lines), lambda line: line.partition("{")[0])
    return "".join(f"# TYPE {name} gauge\n" + "".join(f"{line}\n" for line in group) for name, group in groups)
