"""argv -> configuration -> one evaluation -> exit code.

What takes long to import waits inside the commands: help answers at once.
"""

import dataclasses
import datetime
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ndcg_spark.convention.explanation import explain_preset
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.convention.values import parse_option
from ndcg_spark.errors import NdcgSparkError

app = typer.Typer(
    help="Graded NDCG@k of search and recommendation results, on a laptop and on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXIT_CODES = "Exit codes: 0 done, 1 a bug, 2 arguments or configuration, 3 input refused, 4 engine or storage failed."


_Paths = list[str] | None
_Text = str | None

_Judgments = Annotated[
    _Paths, typer.Option(help="Judgments (qrels): a file, folder, glob or table:catalog.db.name. May be repeated.")
]
_Results = Annotated[_Paths, typer.Option(help="Results (runs), likewise. TREC run files name their run themselves.")]
_Convention = Annotated[_Text, typer.Option(help="Which NDCG: a preset's name. [default: standard]")]
_Set = Annotated[_Paths, typer.Option("--set", metavar="OPTION=VALUE", help="Change an option of it. May be repeated.")]
_Date = Annotated[_Text, typer.Option(metavar="YYYY-MM-DD", help="Date of the scores. [default: today, UTC]")]
_Run = Annotated[_Text, typer.Option(help="The run's name, whatever the results say.")]
_Format = Annotated[
    _Text, typer.Option("--format", help="trec, parquet, orc, csv, tsv or jsonl, of both. [default: by the names]")
]
_Config = Annotated[Path | None, typer.Option(help="A TOML file; what is given here overrides it.")]
_Engine = Annotated[_Text, typer.Option(help="auto, embedded or spark. [default: auto]")]
_Remote = Annotated[_Text, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:port.")]
_MaxRejected = Annotated[
    float | None,
    typer.Option(metavar="FRACTION", help="Of a table's rows, how many may be set aside. [default: 0]"),
]
_MaxMissing = Annotated[
    float | None,
    typer.Option(metavar="FRACTION", help="Of the judged queries, how many a run may lack. [default: 1]"),
]
_MaxUnjudged = Annotated[
    float | None,
    typer.Option(metavar="FRACTION", help="Of a run's queries, how many may be unjudged. [default: 1]"),
]
_MinJudgedRate = Annotated[
    float | None,
    typer.Option(metavar="FRACTION", help="Of the documents returned, how many must be judged. [default: 0]"),
]
_Output = Annotated[str, typer.Argument(metavar="OUTPUT", help="The folder that keeps the scores.")]


@app.command(epilog=_EXIT_CODES)
def evaluate(
    judgments: _Judgments = None,
    results: _Results = None,
    output: Annotated[_Text, typer.Option(help="Folder that keeps the scores. Without it they are printed.")] = None,
    cutoffs: Annotated[_Text, typer.Option(help="Ranks, and all for the whole ranking. [default: 1,3,5,10]")] = None,
    convention: _Convention = None,
    set_: _Set = None,
    dataset: Annotated[_Text, typer.Option(help="The dataset's name, if no column has it. [default: default]")] = None,
    date: _Date = None,
    run: _Run = None,
    format_: _Format = None,
    max_rejected_fraction: _MaxRejected = None,
    max_missing_fraction: _MaxMissing = None,
    max_unjudged_fraction: _MaxUnjudged = None,
    min_judged_rate: _MinJudgedRate = None,
    config: _Config = None,
    engine: _Engine = None,
    remote: _Remote = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
    explain_plan: Annotated[
        bool, typer.Option("--explain-plan", help="Print how it would compute; compute nothing.")
    ] = False,
) -> None:
    """Score results against judgments: NDCG per query and per dataset.

    Paths may have {date} in them.
    """
    from ndcg_spark.config import load

    loaded = load(
        config,
        {
            "judgments": {"path": judgments, "format": format_},
            "results": {"path": results, "format": format_, "run": run},
            "output": output,
            "cutoffs": cutoffs,
            "convention": _chosen(convention, set_),
            "dataset": dataset,
            "date": date,
            "engine": engine,
            "remote": remote,
            "max_rejected_fraction": max_rejected_fraction,
            "max_missing_fraction": max_missing_fraction,
            "max_unjudged_fraction": max_unjudged_fraction,
            "min_judged_rate": min_judged_rate,
        },
    )
    from ndcg_spark.job.checking import explain
    from ndcg_spark.job.evaluating import run as run_job
    from ndcg_spark.report.terminal import Progress, print_scores

    if explain_plan:
        print(explain(loaded))
        return
    with Progress(_silent(json_)).running() as progress:
        outcome = run_job(loaded, progress.tell)
    if json_:
        print(json.dumps(dataclasses.asdict(outcome), default=str, ensure_ascii=False))
    else:
        print_scores(outcome)


@app.command(epilog=_EXIT_CODES)
def check(
    judgments: _Judgments = None,
    results: _Results = None,
    convention: _Convention = None,
    set_: _Set = None,
    date: _Date = None,
    run: _Run = None,
    format_: _Format = None,
    max_rejected_fraction: _MaxRejected = None,
    max_missing_fraction: _MaxMissing = None,
    max_unjudged_fraction: _MaxUnjudged = None,
    min_judged_rate: _MinJudgedRate = None,
    config: _Config = None,
    engine: _Engine = None,
    remote: _Remote = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Hold judgments and results to the input contract of a convention; nothing is scored.

    Unlike an evaluation it looks for duplicates in all of both tables, not just where they could change a score.
    """
    from ndcg_spark.config import load

    loaded = load(
        config,
        {
            "judgments": {"path": judgments, "format": format_},
            "results": {"path": results, "format": format_, "run": run},
            "convention": _chosen(convention, set_),
            "date": date,
            "engine": engine,
            "remote": remote,
            "max_rejected_fraction": max_rejected_fraction,
            "max_missing_fraction": max_missing_fraction,
            "max_unjudged_fraction": max_unjudged_fraction,
            "min_judged_rate": min_judged_rate,
        },
    )
    from ndcg_spark.job.checking import check as check_input
    from ndcg_spark.report.terminal import Progress, print_check

    with Progress(_silent(json_)).running() as progress:
        found = check_input(loaded, progress.tell)
    if json_:
        print(json.dumps(found, ensure_ascii=False))
    else:
        print_check(found)


def _chosen(convention: str | None, options: list[str] | None) -> dict[str, Any]:
    """The convention of the command line, as a configuration file would write it."""
    chosen: dict[str, Any] = dict(parse_option(text) for text in options or [])
    return chosen if convention is None else {**chosen, "preset": convention}


def _silent(json_: bool) -> bool:
    """Whether steps are left out: spark-submit folds stderr into stdout, where the JSON object must stand alone."""
    return json_ and "PYSPARK_GATEWAY_PORT" in os.environ


@app.command("conventions")
def show_conventions(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A preset, for its options and formula.")] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="JUDGMENTS RESULTS", help="Score the same data under every preset, side by side."),
    ] = None,
    cutoffs: Annotated[str, typer.Option(help="Ranks of the comparison, and all.")] = "10",
    format_: _Format = None,
    engine: _Engine = None,
) -> None:
    """List the presets, explain one, or compare them all on your data."""
    if compare is not None:
        from ndcg_spark.config import validate
        from ndcg_spark.job.every_preset import compare_presets
        from ndcg_spark.report.terminal import Progress, print_comparison

        judgments, results = ({"path": path, "format": format_} for path in compare)
        settings = {"judgments": judgments, "results": results, "cutoffs": cutoffs, "engine": engine or "auto"}
        with Progress().running() as progress:
            rows = compare_presets(validate(settings, "arguments"), progress.tell)
        print_comparison(rows)
    elif name is not None:
        print("\n".join(explain_preset(name)))
    else:
        width = max(map(len, PRESETS))
        for preset in PRESETS:
            print(f"{preset:<{width}}  {PRESETS[preset].tool}\n{'':<{width}}  verified with {PRESETS[preset].verified}")


@app.command("nights")
def list_nights(output: _Output, json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the committed nights: dataset, date, runs, queries, convention, evaluation, when, version."""
    from ndcg_spark.nights.committed import committed
    from ndcg_spark.report.terminal import print_nights

    found = committed(output)
    if json_:
        print(json.dumps([dataclasses.asdict(night) for night in found], ensure_ascii=False))
    else:
        print_nights(found)


@app.command()
def recover(output: _Output) -> None:
    """Finish or remove what evaluations that were killed have left; every evaluation does this first."""
    from ndcg_spark.nights.recovery import recover as recover_nights

    print("\n".join(recover_nights(output) or ["nothing to recover"]))


@app.command()
def expire(
    output: _Output,
    keep_days: Annotated[int, typer.Option(min=0, help="Nights dated longer ago than this go.")],
) -> None:
    """Remove old nights whole, and what dead evaluations have left; says what it removed."""
    from ndcg_spark.nights.committed import expire as expire_nights

    today = datetime.datetime.now(datetime.UTC).date()
    print("\n".join(expire_nights(output, keep_days, today) or ["nothing to remove"]))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; a failure that can be explained prints one message."""
    try:
        app(args=arguments, prog_name="ndcg-spark")
    except NdcgSparkError as error:
        print(f"ndcg-spark: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from error
