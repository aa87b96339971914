"""The entry point of `ndcg-spark`, `python -m ndcg_spark` and spark-submit."""

import contextlib
import os
import sys
from typing import NoReturn

from ndcg_spark import interrupts


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code. From here on, a signal ends the process cleanly."""
    # Before any import that is slow or starts threads.
    interrupts.watch()
    try:
        from ndcg_spark.cli.app import main as command_line

        command_line(arguments)
    finally:
        interrupts.unwatch()


def program(arguments: list[str] | None = None) -> NoReturn:
    """Do what `main` does, and end the process as soon as its output is written.

    By then, everything that was opened has been closed. Python's own shutdown takes as long as a small evaluation.
    """
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
