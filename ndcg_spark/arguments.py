"""The arguments of a command become a configuration: what was given on the command line over what is in the file."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ndcg_spark.convention.values import parse_option
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.options import OPTIONS, Paths
from ndcg_spark.plain import did_you_mean

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig

#: The tables that an evaluation reads.
_TABLES = ("judgments", "results", "exclude")


@dataclasses.dataclass(frozen=True)
class KeptNight:
    """A folder that keeps scores, and the date of the night; None for the newest."""

    output: str
    date: str | None


def _is_night(given: dict[str, Any]) -> bool:
    """Whether the arguments name one folder and nothing else that is read."""
    read = ("judgments", "results", "config")
    return len(given.get("paths") or []) == 1 and not any(given.get(name) for name in read)


def _refuse_options_of_inputs(options: Mapping[str, Any]) -> None:
    """ConfigurationError for an option that says how judgments and results are read or scored."""
    harmless = ("paths", "date", "engine", "remote")
    given = [name for name, value in options.items() if value is not None and name not in harmless]
    if given:
        option = given[0].strip("_").replace("_", "-")
        raise ConfigurationError(
            f"arguments: --{option} is for judgments and results, and only {options['paths'][0]} is given; give the "
            f"judgments, then the results, or leave --{option} out"
        )


def configured(*without: str, or_night: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add all OPTIONS except these to a command, which is called with the configuration that they result in.

    With `or_night`, a command that is given one folder alone is called with a KeptNight instead of a configuration.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command).parameters.values())[1:]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OPTIONS[name])
            for name in OPTIONS
            if name not in without
        ]

        @functools.wraps(command)
        def called(**given: Any) -> None:
            options = {name: given.pop(name, None) for name in OPTIONS if name not in without}
            if or_night and _is_night(options):
                _refuse_options_of_inputs(options)
                command(KeptNight(options["paths"][0], options["date"]), **given)
            else:
                command(_configuration({**dict.fromkeys(OPTIONS), **options}), **given)

        parameters = [*shared, *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own)]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorated


def _configuration(given: dict[str, Any]) -> "EvaluationConfig":
    """The configuration of the file, if one is given, overridden by the options."""
    from ndcg_spark.config import load

    config, kind, options = given.pop("config"), given.pop("input_format"), given.pop("set_")
    columns, least = _columns(given.pop("column") or []), given.pop("min_relevance")
    versions = _versions(given.pop("as_of") or [])
    judgments, results = _both(given.pop("paths") or [], given.pop("judgments"), given.pop("results"))
    tables = {
        "judgments": {"path": judgments, "format": kind, "relevance": given.pop("relevance")},
        "results": {"path": results, "format": kind, "run": given.pop("run"), "run_from": given.pop("run_from")},
        "exclude": {"path": given.pop("exclude")},
    }
    convention: dict[str, Any] = dict(parse_option(text) for text in options or [])
    if given["convention"] is not None:
        convention["preset"] = given["convention"]
    if least is not None:
        convention["min_relevance"] = least
    mapped = {
        name: {**table, "columns": columns.get(name), "as_of": versions.get(name)} for name, table in tables.items()
    }
    return load(config, {**given, **mapped, "convention": convention})


def _both(paths: list[str], judgments: Paths, results: Paths) -> tuple[Paths, Paths]:
    """The paths of the judgments and of the results, whichever way they were given."""
    if not paths:
        return judgments, results
    if judgments or results:
        option = "--judgments" if judgments else "--results"
        raise ConfigurationError(
            f"arguments: {paths[0]} and {option} are both given; repeat the option before every path (--results A "
            "--results B), or give the judgments, then all results, without options"
        )
    if len(paths) < 2:
        raise ConfigurationError(f"arguments: only {paths[0]} is given; give the judgments, then the results")
    return paths[:1], paths[1:]


def _versions(given: list[str]) -> dict[str, str]:
    """The version or time of each table, of texts like ``results=12``."""
    versions = {}
    for text in given:
        table, _, version = text.partition("=")
        if table not in _TABLES or not version:
            near = did_you_mean(table, _TABLES)
            raise ConfigurationError(
                f"arguments: --as-of {text} names no version of a table{near}; write TABLE=VERSION or TABLE=TIME, as "
                "in results=12 or judgments=2026-11-01T06:00:00Z"
            )
        versions[table] = version
    return versions


def _columns(given: list[str]) -> dict[str, dict[str, str]]:
    """What the files of each table call our columns, of texts like ``doc_id=docno`` and ``results.doc_id=docno``."""
    from ndcg_spark.config import JudgmentsConfig, ResultsConfig

    known = {"judgments": JudgmentsConfig.names, "results": ResultsConfig.names, "exclude": ()}
    mapped: dict[str, dict[str, str]] = {}
    for text in given:
        ours, equals, yours = text.partition("=")
        table, dot, name = ours.rpartition(".")
        tables = [table] if dot else [entry for entry, names in known.items() if name in names]
        if not equals or not yours or not tables or any(entry not in known for entry in tables):
            near = did_you_mean(table, known) if dot else "" if tables else did_you_mean(ours, _names(known))
            raise ConfigurationError(
                f"arguments: --column {text} maps no column{near}; write OURS=YOURS or TABLE.OURS=YOURS, as in "
                "doc_id=docno or results.doc_id=docno"
            )
        for entry in tables:
            mapped.setdefault(entry, {})[name] = yours
    return mapped


def _names(tables: Mapping[str, Iterable[str]]) -> list[str]:
    return [name for names in tables.values() for name in names]
