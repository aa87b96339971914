"""One query of a committed night: its scores and, if the night keeps them, its documents; read without an engine."""

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet as pq

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.committed import CommittedNight
from ndcg_spark.nights.store import FAILURES, Store

Row = dict[str, Any]


class NightTables:
    """The tables of a night, read a file at a time. Methods raise StorageError if the storage fails."""

    def __init__(self, output: str, night: CommittedNight) -> None:
        self._store = Store(output)
        self._folder = night.folder
        self._key = {"dataset": night.dataset, "evaluated_on": datetime.date.fromisoformat(night.evaluated_on)}

    def rows_of(self, table: str, query: str) -> list[Row]:
        """The rows of one query, in no order."""
        found = self._read(table, None, pc.field("query_id") == query)
        return [row for part in found for row in part.to_pylist()]

    def rows_of_queries(self, table: str, queries: Sequence[str], runs: Sequence[str]) -> list[Row]:
        """The rows of these queries and runs, and those of no run, in no order."""
        of_runs = pc.field("run").isin(list(runs)) | pc.field("run").is_null()
        found = self._read(table, None, pc.field("query_id").isin(list(queries)) & of_runs)
        return [row for part in found for row in part.to_pylist()]

    def scores_at(self, cutoff: int | None, run: str) -> dict[str, tuple[str, float | None]]:
        """The status and the NDCG of every query of a run at a cutoff, by query."""
        names = ["query_id", "status", "ndcg"]
        is_it = pc.field("cutoff").is_null() if cutoff is None else pc.field("cutoff") == cutoff
        found = self._read("query_scores", names, is_it & (pc.field("run") == run))
        columns = ([value for part in found for value in part[name].to_pylist()] for name in names)
        return {query: (status, ndcg) for query, status, ndcg in zip(*columns, strict=True)}

    def comparisons(self) -> list[Row]:
        """What the gate has compared, rows of COMPARISONS; none without a gate."""
        return [self._key | row for part in self._read("comparisons", None) for row in part.to_pylist()]

    def queries(self) -> list[str]:
        """Every query that has scores, in no order."""
        found = self._read("query_scores", ["query_id"])
        return list(dict.fromkeys(name for part in found for name in part["query_id"].unique().to_pylist()))

    def grades(self) -> tuple[float | None, float | None]:
        """The best and the worst grade of the documents that the night keeps."""
        ranges = [pc.min_max(part["relevance"]).as_py() for part in self._read("ranked_documents", ["relevance"])]
        known = [each for each in ranges if each["max"] is not None]
        return max((each["max"] for each in known), default=None), min((each["min"] for each in known), default=None)

    def has_documents(self) -> bool:
        """Whether the night keeps its documents."""
        return bool(self._files("ranked_documents"))

    def _files(self, table: str) -> list[str]:
        try:
            return self._store.files(f"{table}/{self._folder}", ".parquet")
        except FAILURES as error:
            raise self._failed(table, error) from error

    def _read(self, table: str, columns: list[str] | None, filters: pc.Expression | None = None) -> list[pa.Table]:
        try:
            found = []
            for path in self._files(table):
                with self._store.open(path) as stream:
                    found.append(pq.read_table(stream, columns=columns, filters=filters))
        except FAILURES as error:
            raise self._failed(table, error) from error
        return found

    def _failed(self, table: str, error: BaseException) -> StorageError:
        place, again = self._store.place, "if an evaluation is publishing, run it again"
        return StorageError(f"output: {table} in {place} cannot be read, {error}; {again}")
