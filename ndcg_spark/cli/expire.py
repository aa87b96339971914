"""The command `expire`, which removes what is no longer needed from an output."""

import datetime

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import Command
from ndcg_spark.report.console import echo

_DAYS = click.IntRange(min=0)


@click.command(cls=Command)
@options.output
@click.option("--keep-days", type=_DAYS, metavar="DAYS", required=True, help="Remove nights that are older than this.")
@click.option("--baselines", is_flag=True, help="Also remove baselines of the gate.")
@click.option("--dry-run", is_flag=True, help="Print what would be removed; change nothing.")
def expire(output: str, keep_days: int, baselines: bool, dry_run: bool) -> None:
    """Remove old nights and leftovers of killed evaluations.

    Prints what was removed, superseded evaluations too, and which baselines were kept.
    """
    from ndcg_spark.nights.expire import old_nights, remove, waste

    today = datetime.datetime.now(datetime.UTC).date()
    left = waste(output)
    old, kept = old_nights(output, keep_days, today, baselines)
    if dry_run:
        echo([*(f"would remove {each.what}" for each in [*left, *old]), *kept] or ["nothing to remove"])
        return
    echo([*remove(output, [*left, *old]), *kept] or ["nothing to remove"])
