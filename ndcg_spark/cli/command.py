"""What all commands have in common: their exit codes, and help that ends cleanly if stdout cannot be written to."""

import contextlib
import sys

import click

from ndcg_spark.report.console import printing

EXIT_CODES = "Exit codes: 0 done, 1 a bug, 2 arguments or configuration, 3 input refused, 4 engine or storage failed."
GATE_CODES = f"{EXIT_CODES[:-1]}, 5 the gate failed, 6 no verdict."


class Command(click.Command):
    """A command. Its help is printed while its arguments are parsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The remaining arguments. If stdout cannot be written to, the program ends as described in `printing`."""
        with _printing_help():
            return super().parse_args(ctx, args)


class Commands(click.Group):
    """The program, whose commands are listed in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As `Command.parse_args`."""
        with _printing_help():
            return super().parse_args(ctx, args)


def _printing_help() -> contextlib.AbstractContextManager[None]:
    # If stdout is closed, an evaluation still publishes its night, and help has nowhere to go.
    return contextlib.nullcontext() if sys.stdout is None else printing()
