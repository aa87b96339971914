"""The means over the datasets of a date, computed from the nights of that date."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import read_dataset_scores
from ndcg_spark.schemas import DATASET_SCORES
from ndcg_spark.tables.macro import DATASETS, MacroMeans, macro_means

#: The name of these means in `read_scores`, and their columns.
MACRO_MEANS = "macro_means"
SCHEMA = DATASET_SCORES.append(pa.field(DATASETS, pa.int64()))


def macro_of_nights(
    nights: Sequence[Night], scores: Sequence[Sequence[Mapping[str, Any]]]
) -> dict[str, MacroMeans]:
    """The means over datasets, by date. `scores`: each night's DATASET_SCORES rows.

    The datasets of a date include those that were judged with one of its nights but had no results.
    """
    rows: dict[str, list[Mapping[str, Any]]] = {}
    absent: dict[str, set[str]] = {}
    for night, own in zip(nights, scores, strict=True):
        date = night.evaluated_on
        rows.setdefault(date, []).extend(own)
        absent.setdefault(date, set()).update(night.record["datasets_without_results"] or ())
    return {date: macro_means(rows[date], absent[date]) for date in sorted(rows)}


def read_macro_means(nights: Sequence[Night]) -> pa.Table:
    """The means over datasets for every date of these nights, as one table."""
    means = macro_of_nights(nights, read_dataset_scores(nights))
    rows = []
    for means_of_date in means.values():
        for row in means_of_date.rows:
            day = pa.scalar(row["evaluated_on"]).cast(pa.date32()).as_py()
            rows.append({**row, "evaluated_on": day})
    return pa.Table.from_pylist(rows, SCHEMA)
