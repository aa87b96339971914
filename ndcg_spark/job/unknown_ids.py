"""Runs that seem to write document ids in another way than the judgments: none of theirs is judged for any query."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import functions as F

from ndcg_spark.contract.limits import check_ids
from ndcg_spark.job.inputs import Context

Row = Mapping[str, Any]


def runs_with_unknown_ids(context: Context, rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """By dataset and run, a sentence with an id of each table.

    `rows` are those of DATASET_SCORES. Only runs of which no document is judged where it was
    returned are looked at, as that takes a pass over the results.
    """
    deepest = context.config.cutoffs[-1]
    suspects = [row for row in rows if row["cutoff"] == deepest and row["judged_rate"] == 0]
    found: dict[str, dict[str, str]] = {}
    for row in suspects:
        sentence = _about_ids(context, row["dataset"], row["run"])
        if sentence is not None:
            found.setdefault(row["dataset"], {})[row["run"]] = sentence
    return found


def _about_ids(context: Context, dataset: str, run: str) -> str | None:
    """A sentence about the ids of a run; None if the judgments of some query have one of them."""
    judgments = context.checked.judgments
    results = context.checked.results.where(F.col("run") == run)
    if "dataset" in judgments.columns:
        judgments = judgments.where(F.col("dataset") == dataset)
        results = results.where(F.col("dataset") == dataset)
    judged = judgments.select("doc_id").distinct()
    known = results.select("doc_id").join(judged, on="doc_id", how="left_semi")
    if known.limit(1).count():
        return None
    excluded = context.checked.result_counts.excluded
    return f"no document of {run} is judged; {check_ids('document ids', ['doc_id'], judgments, results, excluded)}"
