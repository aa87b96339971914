"""The options that several commands have, each declared once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.plain import did_you_mean

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Option = Callable[[Any], Any]

FILE = click.Path(path_type=Path)

output_argument = click.argument("output", metavar="OUTPUT", help="Folder that keeps the scores.")
night_option = click.option("--date", metavar="YYYY-MM-DD", help="Which night. [default: the newest]")
dataset_option = click.option("--dataset", help="Only this dataset.")
accept_option = click.option(
    "--accept-baseline", metavar="REASON", help="Accept this night as a baseline of later nights, and why."
)
junit_option = click.option(
    "--junit", type=FILE, metavar="FILE", help="Also write the findings of the gate to this file as JUnit XML."
)
remote_option = click.option("--remote", metavar="URL", help="Spark Connect server, sc://host:port.")
input_format_option = click.option(
    "--input-format",
    metavar="FORMAT",
    help="Format of the input: trec, parquet, orc, csv, tsv, jsonl, json, delta or iceberg. [default: recognised]",
)


def _choice(what: str, values: tuple[str, ...]) -> Callable[[Any, Any, str | None], str | None]:
    """Refuses any other value of an option, and names the nearest."""

    def chosen(_context: Any, _option: Any, value: str | None) -> str | None:
        if value is None or value in values:
            return value
        *others, last = values
        raise ConfigurationError(
            f"{what}: unknown {what} {value!r}{did_you_mean(value, values)}; choose {', '.join(others)} or {last}"
        )

    return chosen


def output_format(*formats: str) -> _Option:
    """The option --format, which chooses one of these formats; the first is the default. It becomes `style`."""
    return click.option(
        "--format",
        "style",
        metavar="FORMAT",
        default=formats[0],
        show_default=True,
        callback=_choice("format", formats),
        help=f"Output format: {', '.join(formats[:-1])} or {formats[-1]}.",
    )


engine_option = click.option(
    "--engine",
    metavar="ENGINE",
    default="auto",
    show_default=True,
    callback=_choice("engine", ("auto", "embedded", "spark")),
    help="auto, embedded or spark.",
)


#: The same where a configuration decides if it is not given, and says what is wrong with it.
config_engine_option = click.option("--engine", metavar="ENGINE", help="auto, embedded or spark. [default: auto]")


def _text(name: str, help: str, **more: Any) -> _Option:  # noqa: A002  # as click names it
    return click.option(name, help=help, **more)


def _fraction(name: str, help: str) -> _Option:  # noqa: A002  # as click names it
    return click.option(name, type=float, metavar="FRACTION", help=help)


#: Every option that becomes part of a configuration, in the order of the help. Without a value they are None or empty,
#: and the configuration file or its default decides.
_OF_EVALUATIONS: dict[str, _Option] = {
    "paths": click.argument(
        "paths",
        nargs=-1,
        metavar="[JUDGMENTS RESULTS...]",
        help="The judgments, then all results, in place of the options.",
    ),
    "judgments": click.option(
        "--judgments",
        multiple=True,
        metavar="PATH",
        help="Judgments (qrels): a file, folder, glob or table:catalog.db.name. May be repeated.",
    ),
    "results": click.option(
        "--results",
        multiple=True,
        metavar="PATH",
        help="Results (runs): likewise. TREC files contain the name of their run.",
    ),
    "exclude": click.option(
        "--exclude",
        multiple=True,
        metavar="PATH",
        help="Documents (query_id, doc_id) to remove from the lists before ranking: likewise.",
    ),
    "output": _text("--output", "Folder that keeps the scores. Without it they are only printed."),
    "documents": _text(
        "--documents",
        "Also keep the ranked documents: top of every query, worst of the queries that lost most.",
        metavar="top|worst",
    ),
    "cutoffs": _text("--cutoffs", "Ranks, and 'all' for the whole ranking. [default: 1,3,5,10]"),
    "measures": _text(
        "--measures",
        "Measures to compute and show beside NDCG: precision, recall, ap, rr, success, rbp, err, bpref, judged, at "
        "every cutoff; or as papers write them, each at its own cutoff: P@5 AP RBP(p=0.5). [default: ndcg]",
        metavar="MEASURE[,...]",
    ),
    "bounds": click.option(
        "--bounds",
        is_flag=True,
        default=None,
        help="Compute the lowest and the highest NDCG that are possible once the unjudged documents are judged.",
    ),
    "convention": _text("--convention", "Which NDCG: the name of a preset. [default: standard]", metavar="PRESET"),
    "set": click.option(
        "--set", multiple=True, metavar="OPTION=VALUE", help="Change an option of the convention. May be repeated."
    ),
    "dataset": _text("--dataset", "Name of the dataset, if no column contains it. [default: default]"),
    "date": _text("--date", "Date of the scores. [default: today, UTC]", metavar="YYYY-MM-DD"),
    "run": _text("--run", "Name of the run, whatever the results say."),
    "run_from": _text(
        "--run-from", "What names the runs. [default: column, if there is one]", metavar="file|column|NAME"
    ),
    "column": click.option(
        "--column",
        multiple=True,
        metavar="[TABLE.]OURS=YOURS",
        help="Name of a column in your files, e.g. results.doc_id=docno. May be repeated.",
    ),
    "as_of": click.option(
        "--as-of",
        multiple=True,
        metavar="TABLE=VERSION|TIME",
        help="Version of a Delta or Iceberg table to read, e.g. results=12. [default: the latest]",
    ),
    "relevance": click.option(
        "--relevance", type=float, metavar="GRADE", help="Grade of every judgment, whatever the files say."
    ),
    "input_format": input_format_option,
    "max_rejected_fraction": _fraction(
        "--max-rejected-fraction", "Fraction of a table's rows that may be rejected. [default: 0]"
    ),
    "max_missing_fraction": _fraction(
        "--max-missing-fraction", "Fraction of the judged queries that a run may have no results for. [default: 1]"
    ),
    "max_unjudged_fraction": _fraction(
        "--max-unjudged-fraction", "Fraction of a run's queries that may be unjudged. [default: 1]"
    ),
    "min_judged_rate": _fraction(
        "--min-judged-rate", "Fraction of the returned documents that must be judged. [default: 0]"
    ),
    "wait_for_input": _text(
        "--wait-for-input", "Wait for inputs that have not arrived yet, e.g. 90m or 2h.", metavar="DURATION"
    ),
    "config": click.option("--config", type=FILE, metavar="FILE", help="TOML file; options override what it says."),
    "engine": config_engine_option,
    "remote": remote_option,
}


def evaluation_options(*without: str) -> Callable[[_Command], _Command]:
    """Gives a command all options that become a configuration, except these; `configuration.load_arguments` takes them.

    They come first in the help of the command.
    """

    def with_options(command: _Command) -> _Command:
        for name in reversed(_OF_EVALUATIONS):
            if name not in without:
                command = _OF_EVALUATIONS[name](command)
        return command

    return with_options
