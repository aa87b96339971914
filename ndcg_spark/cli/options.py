"""The options that several commands share, each declared once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import did_you_mean

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Option = Callable[[Any], Any]

FILE = click.Path(path_type=Path)
#: The formats of tables and rows.
FORMATS = ("table", "json", "csv", "markdown", "latex")


def _text(option: str, metavar: str, words: str, **more: Any) -> _Option:
    return click.option(option, metavar=metavar, help=words, **more)


def _texts(option: str, metavar: str, words: str) -> _Option:
    return click.option(option, metavar=metavar, help=words, multiple=True)


def number(option: str, metavar: str, words: str, kind: Any, default: float) -> _Option:
    """An option that takes a number of this type; its help shows the default."""
    return click.option(option, metavar=metavar, help=words, type=kind, default=default, show_default=True)


def _choice(what: str, values: tuple[str, ...]) -> dict[str, Any]:
    """Settings of an option that takes one of these values, the first by default.

    Any other value is a ConfigurationError that names the nearest.
    """

    def chosen(_context: Any, _option: Any, value: str) -> str:
        if value in values:
            return value
        near = did_you_mean(value, values)
        raise ConfigurationError(
            f"{what}: unknown {what} {value!r}{near}; choose {', '.join(values[:-1])} or {values[-1]}"
        )

    return {"default": values[0], "show_default": True, "callback": chosen}


def output_format(*formats: str) -> _Option:
    """The option --format, passed on as `style`; the first of these formats is the default."""
    words = f"Output format: {', '.join(formats[:-1])} or {formats[-1]}."
    return click.option("--format", "style", metavar="FORMAT", help=words, **_choice("format", formats))


output = click.argument("output", metavar="OUTPUT", help="Folder or tables with the published scores.")
night = _text("--date", "YYYY-MM-DD", "Date of the night. [default: the newest]")
dataset = _text("--dataset", "NAME", "Only this dataset.")
engine = _text(
    "--engine", "ENGINE", "Engine: auto, embedded or spark.", **_choice("engine", ("auto", "embedded", "spark"))
)
remote = _text("--remote", "URL", "Spark Connect server, sc://host:port.")
accept_baseline = _text(
    "--accept-baseline", "REASON", "Accept this night as a baseline of later nights, for this reason."
)
slices = _text(
    "--slices", "FILE", "Slices of queries: query_id, attribute, value; or query_id and a column for each attribute."
)
junit = _text("--junit", "FILE", "Also write the findings of the gate to this file as JUnit XML.", type=FILE)
#: The engine of commands with a configuration, which validates the option and provides its default.
config_engine = _text("--engine", "ENGINE", "Engine: auto, embedded or spark. [default: auto]")
input_format = _text(
    "--input-format",
    "FORMAT",
    "Input format: trec, parquet, orc, csv, tsv, jsonl, json, delta or iceberg. [default: recognised]",
)


def _fraction(option: str, words: str) -> _Option:
    return _text(option, "FRACTION", words, type=float)


#: Every option that becomes part of a configuration, in the order of the help. Without a value they are None or empty,
#: and the configuration file or its default decides.
_OF_EVALUATIONS: dict[str, _Option] = {
    "paths": click.argument(
        "paths",
        nargs=-1,
        metavar="[JUDGMENTS RESULTS...]",
        help="Judgments, then all results, instead of --judgments and --results.",
    ),
    "judgments": _texts(
        "--judgments", "PATH", "Judgments (qrels): a file, folder, glob or table:catalog.db.name. May be repeated."
    ),
    "results": _texts(
        "--results", "PATH", "Results (runs), in the same way. TREC files contain the names of their runs."
    ),
    "exclude": _texts(
        "--exclude", "PATH", "Documents (query_id, doc_id) to remove from the results before ranking, in the same way."
    ),
    "output": _text("--output", "FOLDER", "Folder to publish the scores in."),
    "documents": _text(
        "--documents",
        "all|N",
        "Also keep the ranked documents: of all judged queries, or of the N queries of each run that changed most.",
    ),
    "cutoffs": _text("--cutoffs", "RANK[,...]", "Ranks, and 'all' for the whole ranking. [default: 1,3,5,10]"),
    "measures": _text(
        "--measures",
        "MEASURE[,...]",
        "Measures besides NDCG: precision, recall, ap, rr, success, rbp, err, bpref or judged, at every cutoff; or as "
        "papers write them, each at its own cutoff: P@5 AP RBP(p=0.5). [default: ndcg]",
    ),
    "convention": _text("--convention", "PRESET", "Which NDCG; 'conventions' lists the presets. [default: standard]"),
    "set": _texts("--set", "OPTION=VALUE", "Change an option of the convention. May be repeated."),
    "dataset": _text("--dataset", "NAME", "Name of the dataset, if no column contains it. [default: default]"),
    "date": _text("--date", "YYYY-MM-DD", "Date of the scores. [default: today, UTC]"),
    "run": _text("--run", "NAME", "Name of the run; overrides what the results say."),
    "run_from": _text(
        "--run-from", "file|column|NAME", "Where the names of runs come from. [default: column, if there is one]"
    ),
    "column": _texts(
        "--column",
        "[TABLE.]OURS=YOURS",
        "Name of a column in your files, e.g. results.doc_id=docno. May be repeated.",
    ),
    "as_of": _texts(
        "--as-of",
        "TABLE=VERSION|TIME",
        "Version of a Delta or Iceberg table to read, e.g. results=12. [default: the latest]",
    ),
    "relevance": _text("--relevance", "GRADE", "Grade of every judgment; overrides what the files say.", type=float),
    "input_format": input_format,
    "max_rejected_fraction": _fraction(
        "--max-rejected-fraction", "Fraction of a table's rows that may be rejected. [default: 0]"
    ),
    "max_missing_fraction": _fraction(
        "--max-missing-fraction", "Fraction of the judged queries that a run may lack. [default: 1]"
    ),
    "max_unjudged_fraction": _fraction(
        "--max-unjudged-fraction", "Fraction of a run's queries that may be unjudged. [default: 1]"
    ),
    "min_judged_rate": _fraction(
        "--min-judged-rate", "Fraction of the returned documents that must be judged. [default: 0]"
    ),
    "config": _text("--config", "FILE", "TOML file with the configuration; options override it.", type=FILE),
    "engine": config_engine,
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
