"""The command line within the process of the tests, on its engine: starting a program costs as much as an evaluation.

What sets limits, dies, or looks at how the program starts and ends belongs into a process of its own (`programs`).
"""

import contextlib
import io
import os
import subprocess
from pathlib import Path
from unittest import mock

import sessions

from ndcg_spark.__main__ import main


def command_line(
    *arguments: object, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command line with these arguments; what it says of its engine is that a session was running."""
    words = [*map(str, arguments)]
    sessions.engine()
    code: object = 0
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)
        for _ in range(2)
    )
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main(words)
        except SystemExit as end:
            code = end.code or 0
    said, errors = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(["ndcg-spark", *words], code, said, errors)
