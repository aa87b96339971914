"""How much the lists of two sets of results differ, without judgments: rank-biased overlap (RBO)
and other measures.
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
#: The prefixes of the columns of the new and the old side.
_SIDES = ("", "baseline_")
_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5}


def checked_cutoffs(
    convention: Convention, cutoffs: Sequence[int | None], persistence: float
) -> list[int]:
    """Return the cutoffs; raise an error for the whole ranking, an invalid persistence, or an order
    that depends on judgments.
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
    """The new runs to compare, sorted: those with an old run of the same name, or all with the
    baseline.

    ConfigurationError if there are none, or if the old runs do not have the baseline.
    """
    if baseline is not None and baseline not in old:
        raise unknown_name("baseline", "run", baseline, old)
    runs = sorted({*new} & {*old} if baseline is None else {*new})
    if not runs:
        theirs, ours = (", ".join(sorted(side)[:3]) for side in (old, new))
        what = f"baseline: no run to compare: the old results have {theirs}, the new ones {ours}"
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
    key, session, depth = ["run", *query_key(new.columns)], new.sparkSession, cutoffs[-1]
    ours = _ranked(new.where(F.col("run").isin(*runs)), key, conventions[0], depth)
    names_of_old = runs if baseline is None else [baseline]
    theirs = _ranked(old.where(F.col("run").isin(*names_of_old)), key, conventions[1], depth)
    if baseline is not None:
        names = session.createDataFrame(pa.table({"run": pa.array(runs, pa.string())}))
        theirs = F.broadcast(names).crossJoin(theirs.drop("run"))
    by_rank = _weights(depth, conventions[0], p)
    cuts = np.asarray(cutoffs, np.int32)
    by_cutoff = {"cutoff": cuts, "all_discounts": np.cumsum(by_rank["discount"])[cuts - 1]}
    weights = F.broadcast(session.createDataFrame(pa.table(by_rank)))
    at_cutoffs = F.broadcast(session.createDataFrame(pa.table(by_cutoff)))
    sides = (
        weights.join(ours, on=["rank"], how="inner"),
        weights.join(theirs, on=["rank"], how="inner"),
    )
    joined = _joined(sides, [*key, "doc_id"], ["length", *by_rank])
    within = at_cutoffs.crossJoin(joined).where(F.least("rank", "baseline_rank") <= F.col("cutoff"))
    lists = within.groupBy(*key, *by_cutoff).agg(
        *(column.alias(name) for name, column in _aggregates().items())
    )
    once = F.when(F.col("times") == 1, F.col("returned")).otherwise(
        refusal(RETURNED_TWICE, key).cast("bigint")
    )
    described = {
        "returned": once,
        "baseline": F.col("run") if baseline is None else F.lit(baseline),
    }
    described |= {} if "dataset" in key else {"dataset": F.lit(dataset)}
    return lists.withColumns(described).withColumns(_measures(p)).select(*LIST_CHANGES.names)


def _weights(depth: int, convention: Convention, p: float) -> dict[str, NDArray[Any]]:
    """The discount of each rank, and the sums of p^rank / rank up to it and before it."""
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
    """A row per document of either side, with the columns of both; `times` is how often it occurs.

    This full outer join is a grouped union, which costs no more and also counts documents that
    occur twice.
    """
    renamed, values, times = [], [], []
    for prefix, side in zip(_SIDES, sides, strict=True):
        own = [F.col(name).alias(f"{prefix}{name}") for name in names]
        renamed.append(side.select(*key, *own))
        values += [F.max(f"{prefix}{name}").alias(f"{prefix}{name}") for name in names]
        times.append(F.count(f"{prefix}rank"))
    documents = renamed[0].unionByName(renamed[1], allowMissingColumns=True)
    return documents.groupBy(*key).agg(*values, F.greatest(*times).alias("times"))


def _ranked(results: DataFrame, key: list[str], convention: Convention, depth: int) -> DataFrame:
    """The first documents of each list: key, doc_id, rank, length of the list. Documents that
    judgments would remove are kept.
    """
    order = convention.replace(unjudged="zero", negative="keep")
    ranked = ranking.by_window(with_listed(results, key, order), key, order, depth).where(
        ranking.is_listed(order)
    )
    length = F.count(F.lit(1)).over(Window.partitionBy(*key))
    return ranked.select(*key, "doc_id", F.col(ranking.RANK).alias("rank"), length.alias("length"))


