"""Writes to stdout and stderr, and writes files for people."""

import contextlib
import datetime
import io
import logging
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from ndcg_spark.errors import ConfigurationError, NdcgSparkError, StorageError, first_line
from ndcg_spark.scratch import is_stream, new_part, write_whole
from ndcg_spark.steps import LOGGER
from ndcg_spark.tables.writers import View, as_json, latex, markdown, plain_text, print_csv
from ndcg_spark.text import from_home, message, printable
from ndcg_spark.voices import OPTIONS, Give, Notice, Voice

#: Returns to the start of the terminal line and erases it.
_ERASED = "\r\x1b[K"
_PROGRAM = logging.getLogger("ndcg_spark")


def prepare_streams() -> None:
    """Make stdout and stderr accept every name in any locale.

    If they are closed, they are opened as /dev/null. Otherwise the next file to be opened would
    get their descriptor, and text that libraries print would go into it.
    """
    descriptor = 0
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Raise StorageError if something printed inside cannot be written to stdout."""
    consequence = "so the results could not be printed; published data is kept"
    if sys.stdout is None:
        raise StorageError(f"stdout: it is closed, {consequence}")
    # Erases the line that shows the current activity.
    LOGGER.debug("")
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise SystemExit(141) from error  # the exit code of a program that SIGPIPE ended
    except OSError as error:
        raise StorageError(f"stdout: {first_line(error)}, {consequence}") from error


def print_view(view: View, style: str | None) -> None:
    """Print a command's output in a format; None prints nothing."""
    if style is None:
        return
    with printing():
        if style == "json":
            print(as_json(view.value))
        elif style == "csv":
            print_csv(view.columns, view.rows)
        else:
            write = {"markdown": markdown, "latex": latex}.get(style, plain_text)
            texts = ["\n".join(write(table)) for table in view.tables]
            print("\n\n".join(texts))


def echo(lines: Iterable[str]) -> None:
    with printing():
        print("\n".join(map(message, lines)))


def print_text(text: str) -> None:
    """Print a file's text unchanged; on a terminal, unprintable characters are escaped."""
    with printing():
        if not sys.stdout.isatty():
            sys.stdout.write(text)
            return
        for line in text.splitlines(keepends=True):
            sys.stdout.write(printable(line) + "\n")


def is_merged(style: str | None) -> bool:
    """Whether step messages would mix with the rows that a program reads.

    spark-submit merges stderr into stdout.
    """
    return "PYSPARK_GATEWAY_PORT" in os.environ and style not in (None, "table")


class Messages(logging.Handler):
    """Prints finished steps, problems and, on a terminal, the current activity on stderr."""

    def __init__(
        self,
        style: str | None = None,
        log_format: str | None = None,
        is_quiet: bool = False,
        voice: Voice = OPTIONS,
    ) -> None:
        super().__init__()
        self.wants_json = style == "json"
        self.log_format = log_format
        self.voice = voice
        self._is_quiet = is_quiet
        self._is_merged = is_merged(style)
        self._stream = sys.stderr
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._erased = _ERASED if is_terminal and not self._is_merged else ""
        self._warned: set[str] = set()

    @contextlib.contextmanager
    def printed(self) -> Iterator["Messages"]:
        """Print what the program logs inside."""
        level = LOGGER.level
        LOGGER.setLevel(logging.DEBUG)
        _PROGRAM.addHandler(self)
        try:
            yield self
        finally:
            self._write("")
            LOGGER.setLevel(level)
            _PROGRAM.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record, unless it would mix with rows on stdout or the user wants less."""
        line = message(self._worded(record))
        step = getattr(record, "step", None)
        is_warning = record.levelno >= logging.WARNING
        is_failure = step is None and record.levelno >= logging.ERROR
        if self._is_merged and (not is_failure or self.wants_json):
            return
        if step is None and not is_warning:
            self._show_activity(line)
            return
        # A log that is read several times is warned about once.
        if step is None and line in self._warned:
            return
        is_important = is_warning or step in ("gate", "acknowledged")
        if self._is_quiet and not is_important:
            return
        self._warned.add(line)
        self._write(f"{self._formatted(record, line, step, is_failure)}\n")

    def _show_activity(self, line: str) -> None:
        """Show the current activity on a terminal until the next one replaces it."""
        if self._erased and not self.log_format and not self._is_quiet:
            self._write(line[: shutil.get_terminal_size().columns - 1])

    def _formatted(
        self,
        record: logging.LogRecord,
        line: str,
        step: str | None,
        is_failure: bool,
    ) -> str:
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        time = moment.isoformat(timespec="seconds")
        if self.log_format == "json":
            kind = step or ("error" if is_failure else "warning")
            level = record.levelname.lower()
            return as_json({"time": time, "level": level, "step": kind, "message": line})
        if self.log_format:
            about = f"{step}: " if step else ""
            return f"{time} {record.levelname:<7} {about}{line}"
        if step:
            return f"{step:<8} {line}"
        return f"ndcg-spark: {line}" if is_failure else f"ndcg-spark: warning: {line}"

    def fail(self, error: NdcgSparkError) -> NoReturn:
        """Report an error, and end the program with its exit code."""
        _PROGRAM.error("%s", error)
        if self.wants_json and sys.stdout is not None:
            failure = {"code": error.code, "exit_code": error.exit_code}
            failure["message"] = message(error.worded(self.voice))
            # A problem with stdout is not reported: the exit code belongs to the failure.
            with contextlib.suppress(StorageError, SystemExit), printing():
                print(as_json({"error": failure}))
        raise SystemExit(error.exit_code)

    def _worded(self, record: logging.LogRecord) -> str:
        """A record's message; advice names options in the user's own terms."""
        # A notice or an error is logged as the only argument of `%s`.
        logged = record.args[0] if isinstance(record.args, tuple) and record.args else None
        if isinstance(logged, Notice | NdcgSparkError):
            return logged.worded(self.voice)
        return record.getMessage()

    def _write(self, text: str) -> None:
        if self._stream is not None:
            try:
                self._stream.write(self._erased + text)
                self._stream.flush()
            except (OSError, ValueError):
                self._stream = None


def refuse_unwritable(option: str, file: Path | None, *, remove: bool = False) -> None:
    """Raise ConfigurationError if a file cannot be written, before anything is computed.

    `remove`: whether an existing file is deleted.
    """
    # A file that is not regular is written once, so it is not tried in advance.
    if file is None or is_stream(file):
        return
    path = from_home(file).resolve()
    try:
        is_new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
        if is_new or remove:
            path.unlink()
        # The new file is written to the same folder and then replaces the old one.
        part = new_part(path)
        part.touch()
        part.unlink()
    except OSError as error:
        what = f"{option}: {file} cannot be written, {error.strerror}"
        raise ConfigurationError(what, Give(option, words="check")) from error


def write_file(option: str, file: Path, content: str | bytes) -> None:
    """Write a file for people atomically; on failure, keep the old one and raise StorageError."""
    path = from_home(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        problem = f"{option}: {file} cannot be written, {error.strerror}"
        raise StorageError(f"{problem}; published data is kept") from error
