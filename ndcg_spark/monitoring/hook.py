"""A user's command that is run when an evaluation has ended, with JSON on its stdin that says how."""

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.job.outcome import EvaluationOutcome
from ndcg_spark.masking import masked
from ndcg_spark.nights.log import Night
from ndcg_spark.tables.verdicts import in_words

#: A command that takes longer is ended, because the scheduler is waiting for the evaluation.
_SECONDS = 300
#: The exit code of a process that a signal has ended is this and the signal's number.
SIGNAL = 128


class CommandError(Exception):
    """The command could not be run, or has failed."""


def run(command: str, content: Callable[[], Mapping[str, Any]]) -> None:
    """Run a command with this content as JSON on its stdin; what it prints goes to stderr. CommandError if it fails.

    The command is split like a shell's, but no shell runs it.
    """
    words = shlex.split(command)
    text = json.dumps(content(), ensure_ascii=False)
    try:
        # Our stdout is for scores alone.
        done = subprocess.run(words, input=text.encode(), stdout=2, timeout=_SECONDS, check=False)  # noqa: S603  # the user's
    except subprocess.TimeoutExpired:
        raise CommandError(f"{words[0]} took longer than {_SECONDS} seconds and was ended") from None
    except OSError as error:
        raise CommandError(f"{words[0]} cannot be run, {error.strerror}") from error
    if done.returncode:
        raise CommandError(f"{words[0]} failed with exit code {done.returncode}")


def content_of(
    config: EvaluationConfig,
    exit_code: int,
    failure: str | None = None,
    outcome: EvaluationOutcome | None = None,
    nights: Sequence[Night] = (),
) -> dict[str, Any]:
    """The JSON that the command gets; `nights` are those of the output, sorted by dataset and date."""
    date = config.date.isoformat()
    output = config.dated(config.output) if config.output else None
    datasets = outcome.datasets if outcome else []
    verdicts = [verdict.as_json() for verdict in outcome.verdicts] if outcome else []
    before = [night for night in nights if night.evaluated_on < date and (not datasets or night.dataset in datasets)]
    known = ("evaluated_on", "verdict", "reason", "accepted")
    return {
        "evaluation_id": outcome.evaluation_id if outcome else None,
        "datasets": datasets,
        "evaluated_on": date,
        "output": output,
        "exit_code": exit_code,
        "reason": failure or "; ".join(verdict["sentence"] for verdict in verdicts) or None,
        "verdicts": verdicts,
        # Of the nights of a dataset, the last one stays.
        "previous": {night.dataset: {name: night.row[name] for name in known} for night in before},
        "text": _text(date, output, datasets, exit_code, failure, verdicts),
    }


def _text(
    date: str,
    output: str | None,
    datasets: Sequence[str],
    exit_code: int,
    failure: str | None,
    verdicts: Sequence[Mapping[str, Any]],
) -> str:
    """What to post to a chat: what became of each night, why, and the command that shows it."""
    lines = [f"{verdict['dataset']} of {date}: {in_words(verdict)}. {verdict['sentence']}" for verdict in verdicts]
    if datasets and not verdicts:
        lines.append(f"{', '.join(datasets)} of {date}: {'published' if output else 'scored'}")
    if failure or not lines:
        what = "refused" if exit_code == 3 else "failed"
        lines.append(f"evaluation of {date}: {what}, exit code {exit_code}. {failure or ''}".rstrip())
    if output:
        place = shlex.quote(masked(output))
        lines.append(
            f"ndcg-spark report {place} --date {date} --html {date}.html" if datasets else f"ndcg-spark nights {place}"
        )
    return "\n".join(lines)
