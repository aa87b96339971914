"""Describe what the results show of the catalog, without judgments: measures of all lists."""

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark.config import EvaluationConfig, ItemsConfig
from ndcg_spark.contract.changes import refuse_changed
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
from ndcg_spark.inputs.dataframes import kept_rows
from ndcg_spark.job.catalog_of_runs import open_items, report_unknown_items
from ndcg_spark.job.checked_lists import counted_refusals, read_lists
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.catalog_columns import (
    EngineItems,
    list_means,
    refuse_dependent,
    run_measures,
)
from ndcg_spark.scoring.ranking import by_window, list_by_list
from ndcg_spark.scoring.shown_lists import shown_lists

Row = dict[str, Any]
#: A context in which a table that is read several times is computed only once.
Keep = Callable[[DataFrame], AbstractContextManager[DataFrame]]


def measures_for(items: ItemsConfig | None) -> list[str]:
    """The measures that can be computed with a configuration's items."""
    has_interactions = items is not None and items.interactions is not None
    return default_measures(has_items=items is not None, has_interactions=has_interactions)


def describe(engine: Engine, config: EvaluationConfig, measures: MeasureSet) -> list[Row]:
    """One row per dataset, run and cutoff, with these measures and their counts.

    Raises ConfigurationError for a measure that needs judgments or items, and InputError for
    invalid results.
    """
    refuse_judged(measures)
    refuse_dependent(config.convention, measures)
    items = open_items(engine, config, measures)
    lists = read_lists(engine, config)
    with counted_refusals(lists):
        rows = described_rows(
            lists.results,
            lists.convention,
            measures,
            items,
            config.dataset,
            functools.partial(kept_rows, engine),
            is_sail=engine.kind == "embedded",
        )
        refuse_changed(lists.seen)
    report_unknown_items(rows, measures)
    return rows


def refuse_judged(measures: MeasureSet) -> None:
    """Raise ConfigurationError for measures that need judgments."""
    judged = [name for name, _ in measures.pairs if name not in measures.of_catalog]
    if judged:
        names = ", ".join(dict.fromkeys(judged))
        what = f"{names} needs judgments, which describe does not use"
        known = ", ".join(CATALOG_COLUMNS)
        raise ConfigurationError(f"{what}; choose from {known}, or evaluate", option="measures")


def described_rows(
    results: DataFrame,
    convention: Convention,
    measures: MeasureSet,
    items: EngineItems | None,
    dataset: str,
    keep: Keep,
    *,
    is_sail: bool,
) -> list[Row]:
    """The rows of `describe` for checked results, sorted by dataset, run and cutoff.

    `is_sail` says whether the engine is the embedded one.
    """
    key = query_key(results.columns)
    rank = list_by_list if is_sail else by_window
    deepest = measures.cutoffs_for(*measures.of_catalog)[-1]
    shown = shown_lists(results, key, convention, deepest, rank)
    means: dict[tuple[str, str], Mapping[str, Any]] = {}
    # Some measures have a value for each list, others only for all lists of a run.
    if measures.beside_ndcg:
        with keep(shown) as kept:
            runs = run_measures(kept, key, measures, items).collect()
            means_of_lists = list_means(kept, key, measures, items).collect()
        for mean in means_of_lists:
            values = mean.asDict()
            means[values.get("dataset", dataset), mean["run"]] = values
    else:
        runs = run_measures(shown, key, measures, items).collect()
    rows = []
    for run in runs:
        of_run = run.asDict()
        of_lists = means.get((of_run.get("dataset", dataset), of_run["run"]), {})
        rows.append(_row(of_run, of_lists, measures, dataset))
    rows.sort(key=lambda row: (row["dataset"], row["run"], row["cutoff"] is None, row["cutoff"]))
    return rows


def _row(
    of_run: Mapping[str, Any], of_lists: Mapping[str, Any], measures: MeasureSet, dataset: str
) -> Row:
    """A run's measures at a cutoff, and the means of its list measures."""
    # `run_measures` writes 0 for the whole ranking.
    cutoff = of_run["cutoff"] or None
    row = {"dataset": of_run.get("dataset", dataset), "run": of_run["run"], "cutoff": cutoff}
    for measure in (*measures.beside_ndcg, "listed_queries"):
        row[measure] = of_lists.get(column_at(measure, cutoff))
    for column in (*RUN_COLUMNS, "lists", "unknown_items"):
        row[column] = of_run[column]
    return row
