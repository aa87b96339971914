"""The commands for published nights: compare, gate, nights, trend, report, note, export and
expire.
"""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ndcg_spark.cli import shared_options
from ndcg_spark.cli.shared_options import (
    FORMATS,
    argument,
    choice,
    command,
    date,
    load_arguments,
    many,
    option,
    output_format,
)
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import echo, print_view, refuse_unwritable
from ndcg_spark.voices import OPTIONS

if TYPE_CHECKING:
    from ndcg_spark.comparison.human_grades import HumanGrades

_OTHER_NIGHT = "YYYY-MM-DD|good"
_MEASURES = "MEASURE[@CUTOFF],..."
_COUNT = click.IntRange(min=0)


@command(
    shared_options.output,
    shared_options.night,
    shared_options.dataset,
    many("--baseline baselines", "RUN", "Run to compare the others with. May be repeated."),
    option("--baseline-date", _OTHER_NIGHT, "Night to compare this one with, run by run."),
    many(
        "--run runs",
        "RUN",
        "Compare and adjust p values for only this run. May be repeated. [default: all]",
    ),
    option("--measures", _MEASURES, "Measures to compare. [default: the headline]"),
    shared_options.slices,
    option("--weights", "FILE", "Weights of queries (query_id, weight), for extra weighted rows."),
    choice(
        "--correction",
        "How p values are adjusted.",
        "holm",
        "bonferroni",
        "bh",
        "none",
        default="holm",
    ),
    option(
        "--alpha",
        "LEVEL",
        "Significance level; intervals cover 1 - alpha.",
        type=float,
        default=0.05,
    ),
    option(
        "--margin",
        "DIFFERENCE",
        "Largest difference that does not matter.",
        type=float,
        default=0.01,
    ),
    option(
        "--queries",
        "N",
        "List the N queries of each run that lost and won most (not in CSV).",
        type=_COUNT,
        default=0,
    ),
    *shared_options.human,
    option(
        "--over-datasets",
        None,
        "Print only the comparison over the datasets, with a row per run.",
        is_flag=True,
    ),
    output_format(*FORMATS),
)
def compare(
    output: str,
    style: str | None,
    date: str | None,
    dataset: str | None,
    baseline_date: str | None,
    measures: str | None,
    over_datasets: bool,
    human: Path | None,
    assume_missing_at_random: bool,
    **arguments: Any,
) -> None:
    """Compare published runs with a baseline.

    Prints differences, confidence intervals, p values and conclusions. A baseline is a run of the
    same night, another night, or a run of another night. A run is the same as the baseline if the
    difference is certainly below --margin. If two nights have different judgments and ndcg-spark
    rescore has scored them, they are compared under the old and under the new judgments; a run is
    better or worse only if both comparisons agree. With --human, a judge-next sample that people
    have graded corrects the difference for the errors of a machine judge.
    """
    from ndcg_spark.comparison.differences import ComparisonOptions
    from ndcg_spark.comparison.matrix import read_query_tables
    from ndcg_spark.comparison.runs import (
        compare_nights,
        parse_metrics,
        refuse_no_comparison_over_datasets,
    )
    from ndcg_spark.report.comparisons import print_compared, print_over_datasets

    if over_datasets and arguments["queries"]:
        raise ConfigurationError(
            "arguments: --over-datasets does not list queries; leave out --queries"
        )
    tables = {name: arguments.pop(name) for name in ("slices", "weights")}
    attributes, weights = read_query_tables(load_arguments(tables, needs_inputs=False))
    metrics = parse_metrics(measures) if measures else {}
    options = ComparisonOptions(metrics, **arguments, attributes=attributes, weights=weights)
    grades = _human_grades(human, assume_missing_at_random)
    if grades is not None and over_datasets:
        raise ConfigurationError("arguments: --human covers one dataset; leave out --over-datasets")
    compared = compare_nights(output, options, date, dataset, baseline_date, grades)
    if not compared.rows:
        sentence = "there is no run to compare with the baseline; give a different one"
        raise ConfigurationError(f"arguments: {sentence}")
    if over_datasets:
        refuse_no_comparison_over_datasets(compared)
        print_over_datasets(compared, style)
        return
    print_compared(compared, style)


def _human_grades(file: Path | None, assume_missing_at_random: bool) -> "HumanGrades | None":
    """The sample of --human, or None."""
    from ndcg_spark.comparison.human_grades import HumanGrades

    if file is not None:
        return HumanGrades(file, assume_missing_at_random)
    if assume_missing_at_random:
        raise ConfigurationError("arguments: --assume-missing-at-random is for --human; give both")
    return None


