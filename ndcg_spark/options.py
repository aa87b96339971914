"""The command-line options that become a configuration, declared once for all commands."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ndcg_spark.convention.values import parse_option

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig

Paths = list[str] | None
Text = str | None

InputFormat = Annotated[
    Text,
    typer.Option("--input-format", help="trec, parquet, orc, csv, tsv or jsonl, of both. [default: by the names]"),
]
OutputFormat = Annotated[
    Text, typer.Option("--format", help="How it is printed: table, json, csv, markdown or latex. [default: table]")
]
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
EngineName = Annotated[Text, typer.Option(help="auto, embedded or spark. [default: auto]")]


def _fraction(text: str) -> Any:
    return Annotated[float | None, typer.Option(metavar="FRACTION", help=text)]


#: Every option that becomes part of a configuration, in the order of the help.
OPTIONS: dict[str, Any] = {
    "judgments": Annotated[
        Paths, typer.Option(help="Judgments (qrels): a file, folder, glob or table:catalog.db.name. May be repeated.")
    ],
    "results": Annotated[
        Paths, typer.Option(help="Results (runs), likewise. TREC run files name their run themselves.")
    ],
    "output": Annotated[Text, typer.Option(help="Folder that keeps the scores. Without it they are printed.")],
    "cutoffs": Annotated[Text, typer.Option(help="Ranks, and all for the whole ranking. [default: 1,3,5,10]")],
    "convention": Annotated[Text, typer.Option(help="Which NDCG: a preset's name. [default: standard]")],
    "set_": Annotated[
        Paths, typer.Option("--set", metavar="OPTION=VALUE", help="Change an option of it. May be repeated.")
    ],
    "dataset": Annotated[Text, typer.Option(help="The dataset's name, if no column has it. [default: default]")],
    "date": Annotated[Text, typer.Option(metavar="YYYY-MM-DD", help="Date of the scores. [default: today, UTC]")],
    "run": Annotated[Text, typer.Option(help="The run's name, whatever the results say.")],
    "input_format": InputFormat,
    "max_rejected_fraction": _fraction("Of a table's rows, how many may be set aside. [default: 0]"),
    "max_missing_fraction": _fraction("Of the judged queries, how many a run may lack. [default: 1]"),
    "max_unjudged_fraction": _fraction("Of a run's queries, how many may be unjudged. [default: 1]"),
    "min_judged_rate": _fraction("Of the documents returned, how many must be judged. [default: 0]"),
    "config": Annotated[Path | None, typer.Option(help="A TOML file; what is given here overrides it.")],
    "engine": EngineName,
    "remote": Annotated[Text, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:port.")],
}


def configured(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add all OPTIONS except these to a command, which is called with the configuration that they result in."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command).parameters.values())[1:]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OPTIONS[name])
            for name in OPTIONS
            if name not in without
        ]

        @functools.wraps(command)
        def called(**given: Any) -> None:
            command(
                _configuration({name: given.pop(name, None) for name in OPTIONS}),
                **given,
            )

        parameters = [*shared, *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own)]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorated


def _configuration(given: dict[str, Any]) -> "EvaluationConfig":
    """The configuration of the file, if one is given, overridden by the options."""
    from ndcg_spark.config import load

    config, kind, options = given.pop("config"), given.pop("input_format"), given.pop("set_")
    judgments, results, run = given.pop("judgments"), given.pop("results"), given.pop("run")
    convention: dict[str, Any] = dict(parse_option(text) for text in options or [])
    if given["convention"] is not None:
        convention["preset"] = given["convention"]
    return load(
        config,
        {
            **given,
            "judgments": {"path": judgments, "format": kind},
            "results": {"path": results, "format": kind, "run": run},
            "convention": convention,
        },
    )
