"""The commands: arguments become a configuration, a configuration becomes one call of a job, a failure an exit code.

Modules that take long to import are imported inside the commands, so that help answers at once.
"""

import contextlib
import dataclasses
import datetime
import logging
import os
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ndcg_spark.convention.explanation import explain_preset, list_presets_and_options
from ndcg_spark.errors import ConfigurationError, NdcgSparkError
from ndcg_spark.interrupts import give_way, stand
from ndcg_spark.masking import masked
from ndcg_spark.options import EngineName, Format, configured, spread
from ndcg_spark.plain import message
from ndcg_spark.report.streams import as_json, complain, prepare_streams, printing

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig


class _Command(TyperCommand):
    """A command whose help, which is printed while its arguments are read, may find that stdout is full."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _printing_help():
            return super().parse_args(ctx, spread(args))


class _Commands(TyperGroup):
    """The same for the help of the program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _printing_help():
            return super().parse_args(ctx, args)


def _printing_help() -> contextlib.AbstractContextManager[None]:
    # Where stdout is closed, an evaluation still publishes its night, and help has nowhere to go.
    return contextlib.nullcontext() if sys.stdout is None else printing()


app = typer.Typer(
    cls=_Commands,
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
_OF_SCORES = ("output", "cutoffs", "dataset")

_Output = Annotated[str, typer.Argument(metavar="OUTPUT", help="The folder that keeps the scores.")]


@app.command(cls=_Command, epilog=_EXIT_CODES)
@configured()
def evaluate(
    config: "EvaluationConfig",
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
    explain_plan: Annotated[
        bool, typer.Option("--explain-plan", help="Print how it would compute; compute nothing.")
    ] = False,
) -> None:
    """Score results against judgments: NDCG per query and per dataset.

    Paths may have {date} in them.
    """
    from ndcg_spark.job.checking import explain
    from ndcg_spark.job.evaluating import run as run_job
    from ndcg_spark.report.terminal import Progress, print_scores

    if explain_plan:
        if json_:
            raise ConfigurationError("arguments: --explain-plan prints text; leave --json out")
        _say(explain(config).split("\n"))
        return
    with Progress(_silent(json_)).running() as progress:
        outcome = run_job(config, progress.tell)
    if json_:
        shown = outcome.output and masked(outcome.output)
        _print_json(dataclasses.asdict(dataclasses.replace(outcome, output=shown)))
        return
    with printing():
        print_scores(outcome)


@app.command(cls=_Command, epilog=_EXIT_CODES)
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

    with Progress(_silent(json_)).running() as progress:
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


def _silent(json_: bool) -> bool:
    """Whether steps are not shown: spark-submit merges stderr into stdout, where the JSON object must be alone."""
    return json_ and "PYSPARK_GATEWAY_PORT" in os.environ


@app.command("conventions", cls=_Command)
def show_conventions(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A preset, for its options and formula.")] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="JUDGMENTS RESULTS", help="Score the same data under every preset, side by side."),
    ] = None,
    cutoffs: Annotated[str | None, typer.Option(help="Ranks of the comparison, and all. [default: 10]")] = None,
    format_: Format = None,
    engine: EngineName = None,
) -> None:
    """List the presets and options, explain a preset, or compare them all on your data."""
    if compare is not None and name is not None:
        raise ConfigurationError(f"arguments: --compare scores under every preset, not only {name}; give one of them")
    if compare is None and any((cutoffs, format_, engine)):
        raise ConfigurationError("arguments: --cutoffs, --format and --engine are of a comparison; give --compare too")
    if compare is not None:
        from ndcg_spark.config import validate
        from ndcg_spark.job.every_preset import compare_presets
        from ndcg_spark.report.terminal import Progress, print_comparison

        judgments, results = ({"path": path, "format": format_} for path in compare)
        settings = {"judgments": judgments, "results": results, "cutoffs": cutoffs or "10", "engine": engine or "auto"}
        with Progress().running() as progress:
            rows = compare_presets(validate(settings, "arguments"), progress.tell)
        with printing():
            print_comparison(rows)
    elif name is not None:
        _say(explain_preset(name))
    else:
        _say(list_presets_and_options())


@app.command("nights", cls=_Command)
def list_nights(output: _Output, json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the committed nights: dataset, date, runs, queries, convention, evaluation, when, version."""
    from ndcg_spark.nights.committed import committed
    from ndcg_spark.report.terminal import print_nights

    found = committed(output)
    if json_:
        _print_json([dataclasses.asdict(night) for night in found])
        return
    with printing():
        print_nights(found)


@app.command(cls=_Command)
def recover(output: _Output) -> None:
    """Finish or remove what killed evaluations have left behind; every evaluation does this first."""
    from ndcg_spark.nights.recovery import left_alone
    from ndcg_spark.nights.recovery import recover as recover_nights

    stand(_HALF_DONE)
    done = recover_nights(output)
    _say([*done, *left_alone(output)] or ["nothing to recover"])


@app.command(cls=_Command)
def expire(
    output: _Output,
    keep_days: Annotated[int, typer.Option(min=0, help="Nights dated longer ago than this go.")],
) -> None:
    """Remove old nights, and what dead evaluations have left behind; say what was removed."""
    from ndcg_spark.nights.committed import expire as expire_nights

    today = datetime.datetime.now(datetime.UTC).date()
    stand(_HALF_DONE)
    _say(expire_nights(output, keep_days, today) or ["nothing to remove"])


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; a failure that can be explained prints one message."""
    prepare_streams()
    # What libraries log about a failure is left out, as our own message says it once.
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    try:
        app(args=list(map(_text, sys.argv[1:] if arguments is None else arguments)), prog_name="ndcg-spark")
    except NdcgSparkError as error:
        # A failure that was caused by a signal is not reported.
        give_way()
        complain(str(error))
        raise SystemExit(error.exit_code) from error


def _text(argument: str) -> str:
    """An argument as UTF-8 reads it, which names of files and runs are in whatever the locale."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeEncodeError:
        # It was no argument of the process, but text.
        return argument
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"arguments: {argument!r} is no UTF-8; rename it") from error