@command(
    shared_options.output,
    option(
        "--config", "FILE", "TOML file with the [gate].", type=shared_options.FILE, required=True
    ),
    shared_options.night,
    shared_options.dataset,
    shared_options.accept_baseline,
    option("--run", "RUN", "Accept the night only for this run. May be repeated.", multiple=True),
    option(
        "--acknowledge", "REASON", "Acknowledge a loss in this night as known, for this reason."
    ),
    date("--until", "Last date of the acknowledgement. [default: 14 days later]"),
    option("--withdraw", None, "Withdraw an acceptance or an acknowledgement.", is_flag=True),
    option(
        "--rehearse", None, "Show what this gate would have decided on every night.", is_flag=True
    ),
    shared_options.junit,
    output_format(*FORMATS),
    shared_options.messages,
    codes=shared_options.GATE_CODES,
)
def gate(
    output: str,
    config: Path,
    date: str | None,
    dataset: str | None,
    accept_baseline: str | None,
    run: tuple[str, ...],
    acknowledge: str | None,
    until: str | None,
    withdraw: bool,
    rehearse: bool,
    junit: Path | None,
    style: str | None,
) -> None:
    """Check a published night again, or record a decision about it.

    The night's scores and verdict do not change. An accepted night becomes a baseline for later
    nights. An acknowledged loss does not fail later nights unless it gets worse.
    """
    from ndcg_spark.config import NightConfig, load
    from ndcg_spark.gate.verdict import worst_exit_code
    from ndcg_spark.job.decisions import NO_DECISION, Decision
    from ndcg_spark.job.gate import date_to_judge, gate_published, rehearse_published
    from ndcg_spark.monitoring.metrics import mark_accepted
    from ndcg_spark.report.night_tables import print_rehearsal, verdict_view, write_junit

    decision = Decision(accept_baseline, run, acknowledge, until, withdraw)
    if rehearse:
        if date or decision != NO_DECISION or junit:
            raise ConfigurationError(
                "arguments: --rehearse covers all nights and changes none; give only --dataset"
            )
        settings = load(config, {"output": output}, NightConfig)
        print_rehearsal(rehearse_published(settings, output, dataset), style)
        return
    chosen_date = date or date_to_judge(output, dataset)
    settings = load(config, {"output": output, "date": chosen_date}, NightConfig)
    refuse_unwritable("junit", junit, remove=True)
    verdicts = gate_published(settings, output, dataset, decision)
    if decision != NO_DECISION:
        mark_accepted(settings, output, verdicts)
    if junit is not None:
        write_junit(junit, verdicts)
    print_view(verdict_view(verdicts), style)
    raise SystemExit(worst_exit_code(verdicts))


@command(
    shared_options.output,
    shared_options.evaluation(
        only="judgments column split_ids as_of relevance grades input_format engine remote"
    ),
    date("--since", "Only the nights from this date on."),
    shared_options.dataset,
)
def rescore(output: str, since: str | None, dataset: str | None, **arguments: Any) -> None:
    """Score the kept lists of nights under different judgments.

    The judgments are --judgments or, by default, those of each dataset's newest night. By default,
    the newest night is also scored under the judgments of earlier nights, and where the judgments
    changed between two nights, each night is scored under the judgments of the other. The published
    scores do not change: compare, trend, report and read_scores use the new scores where judgments
    change. An evaluation with a gate does the same for the nights that it compares with.
    """
    from ndcg_spark.job.inputs import engine_for
    from ndcg_spark.job.rescore import rescore as job

    config = load_arguments(arguments, needs_inputs=False)
    with engine_for(config) as engine:
        done = job(engine, config, output, since, dataset)
    echo([f"made {done.made:,} copies of scores; {done.kept:,} already existed", *done.refused])


