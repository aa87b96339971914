"""A report of a published night is written to a file, and its plots to a folder."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.errors import StorageError
from ndcg_spark.job.outcome import Outcome, Tell
from ndcg_spark.job.quick_look import QuickLook
from ndcg_spark.nights.choosing import chosen
from ndcg_spark.nights.records import committed
from ndcg_spark.report.against import Baseline, Held, compared, of_gate
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
    baseline: Baseline | None = None,
    png: Path | None = None,
    tell: Tell = lambda *_: None,
) -> list[Path]:
    """Write the report of a night, the newest if no date is named, and return the files that were written.

    Without a baseline, the night is shown beside what its gate has compared it with, if it had one.

    Raises
    ------
    ConfigurationError
        There is no such night, dataset, run or baseline, or the extra `report` is not installed.
    StorageError
        The output cannot be read, a file cannot be written, or there is no such night to compare with.
    """
    require_extra()
    known = committed(output)
    of_date = chosen(known, output, date, dataset)
    held: dict[str, Held] = {} if baseline is None else compared(output, of_date, known, baseline, tell)
    nights = [
        night_data(output, night, run, held[night.dataset] if baseline else of_gate(output, night, known))
        for night in of_date
    ]
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
    config: EvaluationConfig,
    html: Path,
    tell: Tell,
    evaluate: Callable[[EvaluationConfig, Tell], Outcome],
    look: QuickLook | None = None,
) -> Outcome:
    """Evaluate with this function, and write the report of what it publishes, beside what the `look` has found.

    Without an output, the night is kept in a temporary folder until the report is written, with its documents.
    Raises as `write`; what is not installed is told before anything is evaluated.
    """
    require_extra()

    def write_it(folder: str) -> None:
        baseline = Baseline(look.baseline, found=look.found) if look else None
        write(folder, html, config.date.isoformat(), baseline=baseline)

    if config.output:
        outcome = evaluate(config, tell)
        write_it(str(outcome.output))
        tell("report", str(html))
        return outcome
    scratch = Scratch()
    try:
        folder = scratch.folder()
        # What is written to a folder that goes is nothing to tell.
        quiet: Tell = lambda step, sentence: None if step == "wrote" else tell(step, sentence)  # noqa: E731
        outcome = evaluate(config.model_copy(update={"output": str(folder), "documents": "top"}), quiet)
        write_it(str(folder))
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
