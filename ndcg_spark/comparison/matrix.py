"""Scores as a matrix in this process: one row per run and one column per query, NaN where a query does not count."""

import dataclasses
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.errors import InputError

Numbers = NDArray[np.float64]
_Array = TypeVar("_Array", bound=NDArray[Any])
#: A column of scores and its cutoff.
Place = tuple[str, Cutoff]

#: So many rows are encoded at a time: looking up a query costs a pass over all that were seen before.
_ROWS_AT_ONCE = 1 << 20
#: The number of buckets of queries.
BUCKETS = 4_096


class Queries:
    """The queries that were seen so far, numbered in the order in which they came."""

    def __init__(self) -> None:
        self.ids: pa.Array = pa.array([], pa.string())
        self._buckets: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: pa.Array) -> NDArray[np.int64]:
        """The numbers of these queries, -1 for one that was not seen."""
        return np.asarray(pc.fill_null(pc.index_in(ids, value_set=self.ids), -1), np.int64)

    def add(self, ids: pa.Array) -> NDArray[np.int64]:
        """The numbers of these queries, which are distinct; new ones get the next numbers."""
        numbers = self.find(ids)
        is_new = numbers < 0
        if is_new.any():
            numbers[is_new] = len(self.ids) + np.arange(np.count_nonzero(is_new))
            self.ids = pa.concat_arrays([self.ids, ids.filter(pa.array(is_new))])
        return numbers

    def buckets(self) -> NDArray[np.int64]:
        """For each query a number below BUCKETS, by its id alone."""
        if self._buckets is None or len(self._buckets) < len(self.ids):
            crcs = (zlib.crc32(query) for query in self.ids.cast(pa.binary()).to_pylist())
            self._buckets = np.fromiter(crcs, np.int64, len(self.ids)) % BUCKETS
        return self._buckets


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
        missing = len(self.queries) - self.values.shape[1]
        if run not in self.runs:
            return np.full(len(self.queries), np.nan)
        return np.pad(self.values[list(self.runs).index(run)], (0, missing), constant_values=np.nan)

    def hashes(self) -> NDArray[np.int64]:
        """The hash of the judgments of every query."""
        return np.pad(self.judgments_hash, (0, len(self.queries) - len(self.judgments_hash)))

    def there(self) -> NDArray[np.bool_]:
        """Whether it has a row of every query."""
        return np.pad(self.rows, (0, len(self.queries) - len(self.rows)))


