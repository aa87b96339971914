"""The names of `commands` for tests that are about to go."""

from commands import command_line
from pyspark.errors import PySparkException

__all__ = ["command_line", "returned"]


def returned(function, *arguments, **named):
    try:
        return function(*arguments, **named)
    except PySparkException as error:
        raise RuntimeError(str(error)) from error
