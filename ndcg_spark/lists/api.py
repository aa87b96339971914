"""`compare_lists` as a function of tables, for Python and notebooks."""

import datetime
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark.casting import conform_rows
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import ascending
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.library import as_list, results_with_runs, session_of
from ndcg_spark.lists.changes import PERSISTENCE, list_changes, ranked_lists, refuse_cutoffs
from ndcg_spark.lists.pairs import compared_runs, paired
from ndcg_spark.pandas_tables import Table, with_html
from ndcg_spark.schemas import LIST_CHANGES, RESULTS, query_key
from ndcg_spark.scoring.refusals import refuse_rows


def compare_lists(
    results: Any,
    baseline: Any,
    cutoffs: int | Iterable[int] = 10,
    convention: Convention | str = "standard",
    *,
    persistence: float = PERSISTENCE,
    dataset: str = "default",
) -> Table:
    """How much the list of every query changed, computed without judgments.

    Parameters
    ----------
    results : table
        As `evaluate` takes them.
    baseline : str or table
        The name of the run that every other run is compared with; or other results, whose runs are paired by name.
    cutoffs : int or several of them
        Ranks from 1.
    convention : Convention or str
        Which order, ties and discount to use. Documents that it would remove because of their judgments stay.
    persistence : float
        The p of rank-biased overlap, between 0 and 1.
    dataset : str
        The name of the dataset if the tables have no such column.

    Returns
    -------
    Table
        The table LIST_CHANGES, one row per run, query of either side and cutoff, in no order; LISTS.md describes its
        columns. Lazy, except that the names of the runs are read. A row that breaks a rule makes it fail when it is
        computed, as for `evaluate`.

    Raises
    ------
    ConfigurationError
        A cutoff is not a rank, the persistence is not between 0 and 1, or there is no run to compare.
    ConventionError
        The convention is unknown, or only judgments tell its order (ties=average, best, worst).
    InputError
        An argument is not a table, or a column is missing or has the wrong type.

    Examples
    --------
    >>> row = compare_lists({"q": ["b", "a", "c", "d", "e"]}, {"q": ["a", "b", "c", "d", "e"]}, 5).first()
    >>> row["same_order"], row["jaccard"], round(row["rbo"], 6), round(row["moved_discount"], 6)
    (False, 1.0, 0.9, 0.125174)
    """
    named = isinstance(baseline, str)
    session = session_of(results, *([] if named else [baseline]))
    options = Convention.preset(convention) if isinstance(convention, str) else convention
    ranks = refuse_cutoffs(ascending(as_list(cutoffs)), persistence)
    tables, sides = [(results, "results"), *([] if named else [(baseline, "baseline")])], []
    for given, where in tables:
        table = results_with_runs(given, session, where)
        order = options.replace(**rules.options_without_scores(options, table.columns))
        typed = conform_rows(table, RESULTS, where)
        rules.require_columns(typed.columns, typed.columns, order)
        good = refuse_rows(typed, rules.broken_results(dict(typed.dtypes), order), where)
        sides.append(ranked_lists(good, query_key(good.columns), order, ranks[-1]))
    runs = [{row["run"] for row in side.select("run").distinct().collect()} for side in sides]
    new, old = sides[0], sides[-1]
    if query_key(new.columns) != query_key(old.columns):
        raise ConfigurationError("baseline: only one of the tables has a column dataset; name it in both or in neither")
    run = baseline if named else None
    pair = paired(new, old, compared_runs(runs[0], runs[-1], run), run)
    found = list_changes(*pair, ["run", *query_key(new.columns)], options, ranks, persistence)
    return with_html(as_list_changes(found, run, dataset))


def as_list_changes(
    found: DataFrame,
    baseline: str | None,
    dataset: str,
    night: datetime.date | None = None,
    baseline_night: datetime.date | None = None,
    evaluation_id: str | None = None,
) -> DataFrame:
    """The table LIST_CHANGES from the columns of `list_changes`; without a baseline, runs are paired by name.

    The columns of an evaluation also include `judged`, which is null for an unjudged query.
    """
    described = {
        "dataset": F.col("dataset") if "dataset" in found.columns else F.lit(dataset),
        "evaluated_on": F.lit(night).cast("date"),
        "baseline": F.col("run") if baseline is None else F.lit(baseline),
        "baseline_night": F.lit(baseline_night).cast("date"),
        "judged": F.lit(None).cast("boolean") if evaluation_id is None else F.coalesce("judged", F.lit(False)),
        "evaluation_id": F.lit(evaluation_id).cast("string"),
    }
    return found.withColumns(described).select(*LIST_CHANGES.names)
