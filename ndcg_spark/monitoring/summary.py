"""A summary of an evaluation that has ended, as a text for a chat or a log."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from ndcg_spark.comparison.trend import Falling, falls_of_night
from ndcg_spark.config import EvaluationConfig, dated
from ndcg_spark.convention.measures import Cutoff, measure_at
from ndcg_spark.errors import ConfigurationError, NdcgSparkError
from ndcg_spark.gate.acknowledged import acknowledged_in_words
from ndcg_spark.gate.verdict import FAIL, Result, Verdict, drop_of, how_to_accept, side_changes
from ndcg_spark.nights.log import Night
from ndcg_spark.schemas import NEW, OLD
from ndcg_spark.tables.format import capital_first, count, difference, score
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import GOOD, baseline_run, masked
from ndcg_spark.voices import command_line

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate_inputs import EvaluationOutcome

Metric = tuple[str, Cutoff]

#: The most runs of a dataset that have a line.
_MOST_RUNS = 12
#: The exit code of a process that a signal ended is the signal's number plus this.
SIGNAL = 128
#: The exit code of a process that was killed, as the system does if there is too little memory.
_KILLED = SIGNAL + 9
#: The most warnings that have a line, in addition to those of verdicts.
_MOST_WARNINGS = 5


class End(NamedTuple):
    """How an evaluation ended: its exit code, what failed, and what it warned about."""

    code: int
    failure: str | None = None
    warnings: Sequence[str] = ()


def summary_lines(
    config: EvaluationConfig,
    end: End,
    outcome: "EvaluationOutcome | None",
    nights: Sequence[Night],
) -> list[str]:
    """The lines of the text: each dataset with its runs, or what failed, and where to look."""
    if outcome is None:
        name = "evaluation" if config.dataset == "default" else config.dataset
        line = _exit_code_line(name, config, end)
        advice = _run_again(end) + _log_command(config, end)
        return [line, *_warning_lines(end.warnings), *advice]
    lines: list[str] = []
    for dataset in outcome.datasets:
        lines.extend(_dataset_lines(config, end.code, dataset, outcome, nights))
    if end.failure or not lines:
        names = ", ".join(outcome.datasets) or "evaluation"
        lines.append(_exit_code_line(names, config, end))
    others = [warning for warning in end.warnings if not _is_in_verdict(warning, outcome.verdicts)]
    return lines + _warning_lines(others)


def _is_in_verdict(warning: str, verdicts: Iterable[Verdict]) -> bool:
    """Whether a warning belongs to a verdict, whose lines already show it.

    The warnings of a verdict are logged with the name of its dataset before them.
    """
    for verdict in verdicts:
        for own in verdict.warnings:
            if warning in (own, f"{verdict.dataset}: {own}"):
                return True
    return False


def _warning_lines(warnings: Sequence[str]) -> list[str]:
    """A line per warning, up to a few."""
    lines = [f"warning: {warning}" for warning in warnings[:_MOST_WARNINGS]]
    more = len(warnings) - _MOST_WARNINGS
    if more > 0:
        lines.append(f"and {count(more, 'more warning')}, see the job's log")
    return lines


def _run_again(end: End) -> list[str]:
    """What to do after a signal, which says nothing about the input."""
    if end.code <= SIGNAL:
        return []
    why = "It often means too little memory. " if end.code == _KILLED else ""
    return [f"{why}Earlier nights are intact; run it again."]


def _exit_code_line(name: str, config: EvaluationConfig, end: End) -> str:
    """`web of 2026-11-20: exit code 2.`, and what failed."""
    line = f"{name} of {config.date}: exit code {end.code}."
    return f"{line} {end.failure}" if end.failure else line


def _log_command(config: EvaluationConfig, end: End) -> list[str]:
    """The command that shows why an evaluation failed, if the log of an output says so."""
    # An evaluation that ended with a signal or a configuration error is not in the log.
    if end.code == ConfigurationError.exit_code or end.code > SIGNAL:
        return []
    if config.output is None:
        return []
    output = masked(config.dated(config.output))
    return [f"All nights and attempts: {command_line('nights', [output], {})}"]


def _dataset_lines(
    config: EvaluationConfig,
    exit_code: int,
    dataset: str,
    outcome: "EvaluationOutcome",
    nights: Sequence[Night],
) -> Iterator[str]:
    """The verdict, a line per run, everything else that the gate says, and a link to the night."""
    metric = config.measure_set.headline(config.cutoffs)
    measure, cutoff = metric
    means: dict[str, float | None] = {}
    for row in outcome.dataset_scores:
        if row["dataset"] == dataset and row["cutoff"] == cutoff:
            means[row["run"]] = row[measure]
    verdicts = [verdict for verdict in outcome.verdicts if verdict.dataset == dataset]
    if not verdicts:
        yield _exit_code_line(dataset, config, End(exit_code))
        yield from _lines_without_gate(config, dataset, means, metric, nights)
    for verdict in verdicts:
        yield f"{dataset} of {config.date}: {verdict_in_words(vars(verdict))}. {verdict.sentence}"
        yield from _lines_of_verdict(verdict, means, metric)
        yield from _other_findings(verdict)
        yield from _how_to_accept(config, verdict)
        yield from _evaluate_again(config, verdict)
    yield from _link(config, dataset)


def _other_findings(verdict: Verdict) -> Iterator[str]:
    """What the gate says in addition to its verdict."""
    for sentence in verdict.warnings:
        yield f"warning: {sentence}"
    yield from verdict.changes
    for sentence in verdict.notes:
        yield f"note: {sentence}"
    if verdict.acknowledged is not None:
        yield acknowledged_in_words(verdict.acknowledged)
    if verdict.accepted is not None:
        runs = verdict.accepted_runs or ("all runs",)
        names = ", ".join(runs)
        yield f"accepted for {names}: {verdict.accepted}"


def _how_to_accept(config: EvaluationConfig, verdict: Verdict) -> list[str]:
    """How a night becomes a baseline, if it lacks nothing else."""
    if config.output is None:
        return []
    output = config.dated(config.output)
    advice = how_to_accept(verdict.as_json(), output, config.source["file"])
    if advice is None:
        return []
    return [capital_first(advice)]


def _evaluate_again(config: EvaluationConfig, verdict: Verdict) -> list[str]:
    """What to do about missing runs and datasets, with the command if the file alone repeats it."""
    if verdict.reason not in ("missing_run", "missing_dataset"):
        return []
    advice = "When the missing data has arrived, evaluate the night again"
    file = config.source["file"]
    if file is None or config.source["overridden"]:
        return [f"{advice}."]
    options = {"config": file, "date": config.date.isoformat()}
    return [f"{advice}: {command_line('evaluate', [], options)}"]


def _link(config: EvaluationConfig, dataset: str) -> list[str]:
    """Where to see the night: an address, or the command that writes its page."""
    if config.report_url is not None:
        address = dated(config.report_url, config.date)
        name = quote(dataset, safe="")
        return [address.replace("{dataset}", name)]
    if config.output is None:
        return []
    date = config.date.isoformat()
    output = masked(config.dated(config.output))
    options = {"date": date, "dataset": dataset, "html": f"{date}.html"}
    return [command_line("report", [output], options)]


def _lines_without_gate(
    config: EvaluationConfig,
    dataset: str,
    means: Mapping[str, float | None],
    metric: Metric,
    nights: Sequence[Night],
) -> Iterator[str]:
    """A line per run of a night without a gate: its score and, if it is falling, since when."""
    date = config.date.isoformat()
    try:
        falls = falls_of_night(nights, dataset, date, dict.fromkeys(means, metric))
    except NdcgSparkError:
        # If the earlier nights cannot be read, the other lines are still written.
        falls = {}
    shown = list(means)[:_MOST_RUNS]
    for run in shown:
        line = _with_score(run, metric, means[run])
        yield _with_fall(line, falls.get(run))
    yield from _more_runs(means, shown)


def _lines_of_verdict(
    verdict: Verdict,
    means: Mapping[str, float | None],
    metric: Metric,
) -> Iterator[str]:
    """A line per run: its score, change and baseline and, if it is falling, since when."""
    falls = {}
    for fall in verdict.falls:
        falls[fall["run"]] = Falling(fall["since"], fall["difference"])
    results = _first_results(verdict)
    # The run that the verdict is about comes first, then those that fell most.
    compared = sorted(results, key=lambda run: (run != verdict.run, drop_of(vars(results[run]))))
    others = [run for run in means if run not in results]
    runs = compared + others
    shown = runs[:_MOST_RUNS]
    for run in shown:
        if run in results:
            line = _with_change(results[run])
        else:
            line = _with_score(run, metric, means[run])
        yield _with_fall(line, falls.get(run))
    yield from _more_runs(runs, shown)


def _more_runs(runs: Collection[str], shown: Collection[str]) -> list[str]:
    more = len(runs) - len(shown)
    return [f"and {more:,} more runs"] if more else []


def _with_score(run: str, metric: Metric, mean: float | None) -> str:
    return f"{run}: {measure_at(*metric)} {score(mean)}"


def _with_fall(line: str, fall: Falling | None) -> str:
    """A run's line and, if the run is falling, since when."""
    return line if fall is None else f"{line} ({fall.in_words})"


