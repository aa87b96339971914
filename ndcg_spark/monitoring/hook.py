"""Tells other programs that an evaluation has ended: writes its metrics, and runs a command.

What goes wrong with them is a warning and changes nothing.
"""

import contextlib
import functools
import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import BUG, ConfigurationError, NdcgSparkError, StorageError
from ndcg_spark.gate.verdict import how_to_begin
from ndcg_spark.monitoring.metrics import failures_shown, measured_outcome, write_metrics
from ndcg_spark.nights.export import export
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.steps import report_step
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import masked, masked_within, printable, program_of
from ndcg_spark.voices import command_line, voice_of

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome

#: A command that takes longer is ended, because the scheduler is waiting for the evaluation.
_SECONDS = 300
#: The exit code of a process that a signal has ended is the signal's number and this.
_SIGNAL = 128


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
        return error.worded(voice_of(config.source["file"]))
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
            with failures_shown("metrics-file"):
                write_metrics(config, measured_outcome(outcome, dataset), nights)
    if config.on_end:
        content = masked_within(_content(config, exit_code, failure, outcome, nights))
        with failures_shown("on-end"):
            _run(config.on_end, json.dumps(content, ensure_ascii=False).encode(), is_silent)


def _run(command: str, content: bytes, is_silent: bool) -> None:
    """Run the command of the user.

    What is said of its failure has none of its arguments, which may be secret.
    """
    words = shlex.split(command)
    program = program_of(command)
    # Our stdout is for scores alone.
    shown: dict[str, Any] = {"stdout": 2}
    if is_silent:
        shown = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    try:
        done = subprocess.run(  # noqa: S603  # the command of the user
            words,
            input=content,
            timeout=_SECONDS,
            check=False,
            **shown,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{program} took longer than {_SECONDS} s and was ended") from error
    except OSError as error:
        raise OSError(f"{program} cannot be run, {error.strerror}") from error
    if done.returncode:
        raise OSError(f"{program} ended with exit code {done.returncode}")


def after_evaluation(config: EvaluationConfig, exit_code: int) -> None:
    """When an evaluation's process has ended: notify of a signal, or copy nights.

    They are copied to the tables that NDCG_SPARK_EXPORT names.
    """
    tables = os.environ.get("NDCG_SPARK_EXPORT")
    if exit_code > _SIGNAL:
        notify(config, exit_code, f"ended by signal {exit_code - _SIGNAL}")
    elif config.output and tables:
        report = functools.partial(report_step, "export")
        export(config.dated(config.output), tables, config.date.isoformat(), report=report)


def _content(
    config: EvaluationConfig,
    exit_code: int,
    failure: str | None,
    outcome: "EvaluationOutcome | None",
    nights: Sequence[Night],
) -> dict[str, Any]:
    """The JSON that the command gets; `text` is what to post to a chat."""
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
    lines = _text_lines(config, exit_code, failure, datasets, verdicts)
    return {
        "evaluation_id": evaluation_id,
        "datasets": datasets,
        "evaluated_on": config.date.isoformat(),
        "output": config.output and config.dated(config.output),
        "exit_code": exit_code,
        "reason": failure or sentences or None,
        "verdicts": verdicts,
        "verified": verified,
        "previous": _previous(config, datasets, nights),
        # A name with the end of a line in it makes no line of its own.
        "text": "\n".join(map(printable, lines)),
    }


def _text_lines(
    config: EvaluationConfig,
    exit_code: int,
    failure: str | None,
    datasets: Sequence[str],
    verdicts: Sequence[dict[str, Any]],
) -> list[str]:
    """What the text says: each verdict or what failed, and the commands for what to do next."""
    date = config.date.isoformat()
    lines = []
    for verdict in verdicts:
        what = f"{verdict['dataset']} of {date}: {verdict_in_words(verdict)}"
        lines.append(f"{what}. {verdict['sentence']}")
    if failure or not lines:
        named = ", ".join(datasets) or _named_dataset(config)
        lines.append(f"{named} of {date}: exit code {exit_code}. {failure or ''}")
    if not config.output:
        return lines
    output = config.dated(config.output)
    for verdict in verdicts:
        advice = how_to_begin(verdict, output, config.source["file"])
        if advice:
            lines.append(f"{advice[:1].upper()}{advice[1:]}")
    if datasets:
        options = {"date": date, "html": f"{date}.html"}
        lines.append(command_line("report", [masked(output)], options))
    elif exit_code != ConfigurationError.exit_code and exit_code <= _SIGNAL:
        # What a signal or the configuration has ended is not in the log.
        lines.append(command_line("nights", [masked(output)], {}))
    return lines


def _named_dataset(config: EvaluationConfig) -> str:
    return "evaluation" if config.dataset == "default" else config.dataset


def _previous(
    config: EvaluationConfig,
    datasets: Sequence[str],
    nights: Sequence[Night],
) -> dict[str, dict[str, Any]]:
    """What the log says of the last night of each dataset before this one."""
    date = config.date.isoformat()
    previous = {}
    # Nights are sorted by date, so that the last one of a dataset stays.
    for night in nights:
        is_asked = not datasets or night.dataset in datasets
        if night.evaluated_on < date and is_asked:
            names = ("evaluated_on", "verdict", "reason", "accepted")
            previous[night.dataset] = {name: night.row[name] for name in names}
    return previous
