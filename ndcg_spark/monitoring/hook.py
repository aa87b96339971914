"""Notifies other programs that an evaluation has ended: writes its metrics, and runs a command.

A failure of either only causes a warning.
"""

import contextlib
import functools
import json
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import BUG, ConfigurationError, NdcgSparkError, StorageError
from ndcg_spark.monitoring.metrics import failures_as_warnings, metrics_of_outcome, write_metrics
from ndcg_spark.monitoring.summary import SIGNAL, End, summary_lines
from ndcg_spark.nights.export import export
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.steps import report_step
from ndcg_spark.text import from_home, masked_within, printable, program_of
from ndcg_spark.voices import Notice, voice_of

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome

#: A command that takes longer is stopped, because the scheduler is waiting for the evaluation.
_SECONDS = 300
#: The environment variable with the file for the text, which nightly.sh prints as its last line.
_TEXT_FILE = "NDCG_SPARK_ENDED"
#: The descriptor of the standard error stream.
_STDERR = 2


def notify_failure(
    config: EvaluationConfig,
    error: BaseException,
    outcome: "EvaluationOutcome | None" = None,
    is_silent: bool = False,
    warnings: Sequence[str | Notice] = (),
) -> None:
    """Notify programs of an evaluation that ended with this error, possibly after its outcome.

    The command's output is hidden if `is_silent`.
    """
    if isinstance(error, SystemExit):
        notify(config, int(error.code or 0), None, outcome, is_silent, warnings)
    elif isinstance(error, NdcgSparkError):
        failure = error.worded(voice_of(config.source["file"]))
        notify(config, error.exit_code, failure, outcome, is_silent, warnings)
    else:
        failure = f"{type(error).__name__}: {error}"
        notify(config, BUG, failure, outcome, is_silent, warnings)


def notify(
    config: EvaluationConfig,
    exit_code: int,
    failure: str | None = None,
    outcome: "EvaluationOutcome | None" = None,
    is_silent: bool = False,
    warnings: Sequence[str | Notice] = (),
) -> None:
    """Write the metrics files if there is an outcome, and run the command, if they are configured.

    The command's output is hidden if `is_silent`. `warnings`: what the evaluation warned of.
    """
    has_listener = bool(config.on_end or os.environ.get(_TEXT_FILE))
    nights: Sequence[Night] = ()
    if has_listener or config.metrics_file:
        nights = _published_nights(config)
    if config.metrics_file and outcome:
        for dataset in outcome.datasets:
            with failures_as_warnings("metrics-file"):
                write_metrics(config, metrics_of_outcome(outcome, dataset), nights)
    if has_listener:
        with failures_as_warnings("on-end"):
            end = End(exit_code, failure, _in_words(warnings, config))
            content = _content(config, end, outcome, nights)
            _pass_on(content, config.on_end, is_silent)


def _published_nights(config: EvaluationConfig) -> Sequence[Night]:
    """The nights of the output; empty if there is no output, or if it cannot be read."""
    if not config.output:
        return ()
    try:
        return committed(config.dated(config.output))
    except StorageError:
        return ()


def _in_words(warnings: Iterable[str | Notice], config: EvaluationConfig) -> list[str]:
    """The sentences of warnings; advice names options as a configuration's user does."""
    voice = voice_of(config.source["file"])
    sentences = []
    for warning in warnings:
        sentences.append(warning.worded(voice) if isinstance(warning, Notice) else warning)
    return sentences


def notify_unreadable(
    arguments: Mapping[str, Any],
    error: ConfigurationError,
    is_silent: bool = False,
) -> None:
    """Report an unreadable configuration to the command, which an argument or the file gives."""
    file = arguments.get("config")
    command = arguments.get("on_end")
    if not command and file:
        command = command_of_file(file)
    date = arguments.get("date")
    sentence = error.worded(voice_of(str(file) if file else None))
    evaluation = f"evaluation of {date}" if date else "evaluation"
    content: dict[str, Any] = {
        "evaluation_id": None,
        "datasets": [],
        "evaluated_on": date,
        "output": arguments.get("output"),
        "exit_code": error.exit_code,
        "reason": sentence,
        "verdicts": [],
        "verified": None,
        "previous": {},
        "text": printable(f"{evaluation}: exit code {error.exit_code}. {sentence}"),
    }
    with failures_as_warnings("on-end"):
        _pass_on(content, command, is_silent)


