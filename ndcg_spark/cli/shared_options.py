"""The options that several commands share, and the configuration they build."""

import datetime
import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ndcg_spark.convention.options import parse_options
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import did_you_mean, expanded, label_text

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig

EXIT_CODES = (
    "Exit codes: 0 done, 1 a bug, 2 arguments or configuration, 3 input refused, "
    "4 engine or storage failed."
)
GATE_CODES = f"{EXIT_CODES[:-1]}, 5 the gate failed, 6 no verdict."

#: A label and its grade, up to the next one.
_GRADE = re.compile(r"(?P<label>[^=].*?)=\s*(?P<grade>[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?:,|\Z)")

FILE = click.Path(path_type=Path)
FORMATS = ("table", "json", "csv", "markdown", "latex")
_INPUT_FORMATS = ("trec", "parquet", "orc", "csv", "tsv", "jsonl", "json")


#: Options that are refused if they are repeated where a command takes one value, because people
#: expect several. For other options the last value wins, which wrapper scripts rely on.
_NOT_REPEATED = {"--baseline", "--human", "--labels", "--slices", "--weights", "--run"}


class _Command(click.Command):
    """A command that refuses some repeated options, and prints no table with --quiet."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [arg.partition("=")[0] for arg in args]
        of_one_value: set[str] = set()
        for parameter in self.params:
            if not getattr(parameter, "multiple", False):
                of_one_value.update(parameter.opts)
        for name in sorted(of_one_value & _NOT_REPEATED):
            if given.count(name) > 1:
                what = f"{name} takes one value here; give it once."
                raise click.BadOptionUsage(name, what, ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        is_quiet = ctx.get_parameter_source("quiet") == ParameterSource.COMMANDLINE
        has_default_format = ctx.get_parameter_source("style") == ParameterSource.DEFAULT
        if is_quiet and has_default_format:
            ctx.params["style"] = None
        return super().invoke(ctx)


def command(
    *parameters: click.Parameter | Sequence[click.Parameter], codes: str = EXIT_CODES
) -> Callable[[Callable[..., Any]], click.Command]:
    """A decorator that makes a command with these parameters; `codes` end its help text."""
    params: list[click.Parameter] = []
    for group in parameters:
        if isinstance(group, click.Parameter):
            params.append(group)
        else:
            params.extend(group)
    return click.command(cls=_Command, params=params, epilog=codes)


def argument(name: str, words: str, **more: Any) -> click.Argument:
    return click.Argument([name], **{"metavar": name.upper(), "help": words, **more})


def option(names: str, metavar: str | None, words: str, **more: Any) -> click.Option:
    return click.Option(
        names.split(), metavar=metavar, help=words, show_default="default" in more, **more
    )


many = functools.partial(option, multiple=True)


def choice(name: str, words: str, *values: str, **more: Any) -> click.Option:
    return option(name, None, words, type=click.Choice(values), **more)


def date(name: str, words: str) -> click.Option:
    """An option for a date; its value is the text of a valid date, or None."""

    def checked(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
        if not text:
            return text
        try:
            day = datetime.datetime.strptime(text, "%Y-%m-%d").date()
        except ValueError as error:
            raise click.BadParameter(f"{text!r} is not a date (YYYY-MM-DD).") from error
        # Not strftime, which writes the year 999 with three digits.
        return day.isoformat()

    return option(name, "YYYY-MM-DD", words, callback=checked)


def output_format(*formats: str) -> click.Option:
    return choice("--format style", "Output format.", *formats, default=formats[0])


output = argument(
    "output",
    "Folder with the published scores.",
    callback=lambda _context, _name, path: expanded(path),
)
night = date("--date", "Date of the night. [default: the newest]")
dataset = option("--dataset", "NAME", "Only this dataset.")
engine = [
    choice("--engine", "Engine. [default: auto]", "auto", "embedded", "spark"),
    option("--remote", "URL", "Spark Connect server, sc://host:port."),
]
accept_baseline = option(
    "--accept-baseline", "REASON", "Accept this night as a baseline, for this reason."
)
slices = option(
    "--slices",
    "FILE",
    "Slices of queries: query_id, attribute, value; or a column for each attribute.",
)
labels = option(
    "--labels",
    "FILE",
    "Texts to show for ids: query_id and text, or doc_id, text, link.",
    type=FILE,
)
human = [
    option(
        "--human",
        "FILE",
        "Sample from judge-next with human grades, which correct those of a machine judge.",
        type=FILE,
    ),
    option(
        "--assume-missing-at-random",
        None,
        "Allow blank grades in --human, and assume that they are like the others.",
        is_flag=True,
    ),
]
junit = option(
    "--junit", "FILE", "Also write the results of the gate to this file as JUnit XML.", type=FILE
)
#: How the program prints messages on stderr; `commands.message_options` reads them.
messages = [
    choice(
        "--log-format",
        "Print messages with their time and level.",
        "text",
        "json",
        expose_value=False,
    ),
    option(
        "--quiet",
        None,
        "Print only the verdict and warnings; print tables only if --format is given.",
        is_flag=True,
        expose_value=False,
    ),
]


#: Every option that becomes part of a configuration, in the order of the help. Options that are not
#: given are None or empty; then the configuration file or the default applies.
_EVALUATION = [
    argument(
        "paths",
        "Judgments, then all results. Give a table that contains both twice.",
        nargs=-1,
        metavar="[JUDGMENTS RESULTS...]",
    ),
    many(
        "--judgments --qrels",
        "PATH",
        "Judgments: a file, folder, glob or table:catalog.db.name. May be repeated.",
    ),
    many(
        "--results",
        "PATH",
        "Results (runs), given in the same way. TREC files contain the names of their runs.",
    ),
    many(
        "--exclude",
        "PATH",
        "Documents (query_id, doc_id) to remove from the results before ranking.",
    ),
    option("--output", "FOLDER", "Folder to publish the scores in."),
    option(
        "--documents",
        "all|everything|N",
        "Also keep documents: of all judged queries, all queries, or the N that changed most. "
        "[default: all with a gate]",
    ),
    option(
        "--cutoffs",
        "RANK[,...]",
        "Ranks, and 'all' for the whole ranking. [default: 1,3,5,10; or in --measures]",
    ),
    option(
        "--measures",
        "MEASURE[,...]",
        "Measures to show: ndcg, precision, recall, recall_cap, ap, rr, success, rbp, err or "
        "judged at every cutoff; bpref or rprec; novelty, popularity, categories, items, coverage, "
        "gini or personalization, which measure the catalog; or the names used in papers, each "
        "with its own cutoff: nDCG@10 P@5 AP RBP(p=0.5). [default: ndcg]",
    ),
    many(
        "--items",
        "FILE",
        "Items of the catalog: doc_id and, if the measures need them, popularity (users), "
        "interactions, category.",
    ),
    option("--items-users", "N", "Number of users that the popularity counts come from."),
    many(
        "--interactions",
        "FILE",
        "Earlier interactions to count items from: a user and an item per row.",
    ),
    option(
        "--convention", "PRESET", "Which NDCG; 'conventions' lists the presets. [default: standard]"
    ),
    many("--set", "OPTION=VALUE", "Change an option of the convention. May be repeated."),
    option(
        "--dataset", "NAME", "Name of the dataset, if no column contains it. [default: default]"
    ),
    date("--date", "Date of the scores. [default: today, UTC]"),
    option("--run", "NAME", "Name of the run; overrides the names in the results."),
    choice(
        "--run-from",
        "Where the names of runs come from. [default: column, if there is one]",
        "file",
        "column",
    ),
    many(
        "--column",
        "[TABLE.]OURS=YOURS",
        "Name of a column in your files: results.doc_id=docno. May be repeated.",
    ),
    many(
        "--split-ids",
        "TABLE=SEPARATOR",
        "Separator of cells that contain several ids, best first: results=blank, or comma, "
        "semicolon, pipe.",
    ),
    many(
        "--as-of",
        "TABLE=VERSION|TIME",
        "Version of a Delta or Iceberg table: results=12. [default: the latest]",
    ),
    option(
        "--relevance", "GRADE", "Grade of every judgment; overrides the files' grades.", type=float
    ),
    many(
        "--grades",
        "LABEL=GRADE[,...]",
        "Grades for the labels that the judgments contain instead of grades: E=4,S=3,C=2,I=1.",
    ),
    choice(
        "--input-format", "Format of judgments and results. [default: recognised]", *_INPUT_FORMATS
    ),
    option(
        "--max-rejected-fraction",
        "FRACTION",
        "Fraction of a table's rows that may be rejected. [default: 0]",
    ),
    option(
        "--max-missing-fraction",
        "FRACTION",
        "Fraction of the judged queries that a run may miss. [default: 1]",
    ),
    option(
        "--max-unjudged-fraction",
        "FRACTION",
        "Fraction of a run's queries that may be unjudged. [default: 1]",
    ),
    option(
        "--min-judged-rate",
        "FRACTION",
        "Fraction of the returned documents that must be judged. [default: 0]",
    ),
    option("--config", "FILE", "TOML file with the configuration; options override it.", type=FILE),
    *engine,
]


_MEASURES_OF_CATALOG = option(
    "--measures",
    "MEASURE[,...]",
    "Measures to show: items, coverage, gini, personalization, novelty, popularity or categories, "
    "at every cutoff. A measure can have its own options and cutoff, as in "
    "Novelty(unseen=drop)@10. "
    "[default: all that --items or --interactions allow, except categories]",
)
#: The options for tables that only measures use.
_OF_MEASURES = ("items", "items_users", "interactions")


def evaluation(without: str = "", only: str = "") -> list[click.Parameter]:
    """The options of a configuration: all, all `without` some, or `only` some of them.

    Names are separated by blanks. `load_arguments` takes the values of the options.
    """
    left_out = without.split()
    if "measures" in left_out:
        left_out += _OF_MEASURES
    chosen = only.split()
    shown = []
    for parameter in _EVALUATION:
        is_shown = parameter.name in chosen if chosen else parameter.name not in left_out
        if is_shown:
            shown.append(parameter)
    return [*shown, *messages]


def catalog(without: str) -> list[click.Parameter]:
    """The options of `evaluation` for measures that need no judgments."""
    parameters = []
    for parameter in evaluation(without=without):
        shown = _MEASURES_OF_CATALOG if parameter.name == "measures" else parameter
        parameters.append(shown)
    return parameters


def load_arguments(
    arguments: Mapping[str, Any], *, needs_inputs: bool = True
) -> "EvaluationConfig":
    """The configuration that the options of `evaluation` describe; they override --config."""
    from ndcg_spark.config import EvaluationConfig, NightConfig, load

    given = {name: value for name, value in arguments.items() if value not in (None, ())}
    _name_paths(given)
    file = given.pop("config", None)
    needed = {"judgments", "results"} if needs_inputs else set()
    used_tables = needed | given.keys()
    tables = _take_tables(given)
    for text in given.pop("as_of", ()):
        _set_of_table(tables, "as_of", text, "results=12")
    for text in given.pop("split_ids", ()):
        _set_of_table(tables, "split_ids", text, "results=blank")
    _set_columns(tables, given.pop("column", ()), used_tables)
    # In the file, interactions are part of the items.
    tables["items"]["interactions"] = tables.pop("interactions")
    return load(file, {**given, **tables}, EvaluationConfig if needs_inputs else NightConfig)


def _name_paths(given: dict[str, Any]) -> None:
    """Take the paths that are given without an option as the judgments and the results."""
    paths = given.pop("paths", None)
    if not paths:
        return
    if given.keys() & {"judgments", "results"}:
        ways = "give --judgments or --results before every path, or no path with either"
        raise ConfigurationError(f"arguments: {paths[0]}: {ways}")
    if len(paths) < 2:
        ways = "give judgments, then results; or --judgments and --results, which may be repeated"
        raise ConfigurationError(f"arguments: {paths[0]}: {ways}")
    given |= {"judgments": paths[:1], "results": paths[1:]}


def _take_tables(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Move the options that are tables of the configuration from `given` to a dictionary."""

    def take(name: str) -> Any:
        return given.pop(name, None)

    kind = take("input_format")
    options = parse_options(take("set") or ())
    return {
        "judgments": {
            "format": kind,
            "path": take("judgments"),
            "relevance": take("relevance"),
            "grades": _grades(take("grades") or ()),
        },
        "results": {
            "format": kind,
            "path": take("results"),
            "run": take("run"),
            "run_from": take("run_from"),
        },
        "exclude": {"path": take("exclude")},
        "query_attributes": {"path": take("slices")},
        "query_weights": {"path": take("weights")},
        "items": {
            "path": take("items"),
            "users": take("items_users"),
        },
        "interactions": {"path": take("interactions")},
        "convention": {"preset": take("convention"), **options},
    }


