"""Tells other programs about a finished evaluation; a failure is only a warning, as the night is published."""

import functools
from collections.abc import Callable
from pathlib import Path

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import first_line
from ndcg_spark.job.outcome import EvaluationOutcome
from ndcg_spark.monitoring import prometheus, verdict_command


def notify(config: EvaluationConfig, outcome: EvaluationOutcome, warn: Callable[[str], None]) -> None:
    """Write the metrics file and run the command, as far as each is configured.

    `warn` is called with a sentence for each one that fails; the other still runs.
    """
    programs: dict[str, Callable[[], None]] = {}
    if config.metrics_file is not None:
        file = Path(config.dated(config.metrics_file)).expanduser()
        programs["metrics-file"] = functools.partial(prometheus.write, file, outcome)
    if config.on_verdict is not None:
        programs["on-verdict"] = functools.partial(verdict_command.run, config.on_verdict, outcome)
    for name, tell in programs.items():
        try:
            tell()
        except Exception as error:  # noqa: BLE001  # whatever another program or its client raises
            warn(f"{name}: {first_line(error)}; the scores are not affected")
