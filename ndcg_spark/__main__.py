"""The program `ndcg-spark`, which can also be run as `python -m ndcg_spark` or with spark-submit.

Slow modules are imported inside the commands, so that help is instant.
"""

import contextlib
import gc
import io
import logging
import os
import signal
import sys
import types
from traceback import format_exception
from typing import NoReturn

import click

from ndcg_spark.cli.commands import advised, app, message_options
from ndcg_spark.errors import (
    ConfigurationError,
    NdcgSparkError,
    engine_imports,
    hide_library_warnings,
)
from ndcg_spark.report.console import Messages, prepare_streams
from ndcg_spark.text import masked

#: The number of new objects after which Python looks for reference cycles in our own process. With
#: Python's default of 700, these searches took a tenth of the time of a small evaluation.
_OBJECTS_PER_SEARCH = 100_000


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code. A failure with a known cause prints one message.

    SIGINT and SIGTERM end the process at once. Nothing is ever published in part, and the next run
    removes leftovers.
    """
    # Python would handle SIGINT in its main thread, which may be waiting for an engine.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    prepare_streams()
    sys.excepthook = _print_traceback
    # Libraries log failures that our own message already reports.
    logging.getLogger().addHandler(logging.NullHandler())
    hide_library_warnings()
    words = sys.argv[1:] if arguments is None else arguments
    with Messages(**message_options(words)).printed() as messages:
        try:
            with engine_imports():
                _refuse_undecoded(words)
                code = app(args=words, prog_name="ndcg-spark", standalone_mode=False)
                raise SystemExit(code or 0)
        except click.UsageError as error:
            error = advised(error)
            if messages.wants_json or messages.log_format:
                messages.fail(ConfigurationError(error.format_message()))
            usage = io.StringIO()
            error.show(usage)
            sys.stderr.write(masked(usage.getvalue()))
            raise SystemExit(ConfigurationError.exit_code) from error
        except NdcgSparkError as error:
            messages.fail(error)


def _refuse_undecoded(words: list[str]) -> None:
    """Raise ConfigurationError for an argument that is not UTF-8.

    Python keeps each byte that it cannot decode as a surrogate.
    """
    for word in words:
        if any("\ud800" <= character <= "\udfff" for character in word):
            raise ConfigurationError(f"arguments: {word!r} is not UTF-8; rename it")


def _print_traceback(
    _: type[BaseException], error: BaseException, traceback: types.TracebackType | None
) -> None:
    """Print Python's traceback of a bug, without secrets that a library's message may contain."""
    lines = format_exception(type(error), error, traceback)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(masked("".join(lines)))


def program() -> NoReturn:
    """Run `main` in UTF-8 and exit at once, because Python's shutdown takes as long as a small
    evaluation.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.environ["PYTHONUTF8"] = "1"  # for an engine's processes
        again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606  # this program itself
    gc.set_threshold(_OBJECTS_PER_SEARCH)
    try:
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    for stream in (sys.stdout, sys.stderr):
        # A failure to write has already been reported, or nobody is reading the output.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    program()