def _grades(texts: Sequence[str]) -> dict[str, str] | None:
    """The grades of labels, such as {"E": "4"}, or None if no grade is given.

    A label may contain commas.
    """
    grades: dict[str, str] = {}
    for text in texts:
        pairs = list(_GRADE.finditer(text))
        if not pairs or "".join(pair[0] for pair in pairs) != text:
            raise ConfigurationError(f"arguments: --grades {text}: write it as in E=4,S=3,C=2,I=1")
        for pair in pairs:
            label = label_text(pair["label"])
            if label in grades:
                raise ConfigurationError(f"arguments: --grades {label} has two grades; give one")
            grades[label] = pair["grade"]
    return grades or None


def _column_names() -> dict[str, tuple[str, ...]]:
    """Our names of the columns of each input table."""
    from ndcg_spark.config import (
        ExcludeConfig,
        InteractionsConfig,
        ItemsConfig,
        JudgmentsConfig,
        ResultsConfig,
    )

    return {
        "judgments": JudgmentsConfig.names,
        "results": ResultsConfig.names,
        "exclude": ExcludeConfig.names,
        "items": ItemsConfig.names,
        "interactions": InteractionsConfig.names,
    }


def _set_of_table(tables: dict[str, dict[str, Any]], key: str, text: str, example: str) -> None:
    """Set a key of a table from a text such as ``results=12``."""
    given = f"--{key.replace('_', '-')} {text}"
    table, _, value = text.partition("=")
    if table not in _column_names() or not value:
        raise ConfigurationError(f"arguments: {given}: write it as in {example}")
    _set_once(tables[table], key, value, given)


