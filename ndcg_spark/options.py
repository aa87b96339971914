"""The command-line options that become a configuration, declared once for all commands."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ndcg_spark.errors import ConfigurationError

Paths = list[str] | None
Text = str | None

InputFormat = Annotated[
    Text,
    typer.Option(
        "--input-format",
        help="trec, parquet, orc, csv, tsv, jsonl, json, delta or iceberg, of both. [default: recognised]",
    ),
]
OutputFormat = Annotated[
    Text,
    typer.Option(
        "--format", help="How it is printed: table, json, csv, spreadsheet, markdown or latex. [default: table]"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
EngineName = Annotated[Text, typer.Option(help="auto, embedded or spark. [default: auto]")]

KeptScores = Annotated[str, typer.Argument(metavar="OUTPUT", help="The folder that keeps the scores.")]


def engine_of(given: str | None) -> str:
    """The engine that an option names. ConfigurationError if there is none of the name."""
    if given not in (None, "auto", "embedded", "spark"):
        raise ConfigurationError(f"engine: unknown engine {given!r}; choose auto, embedded or spark")
    return given or "auto"


def _fraction(text: str) -> Any:
    return Annotated[float | None, typer.Option(metavar="FRACTION", help=text)]


#: Every option that becomes part of a configuration, in the order of the help.
OPTIONS: dict[str, Any] = {
    "paths": Annotated[
        Paths,
        typer.Argument(
            metavar="JUDGMENTS RESULTS",
            help="The judgments, then all results: short for the options.",
            show_default=False,
        ),
    ],
    "judgments": Annotated[
        Paths,
        typer.Option(
            "--judgments",
            "--qrels",
            metavar="PATH",
            help="Judgments (qrels): a file, folder, glob or table:catalog.db.name. May be repeated.",
        ),
    ],
    "results": Annotated[
        Paths,
        typer.Option(metavar="PATH", help="Results (runs), likewise. TREC run files name their run themselves."),
    ],
    "exclude": Annotated[
        Paths,
        typer.Option(
            metavar="PATH", help="Documents (query_id, doc_id) that leave the lists before ranking; likewise."
        ),
    ],
    "output": Annotated[Text, typer.Option(help="Folder that keeps the scores. Without it they are printed.")],
    "documents": Annotated[
        Text,
        typer.Option(metavar="top|worst", help="Keep the documents, too; worst: of the queries that lost most."),
    ],
    "cutoffs": Annotated[Text, typer.Option(help="Ranks, and all for the whole ranking. [default: 1,3,5,10]")],
    "measures": Annotated[
        Text,
        typer.Option(
            metavar="MEASURE[,...]",
            help="What is shown and computed beside NDCG: precision, recall, ap, rr, success, rbp, err, bpref, judged, "
            "at every cutoff; or as the field writes them, each at its own: P@5 AP RBP(p=0.5). [default: ndcg]",
        ),
    ],
    "bounds": Annotated[
        bool | None,
        typer.Option("--bounds", help="Compute the lowest and highest NDCG that judging the rest could give."),
    ],
    "convention": Annotated[Text, typer.Option(help="Which NDCG: a preset's name. [default: standard]")],
    "set_": Annotated[
        Paths, typer.Option("--set", metavar="OPTION=VALUE", help="Change an option of it. May be repeated.")
    ],
    "dataset": Annotated[Text, typer.Option(help="The dataset's name, if no column has it. [default: default]")],
    "date": Annotated[Text, typer.Option(metavar="YYYY-MM-DD", help="Date of the scores. [default: today, UTC]")],
    "run": Annotated[Text, typer.Option(help="The run's name, whatever the results say.")],
    "run_from": Annotated[
        Text, typer.Option(metavar="file|column|NAME", help="What names the runs. [default: column, if there is one]")
    ],
    "column": Annotated[
        Paths,
        typer.Option(
            "--column",
            metavar="[TABLE.]OURS=YOURS",
            help="What your files call a column, e.g. results.doc_id=docno. May be repeated.",
        ),
    ],
    "as_of": Annotated[
        Paths,
        typer.Option(
            "--as-of",
            metavar="TABLE=VERSION|TIME",
            help="Which version of a Delta or Iceberg table is read, e.g. results=12. [default: the last one]",
        ),
    ],
    "relevance": Annotated[
        float | None, typer.Option(metavar="GRADE", help="The grade of every judgment, whatever the files say.")
    ],
    "min_relevance": Annotated[
        float | None, typer.Option(metavar="GRADE", help="Grades from here on count as 1, lower ones as 0.")
    ],
    "input_format": InputFormat,
    "max_rejected_fraction": _fraction("Of a table's rows, how many may be set aside. [default: 0]"),
    "max_missing_fraction": _fraction("Of the judged queries, how many a run may lack. [default: 1]"),
    "max_unjudged_fraction": _fraction("Of a run's queries, how many may be unjudged. [default: 1]"),
    "min_judged_rate": _fraction("Of the documents returned, how many must be judged. [default: 0]"),
    "wait_for_input": Annotated[
        Text,
        typer.Option(metavar="DURATION", help="Wait for inputs that are not there yet, e.g. 90m or 2h. [default: no]"),
    ],
    "config": Annotated[Path | None, typer.Option(help="A TOML file; what is given here overrides it.")],
    "engine": EngineName,
    "remote": Annotated[Text, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:port.")],
}
