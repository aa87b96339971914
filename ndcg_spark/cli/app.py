"""The program: its commands, and how it ends.

Slow modules are imported inside the commands, so that help is instant.
"""

import logging
import os
import sys
import warnings
from typing import ClassVar

import click

from ndcg_spark import __version__
from ndcg_spark.cli.check import check, judge_next
from ndcg_spark.cli.command import Commands
from ndcg_spark.cli.compare import compare
from ndcg_spark.cli.compare_lists import compare_lists
from ndcg_spark.cli.conventions import conventions
from ndcg_spark.cli.evaluate import evaluate
from ndcg_spark.cli.expire import expire
from ndcg_spark.cli.explain import explain
from ndcg_spark.cli.gate import gate
from ndcg_spark.cli.judgments import judgments
from ndcg_spark.cli.nights import export, nights, note, trend
from ndcg_spark.cli.report import report
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import prepare_streams, print_error, reported_errors

app = Commands(
    "ndcg-spark",
    commands=[
        *(evaluate, check, judge_next, judgments),
        *(conventions, compare, compare_lists, gate, explain, trend, report, nights, note),
        *(export, expire),
    ],
    help="Graded NDCG@k of search and recommendation results, on a laptop and on Spark.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, message="%(prog)s %(version)s")(app)


class _Warnings(logging.Handler):
    """Prints what the program itself warns of, once, however often it is read."""

    told: ClassVar[set[str]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        sentence = record.getMessage()
        if sentence not in self.told:
            self.told.add(sentence)
            print_error(f"warning: {sentence}")


_WARNINGS = _Warnings(logging.WARNING)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; a failure with a known cause prints one message."""
    prepare_streams()
    # Libraries log failures that our own message already reports.
    logging.getLogger().addHandler(logging.NullHandler())
    logging.getLogger("ndcg_spark").addHandler(_WARNINGS)
    _WARNINGS.told.clear()
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    words = sys.argv[1:] if arguments is None else arguments
    with reported_errors(words):
        raise SystemExit(app(args=list(map(_utf8, words)), prog_name="ndcg-spark", standalone_mode=False) or 0)


def _utf8(argument: str) -> str:
    """An argument decoded as UTF-8: names of files and runs are UTF-8, whatever the locale."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeEncodeError:
        # The argument does not come from the process's command line.
        return argument
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"arguments: {argument!r} is not UTF-8; rename it") from error
