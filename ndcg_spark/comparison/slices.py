"""Slices and weights of queries: read as a configuration says, and as masks and vectors over the queries."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.matrix import Queries
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.errors import EngineError
from ndcg_spark.inputs.query_tables import attribute_rows, read_query_table, weight_rows
from ndcg_spark.nights.log import Night
from ndcg_spark.schemas import NO_VALUE

if TYPE_CHECKING:
    from ndcg_spark.engine import Engine

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


QueryTables = tuple[Attributes | None, Weights | None]


def read_query_tables(
    config: EvaluationConfig, nights: Sequence[Night] = (), engine: "Engine | None" = None
) -> QueryTables:
    """The tables that a configuration names and that not all of these nights keep.

    If no engine is given, one starts only for those that this process cannot read. InputError for a broken contract.
    """
    is_kept = bool(nights) and all(night.kept_rows("query_attributes") for night in nights)
    named = {"query_attributes": None if is_kept else config.query_attributes, "query_weights": config.query_weights}
    configs = {name: table.on(config.date) for name, table in named.items() if table}
    tables = {name: read_query_table(table, name, engine) for name, table in configs.items()}
    others = [name for name, table in tables.items() if table is None]
    if others:
        from ndcg_spark.engine import failure_reason, failures, open_engine

        with open_engine(config.engine, config.remote) as started:
            try:
                tables |= {name: read_query_table(configs[name], name, started) for name in others}
            except failures() as error:
                reason = failure_reason(error)
                raise EngineError(f"{others[0]}: it cannot be read by {started.name}, {reason}") from error
    attributes, weights = tables.get("query_attributes"), tables.get("query_weights")
    return None if attributes is None else Attributes(attributes), None if weights is None else Weights(weights)