@command(
    shared_options.output,
    option("--all every", None, "List every evaluation with its means.", is_flag=True),
    option("--acknowledged", None, "List the acknowledged losses.", is_flag=True),
    option(
        "--slices",
        "FILE",
        "Show the scores of one night by slices of queries: query_id, attribute, value; or a "
        "column for each attribute.",
    ),
    date("--date", "Date of the night, with --slices. [default: the newest]"),
    option("--dataset", "NAME", "Only this dataset, with --slices."),
    output_format(*FORMATS),
)
def nights(
    output: str,
    every: bool,
    acknowledged: bool,
    slices: str | None,
    date: str | None,
    dataset: str | None,
    style: str | None,
) -> None:
    """List the published nights with their scores.

    CSV and JSON contain all scores of all runs, except those of slices. With --slices, one night is
    shown as evaluate would have printed it with these slices.
    """
    if [every, acknowledged, slices is not None].count(True) > 1:
        raise ConfigurationError(
            "arguments: --all, --acknowledged and --slices list different things; give one"
        )
    if slices is not None:
        _print_sliced(output, slices, date, dataset, style)
        return
    if date is not None or dataset is not None:
        raise ConfigurationError("arguments: --date and --dataset choose a night for --slices")
    if every:
        _print_evaluations(output, style)
        return
    if acknowledged:
        _print_acknowledged(output, style)
        return
    from ndcg_spark.nights.log import committed
    from ndcg_spark.nights.reader import read_again, read_dataset_scores, refuse_no_nights
    from ndcg_spark.report.night_tables import print_nights

    @read_again
    def read() -> Any:
        published = committed(output)
        return published, read_dataset_scores(published)

    published, scores = read()
    if not published.attempts:
        # Without a failed evaluation to list, an output without nights is an error.
        refuse_no_nights(published, output)
    print_nights(published, scores, style)


def _print_sliced(
    output: str, slices: str, date: str | None, dataset: str | None, style: str | None
) -> None:
    from ndcg_spark.comparison.matrix import read_query_tables
    from ndcg_spark.nights.log import committed
    from ndcg_spark.nights.reader import read_again, select_nights
    from ndcg_spark.nights.sliced import sliced_scores
    from ndcg_spark.report.printed_scores import print_sliced

    attributes, _ = read_query_tables(load_arguments({"slices": slices}, needs_inputs=False))

    @read_again
    def read() -> Any:
        chosen = select_nights(committed(output), output, date, dataset)
        return chosen, sliced_scores(chosen, attributes)

    chosen, scores = read()
    print_sliced(chosen, scores.all_queries, scores.slices, attributes, style)


def _print_acknowledged(output: str, style: str | None) -> None:
    from ndcg_spark.nights.log import committed
    from ndcg_spark.nights.reader import refuse_no_nights
    from ndcg_spark.report.night_tables import print_acknowledged

    published = committed(output)
    refuse_no_nights(published, output)
    print_acknowledged(published, style)


def _print_evaluations(output: str, style: str | None) -> None:
    from ndcg_spark.nights.log import committed
    from ndcg_spark.nights.reader import refuse_no_nights
    from ndcg_spark.report.past_means import print_evaluations

    published = committed(output)
    refuse_no_nights(published, output)
    print_evaluations(published, style)


@command(
    shared_options.output,
    shared_options.dataset,
    option("--run", "RUN", "Only this run."),
    option("--measures", _MEASURES, "Measures to show. [default: the headline]"),
    option(
        "--last",
        "N",
        "Number of nights to show; statistics use all nights.",
        type=click.IntRange(min=1),
        default=60,
    ),
    output_format(*FORMATS),
)
def trend(output: str, style: str | None, **request: Any) -> None:
    """Show the scores of the nights, and point out unusual ones.

    When judgments change, the line continues if the lists around the change were stored: earlier
    values are shifted to the level under the new judgments (column chained). The line is
    interrupted if the convention changed or too few lists were stored.
    """
    from ndcg_spark.comparison.trend import lines
    from ndcg_spark.report.night_tables import trend_view

    print_view(trend_view(*lines(output, **request)), style)


