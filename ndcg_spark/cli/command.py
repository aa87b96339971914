"""What all commands have in common: help that may find stdout full, exit codes, and the new names of old options."""

import contextlib
import sys

import click

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import printing

EXIT_CODES = "Exit codes: 0 done, 1 a bug, 2 arguments or configuration, 3 input refused, 4 engine or storage failed."
GATE_CODES = f"{EXIT_CODES[:-1]}, 5 the gate failed, 6 no verdict."

#: Options that are gone, and what says the same.
_REPLACED = {"--json": "--format json", "--qrels": "--judgments", "--min-relevance": "--set min_relevance=GRADE"}


class Command(click.Command):
    """A command whose help is printed while its arguments are read."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments that are left. If stdout cannot be written to, the program ends as `printing` says.

        Raises
        ------
        ConfigurationError
            An option has another name now.
        """
        try:
            with _printing_help():
                return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in _REPLACED:
                raise
            new = _REPLACED[error.option_name]
            raise ConfigurationError(f"arguments: {error.option_name} was removed; use {new}") from error


class Commands(click.Group):
    """The program, whose help is printed in the same way, with the commands in the order in which people need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they were added."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As `Command.parse_args`."""
        with _printing_help():
            return super().parse_args(ctx, args)


def _printing_help() -> contextlib.AbstractContextManager[None]:
    # Where stdout is closed, an evaluation still publishes its night, and help has nowhere to go.
    return contextlib.nullcontext() if sys.stdout is None else printing()
