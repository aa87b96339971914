"""The commands: arguments become a configuration, a configuration becomes one call of a job, a failure an exit code.

Modules that take long to import are imported inside the commands, so that help answers at once.
"""

import datetime
import logging
import os
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ndcg_spark.arguments import configured
from ndcg_spark.commands.compare import compare
from ndcg_spark.commands.conventions import show_conventions
from ndcg_spark.commands.evaluate import evaluate
from ndcg_spark.commands.gate import gate
from ndcg_spark.commands.judge_next import judge_next
from ndcg_spark.commands.showing import explain_query, show_trend, write_report
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.interrupts import stand
from ndcg_spark.options import Json, KeptScores, OutputFormat
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
_OF_SCORES = ("output", "documents", "cutoffs", "measures", "bounds", "dataset")
#: Those that a list of documents does not have.
_OF_MEASURES = ("output", "documents", "measures", "bounds", "wait_for_input")


app.command(cls=Command, epilog=_GATE_CODES)(configured()(evaluate))


@app.command(cls=Command, epilog=_EXIT_CODES)
@configured(*_OF_SCORES)
def check(
    config: "EvaluationConfig",
    json_: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Check judgments and results; nothing is scored.

    They are held to the input contract of a convention. Unlike an evaluation, this looks for duplicates everywhere, not
    only where they could change a score.
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


app.command("judge-next", cls=Command, epilog=_EXIT_CODES)(configured(*_OF_MEASURES)(judge_next))
app.command("conventions", cls=Command)(show_conventions)
app.command(cls=Command, epilog=_EXIT_CODES)(compare)
app.command("gate", cls=Command, epilog=_GATE_CODES)(gate)
app.command("explain", cls=Command, epilog=_EXIT_CODES)(explain_query)
app.command("trend", cls=Command)(show_trend)
app.command("report", cls=Command)(write_report)


@app.command("nights", cls=Command)
def list_nights(
    output: KeptScores,
    measures: Annotated[str | None, typer.Option(help="What of the best run is shown, e.g. P@5 AP.")] = None,
    format_: OutputFormat = None,
    json_: Json = False,
) -> None:
    """List the published nights with their scores.

    CSV and JSON have all scores of all runs.
    """
    from ndcg_spark.nights.read import dataset_scores
    from ndcg_spark.nights.records import committed, read_again_if_replaced
    from ndcg_spark.report.formats import chosen
    from ndcg_spark.report.nights import print_nights, shown

    style = chosen(format_, json_)
    asked = shown(measures, style)
    found, scores = read_again_if_replaced(lambda: (nights := committed(output), dataset_scores(nights)))
    with printing():
        print_nights(found, scores, style, asked)


@app.command(cls=Command)
def recover(output: KeptScores) -> None:
    """Remove what killed evaluations left and what was superseded.

    Every evaluation does this first.
    """
    from ndcg_spark.nights.expire import remove, still_staged, waste

    stand(_HALF_DONE)
    done = remove(output, waste(output))
    say([*done, *still_staged(output)] or ["nothing to recover"])


@app.command(cls=Command)
def expire(
    output: KeptScores,
    keep_days: Annotated[int, typer.Option(min=0, help="Nights dated longer ago than this go.")],
    dataset: Annotated[str | None, typer.Option(help="Only nights of this dataset.")] = None,
    baselines: Annotated[bool, typer.Option("--baselines", help="Remove baselines of the gate, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed; change nothing.")] = False,
) -> None:
    """Remove old nights, and what killed evaluations left.

    It says what was removed, and which baselines stay.
    """
    from ndcg_spark.nights.expire import old_nights, remove, waste

    today = datetime.datetime.now(datetime.UTC).date()
    left = waste(output)
    old, kept = old_nights(output, keep_days, today, dataset, baselines)
    if dry_run:
        say([*(f"would remove {each.what}" for each in [*left, *old]), *kept] or ["nothing to remove"])
        return
    stand(_HALF_DONE)
    say([*remove(output, [*left, *old]), *kept] or ["nothing to remove"])


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; a failure that can be explained prints one message."""
    prepare_streams()
    # What libraries log about a failure is left out, as our own message says it once.
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    given = sys.argv[1:] if arguments is None else arguments
    with told_failures(given) as at_once:
        raise SystemExit(app(args=list(map(_text, given)), prog_name="ndcg-spark", standalone_mode=at_once) or 0)


def _text(argument: str) -> str:
    """An argument as UTF-8 reads it, which names of files and runs are in whatever the locale."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeEncodeError:
        # It was no argument of the process, but text.
        return argument
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"arguments: {argument!r} is not UTF-8; rename it") from error
