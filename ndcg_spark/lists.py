"""How much the list of every query changed between two sets of results, computed without judgments (LISTS.md)."""

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark import background, rules
from ndcg_spark.casting import conform_rows
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import as_list, ascending
from ndcg_spark.errors import ConfigurationError, ConventionError
from ndcg_spark.pandas_tables import to_pandas
from ndcg_spark.reference import discounts
from ndcg_spark.schemas import LIST_CHANGES, RESULTS, query_key
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.lists import with_listed
from ndcg_spark.scoring.refusals import RETURNED_TWICE, refusal, refuse_rows
from ndcg_spark.spark_library import results_with_runs, session_of
from ndcg_spark.text import unknown_name

#: The persistence of rank-biased overlap: the probability that a reader goes on to the next rank.
PERSISTENCE = 0.9
_KEY = ("dataset", "run", "baseline", "cutoff")
#: Of a document: its rank, the length of its list, the discount of the rank, and the sums of 1 / d and of p^d / d of
#: all ranks before.
_PLACE = ("rank", "length", "discount", "average_before", "persistent_before")
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
        As `evaluate` takes them; runs are paired by name. Or the baseline is the run that all others are compared with.
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
        The table LIST_CHANGES of LISTS.md: one row per run, query of either side and cutoff, in this order.

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
        more = {"persistence": persistence, "dataset": dataset}
        found: pd.DataFrame = background.call(
            "function", "compare_lists", results, baseline, cutoffs, convention, **more
        )
        return found
    run = baseline if isinstance(baseline, str) else None
    tables = {"results": results} | ({} if run is not None else {"baseline": baseline})
    session = session_of(*tables.values())
    options = Convention.preset(convention) if isinstance(convention, str) else convention
    ranks = refuse_unusable(options, ascending(as_list(cutoffs)), persistence)
    sides = []
    for where, given in tables.items():
        typed = conform_rows(results_with_runs(given, session, where), RESULTS, where)
        order = options.replace(**rules.options_without_scores(options, typed.columns))
        rules.require_columns(typed.columns, typed.columns, order)
        sides.append(refuse_rows(typed, rules.broken_results(dict(typed.dtypes), order), where))
    if len({"dataset" in side.columns for side in sides}) > 1:
        raise ConfigurationError("baseline: only one of the tables has a column dataset; name it in both or in neither")
    names = [{row["run"] for row in side.select("run").distinct().collect()} for side in sides]
    runs = compared_runs(names[0], names[-1], run)
    changes = list_changes(sides[0], sides[-1], runs, run, options, ranks, persistence, dataset)
    return to_pandas(changes).sort_values([*_KEY, "query_id"], ignore_index=True)


def refuse_unusable(convention: Convention, cutoffs: Sequence[int | None], p: float) -> list[int]:
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
    named = (
        new.where(F.col("run").isin(*runs)),
        old.where(F.col("run").isin(*(runs if baseline is None else [baseline]))),
    )
    ours, theirs = (_ranked(results, key, convention, depth) for results in named)
    if baseline is not None:
        names = session.createDataFrame(pa.table({"run": pa.array(runs, pa.string())}))
        theirs = theirs.drop("run").crossJoin(F.broadcast(names))
    columns = {"rank": pa.array(range(1, depth + 1), pa.int32()), "discount": discounts(depth, convention.discount)}
    before = {"average_before": _sums(1.0, depth - 1), "persistent_before": _sums(p, depth - 1)}
    weights = session.createDataFrame(pa.table(columns | before))
    sides = [_placed(side, key, weights, prefix) for side, prefix in ((ours, ""), (theirs, "baseline_"))]
    # The full outer join is a grouped union: it costs no more, and it counts documents that occur twice.
    documents = sides[0].unionByName(sides[1], allowMissingColumns=True)
    times = [F.count(name).alias(f"{name}_times") for name in ("rank", "baseline_rank")]
    columns_of_both = [f"{prefix}{name}" for prefix in ("", "baseline_") for name in _PLACE]
    joined = documents.groupBy(*key, "doc_id").agg(*(F.max(name).alias(name) for name in columns_of_both), *times)
    lists = joined.groupBy(*key).agg(
        *(F.coalesce(F.max(name), F.lit(0)).alias(name) for name in ("length", "baseline_length")),
        F.max(F.greatest("rank_times", "baseline_rank_times")).alias("times"),
        *(column.alias(f"{name}_{k}") for k in cutoffs for name, column in _aggregates(k).items()),
    )
    once = F.when(F.col("times") == 1, F.col("length")).otherwise(refusal(RETURNED_TWICE, key).cast("bigint"))
    at_cutoffs = [F.struct(*(c.alias(n) for n, c in _measures(k, convention, p).items())) for k in cutoffs]
    exploded = lists.withColumn("length", once).select(*key, F.explode(F.array(*at_cutoffs)).alias("at"))
    described = {"baseline": F.col("run") if baseline is None else F.lit(baseline)}
    described |= {} if "dataset" in key else {"dataset": F.lit(dataset)}
    return exploded.select(*key, "at.*").withColumns(described).select(*LIST_CHANGES.names)


