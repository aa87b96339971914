"""Scores as a matrix of runs by queries, slices as masks, and weights as vectors."""

import dataclasses
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.statistics import UNITS, Numbers
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.measures import Cutoff, format_cutoff
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.query_tables import (
    QueryTables,
    attribute_rows,
    read_query_table,
    weight_rows,
)
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import read_rows
from ndcg_spark.schemas import NO_VALUE

#: A column of scores and its cutoff.
Metric = tuple[str, Cutoff]
#: An attribute and a value, both null for all queries; and whether each query has it.
Slice = tuple[str | None, str | None, NDArray[np.bool_]]

#: Slices are compared only by attributes with at most this many values.
MOST_VALUES = 50

#: How many rows are encoded at a time: each lookup costs a pass over all queries seen before.
_ROWS_AT_ONCE = 1 << 20


class Queries:
    """The queries seen so far, numbered in order of appearance."""

    def __init__(self) -> None:
        self.ids: pa.Array = pa.array([], pa.string())
        #: Each query's bucket, which depends only on the query's id.
        self.buckets = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: pa.Array) -> NDArray[np.int64]:
        """The numbers of these queries, or -1 for queries not seen before."""
        return np.asarray(pc.fill_null(pc.index_in(ids, value_set=self.ids), -1), np.int64)

    def add(self, ids: pa.Array) -> NDArray[np.int64]:
        """The numbers of these distinct queries; new ones get the next numbers."""
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
    #: [run, query]; queries seen later have no column yet.
    values: Numbers
    #: By query; 0 if it is unknown, or if the query has no row here.
    judgments_hash: NDArray[np.int64]
    #: [run, query]; whether the run returned anything for the query. None means always.
    answers: NDArray[np.bool_] | None = None
    #: [run, query]; the number of nights that the score is averaged over. None means one.
    nights: NDArray[np.int16] | None = None
    #: The matrix of the newest of these nights.
    newest: "ScoreMatrix | None" = None

    def scores(self, run: str) -> Numbers:
        """Every query's score; NaN if it is excluded or the matrix lacks the run."""
        scores = np.zeros(0)
        if run in self.runs:
            scores = self.values[list(self.runs).index(run)]
        return padded(scores, len(self.queries), np.nan)

    def answered(self, run: str) -> NDArray[np.bool_]:
        """Whether the run returned anything for each query; false if the matrix lacks the run."""
        answered = np.zeros(len(self.queries), np.bool_)
        if run in self.runs:
            known = self.values.shape[1]
            answered[:known] = True
            if self.answers is not None:
                answered[:known] = self.answers[list(self.runs).index(run)]
        return answered

    def covers(self) -> NDArray[np.bool_]:
        """Whether each query is judged; if rows do not say so, each query may be."""
        hashes = self.hashes()
        if not hashes.any():
            return np.ones(len(hashes), np.bool_)
        return np.asarray(hashes != 0)

    def unanswered(self, run: str) -> NDArray[np.bool_]:
        """Whether each query is judged and unanswered by the run, in the newest of the nights."""
        if self.newest is not None:
            return self.newest.unanswered(run)
        return np.asarray((self.hashes() != 0) & ~self.answered(run))

    def night_counts(self, run: str) -> NDArray[np.int16]:
        """The number of nights that each query's score is averaged over; 0 if it has no score."""
        counts = (~np.isnan(self.scores(run))).astype(np.int16)
        if self.nights is not None and run in self.runs:
            nights = self.nights[list(self.runs).index(run)]
            counts[: len(nights)] = nights
        return counts

    def hashes(self) -> NDArray[np.int64]:
        """The hash of every query's judgments; 0 if it has no row here."""
        return padded(self.judgments_hash, len(self.queries), 0)

    def is_judged_with(self, other: "ScoreMatrix") -> bool:
        """Whether any query is judged in both matrices."""
        return bool(((self.hashes() != 0) & (other.hashes() != 0)).any())

    def first_judged_query(self) -> str | None:
        """The first judged query in alphabetical order; None if no query is judged."""
        hashes = self.hashes()
        first: str | None = pc.min(self.queries.ids.filter(pa.array(hashes != 0))).as_py()
        return first


