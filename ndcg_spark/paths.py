"""Paths as people write them: with ~, $VARIABLES and dates, and relative to a configuration file."""

import datetime
import glob
import os
import re
from pathlib import Path

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_DATE = re.compile(r"\{date(?::([^{}]*))?\}")
_CATALOGS = ("table:", "iceberg:")


def expanded(path: str) -> str:
    """The path with ~ and $VARIABLE expanded as in a shell, unless it exists as it is written.

    ValueError for a variable that is not set.
    """
    if path.startswith(_CATALOGS) or os.path.lexists(path):
        return path
    unset = [name for pair in _VARIABLE.findall(path) for name in pair if name and name not in os.environ]
    if unset:
        raise ValueError(f"{path}: the environment variable {unset[0]} is not set; set it, or write the path in full")
    return os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111  # a path may be a URI


def dated(path: str, date: datetime.date) -> str:
    """The path with ``{date}`` replaced by YYYY-MM-DD, and ``{date:%Y%m%d}`` by the date in that format."""
    return _DATE.sub(lambda match: date.strftime(match[1]) if match[1] else date.isoformat(), path)


def without_dates(path: str) -> str:
    """The path without ``{date}`` and ``{date:...}``."""
    return _DATE.sub("", path)


def beside(path: str, folder: Path, date: datetime.date) -> tuple[str, str | None]:
    """The path that a configuration file in `folder` means, and a note if there are files at two such paths.

    A relative path is relative to the working directory, as in arguments; if nothing is there, to the configuration
    file.
    """
    if path.startswith((*_CATALOGS, "/", "file:")) or "://" in path:
        return path, None
    beside_file = str(folder.resolve() / path)
    here, there = _exists(dated(path, date)), _exists(dated(beside_file, date))
    if here and there and Path.cwd() != folder.resolve():
        both = f"{path} is in {Path.cwd()}, and beside the configuration in {folder.resolve()}"
        return path, f"{both}; the first is used"
    return (beside_file, None) if there and not here else (path, None)


def _exists(path: str) -> bool:
    return os.path.lexists(path) or next(glob.iglob(path), None) is not None  # noqa: PTH207  # as engines take it
