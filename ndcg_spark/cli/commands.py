"""All commands of the program."""

from collections.abc import Sequence
from typing import Any

import click

from ndcg_spark import __version__
from ndcg_spark.cli import evaluation_commands, init_command, night_commands
from ndcg_spark.voices import voice_of

app = click.Group(
    "ndcg-spark",
    commands=[
        evaluation_commands.evaluate,
        evaluation_commands.check,
        evaluation_commands.judge_next,
        evaluation_commands.judgments,
        evaluation_commands.convert,
        evaluation_commands.conventions,
        night_commands.compare,
        evaluation_commands.compare_lists,
        evaluation_commands.describe,
        night_commands.gate,
        night_commands.rescore,
        evaluation_commands.explain,
        night_commands.trend,
        night_commands.report,
        night_commands.nights,
        night_commands.note,
        night_commands.export,
        night_commands.expire,
        evaluation_commands.finish,
        init_command.init,
    ],
    help="Graded NDCG@k of search and recommendation results, on a laptop and on Spark.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, message="%(prog)s %(version)s")(app)


def advised(error: click.UsageError) -> click.UsageError:
    """The error, with advice if somebody gives several files to `compare`, which takes a folder."""
    context = error.ctx
    if context is None or context.command is not night_commands.compare:
        return error
    # All other errors of a command line are subclasses of UsageError.
    has_too_many_arguments = type(error) is click.UsageError
    if not has_too_many_arguments:
        return error
    evaluate = "ndcg-spark evaluate JUDGMENTS RESULTS... --baseline RUN"
    return click.UsageError(f"{error.message}. To compare runs in files: {evaluate}", context)


def message_options(arguments: Sequence[str]) -> dict[str, Any]:
    """The arguments of `Messages` from a command line, even if its other options are wrong."""
    params: list[click.Parameter] = [
        click.Option(["--format", "style"]),
        click.Option(["--log-format"], type=click.Choice(("text", "json"))),
        click.Option(["--quiet", "is_quiet"], is_flag=True),
        click.Option(["--config"]),
    ]
    params += _options_with_values(arguments, {"--format", "--log-format", "--config"})
    settings = {
        "ignore_unknown_options": True,
        "allow_extra_args": True,
        "resilient_parsing": True,
    }
    command = click.Command("messages", settings, params=params, add_help_option=False)
    given = dict(command.make_context("messages", list(arguments)).params)
    voice = voice_of(given.pop("config"))
    return {**given, "voice": voice}


def _options_with_values(arguments: Sequence[str], without: set[str]) -> list[click.Option]:
    """The options of the command that take a value, so that no value is read as an option."""
    command = app.commands.get(arguments[0]) if arguments else None
    if command is None:
        return []
    found = []
    for parameter in command.params:
        if not isinstance(parameter, click.Option) or parameter.is_flag:
            continue
        if without.isdisjoint(parameter.opts):
            found.append(click.Option(parameter.opts, nargs=parameter.nargs, expose_value=False))
    return found