def _first_results(verdict: Verdict) -> dict[str, Result]:
    """The result that shows the change of each run: the first one that failed, or the first one."""
    results: dict[str, Result] = {}
    for result in verdict.results:
        if result.run is None or not _has_change(result):
            continue
        before = results.get(result.run)
        if before is None or (result.result == FAIL and before.result != FAIL):
            results[result.run] = result
    return results


def _has_change(result: Result) -> bool:
    """Whether a result says by how much the mean over all queries changed."""
    if result.baseline is None or result.difference is None:
        return False
    return result.slice is None and not result.weighted


def _with_change(result: Result) -> str:
    """`hybrid: ndcg@10 0.7431, -0.0384 against the good nights to 2026-11-19`."""
    name = f"{result.run}: {result.measure}@{result.cutoff}"
    change = f"{difference(result.difference)}{_both_sides(result)}"
    return f"{name} {score(result.mean)}, {change} {_baseline_in_words(result)}"


def _both_sides(result: Result) -> str:
    """The changes on both sides of new judgments, neither of which is fair by itself."""
    changes = side_changes(result.sides)
    if not changes:
        return ""
    if {OLD, NEW} <= changes.keys():
        old, new = difference(changes[OLD]), difference(changes[NEW])
        return f" ({old} under the old judgments, {new} under the new ones)"
    low, high = min(changes.values()), max(changes.values())
    return f" ({difference(low)} to {difference(high)} across the changes of judgments)"


def _baseline_in_words(result: Result) -> str:
    """The baseline of a result: `against bm25`, `since 2026-11-19`."""
    if result.since is not None:
        return f"since {result.since}"
    if result.baseline == GOOD:
        return f"against the good nights to {result.baseline_night}"
    run = baseline_run(str(result.baseline))
    return f"against {run or result.baseline_night or result.baseline}"
