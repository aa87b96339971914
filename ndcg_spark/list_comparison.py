"""How much the list of every query changed between two sets of results, computed without judgments (COMPARING.md)."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark import background, rules
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.parsing import parse_cutoffs
from ndcg_spark.errors import ConfigurationError, ConventionError
from ndcg_spark.reference import discounts
from ndcg_spark.rules import conform_rows
from ndcg_spark.schemas import LIST_CHANGES, RESULTS, query_key
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.lists import with_listed
from ndcg_spark.scoring.refusals import RETURNED_TWICE, refusal, refuse_rows
from ndcg_spark.spark_library import results_with_runs, session_for
from ndcg_spark.tables.writers import to_pandas
from ndcg_spark.text import unknown_name

#: The persistence of rank-biased overlap: the probability that a reader goes on to the next rank.
PERSISTENCE = 0.9
_KEY = ("dataset", "run", "baseline", "cutoff")
#: How the columns of the new side and of the old begin.
_SIDES = ("", "baseline_")
_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5}


def compare_lists(
    results: Any,
    baseline: Any,
    cutoffs: int | Iterable[int] = 10,
    convention: Convention | str = "standard",
    *,
    persistence: float = PERSISTENCE,
    dataset: str = "default",
) -> pd.DataFrame:
    """How much the list of every query changed, computed without judgments. Runs a job for DataFrames of Spark.

    Parameters
    ----------
    results, baseline : table
        Tables as `evaluate` takes them, but no paths, which `compare-lists` takes. Runs are paired by name. Or the
        baseline is the run that all others are compared with.
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
    DataFrame
        The table LIST_CHANGES of COMPARING.md: one row per run, query of either side and cutoff, in this order.

    Raises
    ------
    NdcgSparkError
        As `evaluate`; or a cutoff is not a rank, only judgments tell the order, or there is no run to compare.

    Examples
    --------
    >>> changes = compare_lists({"q": ["b", "a", "c", "d", "e"]}, {"q": ["a", "b", "c", "d", "e"]}, 5)
    >>> changes[["same_order", "jaccard", "rbo", "moved_discount"]].round(6)
       same_order  jaccard  rbo  moved_discount
    0       False      1.0  0.9        0.125174
    """
    if background.is_for(results, baseline):
        given = (results, baseline, cutoffs, convention)
        table: pd.DataFrame = background.call(
            "function", "compare_lists", *given, persistence=persistence, dataset=dataset
        )
        return table
    run = baseline if isinstance(baseline, str) else None
    tables = {"results": results} | ({} if run is not None else {"baseline": baseline})
    session = session_for(*tables.values())
    options = Convention.preset(convention) if isinstance(convention, str) else convention
    ranks = checked_cutoffs(options, parse_cutoffs(cutoffs), persistence)
    sides = []
    for where, given in tables.items():
        typed = conform_rows(results_with_runs(given, session, where), RESULTS, where)
        order = options.replace(**rules.options_without_scores(options, typed.columns))
        rules.require_columns(typed.columns, typed.columns, order)
        sides.append(refuse_rows(typed, rules.result_rules(dict(typed.dtypes), order), where))
    if len({"dataset" in side.columns for side in sides}) > 1:
        raise ConfigurationError("baseline: only one of the tables has a column dataset; name it in both or in neither")
    names = [{row["run"] for row in side.select("run").distinct().collect()} for side in sides]
    runs = compared_runs(names[0], names[-1], run)
    changes = list_changes(sides[0], sides[-1], runs, run, options, ranks, persistence, dataset)
    return to_pandas(changes).sort_values([*_KEY, "query_id"], ignore_index=True)


def checked_cutoffs(convention: Convention, cutoffs: Sequence[int | None], p: float) -> list[int]:
    """The cutoffs; an error for the whole ranking, an impossible persistence, and an order that judgments determine."""
    if ranking.breaks_ties_by_gain(convention):
        raise ConventionError(
            f"convention: ties={convention.ties} orders tied documents by their judgments, and lists are compared "
            "without; set ties=doc_id_desc, or another order"
        )
    ranks = [k for k in cutoffs if k is not None]
    if len(ranks) < len(cutoffs):
        raise ConfigurationError("cutoffs: lists are compared down to a rank, not the whole ranking; give ranks from 1")
    if not 0 < p < 1:
        raise ConfigurationError(f"persistence: {p!r} is not between 0 and 1; 0.9 is usual")
    return ranks


def compared_runs(new: Collection[str], old: Collection[str], baseline: str | None) -> list[str]:
    """The runs that are compared, sorted: those of both names, or all that are not the baseline itself.

    ConfigurationError if there are none, or no such baseline among the old runs.
    """
    if baseline is not None and baseline not in old:
        raise unknown_name("baseline", "run", baseline, old)
    runs = sorted({*new} & {*old}) if baseline is None else sorted({*new} - ({baseline} if new is old else set()))
    if not runs:
        names = " and ".join(", ".join(sorted(side)[:3]) for side in (new, old))
        raise ConfigurationError(
            f"baseline: no run to compare: the two have {names}; name a run of the old results as the baseline, or "
            "give runs the same names"
        )
    return runs


def list_changes(
    new: DataFrame,
    old: DataFrame,
    runs: Sequence[str],
    baseline: str | None,
    convention: Convention,
    cutoffs: Sequence[int],
    p: float,
    dataset: str,
) -> DataFrame:
    """The table LIST_CHANGES of two tables RESULTS, in no order. Without a `baseline`, runs are paired by name.

    A sum fails with RETURNED_TWICE where a document is in a list twice.
    """
    key, session, depth = ["run", *query_key(new.columns)], new.sparkSession, cutoffs[-1]
    ours = _ranked(new.where(F.col("run").isin(*runs)), key, convention, depth)
    theirs = _ranked(old.where(F.col("run").isin(*(runs if baseline is None else [baseline]))), key, convention, depth)
    if baseline is not None:
        names = session.createDataFrame(pa.table({"run": pa.array(runs, pa.string())}))
        theirs = theirs.drop("run").crossJoin(F.broadcast(names))
    ranks, cuts = np.arange(1, depth + 1, dtype=np.int32), np.asarray(cutoffs, np.int32)
    discount, persistent = np.asarray(discounts(depth, convention.discount)), p**ranks / ranks
    harmonic = np.cumsum(1 / ranks)
    by_rank = {
        "rank": ranks,
        "discount": discount,
        "average_before": harmonic - 1 / ranks,
        "persistent": np.cumsum(persistent),
        "persistent_before": np.cumsum(persistent) - persistent,
    }
    by_cutoff = {"cutoff": cuts, "harmonic": harmonic[cuts - 1], "all_discounts": np.cumsum(discount)[cuts - 1]}
    weights, at_cutoffs = (F.broadcast(session.createDataFrame(pa.table(columns))) for columns in (by_rank, by_cutoff))
    sides = [
        side.join(weights, on=["rank"], how="inner").select(
            *key, "doc_id", *(F.col(name).alias(f"{prefix}{name}") for name in ("length", *by_rank))
        )
        for prefix, side in zip(_SIDES, (ours, theirs), strict=True)
    ]
    # The full outer join is a grouped union: it costs no more, and it counts documents that occur twice.
    documents = sides[0].unionByName(sides[1], allowMissingColumns=True)
    times = F.greatest(*(F.count(f"{prefix}rank") for prefix in _SIDES)).alias("times")
    values = (F.max(f"{prefix}{name}").alias(f"{prefix}{name}") for prefix in _SIDES for name in ("length", *by_rank))
    joined = documents.groupBy(*key, "doc_id").agg(*values, times)
    within = joined.crossJoin(at_cutoffs).where(F.least("rank", "baseline_rank") <= F.col("cutoff"))
    lists = within.groupBy(*key, *by_cutoff).agg(*(column.alias(name) for name, column in _aggregates().items()))
    once = F.when(F.col("times") == 1, F.col("returned")).otherwise(refusal(RETURNED_TWICE, key).cast("bigint"))
    described = {"returned": once, "baseline": F.col("run") if baseline is None else F.lit(baseline)}
    described |= {} if "dataset" in key else {"dataset": F.lit(dataset)}
    return lists.withColumns(described).withColumns(_measures(p)).select(*LIST_CHANGES.names)


def _ranked(results: DataFrame, key: list[str], convention: Convention, depth: int) -> DataFrame:
    """The first documents of each list: key, doc_id, rank, length of the list. What judgments would remove stays."""
    order = convention.replace(**rules.options_without_scores(convention, results.columns))
    order = order.replace(unjudged="zero", negative="keep")
    ranked = ranking.by_window(with_listed(results, key, order), key, order, depth).where(ranking.is_listed(order))
    length = F.count(F.lit(1)).over(Window.partitionBy(*key))
    return ranked.select(*key, "doc_id", F.col(ranking.RANK).alias("rank"), length.alias("length"))


def _aggregates() -> dict[str, Column]:
    """The aggregates of the documents of a list at a cutoff; `greatest` and `least` ignore nulls."""
    ours, theirs = (F.col(f"{prefix}rank") <= F.col("cutoff") for prefix in _SIDES)
    both, common, zero = F.greatest("rank", "baseline_rank"), ours & theirs, F.lit(0.0)
    discount, baseline_discount = (
        F.when(is_in, F.col(f"{prefix}discount")).otherwise(zero)
        for prefix, is_in in zip(_SIDES, (ours, theirs), strict=True)
    )
    return {
        "returned": F.count_if(ours),
        "baseline_returned": F.count_if(theirs),
        "common": F.count_if(common),
        # The documents that both lists have within the length of the shorter one.
        "shared": F.count_if(common & (both <= F.least("length", "baseline_length"))),
        "same_rank": F.count_if(common & (F.col("rank") == F.col("baseline_rank"))),
        "top": F.count_if(common & (both == 1)),
        **{
            name: F.sum(F.when(common, F.greatest(name, f"baseline_{name}")).otherwise(zero))
            for name in ("average_before", "persistent_before")
        },
        "until": F.max(F.when(ours, F.col("persistent"))),
        "baseline_until": F.max(F.when(theirs, F.col("baseline_persistent"))),
        "gained": F.sum(F.greatest(discount - baseline_discount, zero)),
        "lost": F.sum(F.greatest(baseline_discount - discount, zero)),
        "times": F.max("times"),
    }


def _measures(p: float) -> dict[str, Column]:
    """The columns of LIST_CHANGES from `_aggregates`.

    Sources: average overlap Fagin, Kumar and Sivakumar (2003), moved_discount Tan and Clarke (2014), extrapolated
    rank-biased overlap equation 32 of Webber, Moffat and Zobel (2010), also for unequal lengths: the overlap at the
    depth s of the shorter list is `shared`, that at the depth l of the longer is `common`, and the overlap of every
    depth is summed over common documents.
    """
    ours, theirs, common, shared = map(F.col, ("returned", "baseline_returned", "common", "shared"))
    one_empty = F.least(ours, theirs) == 0
    # At least 1, because engines also divide for unused results: an empty list has no rank-biased overlap here.
    s, longer = F.greatest(F.least(ours, theirs), F.lit(1)), F.greatest(ours, theirs)
    until_s, until_l = (bound("until", "baseline_until") for bound in (F.least, F.greatest))
    # The sum of p^d (d - s) / (s d) over d = s + 1 .. l; the part without d in the denominator is a geometric series.
    series = (F.pow(F.lit(p), s + 1) - F.pow(F.lit(p), longer + 1)) / (1 - p)
    beyond = shared * (series / s - (until_l - until_s))
    rest = ((common - shared) / longer + shared / s) * F.pow(F.lit(p), longer)
    rbo = (1 - p) / p * (common * until_l - F.col("persistent_before") + beyond) + rest
    return {
        "entered": ours - common,
        "left": theirs - common,
        "top_changed": F.col("top") == 0,
        "same_order": (F.col("same_rank") == ours) & (F.col("same_rank") == theirs),
        "overlap": common / F.col("cutoff"),
        "jaccard": common / (ours + theirs - common),
        "average_overlap": (F.col("harmonic") * common - F.col("average_before")) / F.col("cutoff"),
        "rbo": F.when(one_empty, 0.0).otherwise(rbo),
        "moved_discount": F.when(one_empty, 1.0).otherwise(F.greatest("gained", "lost") / F.col("all_discounts")),
    }


def summarized(changes: DataFrame) -> DataFrame:
    """One row per run and cutoff of a table LIST_CHANGES, in no order: queries, shares of them, means and quantiles."""
    shares = {"changed": ~F.col("same_order"), "top_changed": F.col("top_changed")}
    shares |= {"lost_all": F.col("returned") == 0, "gained_all": F.col("baseline_returned") == 0}
    columns = {"queries": F.count(F.lit(1))}
    columns |= {f"{name}_share": F.avg(is_so.cast("double")) for name, is_so in shares.items()}
    for name in ("rbo", "moved_discount"):
        columns |= {name: F.avg(name), **{f"{name}_{q}": F.percentile(name, at) for q, at in _QUANTILES.items()}}
    return changes.groupBy(*_KEY).agg(*(column.alias(name) for name, column in columns.items()))


def most_changed(changes: DataFrame, queries: int) -> DataFrame:
    """The rows of the queries that changed most, for each run and cutoff, in no order; `place` counts them from 1."""
    order = (F.desc("moved_discount"), F.asc("rbo"), F.asc("query_id"))
    placed = changes.withColumn("place", F.row_number().over(Window.partitionBy(*_KEY).orderBy(*order)))
    return placed.where((F.col("place") <= queries) & ~F.col("same_order"))
