"""What is known about queries, as masks and vectors over them: slices by attribute, and weights."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.matrix import Queries
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.errors import InputError, first_line

#: The value of a query that has none.
NONE = "(none)"
#: More slices than this cannot be kinds of queries.
MAX_SLICES = 1_000
#: The range of a weight. Squares of weights outside it are 0 or infinite, and so are quotients of their sums.
MIN_WEIGHT, MAX_WEIGHT = 1e-100, 1e100

#: An attribute and a value, both null for all queries; and whether each query has it.
Slice = tuple[str | None, str | None, NDArray[np.bool_]]


def column(table: pa.Table, name: str, kind: pa.DataType, where: str) -> pa.ChunkedArray:
    """A column of ids as text, or one of another kind. InputError where that cannot be."""
    own = table[name].type
    may_be_id = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_null)
    if pa.types.is_string(kind) and not any(is_kind(own) for is_kind in may_be_id):
        raise InputError(f"{where}: {name} is {own}; ids are text or whole numbers")
    try:
        # Of a time, as pandas has for a date, the day counts.
        return table[name].cast(kind, safe=not pa.types.is_timestamp(own))
    except pa.ArrowException as error:
        raise InputError(f"{where}: {name} is not {kind}, {first_line(error)}") from None


class _QueryTable:
    """A table about queries, in which `dataset` is optional. InputError for an empty cell or a repeated key."""

    def __init__(self, table: pa.Table, key: Sequence[str], where: str) -> None:
        self.table = table
        for name in table.column_names:
            empty = pc.sum(pc.fill_null(pc.equal(table[name].cast(pa.string()), ""), True)).as_py()
            if empty:
                raise InputError(f"{where}: {empty:,} row(s) with an empty {name}; a query without one has no row")
        keys = table.group_by([name for name in ("dataset", *key) if name in table.column_names])
        rows = keys.aggregate([([], "count_all")])
        if len(rows) < len(table):
            twice = rows.filter(pc.greater(rows["count_all"], 1))["query_id"][0]
            again = f"{len(table) - len(rows):,} row(s) repeat the {' and '.join(key)} of another"
            raise InputError(f"{where}: {again}, e.g. of query_id={twice}; remove them")

    def _rows_in(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> tuple[pa.Table, NDArray[np.int64]]:
        """The rows of the dataset's queries, each with the number of its query."""
        query = queries.find(self.table["query_id"].combine_chunks())
        known = np.append(there, False)[query]
        if "dataset" in self.table.column_names:
            known &= np.asarray(pc.equal(self.table["dataset"], dataset))
        return self.table.filter(pa.array(known)), query[known]


class Attributes(_QueryTable):
    """The slices of QUERY_ATTRIBUTES, or of a table with a column for each attribute, in which a null has no row.

    A query may have several values of an attribute. InputError too if there are more than MAX_SLICES values.
    """

    def __init__(self, table: pa.Table) -> None:
        where, has = "query_attributes", table.column_names
        names = [name for name in has if name not in ("dataset", "query_id")]
        pair = [name for name in ("attribute", "value") if name in names]
        if "query_id" not in has or not names or len(pair) == 1:
            raise InputError(
                f"{where}: columns {', '.join(has)}; give query_id, attribute and value, or query_id and one column "
                "for each attribute, named after it"
            )
        keys = {name: column(table, name, pa.string(), where) for name in ("dataset", "query_id") if name in has}
        values = {name: table[name].cast(pa.string()) for name in names}
        long = pa.table(keys | {name: values[name] for name in pair})
        if not pair:
            cells = [(pa.array([name] * len(table), pa.string()), values[name]) for name in names]
            parts = [pa.table({**keys, "attribute": one, "value": other}) for one, other in cells]
            long = pa.concat_tables(parts).filter(pc.field("value").is_valid())
        super().__init__(long, ["query_id", "attribute", "value"], where)
        slices = long.group_by(["attribute", "value"]).aggregate([]).sort_by("attribute")
        if len(slices) > MAX_SLICES:
            example = f"{slices['attribute'][0]}={slices['value'][0]}"
            raise InputError(f"{where}: {len(slices):,} slices, e.g. {example}, more than {MAX_SLICES:,}")

    def masks(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> Iterator[Slice]:
        """The slices of a dataset, those of each attribute by value; queries that are not `there` are in none."""
        table, query = self._rows_in(dataset, queries, there)
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
    """The weights of QUERY_WEIGHTS. InputError too for a weight outside its range."""

    def __init__(self, table: pa.Table) -> None:
        where, has = "query_weights", table.column_names
        if not {"query_id", "weight"} <= {*has}:
            raise InputError(f"{where}: columns {', '.join(has)}; give query_id and weight")
        keys = {name: column(table, name, pa.string(), where) for name in ("dataset", "query_id") if name in has}
        weights = column(table, "weight", pa.float64(), where)
        super().__init__(pa.table(keys | {"weight": weights}), ["query_id"], where)
        bad = ~((np.asarray(weights) >= MIN_WEIGHT) & (np.asarray(weights) <= MAX_WEIGHT))
        if bad.any():
            raise InputError(
                f"{where}: {np.count_nonzero(bad):,} weight(s) are not numbers from {MIN_WEIGHT:g} to "
                f"{MAX_WEIGHT:g}, e.g. of query_id={self.table['query_id'][int(np.argmax(bad))]}; correct them"
            )

    def vector(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> Numbers:
        """The weight of every query of a dataset, NaN where it has none."""
        table, query = self._rows_in(dataset, queries, there)
        vector = np.full(len(queries), np.nan)
        vector[query] = np.asarray(table["weight"])
        return vector
