"""The options that several commands share, and the configuration that they describe."""

import contextlib
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ndcg_spark.convention.options import parse_option
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import printing
from ndcg_spark.text import expanded

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig

EXIT_CODES = "Exit codes: 0 done, 1 a bug, 2 arguments or configuration, 3 input refused, 4 engine or storage failed."
GATE_CODES = f"{EXIT_CODES[:-1]}, 5 the gate failed, 6 no verdict."

FILE = click.Path(path_type=Path)
#: The formats of tables and rows.
FORMATS = ("table", "json", "csv", "markdown", "latex")
_INPUT_FORMATS = ("trec", "parquet", "orc", "csv", "tsv", "jsonl", "json")

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Option = Callable[[Any], Any]


class Command(click.Command):
    """A command. Its help is printed while its arguments are parsed; if stdout is closed, help has nowhere to go."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The remaining arguments. If stdout cannot be written to, the program ends as described in `printing`."""
        with contextlib.nullcontext() if sys.stdout is None else printing():
            return super().parse_args(ctx, args)


def option(name: str, metavar: str | None, words: str, **more: Any) -> _Option:
    """An option; its help shows its default."""
    return click.option(name, metavar=metavar, help=words, show_default="default" in more, **more)


def date(name: str, words: str) -> _Option:
    """An option that takes a date, passed on as text."""

    def text(_context: click.Context, _option: click.Parameter, value: Any) -> str | None:
        return value and f"{value:%Y-%m-%d}"

    return option(name, "YYYY-MM-DD", words, type=click.DateTime(["%Y-%m-%d"]), callback=text)


def output_format(*formats: str) -> _Option:
    """The option --format, passed on as `style`; the first of these formats is the default."""
    kind = click.Choice(formats)
    return click.option("--format", "style", type=kind, default=formats[0], show_default=True, help="Output format.")


def output_path(path: str) -> str:
    """The path of an output with ~ and $VARIABLE expanded, as in a configuration."""
    try:
        return expanded(path)
    except ValueError as error:
        raise ConfigurationError(f"output: {path}, {error}") from error


output = click.argument(
    "output",
    metavar="OUTPUT",
    callback=lambda _context, _argument, path: output_path(path),
    help="Folder with the published scores.",
)
night = date("--date", "Date of the night. [default: the newest]")
dataset = option("--dataset", "NAME", "Only this dataset.")
engine = option("--engine", None, "Engine. [default: auto]", type=click.Choice(["auto", "embedded", "spark"]))
remote = option("--remote", "URL", "Spark Connect server, sc://host:port.")
accept_baseline = option(
    "--accept-baseline", "REASON", "Accept this night as a baseline of later nights, for this reason."
)
slices = option(
    "--slices", "FILE", "Slices of queries: query_id, attribute, value; or query_id and a column for each attribute."
)
junit = option("--junit", "FILE", "Also write the results of the gate to this file as JUnit XML.", type=FILE)
input_format = option("--input-format", None, "Input format. [default: recognised]", type=click.Choice(_INPUT_FORMATS))


def _settings(*rows: tuple[str, str, str], **more: Any) -> dict[str, _Option]:
    """Options of a configuration by their names in Python; each row is a name, a metavar and a help text."""
    return {row[0].removeprefix("--").replace("-", "_"): option(*row, **more) for row in rows}


#: Every option that becomes part of a configuration, in the order of the help. Without a value they are None or empty,
#: and the configuration file or its default decides.
_OF_EVALUATIONS: dict[str, _Option] = {
    "paths": click.argument(
        "paths",
        nargs=-1,
        metavar="[JUDGMENTS RESULTS...]",
        help="Judgments, then all results, instead of --judgments and --results.",
    ),
    **_settings(
        ("--judgments", "PATH", "Judgments (qrels): a file, folder, glob or table:catalog.db.name. May be repeated."),
        ("--results", "PATH", "Results (runs), in the same way. TREC files contain the names of their runs."),
        ("--exclude", "PATH", "Documents (query_id, doc_id) to remove from the results before ranking."),
        multiple=True,
    ),
    **_settings(
        ("--output", "FOLDER", "Folder to publish the scores in."),
        (
            "--documents",
            "all|N",
            "Also keep the ranked documents: of all judged queries, or of the N that changed most.",
        ),
        ("--cutoffs", "RANK[,...]", "Ranks, and 'all' for the whole ranking. [default: 1,3,5,10]"),
        (
            "--measures",
            "MEASURE[,...]",
            "Measures besides NDCG: precision, recall, ap, rr, success, rbp, err, bpref or judged, at every cutoff; or "
            "as papers write them, each at its own cutoff: P@5 AP RBP(p=0.5). [default: ndcg]",
        ),
        ("--convention", "PRESET", "Which NDCG; 'conventions' lists the presets. [default: standard]"),
    ),
    **_settings(("--set", "OPTION=VALUE", "Change an option of the convention. May be repeated."), multiple=True),
    **_settings(("--dataset", "NAME", "Name of the dataset, if no column contains it. [default: default]")),
    "date": date("--date", "Date of the scores. [default: today, UTC]"),
    **_settings(("--run", "NAME", "Name of the run; overrides what the results say.")),
    "run_from": option(
        "--run-from",
        None,
        "Where the names of runs come from. [default: column, if there is one]",
        type=click.Choice(["file", "column"]),
    ),
    **_settings(
        (
            "--column",
            "[TABLE.]OURS=YOURS",
            "Name of a column in your files: results.doc_id=docno. May be repeated.",
        ),
        (
            "--as-of",
            "TABLE=VERSION|TIME",
            "Version of a Delta or Iceberg table: results=12. [default: the latest]",
        ),
        multiple=True,
    ),
    **_settings(("--relevance", "GRADE", "Grade of every judgment; overrides what the files say."), type=float),
    "input_format": input_format,
    **_settings(
        ("--max-rejected-fraction", "FRACTION", "Fraction of a table's rows that may be rejected. [default: 0]"),
        ("--max-missing-fraction", "FRACTION", "Fraction of the judged queries that a run may lack. [default: 1]"),
        ("--max-unjudged-fraction", "FRACTION", "Fraction of a run's queries that may be unjudged. [default: 1]"),
        ("--min-judged-rate", "FRACTION", "Fraction of the returned documents that must be judged. [default: 0]"),
        type=float,
    ),
    "config": option("--config", "FILE", "TOML file with the configuration; options override it.", type=FILE),
    "engine": engine,
    "remote": remote,
}