class MatrixReader:
    """Reads rows of QUERY_SCORES, batch by batch, into a matrix for each measure and cutoff."""

    def __init__(self, queries: Queries, runs: Sequence[str], places: Sequence[Place], where: str) -> None:
        self._queries, self._runs, self._places, self._where = queries, pa.array(runs, pa.string()), places, where
        # A row per query, so that a matrix grows without being copied.
        self._cells = {place: np.empty((0, len(runs))) for place in places}
        self._seen = {cutoff: np.empty((0, len(runs)), np.bool_) for _, cutoff in places}
        self._hashes = np.zeros(0, np.int64)

    def read(self, batches: Iterable[pa.RecordBatch]) -> "dict[Place, ScoreMatrix]":
        """The matrices of all rows.

        Columns: run and query_id, text; cutoff; the measures; and perhaps judgments_hash. Rows of other runs and
        cutoffs are left out.

        Raises
        ------
        InputError
            An id is null or empty, a score is infinite, a run has a query twice, or its judgments differ between runs.
        """
        for table in _together(batches):
            self._add(table)
        for place in self._places:
            self._grow(self._cells[place], np.nan)
        self._grow(self._hashes, 0)
        runs: list[str] = self._runs.to_pylist()
        there = {cutoff: np.asarray(self._grow(seen, False).any(axis=1)) for cutoff, seen in self._seen.items()}
        return {
            (measure, cutoff): ScoreMatrix(
                self._queries, runs, self._cells[measure, cutoff].T, self._hashes, there[cutoff]
            )
            for measure, cutoff in self._places
        }

    def _add(self, table: pa.Table) -> None:
        for name in ("run", "query_id"):
            column = table.column(name)
            empty = column.null_count + (pc.sum(pc.equal(column, "")).as_py() or 0)
            if empty:
                raise InputError(f"{self._where}: {empty:,} row(s) with an empty {name}; every score needs its {name}")
        run = np.asarray(pc.fill_null(pc.index_in(table.column("run").combine_chunks(), value_set=self._runs), -1))
        encoded = table.column("query_id").combine_chunks().dictionary_encode()
        query = self._queries.add(encoded.dictionary)[np.asarray(encoded.indices)]
        cutoff = np.asarray(pc.fill_null(table.column("cutoff"), 0))
        self._add_hashes(table, query)
        for wanted in self._seen:
            at = np.flatnonzero((cutoff == (wanted or 0)) & (run >= 0))
            place = (query[at], run[at])
            seen = self._seen[wanted] = self._grow(self._seen[wanted], False)
            before = int(seen.sum())
            repeated = seen[place]
            seen[place] = True
            if int(seen.sum()) - before < len(at):
                self._refuse_repeated(repeated, place, wanted)
            for measure, _ in (each for each in self._places if each[1] == wanted):
                values = table.column(measure).cast(pa.float64())
                found = np.asarray(pc.fill_null(values, np.nan))[at]
                infinite = np.isinf(found)
                if infinite.any():
                    example = int(np.argmax(infinite))
                    raise InputError(
                        f"{self._where}: {np.count_nonzero(infinite):,} infinite score(s) in {measure}, e.g. of "
                        f"{self._cell(place[0][example], place[1][example])}; scores are finite or null"
                    )
                cells = self._cells[measure, wanted] = self._grow(self._cells[measure, wanted], np.nan)
                cells[place] = found

    def _add_hashes(self, table: pa.Table, query: NDArray[np.int64]) -> None:
        self._hashes = self._grow(self._hashes, 0)
        if "judgments_hash" not in table.column_names:
            return
        hashes = np.asarray(pc.fill_null(table.column("judgments_hash"), 0), np.int64)
        known = self._hashes[query]
        self._hashes[query] = np.where(hashes == 0, known, hashes)
        differs = (hashes != 0) & ((self._hashes[query] != hashes) | ((known != 0) & (known != hashes)))
        if differs.any():
            name = self._queries.ids[int(query[np.argmax(differs)])]
            raise InputError(
                f"{self._where}: judgments_hash of {len(np.unique(query[differs])):,} queries differs between rows, "
                f"e.g. of query_id={name}; give the scores of one evaluation"
            )

    def _refuse_repeated(
        self, repeated: NDArray[np.bool_], place: tuple[NDArray[np.int64], NDArray[np.int64]], cutoff: Cutoff
    ) -> None:
        cells = place[0] * len(self._runs) + place[1]
        unique, counts = np.unique(cells, return_counts=True)
        rows = int((counts - 1).sum()) + len(np.unique(cells[repeated]))
        cell = int((cells[repeated] if repeated.any() else unique[counts > 1])[0])
        example = self._cell(cell // len(self._runs), cell % len(self._runs))
        raise InputError(
            f"{self._where}: {rows:,} row(s) repeat a query at cutoff {format_cutoff(cutoff)}, e.g. {example}; give "
            "each query once, of one evaluation"
        )

    def _cell(self, query: int, run: int) -> str:
        return f"query_id={self._queries.ids[int(query)]} of run={self._runs[int(run)]}"

    def _grow(self, cells: _Array, empty: float) -> _Array:
        """The same memory with a row for each query that was seen, where the system can."""
        before = len(cells)
        if before < len(self._queries):
            cells.resize((len(self._queries), *cells.shape[1:]), refcheck=False)
            cells[before:] = empty
        return cells


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches as tables of many rows."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        kept.append(batch)
        if sum(each.num_rows for each in kept) >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(kept)
            kept = []
    if kept:
        yield pa.Table.from_batches(kept)


def mean_of(matrices: Iterable[ScoreMatrix], tonight: ScoreMatrix) -> ScoreMatrix:
    """The mean of several nights: a night's score of a query counts where its judgments are tonight's.

    Runs are those of all nights; the hashes are tonight's where any night has these, else those of the last.
    """
    runs: list[str] = []
    sums: list[Numbers] = []
    counts: list[NDArray[np.int16]] = []
    queries = tonight.queries
    there, hashes = np.zeros(0, np.bool_), np.zeros(0, np.int64)
    for matrix in matrices:
        known = np.pad(hashes, (0, len(queries) - len(hashes)))
        hashes = np.where(known == tonight.hashes(), known, matrix.hashes())
        there = np.pad(there, (0, len(queries) - len(there))) | matrix.there()
        same = matrix.hashes() == tonight.hashes()
        for run in matrix.runs:
            if run not in runs:
                runs.append(run)
                sums.append(np.zeros(0))
                counts.append(np.zeros(0, np.int16))
            at = runs.index(run)
            missing = len(queries) - len(sums[at])
            sums[at], counts[at] = np.pad(sums[at], (0, missing)), np.pad(counts[at], (0, missing))
            scores = matrix.scores(run)
            counted = same & ~np.isnan(scores)
            sums[at][counted] += scores[counted]
            counts[at][counted] += 1
    width = len(queries)
    values = np.full((len(runs), width), np.nan)
    for at, (total, count) in enumerate(zip(sums, counts, strict=True)):
        np.divide(total, count, out=values[at, : len(total)], where=count > 0)
    return ScoreMatrix(queries, runs, values, hashes, there)
