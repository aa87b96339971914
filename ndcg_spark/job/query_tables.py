"""The tables about queries that a configuration names, in this process: attributes, for slices, and weights."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.nights.log import Night

if TYPE_CHECKING:
    from ndcg_spark.comparison.slices import Attributes, Weights
    from ndcg_spark.engine import Engine

QueryTables = tuple["Attributes | None", "Weights | None"]


def read_query_tables(
    config: EvaluationConfig, nights: Sequence[Night] = (), engine: "Engine | None" = None
) -> QueryTables:
    """The tables that a configuration names and that not all of these nights keep.

    If no engine is given, one starts only for those that this process cannot read. InputError for a broken contract.
    """
    is_kept = bool(nights) and all(night.kept_rows("query_attributes") for night in nights)
    named = {"query_attributes": None if is_kept else config.query_attributes, "query_weights": config.query_weights}
    configs = {name: table.on(config.date) for name, table in named.items() if table}
    if not configs:
        return None, None
    # Here, because commands without such tables need neither statistics nor a reader.
    from ndcg_spark.comparison.slices import Attributes, Weights
    from ndcg_spark.inputs.query_tables import read_query_table

    tables = {name: read_query_table(table, name, engine) for name, table in configs.items()}
    others = [name for name, table in tables.items() if table is None]
    if others:
        from ndcg_spark.job.inputs import engine_for, translated_failures

        with engine_for(config) as started, translated_failures():
            tables |= {name: read_query_table(configs[name], name, started) for name in others}
    attributes, weights = tables.get("query_attributes"), tables.get("query_weights")
    return None if attributes is None else Attributes(attributes), None if weights is None else Weights(weights)
