"""What an evaluation that has ended tells people: the lines of a text for a chat, or a log."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ndcg_spark.comparison.trend import Falling, falls_of_night
from ndcg_spark.config import EvaluationConfig, dated
from ndcg_spark.convention.measures import Cutoff, measure_at
from ndcg_spark.convention.parsing import parse_cutoff
from ndcg_spark.errors import ConfigurationError, NdcgSparkError
from ndcg_spark.gate.acknowledged import acknowledged_in_words
from ndcg_spark.gate.verdict import FAIL, Result, Verdict, how_to_begin
from ndcg_spark.nights.log import Night
from ndcg_spark.tables.format import difference, score
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import GOOD, baseline_run, masked
from ndcg_spark.voices import command_line

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome

#: So many runs of a dataset have a line.
_MOST_RUNS = 12
#: The exit code of a process that a signal has ended is the signal's number and this.
SIGNAL = 128


def told_lines(
    config: EvaluationConfig,
    exit_code: int,
    failure: str | None,
    outcome: "EvaluationOutcome | None",
    nights: Sequence[Night],
) -> list[str]:
    """What the text says: each dataset with its runs, or what failed, and where to look."""
    lines: list[str] = []
    datasets: Sequence[str] = ()
    if outcome is not None:
        datasets = outcome.datasets
        for dataset in datasets:
            lines.extend(_of_dataset(config, exit_code, dataset, outcome, nights))
    if failure or not lines:
        named = ", ".join(datasets) or _named_dataset(config)
        lines.append(f"{named} of {config.date}: exit code {exit_code}. {failure or ''}")
    # What a signal or the configuration has ended is not in the log.
    is_in_log = exit_code != ConfigurationError.exit_code and exit_code <= SIGNAL
    if outcome is None and config.output and is_in_log:
        output = config.dated(config.output)
        lines.append(command_line("nights", [masked(output)], {}))
    return lines


def _named_dataset(config: EvaluationConfig) -> str:
    return "evaluation" if config.dataset == "default" else config.dataset


def _of_dataset(
    config: EvaluationConfig,
    exit_code: int,
    dataset: str,
    outcome: "EvaluationOutcome",
    nights: Sequence[Night],
) -> Iterator[str]:
    """The verdict, a line per run, all that the gate says beside it, and a link to the night."""
    verdict = next((one for one in outcome.verdicts if one.dataset == dataset), None)
    if verdict is None:
        yield f"{dataset} of {config.date}: exit code {exit_code}."
    else:
        yield f"{dataset} of {config.date}: {verdict_in_words(vars(verdict))}. {verdict.sentence}"
    yield from _of_runs(config, dataset, outcome, verdict, nights)
    if verdict is not None:
        yield from _beside(verdict)
    yield from _where_next(config, dataset, verdict)


def _beside(verdict: Verdict) -> Iterator[str]:
    for sentence in verdict.warnings:
        yield f"warning: {sentence}"
    yield from verdict.changes
    for sentence in verdict.notes:
        yield f"note: {sentence}"
    if verdict.acknowledged is not None:
        yield acknowledged_in_words(verdict.acknowledged)
    if verdict.accepted is not None:
        runs = verdict.accepted_runs or ("all runs",)
        yield f"accepted for {', '.join(runs)}: {verdict.accepted}"


def _where_next(config: EvaluationConfig, dataset: str, verdict: Verdict | None) -> Iterator[str]:
    """How to begin, and where the night is shown: an address, or the command for the page."""
    output = None if config.output is None else config.dated(config.output)
    if verdict is not None and output is not None:
        advice = how_to_begin(verdict.as_json(), output, config.source["file"])
        if advice:
            yield f"{advice[:1].upper()}{advice[1:]}"
    date = config.date.isoformat()
    if config.report_url is not None:
        address = dated(config.report_url, config.date)
        yield address.replace("{dataset}", quote(dataset, safe=""))
    elif output is not None:
        options = {"date": date, "dataset": dataset, "html": f"{date}.html"}
        yield command_line("report", [masked(output)], options)


def _of_runs(
    config: EvaluationConfig,
    dataset: str,
    outcome: "EvaluationOutcome",
    verdict: Verdict | None,
    nights: Sequence[Night],
) -> Iterator[str]:
    """A line per run: its score, the difference and against what, and since when it falls."""
    measure, cutoff = config.measure_set.headline(config.cutoffs)
    means: dict[str, Mapping[str, Any]] = {}
    for row in outcome.dataset_scores:
        if row["dataset"] == dataset and row["cutoff"] == cutoff:
            means[row["run"]] = row
    results = {run: _result_of(run, verdict) for run in means}
    shown = sorted(means, key=lambda run: _weight(results[run], verdict, run))[:_MOST_RUNS]
    metrics = {run: _metric_of(results[run], (measure, cutoff)) for run in shown}
    falls = _falls(config, dataset, verdict, nights, metrics)
    for run in shown:
        line = _of_run(run, metrics[run], means[run][measure], results[run])
        if run in falls:
            line += f" ({falls[run]})"
        yield line
    if len(means) > len(shown):
        yield f"and {len(means) - len(shown):,} more runs"


def _of_run(
    run: str,
    metric: tuple[str, Cutoff],
    mean: float | None,
    result: Result | None,
) -> str:
    name = f"{run}: {measure_at(*metric)}"
    if result is None:
        return f"{name} {score(mean)}"
    change = f"{difference(result.difference)} {_against(result)}"
    return f"{name} {score(result.mean)}, {change}"


def _metric_of(result: Result | None, headline: tuple[str, Cutoff]) -> tuple[str, Cutoff]:
    if result is None or result.measure is None:
        return headline
    return result.measure, parse_cutoff(result.cutoff)


def _falls(
    config: EvaluationConfig,
    dataset: str,
    verdict: Verdict | None,
    nights: Sequence[Night],
    metrics: Mapping[str, tuple[str, Cutoff]],
) -> dict[str, str]:
    """By run, since when its level falls: as the verdict says, else as the nights show."""
    if verdict is not None:
        told = [Falling(fall["since"], fall["difference"]) for fall in verdict.falls]
        return {fall["run"]: one.in_words for fall, one in zip(verdict.falls, told, strict=True)}
    try:
        falls = falls_of_night(nights, dataset, config.date.isoformat(), metrics)
    except NdcgSparkError:
        # Without earlier nights, all else is told.
        return {}
    return {run: falling.in_words for run, falling in falls.items()}


def _weight(result: Result | None, verdict: Verdict | None, run: str) -> tuple[bool, bool, float]:
    """The run that the verdict is about comes first, then those that fell most."""
    is_about = verdict is not None and verdict.run == run
    if result is None:
        return not is_about, True, 0.0
    return not is_about, False, result.difference or 0.0


def _result_of(run: str, verdict: Verdict | None) -> Result | None:
    """What a run is said to have changed by: what failed, else its first check of all queries."""
    own: list[Result] = []
    if verdict is not None:
        for result in verdict.results:
            if result.run == run and _has_change(result):
                own.append(result)
    for result in own:
        if result.result == FAIL:
            return result
    return own[0] if own else None


def _has_change(result: Result) -> bool:
    """Whether it says what the mean of all queries changed by."""
    if result.baseline is None or result.difference is None:
        return False
    return result.slice is None and not result.weighted


def _against(result: Result) -> str:
    """What a result is compared with, in a few words."""
    if result.since is not None:
        return f"since {result.since}"
    if result.baseline == GOOD:
        return f"against the good nights to {result.baseline_night}"
    other = baseline_run(str(result.baseline))
    return f"against {other or result.baseline_night or result.baseline}"
