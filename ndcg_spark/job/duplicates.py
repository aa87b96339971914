"""The search for documents, and ranks, that occur twice in a list: the same for every command that reads results."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import duplicates
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.inputs.read import Source
from ndcg_spark.job.failures import PlanRefusedError, translated_failures

_Result = TypeVar("_Result")


def without_duplicates(checked: CheckedTables, sources: Sequence[Source], config: EvaluationConfig) -> CheckedTables:
    """The checked tables without duplicates. Runs Spark jobs, and raises, as `duplicates.without_duplicates`."""
    judgments, results = sources
    with translated_failures(sources):
        return duplicates.without_duplicates(checked, judgments, results, config)


def searched_if_met(
    compute: Callable[[CheckedTables], _Result],
    checked: CheckedTables,
    search: Callable[[CheckedTables], CheckedTables],
) -> _Result:
    """What `compute` makes of checked tables; if it meets a duplicate, what it makes of them after the `search`.

    The search costs a scan of each table, so it waits until a duplicate is known to matter.
    """
    try:
        return compute(checked)
    except PlanRefusedError as refusal:
        if not refusal.is_of_duplicates:
            raise
    return compute(search(checked))
