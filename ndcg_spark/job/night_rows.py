"""The tables of one published night, read query by query without an engine."""

from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc

from ndcg_spark.nights.read import read_rows
from ndcg_spark.nights.records import CommittedNight

Row = dict[str, Any]


class NightRows:
    """The tables of one night, read without an engine. Methods raise as `read_rows`."""

    def __init__(self, night: CommittedNight) -> None:
        self._night = night

    def rows_of(self, table: str, query: str) -> list[Row]:
        """The rows of one query, in no order."""
        return self._rows(table, where=pc.field("query_id") == query)

    def rows_of_queries(self, table: str, queries: Sequence[str], runs: Sequence[str]) -> list[Row]:
        """The rows of these queries and runs, and those of no run, in no order."""
        of_runs = pc.field("run").isin(list(runs)) | pc.field("run").is_null()
        return self._rows(table, where=pc.field("query_id").isin(list(queries)) & of_runs)

    def scores_at(self, cutoff: int | None, run: str, measure: str = "ndcg") -> dict[str, tuple[str, float | None]]:
        """The status and the score of every query of a run at a cutoff, by query; `measure` is a column of scores."""
        is_it = pc.field("cutoff").is_null() if cutoff is None else pc.field("cutoff") == cutoff
        rows = self._rows("query_scores", ["query_id", "status", measure], is_it & (pc.field("run") == run))
        return {row["query_id"]: (row["status"], row[measure]) for row in rows}

    def comparisons(self) -> list[Row]:
        """What the gate has compared, rows of COMPARISONS; none without a gate."""
        return self._rows("comparisons")

    def queries(self) -> list[str]:
        """Every query that has scores, in no order."""
        return list(read_rows([self._night], "query_scores", ["query_id"])["query_id"].unique().to_pylist())

    def has_documents(self) -> bool:
        """Whether the night keeps its documents."""
        return bool(self._night.files("ranked_documents"))

    def _rows(self, table: str, columns: Sequence[str] | None = None, where: pc.Expression | None = None) -> list[Row]:
        return list(read_rows([self._night], table, columns, where).to_pylist())
