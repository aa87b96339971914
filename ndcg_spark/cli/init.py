"""The command `init`, which makes the tables of an output."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import Command
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.interrupts import set_outcome
from ndcg_spark.report.console import echo


@click.command(cls=Command)
@click.argument("output", metavar="OUTPUT", help="delta:PATH, iceberg:CATALOG.NAMESPACE or table:CATALOG.SCHEMA.")
@options.engine
@options.remote
def init(output: str, **engine: Any) -> None:
    """Make the tables of an output that is kept in tables.

    Existing tables stay as they are. An output folder needs no tables.
    """
    from ndcg_spark.config_values import output as expanded
    from ndcg_spark.job.init import make_tables

    set_outcome("run it again, as it may be half done")
    try:
        output = expanded(output)
    except ValueError as error:
        raise ConfigurationError(f"output: {error}") from None
    echo(make_tables(output, **engine))
