"""What is known about queries, as masks and vectors over them: slices by attribute, and weights."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.matrix import Numbers, Queries
from ndcg_spark.errors import InputError

#: The value of a query that has none.
NONE = "(none)"
#: More slices than this cannot be kinds of queries.
MAX_SLICES = 1_000
#: The range of a weight. Squares of weights outside it are 0 or infinite, and so are quotients of their sums.
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100

#: An attribute and a value, both null for all queries; and whether each query has it.
Slice = tuple[str | None, str | None, NDArray[np.bool_]]


@dataclasses.dataclass
class _OfQueries:
    """A table about queries, in which `dataset` is optional."""

    table: pa.Table
    where: str
    #: By row, whether its query has scores in any dataset that was asked for; null if its dataset was not.
    _found: NDArray[np.int8] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self._found = np.full(self.table.num_rows, -1, np.int8)
        for name in self.table.column_names:
            column = self.table.column(name)
            text = pa.types.is_string(column.type)
            empty = column.null_count + ((pc.sum(pc.equal(column, "")).as_py() or 0) if text else 0)
            if empty and name != "weight":
                raise InputError(f"{self.where}: {empty:,} row(s) with an empty {name}; a query without one has no row")

    def _of(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> tuple[pa.Table, NDArray[np.int64]]:
        """The rows of the dataset's queries, each with the number of its query."""
        is_of = np.ones(self.table.num_rows, np.bool_)
        if "dataset" in self.table.column_names:
            is_of = np.asarray(pc.equal(self.table.column("dataset"), dataset))
        numbers = queries.find(self.table.column("query_id").combine_chunks())
        known = is_of & (numbers >= 0)
        known[known] = there[numbers[known]]
        self._found = np.maximum(self._found, np.where(is_of, known.astype(np.int8), -1))
        return self.table.filter(pa.array(known)), numbers[known]

    def warnings(self) -> list[str]:
        """A sentence on the queries of the datasets that were asked for which have no scores, if there are any."""
        asked = self.table.append_column("found", pa.array(self._found)).filter(pa.array(self._found >= 0))
        key = [name for name in ("dataset", "query_id") if name in self.table.column_names]
        found = asked.group_by(key).aggregate([("found", "max")]).column("found_max")
        missing = pc.sum(pc.equal(found, 0)).as_py() or 0
        if not missing:
            return []
        return [f"{self.where}: {missing:,} of its {len(found):,} queries have no scores here and were ignored"]


class Attributes(_OfQueries):
    """QUERY_ATTRIBUTES: query_id, attribute, value. A query may have several values of an attribute.

    Raises InputError for an empty id or value, a row that comes twice, or more than MAX_SLICES values.
    """

    def __init__(self, table: pa.Table) -> None:
        super().__init__(table, "query_attributes")
        rows = table.group_by(table.column_names).aggregate([([], "count_all")])
        if rows.num_rows < table.num_rows:
            twice = rows.filter(pc.greater(rows.column("count_all"), 1)).column("query_id")[0]
            again = table.num_rows - rows.num_rows
            raise InputError(f"{self.where}: {again:,} row(s) are repeated, e.g. of query_id={twice}; remove them")
        values = table.group_by(["attribute", "value"]).aggregate([]).sort_by("attribute")
        if values.num_rows > MAX_SLICES:
            example = f"{values['attribute'][0]}={values['value'][0]}"
            raise InputError(f"{self.where}: {values.num_rows:,} slices, e.g. {example}, more than {MAX_SLICES:,}")

    def masks(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> Iterator[Slice]:
        """The slices of a dataset, those of each attribute by value; queries that are not `there` are in none."""
        table, numbers = self._of(dataset, queries, there)
        for attribute in sorted(set(self.table.column("attribute").unique().to_pylist())):
            has = np.asarray(pc.equal(table.column("attribute"), attribute))
            own, values = numbers[has], table.column("value").filter(pa.array(has)).combine_chunks().dictionary_encode()
            codes, names = np.asarray(values.indices), values.dictionary.to_pylist()
            rest = there.copy()
            rest[own] = False
            for code in sorted(range(len(names)), key=names.__getitem__):
                mask = np.zeros(len(queries), np.bool_)
                mask[own[codes == code]] = True
                if names[code] == NONE:
                    rest |= mask
                else:
                    yield attribute, names[code], mask
            if rest.any():
                yield attribute, NONE, rest


class Weights(_OfQueries):
    """QUERY_WEIGHTS: query_id, weight.

    Raises InputError for an empty id, a query with two weights, or a weight outside its range.
    """

    def __init__(self, table: pa.Table) -> None:
        super().__init__(table, "query_weights")
        weight = np.asarray(pc.fill_null(table.column("weight"), np.nan), np.float64)
        bad = ~((weight >= LEAST_WEIGHT) & (weight <= MOST_WEIGHT))
        if bad.any():
            example = table.column("query_id")[int(np.argmax(bad))]
            raise InputError(
                f"{self.where}: {np.count_nonzero(bad):,} weight(s) are not numbers from {LEAST_WEIGHT:g} to "
                f"{MOST_WEIGHT:g}, e.g. of query_id={example}; correct them, or leave these queries out"
            )
        key = [name for name in ("dataset", "query_id") if name in table.column_names]
        rows = table.group_by(key).aggregate([([], "count_all")])
        twice = rows.filter(pc.greater(rows.column("count_all"), 1))
        if twice.num_rows:
            raise InputError(
                f"{self.where}: {twice.num_rows:,} queries have more than one weight, e.g. "
                f"query_id={twice['query_id'][0]}; give each query one"
            )

    def vector(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> Numbers:
        """The weight of every query of a dataset, NaN where it has none."""
        table, numbers = self._of(dataset, queries, there)
        found = np.full(len(queries), np.nan)
        found[numbers] = np.asarray(table.column("weight"))
        return found
