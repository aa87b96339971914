"""What is known about queries, as masks and vectors over them: slices by attribute, and weights."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.matrix import Queries
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.inputs.query_tables import attribute_rows, weight_rows
from ndcg_spark.schemas import NO_VALUE

#: An attribute and a value, both null for all queries; and whether each query has it.
Slice = tuple[str | None, str | None, NDArray[np.bool_]]


class _QueryTable:
    """A table about queries, in which `dataset` is optional."""

    table: pa.Table

    def _rows_in(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> tuple[pa.Table, NDArray[np.int64]]:
        """The rows of the dataset's queries, each with the number of its query."""
        query = queries.find(self.table["query_id"].combine_chunks())
        known = np.append(there, False)[query]
        if "dataset" in self.table.column_names:
            known &= np.asarray(pc.equal(self.table["dataset"], dataset))
        return self.table.filter(pa.array(known)), query[known]


class Attributes(_QueryTable):
    """The slices of a table of attributes. InputError as `attribute_rows`."""

    def __init__(self, table: pa.Table) -> None:
        self.table = attribute_rows(table)

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
                if names[code] == NO_VALUE:
                    rest |= mask
                else:
                    yield attribute, names[code], mask
            if rest.any():
                yield attribute, NO_VALUE, rest


class Weights(_QueryTable):
    """The weights of QUERY_WEIGHTS. InputError as `weight_rows`."""

    def __init__(self, table: pa.Table) -> None:
        self.table = weight_rows(table)

    def vector(self, dataset: str, queries: Queries, there: NDArray[np.bool_]) -> Numbers:
        """The weight of every query of a dataset, NaN where it has none."""
        table, query = self._rows_in(dataset, queries, there)
        vector = np.full(len(queries), np.nan)
        vector[query] = np.asarray(table["weight"])
        return vector