def command_of_file(file: Path) -> str | None:
    """The command `on_end` of a file that is not a valid configuration, possibly not even TOML."""
    try:
        text = from_home(file).read_text(encoding="utf-8-sig", errors="replace")
    except (OSError, ConfigurationError):
        return None
    # Tried in this order: the whole file, the keys above the first table, and these line by line.
    above = re.split(r"(?m)^\s*\[", text, maxsplit=1)[0]
    for part in (text, above, *above.splitlines()):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            command = tomllib.loads(part).get("on_end")
            if isinstance(command, str):
                return command
    return None


def _is_command(text: str) -> bool:
    """Whether a command names a program; the configuration refuses one that does not."""
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    return bool(words) and words[0] != ""


def _pass_on(content: Mapping[str, Any], command: str | None, is_silent: bool) -> None:
    """Write the text for nightly.sh, and run the user's command, if there is one."""
    without_secrets = masked_within(content)
    file = os.environ.get(_TEXT_FILE)
    if file:
        Path(file).write_text(without_secrets["text"], encoding="utf-8")
    if command is not None and _is_command(command):
        as_json = json.dumps(without_secrets, ensure_ascii=False, default=str)
        _run(command, as_json.encode(), is_silent)


def _run(command: str, content: bytes, is_silent: bool) -> None:
    """Run the user's command.

    Messages about its failure do not contain its arguments, which may be secret.
    """
    program = program_of(command)
    # Our stdout is only for scores, so the command writes to our stderr.
    stdout: int = _STDERR
    stderr: int | None = None
    if is_silent:
        stdout = stderr = subprocess.DEVNULL
    try:
        done = subprocess.run(  # noqa: S603  # the user's own command
            shlex.split(command),
            input=content,
            timeout=_SECONDS,
            check=False,
            stdout=stdout,
            stderr=stderr,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{program} took longer than {_SECONDS} s and was stopped") from error
    except OSError as error:
        raise OSError(f"{program} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise OSError(f"{program} ended with exit code {done.returncode}")


def after_evaluation(config: EvaluationConfig, exit_code: int) -> None:
    """Report the signal that ended an evaluation's process, or copy its nights.

    Nights are copied to the tables that NDCG_SPARK_EXPORT names.
    """
    tables = os.environ.get("NDCG_SPARK_EXPORT")
    if exit_code > SIGNAL:
        notify(config, exit_code, f"ended by signal {exit_code - SIGNAL}")
    elif config.output and tables:
        report = functools.partial(report_step, "export")
        export(config.dated(config.output), tables, config.date.isoformat(), report=report)


def _content(
    config: EvaluationConfig,
    end: End,
    outcome: "EvaluationOutcome | None",
    nights: Sequence[Night],
) -> dict[str, Any]:
    """The JSON for the command; `text` can be posted to a chat."""
    evaluation_id = None
    verified = None
    datasets: list[str] = []
    verdicts: list[dict[str, Any]] = []
    if outcome:
        evaluation_id = outcome.evaluation_id
        verified = outcome.verified
        datasets = list(outcome.datasets)
        verdicts = [verdict.as_json() for verdict in outcome.verdicts]
    sentences = "; ".join(verdict["sentence"] for verdict in verdicts)
    output = config.dated(config.output) if config.output else config.output
    lines = summary_lines(config, end, outcome, nights)
    return {
        "evaluation_id": evaluation_id,
        "datasets": datasets,
        "evaluated_on": config.date.isoformat(),
        "output": output,
        "exit_code": end.code,
        "reason": end.failure or sentences or None,
        "verdicts": verdicts,
        "verified": verified,
        "previous": _previous(config, datasets, nights),
        # A name that contains a line break must not start a new line.
        "text": "\n".join(map(printable, lines)),
    }


def _previous(
    config: EvaluationConfig,
    datasets: Sequence[str],
    nights: Sequence[Night],
) -> dict[str, dict[str, Any]]:
    """The log entry of the last night of each dataset before this one."""
    date = config.date.isoformat()
    previous = {}
    # Nights are sorted by date, so the last one of each dataset is kept.
    for night in nights:
        is_of_evaluation = not datasets or night.dataset in datasets
        if night.evaluated_on < date and is_of_evaluation:
            columns = ("evaluated_on", "verdict", "reason", "accepted")
            previous[night.dataset] = {name: night.row[name] for name in columns}
    return previous
