"""The configuration of a command: its arguments over the configuration file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.convention.values import parse_option
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import did_you_mean

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig

_TABLES = ("judgments", "results", "exclude")


def load_arguments(arguments: Mapping[str, Any], model: "type[EvaluationConfig] | None" = None) -> "EvaluationConfig":
    """The configuration that the options of `options.of_evaluations` describe, over that of --config.

    Raises
    ------
    ConfigurationError
        The arguments contradict each other, or `config.load` raises it.
    """
    from ndcg_spark.config import EvaluationConfig, load

    judgments, results = _input_paths(*(arguments.get(name) or () for name in ("paths", "judgments", "results")))
    columns, versions = _columns(arguments.get("column") or ()), _versions(arguments.get("as_of") or ())
    file_format = arguments.get("input_format")
    tables: dict[str, dict[str, Any]] = {
        "judgments": {"path": judgments, "format": file_format, "relevance": arguments.get("relevance")},
        "results": {
            "path": results,
            "format": file_format,
            **{name: arguments.get(name) for name in ("run", "run_from")},
        },
        "exclude": {"path": list(arguments.get("exclude") or ()) or None},
    }
    convention: dict[str, Any] = dict(parse_option(text) for text in arguments.get("set") or ())
    if arguments.get("convention") is not None:
        convention["preset"] = arguments["convention"]
    elsewhere = {
        *_TABLES,
        "paths",
        "column",
        "as_of",
        "input_format",
        "relevance",
        "run",
        "run_from",
        "set",
        "config",
        "slices",
    }
    return load(
        arguments.get("config"),
        {
            **{name: value for name, value in arguments.items() if name not in elsewhere},
            **{name: {**tables[name], "columns": columns.get(name), "as_of": versions.get(name)} for name in _TABLES},
            "convention": convention,
            "query_attributes": {"path": arguments.get("slices")},
        },
        model or EvaluationConfig,
    )


def is_night(arguments: Mapping[str, Any]) -> bool:
    """Whether the arguments name one folder of published nights, and no other input.

    Raises
    ------
    ConfigurationError
        There is also an option that applies only to judgments and results.
    """
    paths = arguments["paths"]
    if len(paths) != 1 or any(arguments.get(name) for name in ("judgments", "results", "config")):
        return False
    used = [name for name, value in arguments.items() if value not in (None, ())]
    options = [name.replace("_", "-") for name in used if name not in ("paths", "date", "engine", "remote")]
    if options:
        raise ConfigurationError(
            f"arguments: --{options[0]} is for judgments and results, and only {paths[0]} is given; give the "
            f"judgments, then the results, or omit --{options[0]}"
        )
    return True


def _input_paths(
    paths: Sequence[str], judgments: Sequence[str], results: Sequence[str]
) -> tuple[list[str] | None, list[str] | None]:
    """The paths of the judgments and of the results, from positional arguments or options; None if missing."""
    if not paths:
        return list(judgments) or None, list(results) or None
    if judgments or results:
        option = "--judgments" if judgments else "--results"
        raise ConfigurationError(
            f"arguments: {paths[0]} and {option} are both given; repeat the option before every path (--results A "
            "--results B), or give the judgments, then all results, without options"
        )
    if len(paths) < 2:
        raise ConfigurationError(f"arguments: only {paths[0]} is given; give the judgments, then the results")
    return [paths[0]], list(paths[1:])


def _versions(texts: Iterable[str]) -> dict[str, str]:
    """The version or time of each table, from texts like ``results=12``."""
    versions = {}
    for text in texts:
        table, _, version = text.partition("=")
        if table not in _TABLES or not version:
            near = did_you_mean(table, _TABLES)
            raise ConfigurationError(
                f"arguments: --as-of {text} does not name a version of a table{near}; write TABLE=VERSION or "
                "TABLE=TIME, as in results=12 or judgments=2026-11-01T06:00:00Z"
            )
        versions[table] = version
    return versions


def _columns(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    """The names of our columns in each table's files, from texts like ``doc_id=docno``, ``results.doc_id=docno``."""
    from ndcg_spark.config import JudgmentsConfig, ResultsConfig

    known = {"judgments": JudgmentsConfig.names, "results": ResultsConfig.names, "exclude": ()}
    columns: dict[str, dict[str, str]] = {}
    for text in texts:
        ours, equals, yours = text.partition("=")
        table, dot, name = ours.rpartition(".")
        tables = [table] if dot else [each for each, names in known.items() if name in names]
        if not equals or not yours or not tables or any(each not in known for each in tables):
            names = [name for names in known.values() for name in names]
            near = did_you_mean(table, known) if dot else "" if tables else did_you_mean(ours, names)
            raise ConfigurationError(
                f"arguments: --column {text} does not map a column{near}; write OURS=YOURS or TABLE.OURS=YOURS, as in "
                "doc_id=docno or results.doc_id=docno"
            )
        for each in tables:
            columns.setdefault(each, {})[name] = yours
    return columns
