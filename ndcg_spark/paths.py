"""Paths as people write them: with ~ and $VARIABLES, with the date in them, relative to a configuration file."""

import datetime
import glob
import os
import re
from pathlib import Path

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_DATE = re.compile(r"\{date(?::([^{}]*))?\}")
_CATALOG = "table:"


def expanded(path: str) -> str:
    """The path with ~ and $VARIABLE replaced, as a shell does it; one that exists as it is written stays so.

    ValueError for a variable that is not set.
    """
    if path.startswith(_CATALOG) or os.path.lexists(path):
        return path
    unset = [name for pair in _VARIABLE.findall(path) for name in pair if name and name not in os.environ]
    if unset:
        raise ValueError(f"{path}: the environment has no variable {unset[0]}; set it, or write the path out")
    return os.path.expandvars(os.path.expanduser(path))  # noqa: PTH111  # a path may be a URI


def dated(path: str, date: datetime.date) -> str:
    """The path with ``{date}`` replaced by YYYY-MM-DD, and ``{date:%Y%m%d}`` by the date in that format."""
    return _DATE.sub(lambda found: date.strftime(found[1]) if found[1] else date.isoformat(), path)


def without_dates(path: str) -> str:
    """The path without ``{date}`` and ``{date:...}``."""
    return _DATE.sub("", path)


def beside(path: str, folder: Path, date: datetime.date) -> tuple[str, str | None]:
    """Where a path of a configuration file in `folder` leads, and a sentence if it could lead to two places.

    A relative path leads to what this process finds under it, as an argument would; if there is nothing, to what is
    there beside the configuration file.
    """
    if path.startswith((_CATALOG, "/", "file:")) or "://" in path:
        return path, None
    other = str(folder.resolve() / path)
    here, there = _exists(dated(path, date)), _exists(dated(other, date))
    if here and there and Path.cwd() != folder.resolve():
        both = f"{path} is in {Path.cwd()}, and beside the configuration in {folder.resolve()}"
        return path, f"{both}; the first is taken"
    return (other, None) if there and not here else (path, None)


def _exists(path: str) -> bool:
    return os.path.lexists(path) or next(glob.iglob(path), None) is not None  # noqa: PTH207  # as engines take it
