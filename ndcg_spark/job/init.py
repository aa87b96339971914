"""Makes the tables of an output of tables."""

import contextlib

from ndcg_spark.engine import open_engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.masking import masked
from ndcg_spark.nights.sink import Sink
from ndcg_spark.nights.table_outputs import is_of_tables


def make_tables(output: str, engine: str = "auto", remote: str | None = None) -> list[str]:
    """Make the missing tables; returns a sentence for each of them.

    Raises
    ------
    ConfigurationError
        The output is a folder.
    StorageError
        A table cannot be made.
    """
    if not is_of_tables(output):
        raise ConfigurationError(
            f"output: {masked(output)} is a folder, which needs no tables; evaluate makes what it needs"
        )
    with contextlib.ExitStack() as stack:
        if engine != "auto" or remote:
            stack.enter_context(open_engine(engine, remote))
        made = Sink(output).create()
    return [f"made {name}" for name in made] or ["every table is there"]
