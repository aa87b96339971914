"""Measures how much the lists of two sets of results differ, without judgments: rank-biased
overlap (RBO) and others.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.refused_queries import RETURNED_TWICE
from ndcg_spark.errors import ConfigurationError, ConventionError
from ndcg_spark.reference import discounts
from ndcg_spark.schemas import LIST_CHANGES, query_key
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.lists import with_listed
from ndcg_spark.scoring.refusals import refusal
from ndcg_spark.text import unknown_name
from ndcg_spark.voices import Give

KEY = ("dataset", "run", "baseline", "cutoff")
#: The column prefixes for the new and the old side.
_SIDES = ("", "baseline_")
_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5}


def checked_cutoffs(
    convention: Convention, cutoffs: Sequence[int | None], persistence: float
) -> list[int]:
    """Return the cutoffs as ranks.

    An error is raised for the whole ranking, for an invalid persistence, and for an order that
    depends on judgments.
    """
    if ranking.breaks_ties_by_gain(convention):
        raise ConventionError(
            f"convention: ties={convention.ties} orders tied documents by their judgments, "
            "but lists are compared without judgments; set ties=doc_id_desc, or another order"
        )
    ranks = [cutoff for cutoff in cutoffs if cutoff is not None]
    if len(ranks) < len(cutoffs):
        raise ConfigurationError(
            "cutoffs: lists are compared down to a rank, not the whole ranking; give ranks from 1"
        )
    if not 0 < persistence < 1:
        raise ConfigurationError(f"persistence: {persistence!r} is not between 0 and 1; try 0.9")
    return ranks


def compared_runs(new: Collection[str], old: Collection[str], baseline: str | None) -> list[str]:
    """The new runs to compare, sorted.

    These are all new runs if there is a baseline, otherwise those with an old run of that name.
    ConfigurationError if there are none, or if the old runs do not have the baseline.
    """
    if baseline is not None and baseline not in old:
        raise unknown_name("baseline", "run", baseline, old)
    runs = sorted(set(new))
    if baseline is None:
        runs = sorted(set(new).intersection(old))
    if not runs:
        old_runs, new_runs = ", ".join(sorted(old)[:3]), ", ".join(sorted(new)[:3])
        has = f"the old results have {old_runs}, the new ones {new_runs}"
        what = f"baseline: no run to compare: {has}"
        instead = "give runs the same names, or name an old run to compare the new ones with,"
        raise ConfigurationError(what, Give("baseline", min(old), words=instead))
    return runs


def list_changes(
    new: DataFrame,
    old: DataFrame,
    runs: Sequence[str],
    baseline: str | None,
    conventions: tuple[Convention, Convention],
    cutoffs: Sequence[int],
    p: float,
    dataset: str,
) -> DataFrame:
    """The LIST_CHANGES table for two RESULTS tables, unordered. Without a `baseline`, runs are
    paired by name.

    `conventions` give the orders of the new and of the old results, which may differ. A sum fails
    with RETURNED_TWICE if a document is in a list twice.
    """
    key = ["run", *query_key(new.columns)]
    session = new.sparkSession
    depth = cutoffs[-1]
    new_convention, old_convention = conventions
    new_lists = _ranked(new.where(F.col("run").isin(*runs)), key, new_convention, depth)
    old_runs = runs if baseline is None else [baseline]
    old_lists = _ranked(old.where(F.col("run").isin(*old_runs)), key, old_convention, depth)
    if baseline is not None:
        # Every new run is compared with the baseline's lists.
        names = session.createDataFrame(pa.table({"run": pa.array(runs, pa.string())}))
        old_lists = F.broadcast(names).crossJoin(old_lists.drop("run"))
    by_rank = _weights(depth, new_convention, p)
    ranks = np.asarray(cutoffs, np.int32)
    by_cutoff = {"cutoff": ranks, "all_discounts": np.cumsum(by_rank["discount"])[ranks - 1]}
    weights = F.broadcast(session.createDataFrame(pa.table(by_rank)))
    at_cutoffs = F.broadcast(session.createDataFrame(pa.table(by_cutoff)))
    sides = (
        weights.join(new_lists, on=["rank"], how="inner"),
        weights.join(old_lists, on=["rank"], how="inner"),
    )
    joined = _joined(sides, [*key, "doc_id"], ["length", *by_rank])
    within = at_cutoffs.crossJoin(joined).where(F.least("rank", "baseline_rank") <= F.col("cutoff"))
    aggregates = [column.alias(name) for name, column in _aggregates().items()]
    lists = within.groupBy(*key, *by_cutoff).agg(*aggregates)
    refused = refusal(RETURNED_TWICE, key).cast("bigint")
    described = {
        "returned": F.when(F.col("times") == 1, F.col("returned")).otherwise(refused),
        "baseline": F.col("run") if baseline is None else F.lit(baseline),
    }
    if "dataset" not in key:
        described["dataset"] = F.lit(dataset)
    return lists.withColumns(described).withColumns(_measures(p)).select(*LIST_CHANGES.names)


def _weights(depth: int, convention: Convention, p: float) -> dict[str, NDArray[Any]]:
    """Each rank's discount, and the sums of p^rank / rank up to it and before it."""
    ranks = np.arange(1, depth + 1, dtype=np.int32)
    persistent = p**ranks / ranks
    return {
        "rank": ranks,
        "discount": np.asarray(discounts(depth, convention.discount)),
        "persistent": np.cumsum(persistent),
        "persistent_before": np.cumsum(persistent) - persistent,
    }


