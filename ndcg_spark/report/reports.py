"""A report of a published night is written to a file, and its plots to a folder."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.job.outcome import Outcome, Tell
from ndcg_spark.nights.committed import CommittedNight, committed
from ndcg_spark.report.charts import picture, require_extra
from ndcg_spark.report.figures import figures
from ndcg_spark.report.night_data import NightData, night_data
from ndcg_spark.report.page import page


def write(
    output: str,
    html: Path,
    date: str | None = None,
    dataset: str | None = None,
    run: str | None = None,
    baseline: str | None = None,
    png: Path | None = None,
) -> list[Path]:
    """Write the report of a night, the newest if no date is named, and return the files that were written.

    Raises
    ------
    ConfigurationError
        There is no such night, dataset or run, or the extra `report` is not installed.
    StorageError
        The output cannot be read, or a file cannot be written.
    """
    nights = [night_data(output, night, run, baseline) for night in _nights(output, date, dataset)]
    files = {html: page(nights).encode()}
    if png is not None:
        files |= dict(_pictures(png, nights))
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise StorageError(f"report: {path} cannot be written, {error.strerror}; check its path and rights") from error
    return list(files)


def reported(
    config: EvaluationConfig, html: Path, tell: Tell, evaluate: Callable[[EvaluationConfig, Tell], Outcome]
) -> Outcome:
    """Evaluate with this function, and write the report of what it publishes.

    Without an output, the night is kept in a temporary folder until the report is written, with its documents.
    Raises as `write`; what is not installed is told before anything is evaluated.
    """
    require_extra()
    date = config.date.isoformat()
    if config.output:
        outcome = evaluate(config, tell)
        write(str(outcome.output), html, date)
        tell("report", str(html))
        return outcome
    scratch = Scratch()
    try:
        folder = scratch.folder()
        # What is written to a folder that goes is nothing to tell.
        quiet: Tell = lambda step, sentence: None if step == "wrote" else tell(step, sentence)  # noqa: E731
        outcome = evaluate(config.model_copy(update={"output": str(folder), "documents": "top"}), quiet)
        write(str(folder), html, date)
        tell("report", str(html))
    finally:
        scratch.remove()
    return dataclasses.replace(outcome, output=None)


def _pictures(folder: Path, nights: Sequence[NightData]) -> list[tuple[Path, bytes]]:
    return [
        (folder / f"{figure.name}{number or ''}.png", picture(figure.chart, "png"))
        for number, data in enumerate(nights)
        for figure in figures(data)
    ]


def _nights(output: str, date: str | None, dataset: str | None) -> list[CommittedNight]:
    known = committed(output)
    if not known:
        raise ConfigurationError(f"report: no committed night in {output}; check the path")
    wanted = date or max(night.evaluated_on for night in known)
    found = [n for n in known if n.evaluated_on == wanted and dataset in (None, n.dataset)]
    if not found:
        newest = max(night.evaluated_on for night in known)
        asked = f"{wanted} of {dataset}" if dataset else wanted
        raise ConfigurationError(f"report: there is no night {asked}; of {len(known)}, the newest is {newest}")
    return found
