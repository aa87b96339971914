"""What is known about queries, their attributes and weights: tables of an engine, which comparisons need in Arrow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.nights.log import Night
from ndcg_spark.steps import report_step

if TYPE_CHECKING:
    from ndcg_spark.job.setup import SliceTables

Tables = tuple[Attributes | None, Weights | None]


def tables_of_queries(tables: "SliceTables") -> Tables:
    """The tables, fetched into this process. Runs jobs; InputError where one breaks its contract."""
    from ndcg_spark.comparison.tables import attributes_of, weights_of

    attributes, weights = tables.attributes, tables.weights
    return (
        None if attributes is None else attributes_of(attributes.toArrow()),
        None if weights is None else weights_of(weights.toArrow()),
    )


def read_tables_of_queries(config: EvaluationConfig, nights: Sequence[Night]) -> Tables:
    """The tables that a configuration names and that not all of these nights keep, read by its engine.

    No engine starts if there are none.
    """
    if all(night.kept_rows("query_attributes") for night in nights):
        config = config.model_copy(update={"query_attributes": None})
    if not (config.query_attributes or config.query_weights):
        return None, None
    from ndcg_spark.engine import open_engine
    from ndcg_spark.job.failures import translated_failures
    from ndcg_spark.job.setup import slice_tables

    with open_engine(config.engine, config.remote) as engine, translated_failures(()):
        report_step("engine", engine.name)
        return tables_of_queries(slice_tables(engine, config))


def read_files_of_queries(slices: Sequence[str], weights: Sequence[str], engine: str, remote: str | None) -> Tables:
    """The tables in these files, read by an engine; none starts if there are none."""
    if not (slices or weights):
        return None, None
    from ndcg_spark.comparison.tables import attributes_of, weights_of
    from ndcg_spark.engine import open_engine
    from ndcg_spark.inputs.read import read_attributes, read_weights
    from ndcg_spark.job.failures import translated_failures

    with open_engine(engine, remote) as opened, translated_failures(()):
        report_step("engine", opened.name)
        attributes, of_queries = (
            read(opened, list(paths)).toArrow() if paths else None
            for read, paths in ((read_attributes, slices), (read_weights, weights))
        )
    return (
        None if attributes is None else attributes_of(attributes),
        None if of_queries is None else weights_of(of_queries),
    )
