"""Scores as a matrix in this process: one row per run and one column per query, NaN where a query does not count."""

import dataclasses
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.statistics import UNITS, Numbers
from ndcg_spark.convention.measures import Cutoff, format_cutoff
from ndcg_spark.errors import InputError

#: A column of scores and its cutoff.
Metric = tuple[str, Cutoff]

#: So many rows are encoded at a time: looking up a query costs a pass over all that were seen before.
_ROWS_AT_ONCE = 1 << 20


class Queries:
    """The queries that were seen so far, numbered in the order in which they came."""

    def __init__(self) -> None:
        self.ids: pa.Array = pa.array([], pa.string())
        #: For each query its bucket, by its id alone.
        self.buckets = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: pa.Array) -> NDArray[np.int64]:
        """The numbers of these queries, -1 for one that was not seen."""
        return np.asarray(pc.fill_null(pc.index_in(ids, value_set=self.ids), -1), np.int64)

    def add(self, ids: pa.Array) -> NDArray[np.int64]:
        """The numbers of these queries, which are distinct; new ones get the next numbers."""
        numbers = self.find(ids)
        new = ids.filter(pa.array(numbers < 0))
        numbers[numbers < 0] = len(self.ids) + np.arange(len(new))
        self.ids = pa.concat_arrays([self.ids, new])
        crcs = map(zlib.crc32, new.cast(pa.binary()).to_pylist())
        self.buckets = np.append(self.buckets, np.fromiter(crcs, np.int64, len(new)) % UNITS)
        return numbers


@dataclasses.dataclass
class ScoreMatrix:
    """The scores of one measure at one cutoff; matrices that are compared share their `queries`."""

    queries: Queries
    runs: Sequence[str]
    #: [run, query]; queries that were seen later have no column yet.
    values: Numbers
    #: By query; 0 where it is unknown, or where the query has no row here.
    judgments_hash: NDArray[np.int64]
    #: By query, whether it has a row here.
    rows: NDArray[np.bool_]

    def scores(self, run: str) -> Numbers:
        """The score of every query, NaN where it does not count or this is no run of the matrix."""
        own = self.values[list(self.runs).index(run)] if run in self.runs else np.zeros(0)
        return _padded(own, self.queries, np.nan)

    def hashes(self) -> NDArray[np.int64]:
        """The hash of the judgments of every query."""
        return _padded(self.judgments_hash, self.queries)

    def there(self) -> NDArray[np.bool_]:
        """Whether it has a row of every query."""
        return _padded(self.rows, self.queries)


def _padded(values: NDArray[Any], queries: Queries, empty: float = 0) -> NDArray[Any]:
    return np.pad(values, (0, len(queries) - len(values)), constant_values=empty)


