"""The commands: arguments become a configuration, a configuration becomes one call of a job, a failure an exit code.

Modules that take long to import are imported inside the commands, so that help answers at once.
"""

import datetime
import logging
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ndcg_spark.convention.explanation import explain_preset, list_presets_and_options
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.interrupts import stand
from ndcg_spark.options import EngineName, InputFormat, Json, KeptScores, OutputFormat, configured, spread
from ndcg_spark.plain import message
from ndcg_spark.report.failing import silent, told_failures
from ndcg_spark.report.helping import Command, Commands
from ndcg_spark.report.streams import as_json, prepare_streams, printing
from ndcg_spark.showing import explain_query, show_trend, write_report

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig


app = typer.Typer(
    cls=Commands,
    help="Graded NDCG@k of search and recommendation results, on a laptop and on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXIT_CODES = "Exit codes: 0 done, 1 a bug, 2 arguments or configuration, 3 input refused, 4 engine or storage failed."

#: What is said when a command that changes the kept scores is interrupted.
_HALF_DONE = "run it again, as it may be half done"

#: The options that a check does not have, as it scores nothing.
_OF_SCORES = ("output", "documents", "cutoffs", "dataset")


@app.command(cls=Command, epilog=_EXIT_CODES)
@configured()
def evaluate(
    config: "EvaluationConfig",
    format_: OutputFormat = None,
    json_: Json = False,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Print every query's scores instead: table, json lines or csv.")
    ] = False,
    sort: Annotated[
        str | None, typer.Option(metavar="COLUMN[@CUTOFF][:asc|:desc]", help="Order of what is printed.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page of HTML about the scores, too.")
    ] = None,
    explain_plan: Annotated[
        bool, typer.Option("--explain-plan", help="Print how it would compute; compute nothing.")
    ] = False,
) -> None:
    """Score results against judgments: NDCG per query and per dataset.

    Paths may have {date} in them.
    """
    from ndcg_spark.job.checking import explain
    from ndcg_spark.job.evaluating import run as run_job
    from ndcg_spark.job.handing_over import QueryScores
    from ndcg_spark.report import formats
    from ndcg_spark.report.per_query import print_query_scores
    from ndcg_spark.report.terminal import Progress
    from ndcg_spark.sheets import sorting

    style = formats.chosen(format_, json_, formats.OF_QUERIES if per_query else formats.FORMATS)
    columns = sorting.OF_QUERIES if per_query else sorting.OF_DATASETS
    order = None if sort is None else sorting.order_of(sort, columns, config.cutoffs)
    if explain_plan:
        if format_ or json_ or per_query or sort or report:
            raise ConfigurationError(
                "arguments: --explain-plan prints text; leave --format, --json, --report, --per-query and --sort out"
            )
        _say(explain(config).split("\n"))
        return

    def take(rows: Iterable[Mapping[str, Any]]) -> None:
        with printing():
            print_query_scores(rows, style)

    with Progress(silent(style)).running() as progress:
        wanted = QueryScores(take, order) if per_query else None
        if report is None:
            outcome = run_job(config, progress.tell, wanted)
        else:
            from ndcg_spark.report.reports import reported

            outcome = reported(config, report, progress.tell, lambda kept, tell: run_job(kept, tell, wanted))
    if not per_query:
        with printing():
            formats.print_outcome(outcome, style, order)


