"""The entry point of `ndcg-spark`, `python -m ndcg_spark` and spark-submit."""

import contextlib
import os
import signal
import sys
from typing import NoReturn


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code. A signal ends the process at once, as a night needs no undoing."""
    # Python would act on it in its main thread, which may wait for an engine for minutes.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ndcg_spark.cli.app import main as command_line

    command_line(arguments)


def program(arguments: list[str] | None = None) -> NoReturn:
    """Do what `main` does, in UTF-8 whatever the locale, and end the process as soon as its output is written.

    By then, everything that was opened has been closed. Python's own shutdown takes as long as a small evaluation.
    """
    if arguments is None and sys.getfilesystemencoding() != "utf-8":
        os.environ["PYTHONUTF8"] = "1"  # for the processes of an engine
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606  # ourselves
    code = 0
    try:
        main(arguments)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    for stream in (sys.stdout, sys.stderr):
        # A failure to write has already been reported, or nobody is reading the output.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    program()