def _aggregates() -> dict[str, Column]:
    """Aggregates over the documents of a list at a cutoff; `greatest` and `least` ignore nulls."""
    ours, theirs = (F.col(f"{prefix}rank") <= F.col("cutoff") for prefix in _SIDES)
    both, common, zero = F.greatest("rank", "baseline_rank"), ours & theirs, F.lit(0.0)
    persistent_before = F.greatest("persistent_before", "baseline_persistent_before")
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
        "persistent_before": F.sum(F.when(common, persistent_before).otherwise(zero)),
        "until": F.max(F.when(ours, F.col("persistent"))),
        "baseline_until": F.max(F.when(theirs, F.col("baseline_persistent"))),
        "gained": F.sum(F.greatest(discount - baseline_discount, zero)),
        "lost": F.sum(F.greatest(baseline_discount - discount, zero)),
        "times": F.max("times"),
    }


def _measures(p: float) -> dict[str, Column]:
    """The columns of LIST_CHANGES from `_aggregates`.

    Sources: moved_discount is from Tan and Clarke (2014). Extrapolated rank-biased overlap is
    equation 32 of Webber, Moffat and Zobel (2010), which allows unequal lengths: `shared` is the
    overlap at the depth s of the shorter list, `common` is the overlap at the depth l of the
    longer one, and the overlap of every depth is summed over common documents.
    """
    ours, theirs, common, shared = map(F.col, ("returned", "baseline_returned", "common", "shared"))
    one_empty = F.least(ours, theirs) == 0
    # At least 1, because engines evaluate divisions even if the result is unused: an empty list
    # has no rank-biased overlap here.
    s, longer = F.greatest(F.least(ours, theirs), F.lit(1)), F.greatest(ours, theirs)
    until_s, until_l = (bound("until", "baseline_until") for bound in (F.least, F.greatest))
    # The sum of p^d (d - s) / (s d) over d = s + 1 .. l; the part without d in the denominator is a
    # geometric series.
    series = (F.pow(F.lit(p), s + 1) - F.pow(F.lit(p), longer + 1)) / (1 - p)
    beyond = shared * (series / s - (until_l - until_s))
    rest = ((common - shared) / longer + shared / s) * F.pow(F.lit(p), longer)
    rbo = (1 - p) / p * (common * until_l - F.col("persistent_before") + beyond) + rest
    return {
        "entered": ours - common,
        "left": theirs - common,
        "top_changed": F.col("top") == 0,
        "same_order": (F.col("same_rank") == ours) & (F.col("same_rank") == theirs),
        "jaccard": common / (ours + theirs - common),
        "rbo": F.when(one_empty, 0.0).otherwise(rbo),
        "moved_discount": F.when(one_empty, 1.0).otherwise(
            F.greatest("gained", "lost") / F.col("all_discounts")
        ),
    }


def summarized(changes: pd.DataFrame) -> pd.DataFrame:
    """A row per run and cutoff of a LIST_CHANGES table: queries, shares of them, means and
    quantiles.
    """
    shares = {"changed_share": ~changes["same_order"], "top_changed_share": changes["top_changed"]}
    shares |= {
        "lost_all_share": changes["returned"] == 0,
        "gained_all_share": changes["baseline_returned"] == 0,
    }
    groups = changes.assign(**shares).groupby([*KEY], sort=False)
    columns = {"queries": groups.size()} | {name: groups[name].mean() for name in shares}
    for name in ("rbo", "moved_discount"):
        columns[name] = groups[name].mean()
        columns |= {
            f"{name}_{label}": groups[name].quantile(at) for label, at in _QUANTILES.items()
        }
    return pd.DataFrame(columns).reset_index()


def most_changed(changes: pd.DataFrame, queries: int) -> pd.DataFrame:
    """The rows of the queries that changed most, for each run and cutoff, with their `place`,
    starting at 1.
    """
    order = ["moved_discount", "rbo", "query_id"]
    ordered = changes[~changes["same_order"]].sort_values(order, ascending=[False, True, True])
    most = ordered.assign(place=ordered.groupby([*KEY]).cumcount() + 1)
    return most[most["place"] <= queries].sort_values([*KEY, "place"])