@app.command(cls=Command, epilog=_EXIT_CODES)
@configured(*_OF_SCORES)
def check(
    config: "EvaluationConfig",
    json_: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Hold judgments and results to the input contract of a convention; nothing is scored.

    Unlike an evaluation, it looks for duplicates everywhere, not only where they could change a score.
    """
    from ndcg_spark.job.checking import check as check_input
    from ndcg_spark.report.terminal import Progress, print_check

    with Progress(silent("json" if json_ else "table")).running() as progress:
        found = check_input(config, progress.tell)
    if json_:
        _print_json(found)
        return
    with printing():
        print_check(found)


def _say(lines: list[str]) -> None:
    with printing():
        print("\n".join(map(message, lines)))


def _print_json(value: Any) -> None:
    with printing():
        print(as_json(value))


@app.command("conventions", cls=Command)
def show_conventions(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A preset, for its options and formula.")] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="JUDGMENTS RESULTS", help="Score the same data under every preset, side by side."),
    ] = None,
    cutoffs: Annotated[str | None, typer.Option(help="Ranks of the comparison, and all. [default: 10]")] = None,
    input_format: InputFormat = None,
    format_: OutputFormat = None,
    json_: Json = False,
    engine: EngineName = None,
) -> None:
    """List the presets and options, explain a preset, or compare them all on your data."""
    if compare is not None and name is not None:
        raise ConfigurationError(f"arguments: --compare scores under every preset, not only {name}; give one of them")
    if compare is None and any((cutoffs, input_format, format_, json_, engine)):
        raise ConfigurationError(
            "arguments: --cutoffs, --engine and all formats are of a comparison; give --compare too"
        )
    if compare is not None:
        from ndcg_spark.config import validate
        from ndcg_spark.job.every_preset import compare_presets
        from ndcg_spark.report import formats
        from ndcg_spark.report.terminal import Progress

        style = formats.chosen(format_, json_)
        judgments, results = ({"path": path, "format": input_format} for path in compare)
        settings = {"judgments": judgments, "results": results, "cutoffs": cutoffs or "10", "engine": engine or "auto"}
        with Progress(silent(style)).running() as progress:
            rows = compare_presets(validate(settings, "arguments"), progress.tell)
        with printing():
            formats.print_comparison(rows, style)
    elif name is not None:
        _say(explain_preset(name))
    else:
        _say(list_presets_and_options())


app.command("explain", cls=Command, epilog=_EXIT_CODES)(explain_query)
app.command("trend", cls=Command)(show_trend)
app.command("report", cls=Command)(write_report)


@app.command("nights", cls=Command)
def list_nights(output: KeptScores, format_: OutputFormat = None, json_: Json = False) -> None:
    """List the committed nights with their scores; csv and json have the scores of all runs."""
    from ndcg_spark.nights.committed import committed
    from ndcg_spark.nights.kept_scores import kept_scores
    from ndcg_spark.report.formats import chosen
    from ndcg_spark.report.nights import print_nights

    style = chosen(format_, json_)
    found = committed(output)
    scores = kept_scores(output, found)
    with printing():
        print_nights(found, scores, style)


@app.command(cls=Command)
def recover(output: KeptScores) -> None:
    """Finish or remove what killed evaluations have left behind; every evaluation does this first."""
    from ndcg_spark.nights.recovery import left_alone
    from ndcg_spark.nights.recovery import recover as recover_nights

    stand(_HALF_DONE)
    done = recover_nights(output)
    _say([*done, *left_alone(output)] or ["nothing to recover"])


@app.command(cls=Command)
def expire(
    output: KeptScores,
    keep_days: Annotated[int, typer.Option(min=0, help="Nights dated longer ago than this go.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed; change nothing.")] = False,
) -> None:
    """Remove old nights, and what dead evaluations have left behind; say what was removed."""
    from ndcg_spark.nights.committed import expire as expire_nights
    from ndcg_spark.nights.committed import would_expire
    from ndcg_spark.nights.recovery import would_recover

    today = datetime.datetime.now(datetime.UTC).date()
    if dry_run:
        _say([*would_recover(output), *would_expire(output, keep_days, today)] or ["nothing to remove"])
        return
    stand(_HALF_DONE)
    _say(expire_nights(output, keep_days, today) or ["nothing to remove"])


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; a failure that can be explained prints one message."""
    prepare_streams()
    # What libraries log about a failure is left out, as our own message says it once.
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    given = sys.argv[1:] if arguments is None else arguments
    with told_failures(given) as at_once:
        read = spread(list(map(_text, given)))
        raise SystemExit(app(args=read, prog_name="ndcg-spark", standalone_mode=at_once) or 0)


def _text(argument: str) -> str:
    """An argument as UTF-8 reads it, which names of files and runs are in whatever the locale."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeEncodeError:
        # It was no argument of the process, but text.
        return argument
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"arguments: {argument!r} is no UTF-8; rename it") from error
