"""How much lists changed: two ranked tables, outer joined on the document, and one aggregation of ranks."""

import math
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError, ConventionError
from ndcg_spark.lists import weights
from ndcg_spark.reference import discounts
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.lists import with_listed
from ndcg_spark.scoring.refusals import RETURNED_TWICE, refusal

#: The persistence of rank-biased overlap: the probability that a reader goes on to the next rank.
PERSISTENCE = 0.9
#: The columns of a ranked list, and those of the baseline's list.
_OURS = ("rank", "length", weights.DISCOUNT, weights.AVERAGE_BEFORE, weights.PERSISTENT_BEFORE)
_KINDS = ("int", "bigint", "double", "double", "double")


def refuse_unknown_order(convention: Convention) -> None:
    """ConventionError if only judgments determine the order of a list."""
    if ranking.breaks_ties_by_gain(convention):
        raise ConventionError(
            f"convention: ties={convention.ties} orders tied documents by their judgments, and lists are compared "
            "without; set ties=doc_id_desc, or another order"
        )


def refuse_cutoffs(cutoffs: Sequence[int | None], p: float) -> list[int]:
    """The cutoffs; ConfigurationError for the whole ranking or for a persistence that is not between 0 and 1."""
    ranks = [k for k in cutoffs if k is not None]
    if len(ranks) < len(cutoffs):
        raise ConfigurationError("cutoffs: lists are compared down to a rank, not the whole ranking; give ranks from 1")
    if not 0 < p < 1:
        raise ConfigurationError(f"persistence: {p!r} is not between 0 and 1; 0.9 is usual")
    return ranks


def ranked_lists(results: DataFrame, query_key: list[str], convention: Convention, depth: int) -> DataFrame:
    """The first `depth` documents of each list, in no order: run, the query key, doc_id, rank.

    Documents that the convention would remove because of their judgments stay. Raises as `refuse_unknown_order`.
    """
    refuse_unknown_order(convention)
    returned, run_key = convention.replace(unjudged="zero", negative="keep"), ["run", *query_key]
    listed = with_listed(results, run_key, returned)
    ranked = ranking.by_window(listed, run_key, returned, depth).where(ranking.is_listed(returned))
    return ranked.select(*run_key, "doc_id", F.col(ranking.RANK).alias("rank"))


def list_changes(
    new: DataFrame,
    old: DataFrame,
    key: Sequence[str],
    convention: Convention,
    cutoffs: Sequence[int],
    p: float = PERSISTENCE,
) -> DataFrame:
    """One row per list of `new` or `old` and cutoff, in no order: `key`, cutoff, and the measures of LIST_CHANGES.

    Both tables have one row per document of a list: `key`, doc_id, rank, down to the deepest cutoff. A sum fails with
    RETURNED_TWICE where a document is in a list twice. Sources: average overlap Fagin, Kumar and Sivakumar (2003),
    rank-biased overlap Webber, Moffat and Zobel (2010), moved_discount Tan and Clarke (2014).
    """
    depth = max(cutoffs)
    of_ranks = F.broadcast(weights.table(new.sparkSession, convention, p, depth))
    sides = [_side(table, of_ranks, key, name) for table, name in ((new, ""), (old, "baseline_"))]
    columns = [f"{prefix}{name}" for prefix in ("", "baseline_") for name in _OURS]
    # The full outer join is a grouped union: it costs no more, and it counts documents that occur twice.
    documents = sides[0].unionByName(sides[1], allowMissingColumns=True)
    times = [F.count(name).alias(f"{name}_times") for name in ("rank", "baseline_rank")]
    joined = documents.groupBy(*key, "doc_id").agg(*(F.max(name).alias(name) for name in columns), *times)
    sums = {f"{name}_{k}": column for k in cutoffs for name, column in _sums(k).items()}
    lists = joined.groupBy(*key).agg(
        F.coalesce(F.max("length"), F.lit(0)).alias("length"),
        F.coalesce(F.max("baseline_length"), F.lit(0)).alias("baseline_length"),
        F.max(F.greatest("rank_times", "baseline_rank_times")).alias("times"),
        *(column.alias(name) for name, column in sums.items()),
    )
    once = F.when(F.col("times") == 1, F.col("length")).otherwise(refusal(RETURNED_TWICE, key).cast("bigint"))
    of_cutoffs = [F.struct(*(c.alias(n) for n, c in _measures(k, convention, p).items())) for k in cutoffs]
    exploded = lists.withColumn("length", once).select(*key, F.explode(F.array(*of_cutoffs)).alias("of"))
    return exploded.select(*key, "of.*")


