"""Runs that seem to write ids differently from the judgments: ids of documents, and ids of some
queries.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.contract.doubts import run_example
from ndcg_spark.contract.limits import check_ids
from ndcg_spark.contract.scan import RunCounts
from ndcg_spark.job.inputs import Context

Row = Mapping[str, Any]


def runs_with_unknown_ids(context: Context, rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """By dataset and run, a sentence with an id from each table.

    `rows` are those of DATASET_SCORES. Only runs none of whose returned documents are judged are
    examined, because that takes a pass over the results.
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
    """A sentence about the ids of a run, or None if the judgments of some query have one of
    them.
    """
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
    advice = check_ids("document ids", ["doc_id"], judgments, results, excluded)
    return f"no document of {run} is judged; {advice}"


#: The fewest queries that are not missing from a run, or unjudged in it, by coincidence.
_FEWEST = 5


def about_renamed_queries(context: Context) -> Iterator[str]:
    """A sentence if a run lacks queries and has as many unjudged queries, with one of each.

    Their ids may be written in two ways, for example with two kinds of apostrophes.
    """
    checked = context.checked
    for run in checked.result_counts.runs:
        expected = checked.judgment_counts.queries.get(run.dataset, 0)
        lacking = expected - run.judged_queries
        if lacking >= _FEWEST and lacking == run.unjudged_queries:
            yield _about_queries(context, run, lacking)
            return


def _about_queries(context: Context, run: RunCounts, many: int) -> str:
    judgments, results = context.checked.judgments, context.checked.results
    results = results.where(F.col("run") == run.run)
    if run.dataset is not None:
        judgments = judgments.where(F.col("dataset") == run.dataset)
        results = results.where(F.col("dataset") == run.dataset)
    judged = judgments.select("query_id").distinct()
    returned = results.select("query_id").distinct()
    lacks = _first(judged.join(returned, on="query_id", how="left_anti"))
    has = _first(returned.join(judged, on="query_id", how="left_anti"))
    examples = f"it lacks {lacks!r} and has {has!r}"
    name = run_example(run.run, run.dataset)
    what = f"{name} lacks {many:,} judged queries and has as many that nobody judged"
    return f"{what}; {examples}; check that both tables write query ids in the same way"


def _first(queries: DataFrame) -> str | None:
    """The first id in the order of text."""
    first: str | None = queries.agg(F.min("query_id")).collect()[0][0]
    return first
