"""What two nights must share for their scores to be comparable: the options of the convention, and the judgments."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention

#: A night's record.
Record = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class ChangedJudgments:
    """The number of queries judged in either of two nights, and the number of those whose judgments differ."""

    queries: int = 0
    changed: int = 0
    example: str | None = None


SAME_JUDGMENTS = ChangedJudgments()


def fingerprint(record: Record, table: str, dataset: str) -> str | None:
    """The fingerprint of a dataset's `judgments` or `results`; None if its record has none."""
    own = record.get("inputs", {}).get(table, {})
    found: str | None = own.get("fingerprints", {}).get(dataset, own.get("fingerprint"))
    return found


def convention_key(record: Record) -> str:
    """What distinguishes conventions: their options, not their names."""
    return json.dumps(record.get("options"), sort_keys=True)


def different_options(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The options that differ, in words; an option missing in a night has its default.

    The name of a convention does not count: two presets may have the same options.
    """
    here, there, default = (json.loads(json.dumps(each)) for each in (ours, theirs, Convention().options()))
    values = {name: [each.get(name, default.get(name)) for each in (here, there)] for name in {**here, **there}}
    return [f"{name}={two} there and {one} here" for name, (one, two) in sorted(values.items()) if one != two]


def doubts(dataset: str, ours: Record, theirs: Record, date: str) -> list[str]:
    """Why the scores of two nights of a dataset may not mean the same; `date` is that of the other night."""
    sentences = []
    if different_options(ours.get("options", {}), theirs.get("options", {})):
        sentences.append(
            f"{date} has another convention, {theirs.get('convention')}, and this night has "
            f"{ours.get('convention')}: their scores cannot be compared"
        )
    if fingerprint(ours, "judgments", dataset) != fingerprint(theirs, "judgments", dataset):
        sentences.append(f"the judgments of {dataset} are not those of {date}")
    return sentences


def changed_judgments(scores: DataFrame, baseline: DataFrame) -> ChangedJudgments:
    """Count the queries whose judgments differ between two QUERY_SCORES. Runs a job.

    A query that is judged in only one of them has changed.
    """
    both = _hashes(scores, "ours").join(_hashes(baseline, "theirs"), on=["query_id"], how="full")
    changed = ~F.col("ours").eqNullSafe(F.col("theirs"))
    row = both.agg(
        F.count("*").alias("queries"),
        F.count_if(changed).alias("changed"),
        F.min(F.when(changed, F.col("query_id"))).alias("example"),
    ).collect()[0]
    return ChangedJudgments(row["queries"], row["changed"], row["example"])


def unchanged_queries(scores: DataFrame, baseline: DataFrame) -> DataFrame:
    """One row per query with the same judgments in both QUERY_SCORES, in no order: query_id."""
    both = _hashes(scores, "ours").join(_hashes(baseline, "theirs"), on=["query_id"], how="inner")
    return both.where(F.col("ours") == F.col("theirs")).select("query_id")


def _hashes(scores: DataFrame, name: str) -> DataFrame:
    """One row per judged query of a night: query_id, and the hash of its judgments under this name.

    Every run has a row for every judged query at every cutoff, and all of them have the same hash.
    """
    return scores.groupBy("query_id").agg(F.max("judgments_hash").alias(name))
