"""What results show of the catalog, without judgments: the measures of all of their lists."""

from collections.abc import Mapping
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.changes import refuse_changed
from ndcg_spark.contract.limits import refuse_in_lists
from ndcg_spark.convention.measures import RUN_COLUMNS, MeasureSet, column_at
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.dataframes import kept_rows
from ndcg_spark.job.catalog_of_runs import open_items, report_unknown_items
from ndcg_spark.job.checked_lists import CheckedLists, read_lists
from ndcg_spark.job.inputs import PlanRefusedError, translated_failures
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
#: What is described where nobody has asked for measures: without items, and with them.
WITHOUT_ITEMS = ("items", "personalization")
WITH_ITEMS = ("items", "coverage", "gini", "personalization")
_COUNTS = ("listed_queries", "lists", "unknown_items")


def describe(engine: Engine, config: EvaluationConfig) -> list[Row]:
    """A row per dataset, run and cutoff, with the measures of the catalog and their counts.

    ConfigurationError for a measure that needs judgments or items; InputError for the results.
    """
    measures = config.measure_set
    _refuse_judged(measures)
    refuse_dependent(config.convention, measures)
    items = open_items(engine, config)
    lists = read_lists(engine, config)
    try:
        with translated_failures([lists.source]):
            rows = _rows(engine, lists, measures, items, config.dataset)
            refuse_changed(lists.seen)
    except PlanRefusedError:
        with translated_failures([lists.source]):
            refuse_in_lists(lists.source, [lists.results], lists.convention)
        raise
    rows.sort(key=lambda row: (row["dataset"], row["run"], row["cutoff"] is None, row["cutoff"]))
    report_unknown_items(rows, measures)
    return rows


def _refuse_judged(measures: MeasureSet) -> None:
    judged = [name for name, _ in measures.pairs if name not in measures.of_catalog]
    if judged:
        what = f"{', '.join(dict.fromkeys(judged))} needs judgments"
        raise ConfigurationError(f"{what}; describe has none", option="measures")


def _rows(
    engine: Engine,
    lists: CheckedLists,
    measures: MeasureSet,
    items: EngineItems | None,
    dataset: str,
) -> list[Row]:
    key = query_key(lists.results.columns)
    rank = list_by_list if engine.kind == "embedded" else by_window
    deepest = measures.cutoffs_for(*measures.of_catalog)[-1]
    shown = shown_lists(lists.results, key, lists.convention, deepest, rank)
    if not measures.beside_ndcg:
        of_runs = run_measures(shown, key, measures, items).collect()
        return [_row(run.asDict(), {}, measures, dataset) for run in of_runs]
    means: dict[tuple[str, str], Mapping[str, Any]] = {}
    with kept_rows(engine, shown) as kept:
        of_runs = run_measures(kept, key, measures, items).collect()
        of_lists = list_means(kept, key, measures, items).collect()
    for mean in of_lists:
        values = mean.asDict()
        means[values.get("dataset", dataset), mean["run"]] = values
    rows = []
    for run in of_runs:
        own = run.asDict()
        mean_of_lists = means.get((own.get("dataset", dataset), own["run"]), {})
        rows.append(_row(own, mean_of_lists, measures, dataset))
    return rows


def _row(
    of_run: Mapping[str, Any], of_lists: Mapping[str, Any], measures: MeasureSet, dataset: str
) -> Row:
    """The measures of a run at a cutoff, and the means of those of its lists."""
    cutoff = of_run["cutoff"] or None
    row = {"dataset": of_run.get("dataset", dataset), "run": of_run["run"], "cutoff": cutoff}
    for measure in (*measures.beside_ndcg, "listed_queries"):
        row[measure] = of_lists.get(column_at(measure, cutoff))
    for column in (*RUN_COLUMNS, "lists", "unknown_items"):
        row[column] = of_run[column]
    return row


def shown_columns(measures: MeasureSet) -> list[str]:
    """The columns of the rows that have something to say."""
    counts = list(_COUNTS)
    if not measures.beside_ndcg:
        counts.remove("listed_queries")
    if not measures.of_items:
        counts.remove("unknown_items")
    return ["dataset", "run", "cutoff", *measures.columns_of_means, *counts]