def _joined(
    sides: tuple[DataFrame, DataFrame], key: Sequence[str], names: Sequence[str]
) -> DataFrame:
    """A row per document of either side, with the columns of both sides.

    `times` is how often the document occurs in one of the lists, the larger of two counts. This
    full outer join is a grouped union, which costs no more and also counts documents that occur
    twice.
    """
    renamed = []
    values = []
    for prefix, side in zip(_SIDES, sides, strict=True):
        own = [F.col(name).alias(f"{prefix}{name}") for name in names]
        renamed.append(side.select(*key, *own))
        values += [F.max(f"{prefix}{name}").alias(f"{prefix}{name}") for name in names]
    times = F.greatest(F.count("rank"), F.count("baseline_rank")).alias("times")
    new_side, old_side = renamed
    documents = new_side.unionByName(old_side, allowMissingColumns=True)
    return documents.groupBy(*key).agg(*values, times)


def _ranked(results: DataFrame, key: list[str], convention: Convention, depth: int) -> DataFrame:
    """Each list's first documents: key, doc_id, rank, length of the list.

    Documents that judgments would remove are kept.
    """
    order = convention.replace(unjudged="zero", negative="keep")
    listed = with_listed(results, key, order)
    ranked = ranking.by_window(listed, key, order, depth).where(ranking.is_listed(order))
    length = F.count(F.lit(1)).over(Window.partitionBy(*key))
    return ranked.select(*key, "doc_id", F.col(ranking.RANK).alias("rank"), length.alias("length"))


def _aggregates() -> dict[str, Column]:
    """Aggregates over a list's documents at a cutoff; `greatest` and `least` ignore nulls."""
    in_new = F.col("rank") <= F.col("cutoff")
    in_old = F.col("baseline_rank") <= F.col("cutoff")
    in_both = in_new & in_old
    lower_rank = F.greatest("rank", "baseline_rank")
    zero = F.lit(0.0)
    persistent_before = F.greatest("persistent_before", "baseline_persistent_before")
    discount = F.when(in_new, F.col("discount")).otherwise(zero)
    baseline_discount = F.when(in_old, F.col("baseline_discount")).otherwise(zero)
    return {
        "returned": F.count_if(in_new),
        "baseline_returned": F.count_if(in_old),
        "common": F.count_if(in_both),
        # The documents that both lists contain within the shorter list's length.
        "shared": F.count_if(in_both & (lower_rank <= F.least("length", "baseline_length"))),
        "same_rank": F.count_if(in_both & (F.col("rank") == F.col("baseline_rank"))),
        "top": F.count_if(in_both & (lower_rank == 1)),
        "persistent_before": F.sum(F.when(in_both, persistent_before).otherwise(zero)),
        "until": F.max(F.when(in_new, F.col("persistent"))),
        "baseline_until": F.max(F.when(in_old, F.col("baseline_persistent"))),
        "gained": F.sum(F.greatest(discount - baseline_discount, zero)),
        "lost": F.sum(F.greatest(baseline_discount - discount, zero)),
        "times": F.max("times"),
    }


