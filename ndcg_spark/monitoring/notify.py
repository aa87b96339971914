"""Tells other programs how an evaluation ended; a failure of theirs is a warning and changes nothing."""

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import BUG, NdcgSparkError, StorageError, engine_imports, first_line
from ndcg_spark.job.outcome import EvaluationOutcome
from ndcg_spark.monitoring import hook, prometheus
from ndcg_spark.nights.export import export
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.steps import report_step


@contextlib.contextmanager
def notifying(config: EvaluationConfig) -> Iterator[list[EvaluationOutcome]]:
    """Around an evaluation, whose outcome the block adds to the list that it gets: programs are told of any end."""
    outcomes: list[EvaluationOutcome] = []

    def tell(exit_code: int, failure: str | None = None) -> None:
        notify(config, exit_code, failure, outcomes[-1] if outcomes else None)

    try:
        with engine_imports():
            yield outcomes
    except NdcgSparkError as error:
        tell(error.exit_code, str(error))
        raise
    except SystemExit as end:
        tell(int(end.code or 0))
        raise
    except Exception as error:
        tell(BUG, f"{type(error).__name__}: {first_line(error)}")
        raise
    tell(outcomes[-1].exit_code if outcomes else 0)


def notify(
    config: EvaluationConfig,
    exit_code: int,
    failure: str | None = None,
    outcome: EvaluationOutcome | None = None,
) -> None:
    """Write the metrics file if there is an outcome, and run the command, as far as each is configured.

    A warning is reported for each that fails; the other still runs.
    """
    nights: Sequence[Night] = ()
    if config.output and (config.on_end or config.metrics_file):
        with contextlib.suppress(StorageError):
            nights = committed(config.dated(config.output))
    programs: dict[str, Callable[[], None]] = {}
    if config.metrics_file is not None and outcome is not None:
        date = config.date.isoformat()
        newer = [night for night in nights if night.dataset in outcome.datasets and night.evaluated_on > date]
        if newer:
            report_step("metrics", f"{config.metrics_file} stays as it is, because {newer[-1]} is newer")
        else:
            file = Path(config.dated(config.metrics_file)).expanduser()
            programs["metrics-file"] = functools.partial(prometheus.write, file, outcome)
    if config.on_end is not None:
        content = functools.partial(hook.content_of, config, exit_code, failure, outcome, nights)
        programs["on-end"] = functools.partial(hook.run, config.on_end, content)
    for name, tell in programs.items():
        try:
            tell()
        except Exception as error:  # noqa: BLE001  # whatever another program or its client raises
            report_step("warning", f"{name}: {first_line(error)}; the scores are not affected")


def finish(config: EvaluationConfig, exit_code: int) -> None:
    """What is left to do when the process of an evaluation has ended: it cannot tell of a signal that ended it.

    Scores that it published are copied to the tables that NDCG_SPARK_EXPORT names. Raises as `export`.
    """
    tables = os.environ.get("NDCG_SPARK_EXPORT")
    if exit_code > hook.SIGNAL:
        notify(config, exit_code, f"ended by signal {exit_code - hook.SIGNAL}")
    elif tables and config.output:
        date = config.date.isoformat()
        export(config.dated(config.output), tables, date, report=lambda sentence: report_step("export", sentence))