class MatrixReader:
    """Reads rows of QUERY_SCORES, batch by batch, into a matrix for each measure and cutoff."""

    def __init__(self, queries: Queries, runs: Sequence[str], metrics: Sequence[Metric], where: str) -> None:
        self._queries, self._runs, self._metrics, self._where = queries, pa.array(runs, pa.string()), metrics, where
        # A row per query, so that a matrix grows without being copied.
        self._cells = {metric: np.empty((0, len(runs))) for metric in metrics}
        self._seen = {cutoff: np.empty((0, len(runs)), np.bool_) for _, cutoff in metrics}
        self._hashes = np.zeros(0, np.int64)

    def read(self, batches: Iterable[pa.RecordBatch]) -> "dict[Metric, ScoreMatrix]":
        """The matrices of all rows.

        Columns: run and query_id, text; cutoff; the measures; and perhaps judgments_hash. Rows of other runs and
        cutoffs are left out. InputError if an id is null or empty, a score is infinite, a run has a query twice, or the
        judgments of a query differ.
        """
        for table in _together(batches):
            self._add(table)
        self._grow()
        runs: list[str] = self._runs.to_pylist()
        return {
            metric: ScoreMatrix(self._queries, runs, cells.T, self._hashes, np.asarray(self._seen[metric[1]].any(1)))
            for metric, cells in self._cells.items()
        }

    def _add(self, table: pa.Table) -> None:
        for name in ("run", "query_id"):
            empty = pc.sum(pc.fill_null(pc.equal(table[name], ""), True)).as_py()
            if empty:
                raise InputError(f"{self._where}: {empty:,} row(s) with an empty {name}; every score needs its {name}")
        run = np.asarray(pc.fill_null(pc.index_in(table["run"].combine_chunks(), value_set=self._runs), -1))
        encoded = table["query_id"].combine_chunks().dictionary_encode()
        query = self._queries.add(encoded.dictionary)[np.asarray(encoded.indices)]
        cutoffs = np.asarray(pc.fill_null(table["cutoff"], 0))
        self._grow()
        if "judgments_hash" in table.column_names:
            self._add_hashes(np.asarray(pc.fill_null(table["judgments_hash"], 0), np.int64), query)
        for cutoff, seen in self._seen.items():
            at = np.flatnonzero((cutoffs == (cutoff or 0)) & (run >= 0))
            cells = query[at], run[at]
            before, again = np.count_nonzero(seen), seen[cells]
            seen[cells] = True
            repeated = len(at) - (np.count_nonzero(seen) - before)
            if repeated:
                first = np.unique(cells[0] * len(self._runs) + cells[1], return_index=True)[1]
                again[np.delete(np.arange(len(at)), first)] = True
                self._refuse(f"{repeated:,} row(s) repeat a query at cutoff {format_cutoff(cutoff)}", again, cells)
            for measure in (name for name, wanted in self._metrics if wanted == cutoff):
                scores = np.asarray(pc.fill_null(table[measure].cast(pa.float64()), np.nan))[at]
                infinite = np.isinf(scores)
                if infinite.any():
                    self._refuse(f"{np.count_nonzero(infinite):,} infinite score(s) in {measure}", infinite, cells)
                self._cells[measure, cutoff][cells] = scores

    def _add_hashes(self, hashes: NDArray[np.int64], query: NDArray[np.int64]) -> None:
        known = self._hashes[query]
        self._hashes[query] = np.where(hashes == 0, known, hashes)
        differs = (hashes != 0) & ((self._hashes[query] != hashes) | ((known != 0) & (known != hashes)))
        if differs.any():
            name = self._queries.ids[int(query[np.argmax(differs)])]
            raise InputError(
                f"{self._where}: judgments_hash of {len(np.unique(query[differs])):,} queries differs between rows, "
                f"e.g. of query_id={name}; give the scores of one evaluation"
            )

    def _refuse(self, what: str, rows: NDArray[np.bool_], cells: tuple[NDArray[Any], NDArray[Any]]) -> None:
        query, run = (int(indices[np.argmax(rows)]) for indices in cells)
        raise InputError(
            f"{self._where}: {what}, e.g. of query_id={self._queries.ids[query]} of run={self._runs[run]}; scores are "
            "finite or null, and each query has one, of one evaluation"
        )

    def _grow(self) -> None:
        """Give all arrays a row for each query that was seen; in the same memory, where the system can."""
        tables = [(cells, np.nan) for cells in self._cells.values()] + [(seen, False) for seen in self._seen.values()]
        for array, empty in [*tables, (self._hashes, 0)]:
            before = len(array)
            array.resize((len(self._queries), *array.shape[1:]), refcheck=False)
            array[before:] = empty


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches as tables of many rows."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        kept.append(batch)
        if sum(part.num_rows for part in kept) >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(kept)
            kept = []
    if kept:
        yield pa.Table.from_batches(kept)


def mean_matrix(matrices: Iterable[ScoreMatrix], tonight: ScoreMatrix) -> ScoreMatrix:
    """The mean of several nights: a night's score of a query counts where its judgments are tonight's.

    Runs are those of all nights; the hashes are tonight's where any night has these, else those of the last.
    """
    queries, there, hashes = tonight.queries, np.zeros(0, np.bool_), np.zeros(0, np.int64)
    sums: dict[str, Numbers] = {}
    counts: dict[str, NDArray[np.int16]] = {}
    for matrix in matrices:
        # Every night may have queries that those before it have not.
        known, same = _padded(hashes, queries), matrix.hashes() == tonight.hashes()
        hashes = np.where(known == tonight.hashes(), known, matrix.hashes())
        there = _padded(there, queries) | matrix.there()
        for run in matrix.runs:
            scores = matrix.scores(run)
            counted = same & ~np.isnan(scores)
            sums[run] = _padded(sums.get(run, np.zeros(0)), queries) + np.where(counted, scores, 0.0)
            counts[run] = _padded(counts.get(run, np.zeros(0, np.int16)), queries) + counted
    values = np.full((len(sums), len(queries)), np.nan)
    for mean, total, count in zip(values, sums.values(), counts.values(), strict=True):
        np.divide(total, count, out=mean[: len(total)], where=count > 0)
    return ScoreMatrix(queries, list(sums), values, hashes, there)
