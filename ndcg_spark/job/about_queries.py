"""Attributes and weights of queries for comparisons: read in this process, or by an engine where only that can."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.config import AttributesConfig, EvaluationConfig, TableConfig, WeightsConfig
from ndcg_spark.nights.log import Night
from ndcg_spark.steps import report_step

if TYPE_CHECKING:
    import pyarrow as pa

    from ndcg_spark.job.setup import SliceTables

Tables = tuple[Attributes | None, Weights | None]


def tables_of_queries(tables: "SliceTables") -> Tables:
    """The tables, fetched into this process. Runs jobs; InputError where one breaks its contract."""
    return _checked(*(table and table.toArrow() for table in (tables.attributes, tables.weights)))


def read_tables_of_queries(config: EvaluationConfig, nights: Sequence[Night]) -> Tables:
    """The tables that a configuration names and that not all of these nights keep."""
    is_kept = all(night.kept_rows("query_attributes") for night in nights)
    attributes, weights = (
        table and table.on(config.date)
        for table in (None if is_kept else config.query_attributes, config.query_weights)
    )
    return _read(attributes, weights, config.engine, config.remote)


def read_files_of_queries(slices: Sequence[str], weights: Sequence[str], engine: str, remote: str | None) -> Tables:
    """The tables in these files."""
    attributes = AttributesConfig.model_validate({"path": [*slices]}) if slices else None
    of_queries = WeightsConfig.model_validate({"path": [*weights]}) if weights else None
    return _read(attributes, of_queries, engine, remote)


def _read(attributes: TableConfig | None, weights: TableConfig | None, engine: str, remote: str | None) -> Tables:
    """The tables; an engine starts only for those that this process cannot read."""
    # Here, because commands without such tables need no reader.
    from ndcg_spark.inputs.query_tables import read_query_table

    configs = {"query_attributes": attributes, "query_weights": weights}
    tables = {name: config and read_query_table(config, name) for name, config in configs.items()}
    others = {name: config for name, config in configs.items() if config and tables[name] is None}
    if others:
        from ndcg_spark.engine import open_engine
        from ndcg_spark.inputs.read import read_attributes, read_weights
        from ndcg_spark.job.failures import translated_failures

        with open_engine(engine, remote) as opened, translated_failures(()):
            report_step("engine", opened.name)
            for name, config in others.items():
                read = read_attributes if name == "query_attributes" else read_weights
                tables[name] = read(opened, config.path, config).toArrow()
    return _checked(tables["query_attributes"], tables["query_weights"])


def _checked(attributes: "pa.Table | None", weights: "pa.Table | None") -> Tables:
    return None if attributes is None else Attributes(attributes), None if weights is None else Weights(weights)
