"""What the program writes to stdout and stderr at its end, and what happens if they cannot be written."""

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
from ndcg_spark.plain import message, printable

#: The exit code that a shell reports for a program that wrote to a pipe that nobody reads: 128 + SIGPIPE.
BROKEN_PIPE = 141


def as_json(value: Any) -> str:
    r"""One line of JSON. A character that is not printable, or that stdout cannot encode, is written as ``\uXXXX``."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = json.dumps(value, default=str, ensure_ascii=not encoding.lower().startswith("utf"))
    return re.sub(
        r"[^ -~]", lambda found: found[0] if printable(found[0]) == found[0] else json.dumps(found[0])[1:-1], text
    )


def prepare_streams() -> None:
    """Let stdout and stderr take every name in any locale; lead them to /dev/null if they are closed."""
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        if stream is None:
            # Otherwise the next file that is opened gets this descriptor, and what others print goes into it.
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
        stdout is closed, or cannot be written to; the message says whether a night was published.
    SystemExit
        Nobody reads stdout any more (exit code BROKEN_PIPE), which is not our failure.
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
    """Print a message on stderr, if it can be written to."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"ndcg-spark: {message(text)}\n")
            sys.stderr.flush()


def _leave_stdout() -> None:
    """Send what is still in the buffer nowhere, or the interpreter would fail at it again when it ends."""
    with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
