"""The jobs that the worker runs for the Python functions. Most results are Arrow tables.

Jobs are imported within the functions, so that only the worker imports pyspark.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.nights.copies import Rescored
from ndcg_spark.schemas import DATASET_SCORES

if TYPE_CHECKING:
    from ndcg_spark.engine import Engine
    from ndcg_spark.search.found import FoundConvention


class Evaluated(NamedTuple):
    """An evaluation's scores."""

    #: DATASET_SCORES, for all queries and for slices.
    dataset_scores: pa.Table
    #: Reads QUERY_SCORES from the evaluation's folder.
    query_scores: Callable[[], pa.Table]
    measures: MeasureSet
    #: QUERY_ATTRIBUTES, if there are slices.
    attributes: pa.Table | None
    #: The datasets that are judged but have no results.
    datasets_without_results: Sequence[str]
    #: The fingerprint of the catalog's items, if measures look any up.
    items_fingerprint: str | None


def evaluate(engine: "Engine", config: EvaluationConfig, folder: str) -> Evaluated:
    """Evaluate as configured. The query scores are kept in the folder."""
    from ndcg_spark.job.evaluate_inputs import score_unpublished

    scored, attributes = score_unpublished(engine, config, folder)
    rows = scored.means.all_queries + scored.means.slices
    table = pa.Table.from_pylist(rows, DATASET_SCORES)
    return Evaluated(
        table,
        scored.arrow,
        config.measure_set,
        attributes,
        scored.datasets_without_results,
        scored.items_fingerprint,
    )


def describe(engine: "Engine", config: EvaluationConfig) -> list[dict[str, Any]]:
    """The rows that describe a configuration's results by its measures."""
    from ndcg_spark.job.describe_results import describe

    return describe(engine, config, config.measure_set)


def compare_lists(
    engine: "Engine",
    old: EvaluationConfig,
    new: EvaluationConfig,
    baseline: str | None,
    persistence: float,
) -> pa.Table:
    """The table LIST_CHANGES of new and old results, in its order."""
    from ndcg_spark.job.compare_inputs import compare_lists

    changes = compare_lists(engine, old, new, baseline, persistence)
    return pa.Table.from_pandas(changes, preserve_index=False)


def find_convention(
    engine: "Engine",
    config: EvaluationConfig,
    scores: str,
    fixed: Mapping[str, Any],
    limit: float,
) -> "FoundConvention":
    """The convention that gives a file's scores."""
    from ndcg_spark.job.like_scores import find_convention

    return find_convention(engine, config, scores, fixed, limit)


def compare_judgments(engine: "Engine", a: EvaluationConfig, b: EvaluationConfig) -> pa.Table:
    """The table AGREEMENTS of two sets of judgments."""
    from ndcg_spark.job.compare_inputs import compare_judgments

    agreements, _ = compare_judgments(engine, a, b)
    return agreements


def rescore(
    engine: "Engine",
    config: EvaluationConfig,
    output: str,
    since: str | None,
    dataset: str | None,
) -> Rescored:
    """Score an output's nights under different judgments."""
    from ndcg_spark.job.rescore import rescore

    return rescore(engine, config, output, since, dataset)