def _side(table: DataFrame, of_ranks: DataFrame, key: Sequence[str], prefix: str) -> DataFrame:
    """The lists with the length of each and the weights of the ranks, the columns named with this prefix."""
    length = F.count(F.lit(1)).over(Window.partitionBy(*key))
    within = table.withColumn("length", length).join(of_ranks, on=["rank"], how="inner")
    return within.select(*key, "doc_id", *(F.col(name).alias(f"{prefix}{name}") for name in _OURS))


def _sums(k: int) -> dict[str, Column]:
    """The aggregates of the documents of a list at a cutoff, by their names."""
    both, zero = F.greatest("rank", "baseline_rank"), F.lit(0.0)
    # `greatest` ignores nulls, and only common documents have both ranks.
    common = F.col("rank").isNotNull() & F.col("baseline_rank").isNotNull() & (both <= k)
    shorter = F.least(F.col("length"), F.col("baseline_length"))
    ours, theirs = (
        F.when(F.col(f"{prefix}rank") <= k, F.col(f"{prefix}{weights.DISCOUNT}")).otherwise(zero)
        for prefix in ("", "baseline_")
    )

    def before(name: str) -> Column:
        return F.sum(F.when(common, F.greatest(name, f"baseline_{name}")).otherwise(zero))

    return {
        "common": F.count_if(common),
        # The documents that both lists have within the length of the shorter one.
        "shared": F.count_if(common & (both <= shorter)),
        "placed": F.count_if(common & (F.col("rank") == F.col("baseline_rank"))),
        "top": F.count_if(common & (both == 1)),
        "average": before(weights.AVERAGE_BEFORE),
        "persistent": before(weights.PERSISTENT_BEFORE),
        "gained": F.sum(F.greatest(ours - theirs, zero)),
        "lost": F.sum(F.greatest(theirs - ours, zero)),
    }


def _measures(k: int, convention: Convention, p: float) -> Mapping[str, Column]:
    """The columns of LIST_CHANGES at a cutoff, from the sums of `_sums`."""
    ours, theirs = (F.least(F.col(name), F.lit(k)) for name in ("length", "baseline_length"))
    sums = {name: F.col(f"{name}_{k}") for name in _sums(k)}
    common, one_empty = sums["common"], (F.least(ours, theirs) == 0)
    whole = math.fsum(discounts(k, convention.discount))
    moved = F.greatest(sums["gained"], sums["lost"]) / F.lit(whole)
    average = (weights.sums(weights.harmonic(k))[k] * common - sums["average"]) / k
    rbo, low, high = _rbo(k, p, ours, theirs, common, sums["shared"], sums["persistent"])
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
        "average_overlap": average,
        "rbo": F.when(one_empty, 0.0).otherwise(rbo),
        "rbo_low": F.when(one_empty, 0.0).otherwise(low),
        "rbo_high": F.when(one_empty, 0.0).otherwise(high),
        "moved_discount": F.when(one_empty, 1.0).otherwise(moved),
    }


def _rbo(
    k: int, p: float, ours: Column, theirs: Column, common: Column, shared: Column, before: Column
) -> tuple[Column, Column, Column]:
    """Extrapolated rank-biased overlap of two lists that need not be of equal length, and its bounds.

    Equations 32, 11 and 30 of Webber, Moffat and Zobel (2010): `shared` is the overlap at the depth s of the shorter
    list, `common` that at the depth l of the longer, and the overlap of every depth is summed over common documents.
    """
    persistent, power = weights.sums(weights.persistent(p, 2 * k)), [p**d for d in range(2 * k + 1)]
    # At least 1, because engines also divide for unused results: an empty list has no rank-biased overlap here.
    s, longer = F.greatest(F.least(ours, theirs), F.lit(1)), F.greatest(ours, theirs)
    scale, at = (1 - p) / p, weights.at
    until_s, until_l = at(persistent[: k + 1], s), at(persistent[: k + 1], longer)
    seen = common * until_l - before
    # The sum of p^d (d - s) / (s d) over d = s + 1 .. l; the part without d in the denominator is a geometric series.
    series = (at(power, s + 1) - at(power, longer + 1)) / (1 - p)
    beyond = shared * (series / s - (until_l - until_s))
    rest = ((common - shared) / longer + shared / s) * at(power, longer)
    low = scale * (seen - common * until_l - common * math.log(1 - p))
    deepest = longer + s - common
    until_f = at(persistent, deepest)
    unseen = s * (until_l - until_s) + (longer + s) * (until_f - until_l) + common * (-math.log(1 - p) - until_f)
    residual = at(power, s) + at(power, longer) - at(power, deepest) - scale * unseen
    return scale * (seen + beyond) + rest, low, low + residual