def of_evaluations(*without: str) -> Callable[[_Command], _Command]:
    """A decorator that adds all options of a configuration, except these; `load_arguments` takes their values."""

    def with_options(command: _Command) -> _Command:
        for name in reversed(_OF_EVALUATIONS):
            if name not in without:
                command = _OF_EVALUATIONS[name](command)
        return command

    return with_options


def of_one_table(command: _Command) -> _Command:
    """A decorator that adds the options of a configuration that say how a table is read."""
    for name in ("input_format", "relevance", "as_of", "column", "run_from", "run"):
        command = _OF_EVALUATIONS[name](command)
    return command


def load_arguments(arguments: Mapping[str, Any], model: "type[EvaluationConfig] | None" = None) -> "EvaluationConfig":
    """The configuration that the options of `of_evaluations` describe, over that of --config."""
    from ndcg_spark.config import EvaluationConfig, JudgmentsConfig, ResultsConfig, load

    given = {name: value for name, value in arguments.items() if value not in (None, ())}
    judgments, results = _input_paths(*(given.pop(name, ()) for name in ("paths", "judgments", "results")))
    kind = given.pop("input_format", None)
    tables: dict[str, dict[str, Any]] = {
        "judgments": {"path": judgments, "format": kind, "relevance": given.pop("relevance", None)},
        "results": {"path": results, "format": kind, "run": given.pop("run", None)},
        "exclude": {"path": given.pop("exclude", None)},
    }
    tables["results"]["run_from"] = given.pop("run_from", None)
    known = {"judgments": JudgmentsConfig.names, "results": ResultsConfig.names}
    for text in given.pop("as_of", ()):
        table, version = _pair("as-of", text, "results=12", tables)
        tables[table]["as_of"] = version
    for text in given.pop("column", ()):
        ours, yours = _pair("column", text, "results.doc_id=docno")
        table, _, name = ours.rpartition(".")
        owners = [table] if table in tables else [owner for owner in known if not table and name in known[owner]]
        if not owners:
            raise ConfigurationError(f"arguments: --column {text}: no table has {ours}; write results.doc_id=docno")
        for owner in owners:
            tables[owner].setdefault("columns", {})[name] = yours
    convention = dict(parse_option(text) for text in given.pop("set", ()))
    asked = {
        **tables,
        "convention": {**convention, "preset": given.pop("convention", None)},
        "query_attributes": {"path": given.pop("slices", None)},
        "query_weights": {"path": given.pop("weights", None)},
    }
    return load(given.pop("config", None), {**given, **asked}, model or EvaluationConfig)


def _input_paths(
    paths: Sequence[str], judgments: Sequence[str], results: Sequence[str]
) -> tuple[Sequence[str] | None, Sequence[str] | None]:
    """The paths of the judgments and of the results, from positional arguments or options; None if missing."""
    if not paths:
        return judgments or None, results or None
    if judgments or results:
        name = "--judgments" if judgments else "--results"
        raise ConfigurationError(
            f"arguments: {paths[0]} and {name} are both given; repeat the option before every path (--results A "
            "--results B), or give the judgments, then all results, without options"
        )
    if len(paths) < 2:
        raise ConfigurationError(f"arguments: only {paths[0]} is given; give the judgments, then the results")
    return paths[:1], paths[1:]


def _pair(name: str, text: str, example: str, tables: Collection[str] | None = None) -> tuple[str, str]:
    """The two sides of an equals sign; the first is one of the tables, if there are some."""
    left, _, right = text.partition("=")
    if not right or (tables is not None and left not in tables):
        raise ConfigurationError(f"arguments: --{name} {text}: write it as in {example}")
    return left, right
