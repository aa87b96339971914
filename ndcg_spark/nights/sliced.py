"""The means of slices of published nights, from their query scores and a table of attributes.

They equal the means of an evaluation with these attributes, and do not need an engine.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ndcg_spark.nights.log import Night
from ndcg_spark.nights.newest import mean_rows
from ndcg_spark.nights.reader import read_dataset_scores, read_night_batches
from ndcg_spark.schemas import DATASET_SCORES
from ndcg_spark.spot_check.means import Means, columns_of_means
from ndcg_spark.tables.table import split_slices

_EMPTY = dict.fromkeys(DATASET_SCORES.names)


class SlicedScores(NamedTuple):
    """Rows of DATASET_SCORES: for all queries as published, and for slices."""

    all_queries: list[dict[str, Any]]
    slices: list[dict[str, Any]]


def sliced_scores(nights: Sequence[Night], attributes: pa.Table) -> SlicedScores:
    """The scores of nights, for all queries and for the slices of `attributes`.

    The slices that the nights were evaluated with are left out. Both lists are sorted as in
    `split_slices`.
    """
    whole: list[dict[str, Any]] = []
    sliced: list[dict[str, Any]] = []
    for night, rows in zip(nights, read_dataset_scores(nights), strict=True):
        day = pa.scalar(night.evaluated_on).cast(pa.date32()).as_py()
        whole.extend({**row, "evaluated_on": day} for row in rows)
        sliced.extend(_slices(night, attributes))
    return SlicedScores(whole, split_slices(sliced).slices)


def read_sliced(nights: Sequence[Night], attributes: pa.Table) -> pa.Table:
    """The rows of `sliced_scores` as one table."""
    scores = sliced_scores(nights, attributes)
    return pa.Table.from_pylist(scores.all_queries + scores.slices, DATASET_SCORES)


def _slices(night: Night, attributes: pa.Table) -> list[dict[str, Any]]:
    """The DATASET_SCORES rows of one night for these slices."""
    measures = night.measure_set
    means = Means(measures, attributes)
    for batch in read_night_batches([night], "query_scores", columns_of_means(measures)):
        means.add(pa.Table.from_batches([batch]))
    rows = [row for row in mean_rows(night, means) if row["attribute"] is not None]
    return [{**_EMPTY, **row} for row in rows]
