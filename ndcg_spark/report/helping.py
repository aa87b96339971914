"""The help of the program and of its commands, which may find that stdout is full."""

import contextlib
import sys
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ndcg_spark.report.streams import printing


class Command(TyperCommand):
    """A command whose help is printed while its arguments are read."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments that are left; a stdout that cannot be written to ends the program as `printing` says."""
        with _printing_help():
            return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """The same for the help of the program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As `Command.parse_args`."""
        with _printing_help():
            return super().parse_args(ctx, args)


def _printing_help() -> contextlib.AbstractContextManager[None]:
    # Where stdout is closed, an evaluation still publishes its night, and help has nowhere to go.
    return contextlib.nullcontext() if sys.stdout is None else printing()
