"""The commands: arguments become a configuration, a configuration becomes one call of a job, a failure an exit code.

Modules that take long to import are imported inside the commands, so that help answers at once.
"""

import datetime
import logging
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ndcg_spark.compare_command import compare as compare_nights
from ndcg_spark.conventions_command import show_conventions
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate_command import Accepted, JUnitFile
from ndcg_spark.gate_command import judge as judge_night
from ndcg_spark.interrupts import stand
from ndcg_spark.options import Json, OutputFormat, configured, spread
from ndcg_spark.report.failing import told_failures
from ndcg_spark.report.helping import Command, Commands
from ndcg_spark.report.saying import say, silent
from ndcg_spark.report.streams import as_json, prepare_streams, printing

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
_GATE_CODES = f"{_EXIT_CODES[:-1]}, 5 the gate failed, 6 no verdict."

#: What is said when a command that changes the kept scores is interrupted.
_HALF_DONE = "run it again, as it may be half done"

#: The options that a check does not have, as it scores nothing.
_OF_SCORES = ("output", "cutoffs", "dataset")

_Output = Annotated[str, typer.Argument(metavar="OUTPUT", help="The folder that keeps the scores.")]


@app.command(cls=Command, epilog=_GATE_CODES)
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
    explain_plan: Annotated[
        bool, typer.Option("--explain-plan", help="Print how it would compute; compute nothing.")
    ] = False,
    accept_baseline: Accepted = None,
    junit: JUnitFile = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="Compare the NDCG of every run with that of this one.")
    ] = None,
) -> None:
    """Score results against judgments: NDCG per query and per dataset.

    Paths may have {date} in them. With a [gate] in the configuration the night is judged before it is published.
    """
    from ndcg_spark.job.checking import explain
    from ndcg_spark.job.evaluating import run as run_job
    from ndcg_spark.job.handing_over import QueryScores, Taker
    from ndcg_spark.job.quick_look import QuickLook
    from ndcg_spark.report import formats
    from ndcg_spark.report.comparisons import print_beside_scores
    from ndcg_spark.report.junit import refuse_unwritable, write_junit
    from ndcg_spark.report.per_query import print_query_scores
    from ndcg_spark.report.terminal import Progress
    from ndcg_spark.sheets import sorting

    style = formats.chosen(format_, json_, formats.OF_QUERIES if per_query else formats.FORMATS)
    columns = sorting.OF_QUERIES if per_query else sorting.OF_DATASETS
    order = None if sort is None else sorting.order_of(sort, columns, config.cutoffs)
    if baseline and per_query:
        raise ConfigurationError("arguments: --per-query prints queries and --baseline compares runs; leave one out")
    if explain_plan:
        if any((format_, json_, per_query, sort, baseline, accept_baseline is not None, junit)):
            raise ConfigurationError(
                "arguments: --explain-plan prints text and computes nothing; leave --format, --json, --per-query, "
                "--sort, --baseline, --accept-baseline and --junit out"
            )
        say(explain(config).split("\n"))
        return

    def take(rows: Iterable[Mapping[str, Any]]) -> None:
        with printing():
            print_query_scores(rows, style)

    if junit is not None:
        if config.gate is None:
            raise ConfigurationError("arguments: --junit is of a gate; add [gate] to the configuration")
        refuse_unwritable(junit)
    look = QuickLook(baseline) if baseline else None
    taker: Taker | None = QueryScores(take, order) if per_query else look
    with Progress(silent(style)).running() as progress:
        outcome = run_job(config, progress.tell, taker, accept_baseline)
    if junit is not None:
        write_junit(junit, outcome.verdicts)
    if not per_query:
        with printing():
            if look and look.found:
                print_beside_scores(outcome, look.found, style, order)
            else:
                formats.print_outcome(outcome, style, order)
    raise typer.Exit(outcome.exit_code)


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


def _print_json(value: Any) -> None:
    with printing():
        print(as_json(value))


app.command("conventions", cls=Command)(show_conventions)
app.command(cls=Command, epilog=_EXIT_CODES)(compare_nights)
app.command("gate", cls=Command, epilog=_GATE_CODES)(judge_night)


@app.command("nights", cls=Command)
def list_nights(output: _Output, format_: OutputFormat = None, json_: Json = False) -> None:
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
def recover(output: _Output) -> None:
    """Finish or remove what killed evaluations have left behind; every evaluation does this first."""
    from ndcg_spark.nights.recovery import left_alone
    from ndcg_spark.nights.recovery import recover as recover_nights

    stand(_HALF_DONE)
    done = recover_nights(output)
    say([*done, *left_alone(output)] or ["nothing to recover"])


@app.command(cls=Command)
def expire(
    output: _Output,
    keep_days: Annotated[int, typer.Option(min=0, help="Nights dated longer ago than this go.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed; change nothing.")] = False,
) -> None:
    """Remove old nights, and what dead evaluations have left behind; say what was removed."""
    from ndcg_spark.nights.committed import expire as expire_nights
    from ndcg_spark.nights.committed import would_expire
    from ndcg_spark.nights.recovery import would_recover

    today = datetime.datetime.now(datetime.UTC).date()
    if dry_run:
        say([*would_recover(output), *would_expire(output, keep_days, today)] or ["nothing to remove"])
        return
    stand(_HALF_DONE)
    say(expire_nights(output, keep_days, today) or ["nothing to remove"])


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
