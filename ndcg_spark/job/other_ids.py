"""Runs that seem to write ids of documents or queries differently from the judgments."""

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
    """A sentence for each run whose document ids are in no judgment, by dataset and run.

    `rows` are those of DATASET_SCORES. A run is examined, which takes a pass over the results, only
    if none of its documents down to the deepest cutoff is judged.
    """
    deepest = context.config.cutoffs[-1]
    sentences: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["cutoff"] != deepest or row["judged_rate"] != 0:
            continue
        sentence = _about_ids(context, row["dataset"], row["run"])
        if sentence is not None:
            sentences.setdefault(row["dataset"], {})[row["run"]] = sentence
    return sentences


def _about_ids(context: Context, dataset: str, run: str) -> str | None:
    """A sentence about the document ids of a run, or None if a judgment of any query has one."""
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


#: From this many queries on, equal numbers of missing and unjudged queries are no coincidence.
_FEWEST = 5


def about_renamed_queries(context: Context) -> Iterator[str]:
    """A sentence about the first run that lacks as many judged queries as it has unjudged ones.

    They may be the same queries, with ids that are written in two ways, for example with two kinds
    of apostrophes.
    """
    checked = context.checked
    for run in checked.result_counts.runs:
        judged_queries = checked.judgment_counts.queries.get(run.dataset, 0)
        missing = judged_queries - run.judged_queries
        if missing >= _FEWEST and missing == run.unjudged_queries:
            yield _about_queries(context, run, missing)
            return


def _about_queries(context: Context, run: RunCounts, missing: int) -> str:
    """The sentence, with an example of a missing and of an unjudged query."""
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
    what = f"{name} lacks {missing:,} judged queries and has as many that nobody judged"
    return f"{what}; {examples}; check that both tables write query ids in the same way"


def _first(queries: DataFrame) -> str | None:
    """The first id in alphabetical order."""
    first: str | None = queries.agg(F.min("query_id")).collect()[0][0]
    return first
