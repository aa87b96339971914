"""The search for documents, and ranks, that occur twice in a list: the same for every command that reads results."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import validation
from ndcg_spark.contract.checked import Checked
from ndcg_spark.inputs.read import Source
from ndcg_spark.job.failures import PlanRefusedError, translated_failures

_Result = TypeVar("_Result")


def without_duplicates(checked: Checked, sources: Sequence[Source], config: EvaluationConfig) -> Checked:
    """The checked tables after the search; an action. Raises as `validation.without_duplicates`."""
    judgments, results = sources
    with translated_failures(sources):
        return validation.without_duplicates(checked, judgments, results, config)


def searched_if_met(
    compute: Callable[[Checked], _Result], checked: Checked, search: Callable[[Checked], Checked]
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