def no_query_in_both(own: ScoreMatrix, theirs: ScoreMatrix) -> str:
    """The sentence for two sets of judgments that share no query, with an example of each."""
    examples = f"{theirs.first_judged_query()} / {own.first_judged_query()}"
    return f"no query is in both sets of judgments ({examples})"


def read_matrix(
    batches: Iterable[pa.RecordBatch],
    queries: Queries,
    runs: Sequence[str],
    metric: Metric,
) -> ScoreMatrix:
    """These runs' scores by a measure at a cutoff. Rows of other runs are left out.

    The columns are run and query_id as text, cutoff, the measure, judgments_hash, and optionally
    `status` and `returned`. InputError if an id is null or empty, a score is infinite, a run has a
    query twice, or a query's judgments differ.
    """
    cells = _Cells(queries, runs)
    names = pa.array(runs, pa.string())
    _, cutoff = metric
    for table in _in_large_batches(batches):
        _refuse_empty_names(table)
        numbers = pc.index_in(table["run"].combine_chunks(), value_set=names)
        run = np.asarray(pc.fill_null(numbers, -1))
        # The cutoff of a whole ranking is null, and compared as 0.
        cutoffs = np.asarray(pc.fill_null(table["cutoff"], 0))
        at = np.flatnonzero((cutoffs == (cutoff or 0)) & (run >= 0))
        rows = table if len(at) == len(table) else table.take(pa.array(at))
        cells.add(rows, run[at], metric)
    return ScoreMatrix(queries, runs, cells.values.T, cells.hashes, cells.answers.T)


def _refuse_empty_names(table: pa.Table) -> None:
    """Raise InputError if a run or a query has no name."""
    for name in ("run", "query_id"):
        empty = pc.sum(pc.fill_null(pc.equal(table[name], ""), True)).as_py()
        if empty:
            raise InputError(
                f"{empty:,} row(s) with an empty {name}; every score needs a {name}",
            )


