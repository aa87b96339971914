"""The command `gate`."""

import contextlib
from pathlib import Path
from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import GATE_CODES, Command
from ndcg_spark.errors import ConfigurationError


@click.command(cls=Command, epilog=GATE_CODES)
@options.output
@click.option("--config", type=options.FILE, metavar="FILE", required=True, help="TOML file with the [gate].")
@options.night
@options.dataset
@options.accept_baseline
@click.option("--rehearse", is_flag=True, help="Say what this gate would have decided on every night.")
@options.junit
@options.output_format(*options.FORMATS)
@options.config_engine
@options.remote
def gate(
    output: str,
    config: Path,
    date: str | None,
    dataset: str | None,
    accept_baseline: str | None,
    rehearse: bool,
    junit: Path | None,
    style: str,
    **engine: Any,
) -> None:
    """Check a published night again with another [gate].

    The scores and the verdict of the night stay as they are.
    """
    if rehearse:
        if date or accept_baseline is not None or junit:
            raise ConfigurationError(
                "arguments: --rehearse is for all nights; leave out --date and options that change a night"
            )
        _rehearse(output, config, dataset, style, engine)
        return
    from ndcg_spark.config import NightConfig, load
    from ndcg_spark.gate.verdict import exit_code_of
    from ndcg_spark.job.gate import gate_published, newest_date
    from ndcg_spark.report.progress import shown_steps
    from ndcg_spark.report.verdicts import print_verdicts, refuse_unwritable, write_junit

    settings = load(config, {"output": output, "date": date or newest_date(output, dataset), **engine}, NightConfig)
    if junit is not None:
        refuse_unwritable(junit)
    with shown_steps(style):
        verdicts = gate_published(settings, output, dataset, accept_baseline)
    with contextlib.ExitStack() as outputs:
        # The last one is written first, and each one is written even if the other fails.
        outputs.callback(print_verdicts, verdicts, style)
        if junit is not None:
            outputs.callback(write_junit, junit, verdicts)
    raise SystemExit(exit_code_of(verdicts))


def _rehearse(output: str, config: Path, dataset: str | None, style: str, engine: dict[str, Any]) -> None:
    from ndcg_spark.config import NightConfig, load
    from ndcg_spark.job.gate import rehearse_published
    from ndcg_spark.report.progress import shown_steps
    from ndcg_spark.report.verdicts import print_rehearsal

    with shown_steps(style):
        settings = load(config, {"output": output, **engine}, NightConfig)
        verdicts = rehearse_published(settings, output, dataset)
    print_rehearsal(verdicts, style)
