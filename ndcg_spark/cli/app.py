"""The program: its commands, and how it ends.

Slow modules are imported inside the commands, so that help is instant.
"""

import logging
import sys
import warnings

import click

from ndcg_spark import __version__
from ndcg_spark.cli.evaluate import check, compare_lists, conventions, convert, evaluate, explain, judge_next, judgments
from ndcg_spark.cli.nights import compare, expire, export, gate, nights, note, report, trend
from ndcg_spark.cli.options import Command
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import Messages, prepare_streams, reported_errors


class Commands(Command, click.Group):
    """The program, whose commands are listed in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)


app = Commands(
    "ndcg-spark",
    commands=[
        *(evaluate, check, judge_next, judgments, convert),
        *(conventions, compare, compare_lists, gate, explain, trend, report, nights, note),
        *(export, expire),
    ],
    help="Graded NDCG@k of search and recommendation results, on a laptop and on Spark.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, message="%(prog)s %(version)s")(app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; a failure with a known cause prints one message."""
    prepare_streams()
    # Libraries log failures that our own message already reports.
    logging.getLogger().addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    words = sys.argv[1:] if arguments is None else arguments
    with Messages(words).printed() as messages, reported_errors(messages):
        for word in words:
            # Where the command line is not UTF-8, Python keeps its bytes as surrogates.
            if any("\ud800" <= character <= "\udfff" for character in word):
                raise ConfigurationError(f"arguments: {word!r} is not UTF-8; rename it")
        raise SystemExit(app(args=words, prog_name="ndcg-spark", standalone_mode=False) or 0)
