"""What results show of the catalog, without judgments: the measures of all of their lists."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark.config import EvaluationConfig, ItemsConfig
from ndcg_spark.contract.changes import refuse_changed
from ndcg_spark.contract.limits import refuse_in_lists
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import (
    CATALOG_COLUMNS,
    RUN_COLUMNS,
    MeasureSet,
    column_at,
    default_measures,
)
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job.catalog_of_runs import open_items, report_unknown_items
from ndcg_spark.job.checked_lists import read_lists
from ndcg_spark.job.inputs import translated_failures
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.catalog_columns import (
    EngineItems,
    list_means,
    refuse_dependent,
    run_measures,
)
from ndcg_spark.scoring.ranking import by_window, list_by_list

Row = dict[str, Any]


def measures_for(items: ItemsConfig | None) -> list[str]:
    """The measures that the items of a configuration allow."""
    has_interactions = items is not None and items.interactions is not None
    return default_measures(has_items=items is not None, has_interactions=has_interactions)


def describe(engine: Engine, config: EvaluationConfig, measures: MeasureSet) -> list[Row]:
    """A row per dataset, run and cutoff, with these measures of the configuration and their counts.

    ConfigurationError for a measure that needs judgments or items; InputError for the results.
    """
    refuse_judged(measures)
    refuse_dependent(config.convention, measures)
    items = open_items(engine, config)
    lists = read_lists(engine, config)
    is_sail = engine.kind == "embedded"
    with translated_failures([lists.source]):
        # A document that is returned twice would be shown twice.
        refuse_in_lists(lists.source, [lists.results], lists.convention)
        rows = described_rows(
            lists.results, lists.convention, measures, items, config.dataset, is_sail=is_sail
        )
        refuse_changed(lists.seen)
    report_unknown_items(rows, measures)
    return rows


def refuse_judged(measures: MeasureSet) -> None:
    """ConfigurationError for measures that only judgments tell."""
    judged = [name for name, _ in measures.pairs if name not in measures.of_catalog]
    if judged:
        names = ", ".join(dict.fromkeys(judged))
        what = f"{names} needs judgments, and describe has none"
        known = ", ".join(CATALOG_COLUMNS)
        raise ConfigurationError(f"{what}; choose from {known}, or evaluate", option="measures")


def described_rows(
    results: DataFrame,
    convention: Convention,
    measures: MeasureSet,
    items: EngineItems | None,
    dataset: str,
    *,
    is_sail: bool,
) -> list[Row]:
    """The rows of `describe` for checked results, in their order; `is_sail` is the engine."""
    rows = list(_rows(results, convention, measures, items, dataset, is_sail=is_sail))
    rows.sort(key=lambda row: (row["dataset"], row["run"], row["cutoff"] is None, row["cutoff"]))
    return rows


def _rows(
    results: DataFrame,
    convention: Convention,
    measures: MeasureSet,
    items: EngineItems | None,
    dataset: str,
    *,
    is_sail: bool,
) -> Iterator[Row]:
    key = query_key(results.columns)
    rank = list_by_list if is_sail else by_window
    given = (results, key, convention, measures, items, rank)
    means: dict[tuple[str, str], Mapping[str, Any]] = {}
    if measures.beside_ndcg:
        for mean in list_means(*given).collect():
            values = mean.asDict()
            means[values.get("dataset", dataset), mean["run"]] = values
    for run in run_measures(*given).collect():
        own = run.asDict()
        name = own.get("dataset", dataset)
        yield _row(name, own, means.get((name, own["run"]), {}), measures)


def _row(
    dataset: str, of_run: Mapping[str, Any], of_lists: Mapping[str, Any], measures: MeasureSet
) -> Row:
    """The measures of a run at a cutoff, and the means of those of its lists."""
    cutoff = of_run["cutoff"] or None
    row = {"dataset": dataset, "run": of_run["run"], "cutoff": cutoff}
    for measure in (*measures.beside_ndcg, "listed_queries"):
        row[measure] = of_lists.get(column_at(measure, cutoff))
    for column in (*RUN_COLUMNS, "lists", "unknown_items"):
        row[column] = of_run[column]
    return row