def _measures(p: float) -> dict[str, Column]:
    """The columns of LIST_CHANGES, from those of `_aggregates`.

    `moved_discount` comes from Tan and Clarke (2014).
    """
    new, old = F.col("returned"), F.col("baseline_returned")
    common = F.col("common")
    is_one_empty = F.least(new, old) == 0
    moved_discount = F.greatest("gained", "lost") / F.col("all_discounts")
    return {
        "entered": new - common,
        "left": old - common,
        "top_changed": F.col("top") == 0,
        "same_order": (F.col("same_rank") == new) & (F.col("same_rank") == old),
        "jaccard": common / (new + old - common),
        "rbo": F.when(is_one_empty, 0.0).otherwise(_rank_biased_overlap(p)),
        "moved_discount": F.when(is_one_empty, 1.0).otherwise(moved_discount),
    }


def _rank_biased_overlap(p: float) -> Column:
    """The extrapolated rank-biased overlap of two lists that are not empty.

    It is equation 32 of Webber, Moffat and Zobel (2010), which allows unequal lengths. `shared` is
    the overlap at the depth s of the shorter list, and `common` is the overlap at the depth l of
    the longer list. The overlap of every depth is summed over common documents.
    """
    new, old = F.col("returned"), F.col("baseline_returned")
    common, shared = F.col("common"), F.col("shared")
    # At least 1, because engines divide even for an empty list, where the result is not used.
    s = F.greatest(F.least(new, old), F.lit(1))
    longer = F.greatest(new, old)
    until_s = F.least("until", "baseline_until")
    until_l = F.greatest("until", "baseline_until")
    # The sum of p^d (d - s) / (s d) over d = s + 1 .. l; the part without d in the denominator is a
    # geometric series.
    series = (F.pow(F.lit(p), s + 1) - F.pow(F.lit(p), longer + 1)) / (1 - p)
    beyond = shared * (series / s - (until_l - until_s))
    rest = ((common - shared) / longer + shared / s) * F.pow(F.lit(p), longer)
    return (1 - p) / p * (common * until_l - F.col("persistent_before") + beyond) + rest


def summarized(changes: pd.DataFrame) -> pd.DataFrame:
    """A row per run and cutoff of a LIST_CHANGES table: queries, shares of them, means and
    quantiles.
    """
    shares = {
        "changed_share": ~changes["same_order"],
        "top_changed_share": changes["top_changed"],
        "lost_all_share": changes["returned"] == 0,
        "gained_all_share": changes["baseline_returned"] == 0,
    }
    groups = changes.assign(**shares).groupby([*KEY], sort=False)
    columns = {"queries": groups.size()}
    for name in (*shares, "rbo", "moved_discount"):
        columns[name] = groups[name].mean()
        if name not in shares:
            for label, at in _QUANTILES.items():
                columns[f"{name}_{label}"] = groups[name].quantile(at)
    return pd.DataFrame(columns).reset_index()


def most_changed(changes: pd.DataFrame, queries: int) -> pd.DataFrame:
    """The queries that changed most, for each run and cutoff, with their `place` from 1."""
    order = ["moved_discount", "rbo", "query_id"]
    ordered = changes[~changes["same_order"]].sort_values(order, ascending=[False, True, True])
    most = ordered.assign(place=ordered.groupby([*KEY]).cumcount() + 1)
    return most[most["place"] <= queries].sort_values([*KEY, "place"])
