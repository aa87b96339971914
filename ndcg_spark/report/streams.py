"""What the program says on its way out: JSON, messages, and an error where stdout does not take the results."""

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.interrupts import standing
from ndcg_spark.plain import message

#: What a shell reports for a program that wrote to a pipe nobody reads: 128 and the number of SIGPIPE.
BROKEN_PIPE = 141


def as_json(value: Any) -> str:
    r"""One line of JSON; what is not printable, or not in the alphabet of stdout, is ``\uXXXX`` in it."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = json.dumps(value, default=str, ensure_ascii=not encoding.lower().startswith("utf"))
    return re.sub(r"[^ -~]", lambda sign: sign[0] if sign[0].isprintable() else json.dumps(sign[0])[1:-1], text)


def prepare_streams() -> None:
    """Let stdout and stderr take every name, whatever the locale, and keep their places where they are closed."""
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        if stream is None:
            # The next file that is opened would take its place, and be written to by whoever prints.
            with contextlib.suppress(OSError):
                opened = os.open(os.devnull, os.O_WRONLY)
                if opened != descriptor:
                    os.dup2(opened, descriptor)
                    os.close(opened)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Around everything that prints results to stdout.

    Raises
    ------
    StorageError
        stdout is closed, or what it leads to is full; the message says whether a night was published.
    SystemExit
        Nobody reads any more; that is no failure of ours.
    """
    if sys.stdout is None:
        raise StorageError(f"stdout: it is closed, so the results could not be printed; {standing()}")
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        _leave_stdout()
        raise SystemExit(BROKEN_PIPE) from error
    except OSError as error:
        _leave_stdout()
        raise StorageError(f"stdout: the results could not be printed, {first_line(error)}; {standing()}") from error


def complain(text: str) -> None:
    """Say a message on stderr, if there is one that takes it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"ndcg-spark: {message(text)}\n")
            sys.stderr.flush()


def _leave_stdout() -> None:
    """What is still in the buffer goes nowhere: the interpreter would fail at it again when it ends."""
    with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