def _ranked(results: DataFrame, key: list[str], convention: Convention, depth: int) -> DataFrame:
    """The first documents of each list: key, doc_id, rank. What judgments would remove stays."""
    order = convention.replace(**rules.options_without_scores(convention, results.columns))
    order = order.replace(unjudged="zero", negative="keep")
    ranked = ranking.by_window(with_listed(results, key, order), key, order, depth).where(ranking.is_listed(order))
    return ranked.select(*key, "doc_id", F.col(ranking.RANK).alias("rank"))


def _placed(ranked: DataFrame, key: list[str], weights: DataFrame, prefix: str) -> DataFrame:
    """The ranked documents with the columns _PLACE, named with this prefix."""
    length = F.count(F.lit(1)).over(Window.partitionBy(*key))
    placed = ranked.withColumn("length", length).join(F.broadcast(weights), on=["rank"], how="inner")
    return placed.select(*key, "doc_id", *(F.col(name).alias(f"{prefix}{name}") for name in _PLACE))


def _sums(p: float, depth: int) -> list[float]:
    """The sums of p^d / d of the first 0, 1, 2, ... ranks d."""
    return [0.0, *itertools.accumulate(p**d / d for d in range(1, depth + 1))]


def _aggregates(k: int) -> dict[str, Column]:
    """The aggregates of the documents of a list at a cutoff. `greatest` ignores nulls."""
    both, zero = F.greatest("rank", "baseline_rank"), F.lit(0.0)
    common = F.col("rank").isNotNull() & F.col("baseline_rank").isNotNull() & (both <= k)
    ours, theirs = (
        F.when(F.col(f"{side}rank") <= k, F.col(f"{side}discount")).otherwise(zero) for side in ("", "baseline_")
    )
    return {
        "common": F.count_if(common),
        # The documents that both lists have within the length of the shorter one.
        "shared": F.count_if(common & (both <= F.least("length", "baseline_length"))),
        "placed": F.count_if(common & (F.col("rank") == F.col("baseline_rank"))),
        "top": F.count_if(common & (both == 1)),
        **{name: F.sum(F.when(common, F.greatest(name, f"baseline_{name}")).otherwise(zero)) for name in _PLACE[3:]},
        "gained": F.sum(F.greatest(ours - theirs, zero)),
        "lost": F.sum(F.greatest(theirs - ours, zero)),
    }


def _measures(k: int, convention: Convention, p: float) -> dict[str, Column]:
    """The columns of LIST_CHANGES at a cutoff, from `_aggregates`.

    Sources: average overlap Fagin, Kumar and Sivakumar (2003), moved_discount Tan and Clarke (2014).
    """
    ours, theirs = (F.least(F.col(name), F.lit(k)) for name in ("length", "baseline_length"))
    sums = {name: F.col(f"{name}_{k}") for name in _aggregates(k)}
    common, one_empty = sums["common"], F.least(ours, theirs) == 0
    moved = F.greatest(sums["gained"], sums["lost"]) / F.lit(math.fsum(discounts(k, convention.discount)))
    rbo = _rbo(_sums(p, k), p, ours, theirs, common, sums["shared"], sums["persistent_before"])
    return {
        "cutoff": F.lit(k),
        "returned": ours,
        "baseline_returned": theirs,
        "common": common,
        "entered": ours - common,
        "left": theirs - common,
        "top_changed": sums["top"] == 0,
        "same_order": (sums["placed"] == ours) & (sums["placed"] == theirs),
        "overlap": common / k,
        "jaccard": common / (ours + theirs - common),
        "average_overlap": (_sums(1.0, k)[k] * common - sums["average_before"]) / k,
        "rbo": F.when(one_empty, 0.0).otherwise(rbo),
        "moved_discount": F.when(one_empty, 1.0).otherwise(moved),
    }


def _rbo(
    sums: list[float], p: float, ours: Column, theirs: Column, common: Column, shared: Column, before: Column
) -> Column:
    """Extrapolated rank-biased overlap: equation 32 of Webber, Moffat and Zobel (2010), also for unequal lengths.

    `shared` is the overlap at the depth s of the shorter list, `common` that at the depth l of the longer, and the
    overlap of every depth is summed over common documents.
    """
    # At least 1, because engines also divide for unused results: an empty list has no rank-biased overlap here.
    s, longer = F.greatest(F.least(ours, theirs), F.lit(1)), F.greatest(ours, theirs)
    # As SQL, because on classic Spark every constant would be a round trip to the JVM.
    table = F.expr(f"array({', '.join(f'{value!r}D' for value in sums)})")
    until_s, until_l = (F.get(table, depth.cast("int")) for depth in (s, longer))
    # The sum of p^d (d - s) / (s d) over d = s + 1 .. l; the part without d in the denominator is a geometric series.
    series = (F.pow(F.lit(p), s + 1) - F.pow(F.lit(p), longer + 1)) / (1 - p)
    within, beyond = common * until_l - before, shared * (series / s - (until_l - until_s))
    rest = ((common - shared) / longer + shared / s) * F.pow(F.lit(p), longer)
    return (1 - p) / p * (within + beyond) + rest


def summarized(changes: DataFrame) -> DataFrame:
    """One row per run and cutoff of a table LIST_CHANGES, in no order: queries, shares of them, means and quantiles."""
    shares = {
        "changed": ~F.col("same_order"),
        "top_changed": F.col("top_changed"),
        "lost_all": F.col("returned") == 0,
        "gained_all": F.col("baseline_returned") == 0,
    }
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
