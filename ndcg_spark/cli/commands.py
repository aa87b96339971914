"""All commands of the program."""

import click

from ndcg_spark import __version__
from ndcg_spark.cli import evaluation_commands, init_command, night_commands

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
    # click raises subclasses for all errors except too many arguments.
    has_too_many_arguments = type(error) is click.UsageError
    if not has_too_many_arguments:
        return error
    evaluate = "ndcg-spark evaluate JUDGMENTS RESULTS... --baseline RUN"
    return click.UsageError(f"{error.message}. To compare runs in files: {evaluate}", context)
