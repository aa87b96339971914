"""The changes of runs across changes of judgments, from copies, if the log does not have them."""

from collections.abc import Mapping
from typing import Any

from ndcg_spark.comparison.chain import change_facts, run_scores
from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.comparison.readings import FIRST_READING
from ndcg_spark.comparison.references import Link
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.nights.log import Night


def facts_of_copies(
    run: str,
    metric: Metric,
    before: Night,
    after: Night,
    scores: ScoreCache,
) -> Mapping[str, Any] | None:
    """What the log would say about a change; None if a copy of one of its nights is not kept."""
    try:
        for night in (before, after):
            if metric not in scores.source(night).metrics:
                return None
        of_run = run_scores(run, metric, after, scores)
        sides = of_run.sides(Link(before, after), FIRST_READING)
        return None if sides is None else change_facts(sides, of_run, scores)
    except (InputError, StorageError):
        # The nights are still drawn, in two lines.
        return None