@command(
    shared_options.output,
    option("--html", "FILE", "HTML file to write.", type=shared_options.FILE),
    option(
        "--site",
        "FOLDER",
        "Folder for a page per night, an index and latest.html.",
        type=shared_options.FILE,
    ),
    shared_options.night,
    shared_options.dataset,
    option(
        "--run",
        "RUN",
        "Run to show in detail. [default: the verdict's, otherwise a worse one, or the best]",
    ),
    option(
        "--measure",
        "MEASURE",
        "Measure to show, e.g. ndcg@10. [default: the first check's, otherwise the headline]",
    ),
    option("--baseline", "RUN", "Run to compare with."),
    option(
        "--baseline-date",
        _OTHER_NIGHT,
        "Night to compare with. [default: the gate's, otherwise the newest]",
    ),
    option(
        "--slices",
        "FILE",
        "Slices of queries (query_id, attribute, value) to show instead of the night's own.",
    ),
    shared_options.labels,
    *shared_options.human,
)
def report(
    output: str,
    html: Path | None,
    site: Path | None,
    labels: Path | None,
    human: Path | None,
    assume_missing_at_random: bool,
    **arguments: Any,
) -> None:
    """Write a night as one HTML page, or all nights as a site.

    A page needs no network. It begins with the verdict: which run is better or worse, by how much,
    how certain that is, since when, which queries caused it, why, and what to do. Details follow in
    collapsed sections.
    """
    from ndcg_spark.comparison.matrix import read_query_tables
    from ndcg_spark.report.labels import Labels, read_labels
    from ndcg_spark.report.outline import Request
    from ndcg_spark.report.page import write_report
    from ndcg_spark.report.site import write_site

    date, slices = arguments.pop("date"), arguments.pop("slices")
    is_one_page = html is not None and site is None
    is_site = site is not None and html is None and date is None
    if not is_one_page and not is_site:
        raise ConfigurationError(
            "arguments: give --html FILE for one page, or --site FOLDER without --date"
        )
    if human is not None and html is None:
        raise ConfigurationError("arguments: --human covers one night; use --html, not --site")
    grades = _human_grades(human, assume_missing_at_random)
    attributes, _ = read_query_tables(load_arguments({"slices": slices}, needs_inputs=False))
    names = read_labels(labels) if labels else Labels()
    request = Request(**arguments, attributes=attributes, labels=names, human=grades)
    if html is not None:
        write_report(output, html, date, request)
    elif site is not None:
        write_site(output, site, request)
    echo([str(html or site)])


@command(
    shared_options.output,
    option(
        "--to",
        "TABLES",
        "delta:PATH, iceberg:CATALOG.NAMESPACE or table:CATALOG.SCHEMA.",
        required=True,
    ),
    date("--date", "Only the nights of this date."),
    date("--since", "Only the nights from this date on."),
)
def export(output: str, to: str, date: str | None, since: str | None) -> None:
    """Copy nights to Delta tables, Iceberg tables or tables of a catalog.

    The rows of each date are replaced, so repeating the command changes nothing. Missing tables are
    created.
    """
    from ndcg_spark.nights.export import export as export_nights

    export_nights(output, to, date, since, lambda sentence: echo([sentence]))


@command(
    shared_options.output,
    argument("text", 'What to remember about the night, such as "new ranker".'),
    shared_options.night,
    shared_options.dataset,
)
def note(output: str, text: str, date: str | None, dataset: str | None) -> None:
    """Add a note to a night, which trend and report then show.

    A night that is evaluated again keeps its notes.
    """
    from ndcg_spark.nights.log import committed, revise
    from ndcg_spark.nights.reader import select_nights

    for night in select_nights(committed(output), output, date, dataset):
        revise(night, note=text)
        echo([f"noted for {night}"])


@command(
    shared_options.output,
    option(
        "--keep-days", "DAYS", "Remove nights older than this.", type=click.IntRange(0, 700_000)
    ),
    date("--date", "Remove the nights of this date, for example a wrong date."),
    option("--baselines", None, "Also remove baselines of the gate.", is_flag=True),
    option("--dry-run", None, "Print what would be removed; change nothing.", is_flag=True),
)
def expire(
    output: str, keep_days: int | None, date: str | None, baselines: bool, dry_run: bool
) -> None:
    """Remove old nights and leftovers of killed evaluations.

    Prints what was removed, including superseded evaluations, and which baselines were kept.
    """
    from ndcg_spark.comparison.needed_nights import needed_dates
    from ndcg_spark.nights.expire import removable, removals_in_words, remove

    is_one_given = (keep_days is None) != (date is None)
    if not is_one_given:
        raise ConfigurationError(
            "arguments: give --keep-days for old nights, or --date for the nights of one date"
        )
    before = ""
    if keep_days is not None:
        today = datetime.datetime.now(datetime.UTC).date()
        before = (today - datetime.timedelta(keep_days)).isoformat()
    removals, kept = removable(
        output,
        before=before,
        date=date,
        baselines=baselines,
        needed=needed_dates,
    )
    if dry_run:
        lines = removals_in_words(removals, "would remove")
    else:
        lines = remove(output, removals)
    lines += [notice.worded(OPTIONS) for notice in kept]
    echo(lines or ["nothing to remove"])
