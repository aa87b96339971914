"""The dataset scores of committed nights, read without an engine: they are a few rows each."""

import concurrent.futures
from collections.abc import Sequence
from typing import Any

from pyarrow import parquet as pq

from ndcg_spark.convention.cutoffs import order_of
from ndcg_spark.convention.measures import COLUMNS
from ndcg_spark.errors import StorageError
from ndcg_spark.nights.committed import CommittedNight
from ndcg_spark.nights.store import FAILURES, Store
from ndcg_spark.schemas import DATASET_SCORES, PARTITIONS, measure_first

#: A storage far away answers many at once.
_AT_ONCE = 8


def kept_scores(output: str, nights: Sequence[CommittedNight]) -> list[list[dict[str, Any]]]:
    """The rows of DATASET_SCORES of each night, by run and cutoff, ndcg and the measures beside it after the key.

    A column that an older version did not write is null.

    Raises
    ------
    StorageError
        A file cannot be read, for example because the night is being replaced.
    """
    store = Store(output)
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            return list(pool.map(lambda night: _rows(store, night), nights))
        except FAILURES as error:
            raise StorageError(
                f"output: scores in {store.place} cannot be read, {error}; if an evaluation is publishing, run it again"
            ) from error


def _rows(store: Store, night: CommittedNight) -> list[dict[str, Any]]:
    columns = [name for name in measure_first(DATASET_SCORES, COLUMNS) if name not in PARTITIONS]
    rows = []
    for path in store.files(f"dataset_scores/{night.folder}", ".parquet"):
        with store.open(path) as stream:
            rows += pq.ParquetFile(stream).read().to_pylist()
    key = dict(zip(PARTITIONS, (night.dataset, night.evaluated_on), strict=True))
    ordered = sorted(rows, key=lambda row: (row["run"], order_of(row["cutoff"])))
    return [{**key, **{name: row.get(name) for name in columns}} for row in ordered]
