"""The command `gate`: its options, and the call of the job that they describe."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from ndcg_spark.interrupts import stand
from ndcg_spark.options import EngineName, Json, OutputFormat
from ndcg_spark.report.saying import silent
from ndcg_spark.report.streams import printing

Accepted = Annotated[
    str | None,
    typer.Option("--accept-baseline", metavar="REASON", help="Accept this night as a baseline of later ones: why."),
]
JUnitFile = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write the findings of the gate as JUnit XML, too.")
]


def gate(
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="The folder that keeps the scores.")],
    config: Annotated[Path, typer.Option(help="The TOML file with the [gate].")],
    date: Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="Which night. [default: the newest]")] = None,
    dataset: Annotated[str | None, typer.Option(help="Of which dataset. [default: of every one]")] = None,
    accept_baseline: Accepted = None,
    junit: JUnitFile = None,
    format_: OutputFormat = None,
    json_: Json = False,
    engine: EngineName = None,
    remote: Annotated[str | None, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:port.")] = None,
) -> None:
    """Run a configuration's [gate] on a published night.

    The scores and the verdict of its record stay as they are.
    """
    from ndcg_spark.config import load_gate
    from ndcg_spark.gate.verdict import exit_code_of
    from ndcg_spark.job.gate_nights import gate_published, newest_date
    from ndcg_spark.report.formats import chosen
    from ndcg_spark.report.junit import refuse_unwritable, write_junit
    from ndcg_spark.report.terminal import Progress
    from ndcg_spark.report.verdicts import print_verdicts

    style = chosen(format_, json_)
    settings = {"date": date or newest_date(output, dataset), "engine": engine, "remote": remote}
    configuration = load_gate(config, settings)
    if junit is not None:
        refuse_unwritable(junit)
    if accept_baseline is not None:
        stand("run it again, as it may be half done")
    with Progress(silent(style)).running() as progress:
        verdicts = gate_published(configuration, output, dataset, progress.tell, accept_baseline)
    with contextlib.ExitStack() as outputs:
        # The last is written first, and each whatever becomes of the other.
        outputs.enter_context(printing())
        outputs.callback(print_verdicts, verdicts, style)
        if junit is not None:
            outputs.callback(write_junit, junit, verdicts)
    raise typer.Exit(exit_code_of(verdicts))
