"""What the program writes to stdout and stderr: results, sentences, failures; and what if they cannot be written."""

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ndcg_spark.errors import ConfigurationError, NdcgSparkError, StorageError, engine_imports, first_line
from ndcg_spark.tables.table import Table
from ndcg_spark.tables.writers import as_json, latex, markdown, print_csv, text
from ndcg_spark.text import message

if TYPE_CHECKING:
    from ndcg_spark.views import View

#: The exit code that a shell reports for a program that wrote to a pipe that nobody reads: 128 + SIGPIPE.
BROKEN_PIPE = 141
#: A table in a terminal has at most this many rows.
_MOST_ROWS = 50


def prepare_streams() -> None:
    """Let stdout and stderr take every name in any locale; lead them to /dev/null if they are closed."""
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        if stream is None:
            # Otherwise the next file that is opened gets this descriptor, and what others print goes into it.
            with contextlib.suppress(OSError):
                null = os.open(os.devnull, os.O_WRONLY)
                if null != descriptor:
                    os.dup2(null, descriptor)
                    os.close(null)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Around everything that prints results to stdout."""
    if sys.stdout is None:
        raise StorageError("stdout: it is closed, so the results could not be printed; what was published stays")
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        _leave_stdout()
        raise SystemExit(BROKEN_PIPE) from error
    except OSError as error:
        _leave_stdout()
        raise StorageError(
            f"stdout: the results could not be printed, {first_line(error)}; what was published stays"
        ) from error


def print_result(
    style: str,
    tables: Sequence[Table],
    value: Callable[[], Any],
    columns: Sequence[str] = (),
    rows: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Print a result: its `value` as JSON, `rows` of these columns as CSV, its `tables` in every other format."""
    with printing():
        if style == "json":
            print(as_json(value()))
        elif style == "csv":
            print_csv(columns, rows)
        else:
            write = {"markdown": markdown, "latex": latex}.get(style, text)
            if write is text:
                tables = [table.first(_MOST_ROWS, "in --format json") for table in tables]
            print("\n\n".join("\n".join(write(table)) for table in tables))


def print_view(view: "View", style: str) -> None:
    """Print what a command shows."""
    print_result(style, view.tables(), view.json, view.columns, view.rows())


def echo(lines: Iterable[str]) -> None:
    """Print sentences on stdout."""
    with printing():
        print("\n".join(map(message, lines)))


def print_error(text: str) -> None:
    """Print a message on stderr, if it can be written to."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"ndcg-spark: {message(text)}\n")
            sys.stderr.flush()


def is_merged() -> bool:
    """Whether stderr ends up in stdout, where rows for programs must be alone: spark-submit merges the two."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def refuse_unwritable(option: str, file: Path) -> None:
    """ConfigurationError if the file cannot be written, before anything is computed; the file stays as it is."""
    path = file.expanduser()
    try:
        if not path.exists():
            # The target of a link, because a link to nothing must stay.
            target = path.resolve()
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb"):
                pass
            target.unlink()
        elif path.is_file() or path.is_dir():
            # A pipe or a device is written once, and not tried before.
            with path.open("ab"):
                pass
    except OSError as error:
        raise ConfigurationError(f"{option}: {file} cannot be written, {error.strerror}; check --{option}") from error


def write_file(option: str, file: Path, content: str | bytes) -> None:
    """Write the file; a regular file is written whole or not at all."""
    path = file.expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        if path.is_file():
            with contextlib.suppress(OSError):
                path.unlink()
        raise StorageError(f"{option}: {file} cannot be written, {error.strerror}; what was published stays") from error


@contextlib.contextmanager
def reported_errors(arguments: Sequence[str]) -> Iterator[None]:
    """Around the program: a failure that can be explained is reported, and becomes a SystemExit with its code."""
    json_ = _wants_json(arguments)
    try:
        with engine_imports():
            yield
    except NdcgSparkError as error:
        _report(str(error), error.code, error.exit_code, json_)
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


def _leave_stdout() -> None:
    """Send what is still in the buffer nowhere, or the interpreter would fail at it again when it ends."""
    with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