class _Cells:
    """The scores read so far, with a row per query and a column per run."""

    def __init__(self, queries: Queries, runs: Sequence[str]) -> None:
        self._queries = queries
        self._runs = runs
        self.values = np.empty((0, len(runs)))
        self.answers = np.empty((0, len(runs)), np.bool_)
        self.hashes = np.zeros(0, np.int64)
        #: Whether a run already has a score for a query.
        self._seen = np.empty((0, len(runs)), np.bool_)

    def add(self, rows: pa.Table, run: NDArray[np.int64], metric: Metric) -> None:
        """Add rows of a cutoff, each with its run's number; InputError if a row is invalid."""
        measure, cutoff = metric
        encoded = rows["query_id"].combine_chunks().dictionary_encode()
        query = self._queries.add(encoded.dictionary)[np.asarray(encoded.indices)]
        self._grow()
        repeated = self._mark_seen(query, run)
        self._refuse(f"repeat a query at cutoff {format_cutoff(cutoff)}", repeated, query, run)
        scores = np.asarray(pc.fill_null(rows[measure].cast(pa.float64()), np.nan))
        self._refuse(f"with an infinite score in {measure}", np.isinf(scores), query, run)
        self.values[query, run] = scores
        self.answers[query, run] = answered_rows(rows)
        judged = np.asarray(pc.fill_null(rows["judgments_hash"], 0), np.int64)
        differs = self._add_hashes(query, judged)
        self._refuse("with a different judgments_hash for the same query", differs, query, run)

    def _grow(self) -> None:
        """Make room for new queries."""
        many = len(self._queries)
        self.values = padded(self.values, many, np.nan)
        self.answers = padded(self.answers, many, False)
        self.hashes = padded(self.hashes, many, 0)
        self._seen = padded(self._seen, many, False)

    def _mark_seen(self, query: NDArray[np.int64], run: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each row's run already had a score for the query; marks it as seen."""
        repeated = np.asarray(self._seen[query, run])
        seen_before = np.count_nonzero(self._seen)
        self._seen[query, run] = True
        has_new_cell_per_row = np.count_nonzero(self._seen) == seen_before + len(query)
        # Sorting is slow, and a row rarely occurs twice.
        if not has_new_cell_per_row:
            cell = query * len(self._runs) + run
            first = np.unique(cell, return_index=True)[1]
            is_first = np.zeros(len(cell), np.bool_)
            is_first[first] = True
            repeated = repeated | ~is_first
        return repeated

    def _add_hashes(self, query: NDArray[np.int64], judged: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each row's hash (0 for none) differs from others of the same query."""
        known = self.hashes[query]
        # If several rows have the same query, the last one is kept.
        self.hashes[query] = np.where(judged == 0, known, judged)
        differs_within = self.hashes[query] != judged
        differs_before = (known != judged) & (known != 0)
        return np.asarray((differs_within | differs_before) & (judged != 0))

    def _refuse(
        self,
        what: str,
        rows: NDArray[np.bool_],
        query: NDArray[np.int64],
        run: NDArray[np.int64],
    ) -> None:
        """Raise InputError if any of these rows is marked, with the first one as an example."""
        if not rows.any():
            return
        at = int(np.argmax(rows))
        example = f"query_id={self._queries.ids[int(query[at])]} of run={self._runs[int(run[at])]}"
        advice = "scores are finite or null, and each query has one score from one evaluation"
        raise InputError(
            f"{np.count_nonzero(rows):,} row(s) {what}, e.g. {example}; {advice}",
        )


def padded(array: NDArray[Any], rows: int, empty: float) -> NDArray[Any]:
    """The array extended to `rows` rows; the new ones are empty."""
    if len(array) == rows:
        return array
    new = np.full((rows - len(array), *array.shape[1:]), empty, array.dtype)
    return np.concatenate([array, new])


def answered_rows(rows: pa.Table) -> NDArray[np.bool_]:
    """Whether each QUERY_SCORES row's run returned anything; true if no column shows it."""
    columns = rows.column_names
    status = rows["status"] if "status" in columns else pa.nulls(len(rows), pa.string())
    returned = rows["returned"] if "returned" in columns else pa.nulls(len(rows), pa.int64())
    is_missing = np.asarray(pc.fill_null(pc.equal(status, "missing"), False))
    # All documents of a list may be dropped, so that it is empty but scored.
    is_scored = np.asarray(pc.fill_null(pc.equal(status, "scored"), False))
    is_empty = np.asarray(pc.fill_null(pc.equal(returned, 0), False))
    return np.asarray(~is_missing & (is_scored | ~is_empty))


def _in_large_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of several batches together, about `_ROWS_AT_ONCE` at a time."""
    kept: list[pa.RecordBatch] = []
    for batch in batches:
        kept.append(batch)
        if sum(part.num_rows for part in kept) >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(kept)
            kept = []
    if kept:
        yield pa.Table.from_batches(kept)


def mean_matrix(matrices: Iterable[ScoreMatrix], tonight: ScoreMatrix) -> ScoreMatrix:
    """The mean of nights; a night's score for a query is used if its judgments are tonight's.

    The runs are those of all nights. The hashes are tonight's if any night has them, otherwise
    those of the last night.
    """
    n = len(tonight.judgments_hash)
    hashes = np.zeros(0, np.int64)
    newest = None
    sums: dict[str, _Sum] = {}
    for matrix in matrices:
        newest = matrix
        # A night may have queries that earlier nights do not have; they are not judged tonight.
        known = padded(hashes, len(tonight.queries), 0)
        # A hash that is not tonight's is replaced by that of each later night.
        hashes = np.where(known == tonight.hashes(), known, matrix.hashes())
        has_tonights = (matrix.hashes() == tonight.hashes())[:n]
        for run in matrix.runs:
            if run not in sums:
                sums[run] = _Sum(n)
            sums[run].add(matrix.scores(run)[:n], has_tonights, matrix.answered(run)[:n])
    values = np.full((len(sums), n), np.nan)
    counts = np.zeros((len(sums), n), np.int16)
    answered = np.zeros((len(sums), n), np.bool_)
    for at, sum_of_run in enumerate(sums.values()):
        is_counted = sum_of_run.count > 0
        np.divide(sum_of_run.total, sum_of_run.count, out=values[at], where=is_counted)
        counts[at] = sum_of_run.count
        answered[at] = sum_of_run.answered
    return ScoreMatrix(tonight.queries, list(sums), values, hashes, answered, counts, newest)


class _Sum:
    """A run's scores summed over nights, for each of n queries."""

    def __init__(self, n: int) -> None:
        self.total = np.zeros(n)
        self.count = np.zeros(n, np.int16)
        self.answered = np.zeros(n, np.bool_)

    def add(
        self,
        scores: Numbers,
        is_counted: NDArray[np.bool_],
        answered: NDArray[np.bool_],
    ) -> None:
        counted = is_counted & ~np.isnan(scores)
        self.total += np.where(counted, scores, 0.0)
        self.count += counted
        self.answered |= answered


def _known_rows(
    table: pa.Table,
    dataset: str,
    queries: Queries,
) -> tuple[pa.Table, NDArray[np.int64]]:
    """The rows of a dataset's queries, each with the number of its query."""
    query = queries.find(table["query_id"].combine_chunks())
    known = query >= 0
    if "dataset" in table.column_names:
        known &= np.asarray(pc.equal(table["dataset"], dataset))
    return table.filter(pa.array(known)), query[known]


def masks(attributes: pa.Table, dataset: str, queries: Queries) -> Iterator[Slice]:
    """A dataset's slices by attribute and value, including queries without a value."""
    table, query_of_row = _known_rows(attributes, dataset, queries)
    for attribute in sorted(attributes["attribute"].unique().to_pylist()):
        is_own = np.asarray(pc.equal(table["attribute"], attribute))
        own_queries = query_of_row[is_own]
        values = table["value"].filter(pa.array(is_own)).combine_chunks().dictionary_encode()
        number_of_value = {}
        for number, value in enumerate(values.dictionary.to_pylist()):
            number_of_value[value] = number
        value_of_row = np.asarray(values.indices)
        without_value = np.ones(len(queries), np.bool_)
        without_value[own_queries] = False
        for value in sorted(number_of_value):
            has_value = value_of_row == number_of_value[value]
            mask = np.zeros(len(queries), np.bool_)
            mask[own_queries[has_value]] = True
            if value == NO_VALUE:
                without_value |= mask
            else:
                yield attribute, value, mask
        yield attribute, NO_VALUE, without_value


def weight_vector(weights: pa.Table, dataset: str, queries: Queries) -> Numbers:
    """The weight of every query in a dataset; NaN if it has none."""
    table, query = _known_rows(weights, dataset, queries)
    vector = np.full(len(queries), np.nan)
    vector[query] = np.asarray(table["weight"])
    return vector


def read_attributes(nights: Sequence[Night]) -> pa.Table | None:
    """The QUERY_ATTRIBUTES that nights were evaluated with; None if they had none."""
    kept = [night for night in nights if night.kept_rows("query_attributes")]
    columns = ["dataset", "query_id", "attribute", "value"]
    return read_rows(kept, "query_attributes", columns) if kept else None


def values_of(attributes: pa.Table, dataset: str) -> dict[str, list[str]]:
    """The values of each attribute in a dataset, sorted."""
    own = attributes
    if "dataset" in attributes.column_names:
        own = attributes.filter(pc.equal(attributes["dataset"], dataset))
    values: dict[str, list[str]] = {}
    for attribute in sorted(own["attribute"].unique().to_pylist()):
        is_of = pc.equal(own["attribute"], attribute)
        values[attribute] = sorted(own["value"].filter(is_of).unique().to_pylist())
    return values


def matches(table: pa.Table, dataset: str, queries: Queries) -> bool:
    """Whether a table of attributes or weights has a row for one of these queries."""
    return bool(_known_rows(table, dataset, queries)[0].num_rows)


def read_query_tables(config: EvaluationConfig, nights: Sequence[Night] = ()) -> QueryTables:
    """Read the tables that a configuration names, unless all of these nights keep them.

    InputError if a table violates its contract.
    """
    attributes, weights = config.query_attributes, config.query_weights
    is_kept = bool(nights) and all(night.kept_rows("query_attributes") for night in nights)
    slices = None
    if attributes is not None and not is_kept:
        slices = attribute_rows(read_query_table(attributes.on(config.date), "query_attributes"))
    if weights is None:
        return QueryTables(slices)
    weight_table = read_query_table(weights.on(config.date), "query_weights")
    return QueryTables(slices, weight_rows(weight_table))
