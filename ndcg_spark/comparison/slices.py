"""Slices and weights of queries: read as a configuration says, and as masks and vectors over the queries."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.matrix import Queries
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.inputs.query_tables import attribute_rows, read_query_table, weight_rows
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import read_rows
from ndcg_spark.schemas import NO_VALUE

#: An attribute and a value, both null for all queries; and whether each query has it.
Slice = tuple[str | None, str | None, NDArray[np.bool_]]
#: The tables QUERY_ATTRIBUTES and QUERY_WEIGHTS, if there are any.
QueryTables = tuple[pa.Table | None, pa.Table | None]


def _known_rows(table: pa.Table, dataset: str, queries: Queries) -> tuple[pa.Table, NDArray[np.int64]]:
    """The rows of a dataset's queries, each with the number of its query."""
    query = queries.find(table["query_id"].combine_chunks())
    known = query >= 0
    if "dataset" in table.column_names:
        known &= np.asarray(pc.equal(table["dataset"], dataset))
    return table.filter(pa.array(known)), query[known]


def masks(attributes: pa.Table, dataset: str, queries: Queries) -> Iterator[Slice]:
    """The slices of a dataset, those of each attribute by value, and that of the queries without a value."""
    table, query = _known_rows(attributes, dataset, queries)
    for attribute in sorted(attributes["attribute"].unique().to_pylist()):
        has = np.asarray(pc.equal(table["attribute"], attribute))
        own, values = query[has], table["value"].filter(pa.array(has)).combine_chunks().dictionary_encode()
        by_value = dict(zip(values.dictionary.to_pylist(), range(len(values.dictionary)), strict=True))
        rest = np.ones(len(queries), np.bool_)
        rest[own] = False
        for value in sorted(by_value):
            mask = np.zeros(len(queries), np.bool_)
            mask[own[np.asarray(values.indices) == by_value[value]]] = True
            if value == NO_VALUE:
                rest |= mask
            else:
                yield attribute, value, mask
        yield attribute, NO_VALUE, rest


def weight_vector(weights: pa.Table, dataset: str, queries: Queries) -> Numbers:
    """The weight of every query of a dataset, NaN where it has none."""
    table, query = _known_rows(weights, dataset, queries)
    vector = np.full(len(queries), np.nan)
    vector[query] = np.asarray(table["weight"])
    return vector


def read_attributes(nights: Sequence[Night]) -> pa.Table | None:
    """The QUERY_ATTRIBUTES that nights were evaluated with; None if they had none."""
    kept = [night for night in nights if night.kept_rows("query_attributes")]
    columns = ["dataset", "query_id", "attribute", "value"]
    return read_rows(kept, "query_attributes", columns) if kept else None


def read_query_tables(config: EvaluationConfig, nights: Sequence[Night] = ()) -> QueryTables:
    """The tables that a configuration names and that not all of these nights keep; InputError for a broken contract."""
    is_kept = bool(nights) and all(night.kept_rows("query_attributes") for night in nights)
    named = {"query_attributes": None if is_kept else config.query_attributes, "query_weights": config.query_weights}
    tables = {name: read_query_table(table.on(config.date), name) for name, table in named.items() if table}
    attributes, weights = tables.get("query_attributes"), tables.get("query_weights")
    return None if attributes is None else attribute_rows(attributes), None if weights is None else weight_rows(weights)