def _set_once(table: dict[str, Any], key: str, value: str, given: str) -> None:
    """Set a key. Raise ConfigurationError if `given` sets it to a second, different value."""
    if table.setdefault(key, value) != value:
        raise ConfigurationError(
            f"arguments: {given}: it is already set to {table[key]}; give it once"
        )


def _set_columns(
    tables: dict[str, dict[str, Any]], texts: Iterable[str], used_tables: Collection[str]
) -> None:
    """Map columns from texts such as ``results.doc_id=docno``.

    A text without a table, such as ``doc_id=docno``, maps the column in each used table that has
    it, unless a text with the table's name maps it.
    """
    names = _column_names()
    owners = [table for table in names if table in used_tables]
    for_all: dict[str, str] = {}
    for text in texts:
        ours, _, yours = text.partition("=")
        table, _, name = ours.rpartition(".")
        is_known = table in names
        if not table:
            is_known = any(name in names[owner] for owner in owners)
        if not is_known or not yours:
            near = did_you_mean(table, names)
            raise ConfigurationError(
                f"arguments: --column {text}{near}: write it as in results.doc_id=docno"
            )
        columns = tables[table].setdefault("columns", {}) if table else for_all
        _set_once(columns, name, yours, f"--column {text}")
    for name, yours in for_all.items():
        for owner in owners:
            if name in names[owner]:
                tables[owner].setdefault("columns", {}).setdefault(name, yours)


def columns_of_scores(texts: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The columns of an earlier job's scores, from texts such as ``scores.score=NAME``.

    Also returns the texts that are about other tables.
    """
    columns: dict[str, str] = {}
    others: list[str] = []
    for text in texts:
        ours, _, yours = text.partition("=")
        table, _, name = ours.rpartition(".")
        if table != "scores":
            others.append(text)
            continue
        if not yours:
            what = f"--column {text}: write it as in scores.score=NAME"
            raise ConfigurationError(f"arguments: {what}")
        _set_once(columns, name, yours, f"--column {text}")
    return columns, tuple(others)
