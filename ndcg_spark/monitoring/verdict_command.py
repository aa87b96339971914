"""A user's command that is run with the verdict of the gate."""

import json
import shlex
import subprocess
from typing import Any

from ndcg_spark.job.outcome import EvaluationOutcome

#: A command that takes longer is ended, because the scheduler is waiting for the evaluation.
_SECONDS = 300


class CommandError(Exception):
    """The command could not be run, or has failed."""


def run(command: str, outcome: EvaluationOutcome) -> None:
    """Run a command with the verdicts as JSON on its stdin; what it prints goes to stderr. CommandError if it fails.

    The command is split like a shell's, but no shell runs it.
    """
    words = shlex.split(command)
    content = json.dumps(content_of(outcome), ensure_ascii=False)
    try:
        # Our stdout is for scores alone.
        done = subprocess.run(words, input=content.encode(), stdout=2, timeout=_SECONDS, check=False)  # noqa: S603  # the user's
    except subprocess.TimeoutExpired:
        raise CommandError(f"{words[0]} took longer than {_SECONDS} seconds and was ended") from None
    except OSError as error:
        raise CommandError(f"{words[0]} cannot be run, {error.strerror}") from error
    if done.returncode:
        raise CommandError(f"{words[0]} failed with exit code {done.returncode}")


def content_of(outcome: EvaluationOutcome) -> dict[str, Any]:
    """The JSON that the command gets: evaluation_id, output, exit_code, and `verdicts`, one for each dataset."""
    return {
        "evaluation_id": outcome.evaluation_id,
        "output": outcome.output,
        "exit_code": outcome.exit_code,
        "verdicts": [verdict.as_json() for verdict in outcome.verdicts],
    }
