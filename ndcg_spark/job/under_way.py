"""What a long step is doing, in words, with the counts that are known before it begins.

Neither engine tells through the API that all share how far a query is, so nothing here says how much is left.
"""

from collections.abc import Callable, Sequence

from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.inputs.read import Source

#: Called when a step begins, with what it does.
Doing = Callable[[str], object]

ENGINE = "starting the engine"
WAITING = "waiting for inputs"
LOOKING = "looking at the inputs"
AVERAGING = "averaging the query scores"
DOCUMENTS = "keeping the documents of the scores"
REJECTED = "keeping the rejected rows"
COMPARING = "comparing with the baselines of the gate"
PUBLISHING = "publishing"


def reading(sources: Sequence[Source]) -> str:
    """The tables that are read, by their rows where files tell, else by their size."""
    return f"reading {' and '.join(map(_table, sources))}"


def evaluating(checked: CheckedTables) -> str:
    """What is evaluated."""
    counts = checked.result_counts
    return f"evaluating {counts.rows:,} results of {len(counts.runs):,} runs"


def _table(source: Source) -> str:
    if source.expected_rows is not None:
        return f"{source.expected_rows:,} {source.name}"
    size = sum(file.size or 0 for file in source.files) / 1e6
    files = f"{len(source.files):,} file{'s' if len(source.files) > 1 else ''}"
    return f"{source.name} ({files}, {size:,.1f} MB)" if size else source.name
