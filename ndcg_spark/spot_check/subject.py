"""Prepare a spot check: its subject, and query scores that must be fetched from an engine."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.inputs.stored_rows import StoredRows, copied_rows
from ndcg_spark.parquet_files import write_table
from ndcg_spark.schemas import QUERY_SCORES
from ndcg_spark.scoring.evaluation import Evaluation
from ndcg_spark.scoring.prepare import UserTable
from ndcg_spark.spot_check.expected import Definition
from ndcg_spark.spot_check.plain_rows import Pair
from ndcg_spark.spot_check.recompute import (
    LARGE,
    Bucket,
    InputTable,
    Subject,
    in_bucket,
    make_bucket,
)

_Table = TypeVar("_Table", bound=UserTable)


def make_subject(
    tables: tuple[_Table, _Table, _Table | None],
    read: Callable[[_Table], InputTable],
    evaluation: Evaluation,
    runs: Sequence[tuple[str | None, str]],
    *,
    seed: str,
    queries: int,
    required: Sequence[Pair] = (),
    bucket: Bucket | None = None,
) -> Subject:
    """What a spot check of an evaluation recomputes.

    `tables` are the judgments, the results and the documents to exclude, and `read` prepares each.
    All other arguments are fields of Subject.
    """
    judgments, results, exclude = tables
    items = evaluation.items
    return Subject(
        judgments=read(judgments),
        results=read(results),
        exclude=None if exclude is None else read(exclude),
        definition=Definition(
            evaluation.convention,
            evaluation.cutoffs,
            evaluation.measures,
            None if items is None else items.items,
        ),
        runs=runs,
        dataset=evaluation.dataset,
        seed=seed,
        required=required,
        queries=queries,
        bucket=bucket,
    )


class FetchedScores(NamedTuple):
    """The rows of QUERY_SCORES, or only those of a bucket of queries if there are too many."""

    rows: pa.Table
    stored: StoredRows
    #: None if all rows are fetched.
    bucket: Bucket | None


def fetch_scores(scores: DataFrame, number: int, seed: str, folder: Path) -> FetchedScores:
    """Fetch query scores and keep them in a folder.

    `number` is about how many there are, and `seed` decides which bucket is fetched.
    """
    bucket = None
    if number > LARGE:
        bucket = make_bucket(seed, number)
        scores = in_bucket(scores, bucket)
    rows = scores.toArrow()
    write_table(rows, folder / "query_scores.parquet")
    stored = copied_rows(folder, {}, QUERY_SCORES.names, "the query scores")
    return FetchedScores(rows, stored, bucket)
