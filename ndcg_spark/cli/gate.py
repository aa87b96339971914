"""The command `gate`."""

import contextlib
from pathlib import Path

import click

from ndcg_spark.cli.command import GATE_CODES, Command
from ndcg_spark.cli.options import (
    FILE,
    accept_option,
    config_engine_option,
    dataset_option,
    junit_option,
    night_option,
    output_argument,
    output_format,
    remote_option,
)
from ndcg_spark.interrupts import stand
from ndcg_spark.report.saying import silent
from ndcg_spark.report.streams import printing


@click.command("gate", cls=Command, epilog=GATE_CODES)
@output_argument
@click.option("--config", type=FILE, metavar="FILE", required=True, help="TOML file with the [gate].")
@night_option
@dataset_option
@accept_option
@junit_option
@output_format("table", "json", "csv", "spreadsheet", "markdown", "latex")
@config_engine_option
@remote_option
def run_gate(
    output: str,
    config: Path,
    date: str | None,
    dataset: str | None,
    accept_baseline: str | None,
    junit: Path | None,
    style: str,
    engine: str | None,
    remote: str | None,
) -> None:
    """Check a published night again, with another [gate].

    The scores and the verdict of the night stay as they are.
    """
    from ndcg_spark.comparison.verdict import exit_code_of
    from ndcg_spark.config import load_gate
    from ndcg_spark.job.judging_again import judge_again, latest
    from ndcg_spark.report.junit import refuse_unwritable, write_junit
    from ndcg_spark.report.terminal import Progress
    from ndcg_spark.report.verdicts import print_verdicts

    settings = {"date": date or latest(output, dataset), "engine": engine, "remote": remote}
    configuration = load_gate(config, settings)
    if junit is not None:
        refuse_unwritable(junit)
    if accept_baseline is not None:
        stand("run it again, as it may be half done")
    with Progress(silent(style)).running() as progress:
        verdicts = judge_again(configuration, output, dataset, progress.tell, accept_baseline)
    with contextlib.ExitStack() as outputs:
        # The last is written first, and each whatever becomes of the other.
        outputs.enter_context(printing())
        outputs.callback(print_verdicts, verdicts, style)
        if junit is not None:
            outputs.callback(write_junit, junit, verdicts)
    raise SystemExit(exit_code_of(verdicts))
