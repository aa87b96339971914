"""What is known about queries, as masks and vectors over them: slices by attribute, and weights."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.matrix import Numbers, Queries
from ndcg_spark.errors import InputError, first_line

#: The value of a query that has none.
NONE = "(none)"
#: More slices than this cannot be kinds of queries.
MAX_SLICES = 1_000
#: The range of a weight. Squares of weights outside it are 0 or infinite, and so are quotients of their sums.
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100

#: An attribute and a value, both null for all queries; and whether each query has it.
Slice = tuple[str | None, str | None, NDArray[np.bool_]]


def ids(table: pa.Table, name: str, where: str) -> pa.ChunkedArray:
    """A column of ids as text. InputError unless it has text or whole numbers."""
    kind = table[name].type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)):
        raise InputError(f"{where}: {name} is {kind}; ids are text or whole numbers")
    return table[name].cast(pa.string())


def numbers(table: pa.Table, name: str, where: str) -> pa.ChunkedArray:
    """A column of numbers. InputError where a value is none."""
    try:
        return table[name].cast(pa.float64())
    except pa.ArrowException as error:
        raise InputError(f"{where}: {name} has values that are not numbers, {first_line(error)}") from None


class _QueryTable:
    """A table about queries, in which `dataset` is optional."""

    def __init__(self, table: pa.Table, where: str) -> None:
        self.table, self.where = table, where
        self.key = [name for name in ("dataset", "query_id") if name in table.column_names]
        #: Whether any of its queries has scores.
        self._is_known = False
        for name in table.column_names:
            empty = pc.sum(pc.fill_null(pc.equal(table[name].cast(pa.string()), ""), True)).as_py()
            if empty and name != "weight":
                raise InputError(f"{where}: {empty:,} row(s) with an empty {name}; a query without one has no row")

    def _rows_of(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> tuple[pa.Table, NDArray[np.int64]]:
        """The rows of the dataset's queries, each with the number of its query."""
        is_own = np.ones(self.table.num_rows, np.bool_)
        if "dataset" in self.key:
            is_own = np.asarray(pc.equal(self.table["dataset"], dataset))
        query = queries.find(self.table["query_id"].combine_chunks())
        known = is_own & (query >= 0)
        known[known] = there[query[known]]
        self._is_known |= bool(known.any())
        return self.table.filter(pa.array(known)), query[known]

    def warnings(self) -> list[str]:
        """A sentence if none of its queries has scores in a dataset that was asked for."""
        example = self.table["query_id"][0] if len(self.table) else None
        sentence = f"{self.where}: none of its queries has scores here, e.g. {example}; check its ids"
        return [] if self._is_known else [sentence]


class Attributes(_QueryTable):
    """The slices of QUERY_ATTRIBUTES, or of a table with a column for each attribute, in which a null has no row.

    A query may have several values of an attribute. InputError for a missing column, an empty id or value, a row that
    comes twice, or more than MAX_SLICES values.
    """

    def __init__(self, table: pa.Table) -> None:
        where, has = "query_attributes", table.column_names
        key = [name for name in ("dataset", "query_id") if name in has]
        names = [name for name in has if name not in (*key, "evaluated_on", "evaluation_id")]
        if "query_id" not in key or not names or len({"attribute", "value"}.intersection(names)) == 1:
            raise InputError(
                f"{where}: columns {', '.join(has)}; give query_id, attribute and value, or query_id and one column "
                "for each attribute, named after it"
            )
        columns = {name: ids(table, name, where) for name in key}
        if "attribute" in names:
            super().__init__(
                pa.table(columns | {name: table[name].cast(pa.string()) for name in ("attribute", "value")}), where
            )
        else:
            parts = []
            for name in names:
                of_name, values = pa.array([name] * len(table), pa.string()), table[name].cast(pa.string())
                part = pa.table({**columns, "attribute": of_name, "value": values})
                parts.append(part.filter(pc.is_valid(values)))
            super().__init__(pa.concat_tables(parts), where)
        rows = self.table.group_by(self.table.column_names).aggregate([([], "count_all")])
        if len(rows) < len(self.table):
            twice = rows.filter(pc.greater(rows["count_all"], 1))["query_id"][0]
            again = len(self.table) - len(rows)
            raise InputError(f"{where}: {again:,} row(s) are repeated, e.g. of query_id={twice}; remove them")
        slices = self.table.group_by(["attribute", "value"]).aggregate([]).sort_by("attribute")
        if len(slices) > MAX_SLICES:
            example = f"{slices['attribute'][0]}={slices['value'][0]}"
            raise InputError(f"{where}: {len(slices):,} slices, e.g. {example}, more than {MAX_SLICES:,}")

    def masks(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> Iterator[Slice]:
        """The slices of a dataset, those of each attribute by value; queries that are not `there` are in none."""
        table, query = self._rows_of(dataset, queries, there)
        for attribute in sorted(self.table["attribute"].unique().to_pylist()):
            has = np.asarray(pc.equal(table["attribute"], attribute))
            own, values = query[has], table["value"].filter(pa.array(has)).combine_chunks().dictionary_encode()
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


class Weights(_QueryTable):
    """The weights of QUERY_WEIGHTS.

    InputError for a missing column, an empty id, a query with two weights, or a weight outside its range.
    """

    def __init__(self, table: pa.Table) -> None:
        where, has = "query_weights", table.column_names
        if not {"query_id", "weight"} <= {*has}:
            raise InputError(f"{where}: columns {', '.join(has)}; give query_id and weight")
        key = {name: ids(table, name, where) for name in ("dataset", "query_id") if name in has}
        super().__init__(pa.table(key | {"weight": numbers(table, "weight", where)}), where)
        weight = np.asarray(pc.fill_null(self.table["weight"], np.nan))
        bad = ~((weight >= LEAST_WEIGHT) & (weight <= MOST_WEIGHT))
        if bad.any():
            raise InputError(
                f"{where}: {np.count_nonzero(bad):,} weight(s) are not numbers from {LEAST_WEIGHT:g} to "
                f"{MOST_WEIGHT:g}, e.g. of query_id={self.table['query_id'][int(np.argmax(bad))]}; correct them"
            )
        rows = self.table.group_by(self.key).aggregate([([], "count_all")])
        twice = rows.filter(pc.greater(rows["count_all"], 1))["query_id"]
        if len(twice):
            raise InputError(f"{where}: {len(twice):,} queries have more than one weight, e.g. query_id={twice[0]}")

    def vector(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> Numbers:
        """The weight of every query of a dataset, NaN where it has none."""
        table, query = self._rows_of(dataset, queries, there)
        vector = np.full(len(queries), np.nan)
        vector[query] = np.asarray(table["weight"])
        return vector
