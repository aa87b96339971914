"""The catalog items for an evaluation, and the measures of all lists of its runs."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.config import EvaluationConfig, missing_items
from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError, about
from ndcg_spark.inputs.dataframes import read_arrow
from ndcg_spark.inputs.items import read_items
from ndcg_spark.item_table import ItemTable
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.catalog_columns import EngineItems
from ndcg_spark.scoring.evaluation import Evaluation, run_measures
from ndcg_spark.steps import report_step


def open_items(
    engine: Engine, config: EvaluationConfig, measures: MeasureSet
) -> EngineItems | None:
    """Read the catalog's items for the engine. None if no measure needs them."""
    if not measures.of_items:
        return None
    if config.items is None:
        notice = missing_items(measures.of_items)
        raise ConfigurationError(notice.sentence, notice.advice)
    items = read_items(config.items.on(config.date), measures)
    users = "" if items.users is None else f" of {items.users:,} users"
    report_step("read", f"{items.catalog_size:,} items{users}")
    to_engine = about("items")(functools.partial(read_arrow, engine))
    return EngineItems.of(items, measures, to_engine)


def items_for_log(config: EvaluationConfig, items: ItemTable) -> dict[str, Any]:
    """What the log records about the items: their paths, counts and fingerprint."""
    paths: list[str] = []
    if config.items is not None:
        own = config.items.on(config.date)
        paths.extend(own.path)
        if own.interactions is not None:
            paths.extend(own.interactions.path)
    files = [{"path": path} for path in paths]
    return {
        "files": files,
        "rows": len(items.rows),
        "users": items.users,
        "fingerprint": items.fingerprint,
    }


def measured_runs(lists: DataFrame, evaluation: Evaluation) -> pa.Table:
    """Compute the measures of all lists of each run."""
    return run_measures(lists, query_key(lists.columns), evaluation).toArrow()


def about_unknown_items(rows: Iterable[Mapping[str, Any]], measures: MeasureSet) -> Iterator[str]:
    """The warnings about runs that show items that are not in the catalog.

    `rows` are those of DATASET_SCORES, or what `describe` returns.
    """
    if not measures.of_items:
        return
    deepest = measures.cutoffs_for(*measures.of_catalog)[-1]
    for row in rows:
        if row["cutoff"] == deepest and row["unknown_items"]:
            what = f"{row['unknown_items']:,} item(s) that {row['run']} shows are not in the table"
            yield f"items: {what}; check that results and items write ids in the same way"


def report_unknown_items(rows: Iterable[Mapping[str, Any]], measures: MeasureSet) -> None:
    for sentence in about_unknown_items(rows, measures):
        report_step("warning", sentence)
