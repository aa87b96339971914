"""Values of a configuration, parsed from their written form; ValueError if that is invalid."""

import datetime
import shlex
from collections.abc import Mapping

from ndcg_spark import paths
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import DEFAULT_CUTOFFS
from ndcg_spark.convention.parsing import parse_measures

#: The word for earlier nights in which every check measured something and none failed, or that somebody accepted.
GOOD = "good"


def measures(given: object) -> list[str]:
    """A list of measures, each of which is known; see `convention.parsing.parse_measures`."""
    listed = texts(given)
    parse_measures(listed, None, DEFAULT_CUTOFFS)
    return listed


def texts(given: object) -> list[str]:
    """One value or a list of them, as texts."""
    return [str(each) for each in given] if isinstance(given, list | tuple) else [str(given)]


def convention(given: object) -> Convention:
    """The convention given by a preset's name, or by a table of options that may name the `preset` to start from."""
    if isinstance(given, str):
        return Convention.preset(given)
    if isinstance(given, Mapping):
        options = dict(given)
        return Convention.preset(str(options.pop("preset", "standard"))).replace(**options)
    if isinstance(given, Convention):
        return given
    raise ValueError(f"{given!r} is not a convention; give a preset's name or a table of options")


def command(given: str) -> str:
    """A command as a shell splits it; it must name a program."""
    if not shlex.split(given):
        raise ValueError("it does not name a program")
    return given


def documents(given: object) -> str | int:
    """The word `all`, or a number of queries."""
    text = str(given)
    if text != "all" and not (text.isascii() and text.isdecimal() and int(text)):
        raise ValueError(f"{given!r} is neither all nor a number of queries, such as 200")
    return text if text == "all" else int(text)


def date(given: object) -> datetime.date:
    """A date, also as YYYY-MM-DD."""
    if isinstance(given, str):
        try:
            return datetime.date.fromisoformat(given)
        except ValueError:
            raise ValueError(f"{given!r} is not a date; write YYYY-MM-DD") from None
    if not isinstance(given, datetime.date):
        raise ValueError(f"{given!r} is not a date; write YYYY-MM-DD")
    return given


def remote(given: str) -> str:
    """The address of a Spark Connect server, or `local`, which starts one on this machine."""
    if not given.startswith(("sc://", "local")):
        raise ValueError(f"{given!r} is not the address of a Spark Connect server; write sc://host:port")
    return given


def output(given: str) -> str:
    """The path of an output, which may contain {date} but no wildcards."""
    path = paths.expanded(given)
    wild = [character for character in "*?[]{}" if character in paths.without_dates(path)]
    if wild:
        raise ValueError(f"{path} has {' '.join(wild)}, which engines read as wildcards; only {{date}} is replaced")
    return path
