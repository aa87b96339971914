"""A failure becomes one message on stderr and, where JSON is printed, an object on stdout too."""

import contextlib
import itertools
import sys
from collections.abc import Iterator, Sequence

import click

from ndcg_spark.errors import ConfigurationError, NdcgSparkError, StorageError
from ndcg_spark.interrupts import give_way, is_published, standing
from ndcg_spark.report.console import is_merged, print_error, printing
from ndcg_spark.tables.writers import as_json
from ndcg_spark.text import message


@contextlib.contextmanager
def reported_errors(arguments: Sequence[str]) -> Iterator[None]:
    """Around the program: a failure that can be explained is reported, and becomes a SystemExit with its code."""
    json_ = _wants_json(arguments)
    try:
        yield
    except NdcgSparkError as error:
        # A failure that was caused by a signal is not reported.
        give_way()
        text = str(error)
        if is_published() and standing() not in text:
            text += f"; {standing()}"
        _report(text, error.code, error.exit_code, json_)
        raise SystemExit(error.exit_code) from error
    except click.UsageError as error:
        if json_:
            _report(error.format_message(), ConfigurationError.code, ConfigurationError.exit_code, json_)
        else:
            error.show()
        raise SystemExit(ConfigurationError.exit_code) from error


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON. It is looked at as text, because it may be wrong in other places."""
    pairs = itertools.pairwise([*arguments, ""])
    return any(word == "--format=json" or (word, after) == ("--format", "json") for word, after in pairs)


def _report(text: str, code: str, exit_code: int, json_: bool) -> None:
    """Report a failure. If stdout takes nothing, that is not reported too: the exit code stays that of the failure."""
    if not (json_ and is_merged()):
        print_error(text)
    if json_ and sys.stdout is not None:
        with contextlib.suppress(StorageError, SystemExit), printing():
            print(as_json({"error": {"code": code, "exit_code": exit_code, "message": message(text)}}))
