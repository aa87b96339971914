"""Describe what results show of the catalog, without judgments, from files or tables."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ndcg_spark.api import tasks
from ndcg_spark.api.evaluate import (
    Cutoffs,
    as_configured,
    changed_convention,
    compute,
    is_for_session,
    items_settings,
    make_config,
    refuse_separators,
)
from ndcg_spark.config import TablesConfig, validate
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import DEFAULT_CUTOFFS, default_measures
from ndcg_spark.convention.parsing import listed
from ndcg_spark.report.described_runs import described_view
from ndcg_spark.scratch import Scratch
from ndcg_spark.tables.writers import View

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def describe(
    results: Any,
    cutoffs: Cutoffs = DEFAULT_CUTOFFS,
    convention: Convention | str | Mapping[str, Any] = "standard",
    *,
    measures: Iterable[object] | str = (),
    items: Any = None,
    items_users: int | None = None,
    interactions: Any = None,
    exclude: Any = None,
    run: str | None = None,
    split_ids: Mapping[str, str] | None = None,
    dataset: str = "default",
    session: "SparkSession | None" = None,
    **options: Any,
) -> View:
    """Describe what results show of the catalog, without judgments, like the command `describe`.

    The measures say how much of the catalog the lists of each run show, how popular the items are,
    and how varied the lists are.

    `results` and all other tables can have any form that `evaluate` accepts. The session of a
    Spark DataFrame computes the measures at once. Its rows may be computed twice, so cache a
    DataFrame that is expensive.

    Returns a view. `print` and notebooks show one row per run and, below the rows, what each
    measure is. `to_pandas()` returns one row per dataset, run and cutoff. Raises the same errors as
    `evaluate`, and ConfigurationError for a measure that needs judgments.

    Parameters
    ----------
    results : table
        As in `evaluate`: run, query_id, doc_id, and score or rank, or the names of these columns
        in other tools.
    cutoffs : int, None or several of them
        Ranks from 1; None or "all" for whole lists.
    convention : Convention, str or dict
        How lists are ordered; with ``rectools`` or ``replay``, measures are defined as in that
        tool.
    measures : str or several of them
        `items`, `coverage`, `gini`, `personalization`, `novelty`, `popularity` or `categories`, for
        every cutoff, or each with its own options and cutoff, such as ``Coverage@10
        Novelty(unseen=drop)@10`` or ``Gini(preset=evidently)@10``. The default is all measures
        that can be computed from the given tables, except `categories`.
    items : table, optional
        One row per item of the catalog: doc_id and, if the measures need them, popularity (how
        many users used the item), interactions (how often it was used) and category.
    items_users : int, optional
        The number of users that `popularity` was counted over.
    interactions : table, optional
        Interactions from which items are counted instead: a user and an item in each row, such as
        the data on which a model was trained.
    exclude : table, optional
        query_id and doc_id of documents to remove from the lists first, such as items that users
        have already seen.
    run, dataset : str
        The name of the only run, and of the dataset.
    split_ids : dict, optional
        As in `evaluate`.
    session : SparkSession, optional
        The session to use if none of the tables is one of its DataFrames.
    **options
        Options of the convention to change, such as ``ties="doc_id_asc"``.

    Examples
    --------
    Four items were used. `popular` shows two of them, and `als` shows all:

    >>> runs = {"popular": {"u": ["a", "b"], "v": ["a", "b"]}}
    >>> runs["als"] = {"u": ["a", "c"], "v": ["b", "d"]}
    >>> used = [("u", "a"), ("v", "a"), ("w", "a"), ("x", "a"), ("u", "b"), ("v", "b")]
    >>> used += [("w", "c"), ("x", "d")]
    >>> used = {"user": [user for user, _ in used], "item": [item for _, item in used]}
    >>> view = describe(runs, 2, interactions=used, measures="coverage novelty personalization")
    >>> view.to_pandas()[["run", "coverage", "novelty", "personalization"]].round(4)
           run  coverage  novelty  personalization
    0      als       1.0     1.25              1.0
    1  popular       0.5     0.50              0.0

    Novelty is the mean of -log2 of the share of users: 0 bits for `a`, which all four used, 1 for
    `b`, and 2 for `c` and `d`. ``print(view)`` explains it.
    """
    tables = {"results": results, "exclude": exclude}
    requested = list(map(str, listed(measures)))
    if not requested:
        requested = default_measures(
            has_items=items is not None, has_interactions=interactions is not None
        )
    settings: dict[str, Any] = {
        "convention": changed_convention(convention, options, describe),
        "measures": requested,
        "dataset": dataset,
    }
    if cutoffs is not DEFAULT_CUTOFFS:
        settings["cutoffs"] = cutoffs
    refuse_separators(split_ids or {}, tables)
    if is_for_session(tables, session):
        from ndcg_spark.api.spark_tables import GivenItems, describe_tables

        all_settings = {
            **as_configured(settings),
            "run": run,
            "split_ids": dict(split_ids or {}),
            "items_users": items_users,
        }
        tables_config = validate(all_settings, "arguments", TablesConfig)
        given_items = GivenItems(items, interactions)
        rows = describe_tables(tables, tables_config, session, given_items)
        return described_view(rows, tables_config.measure_set)
    scratch = Scratch()
    settings |= items_settings(items, interactions, items_users, scratch)
    config = make_config(tables, settings, scratch, run=run, split_ids=split_ids)
    rows = compute(tasks.describe, config)
    return described_view(rows, config.measure_set)
