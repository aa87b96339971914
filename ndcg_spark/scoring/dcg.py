"""Ranked, judged documents become DCG at every cutoff, and NDCG per query.

Which queries count is decided in `query_scores`, from the product of runs and judged queries, and nowhere else.
"""

import functools
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.gains import discount, gain, unjudged_gain
from ndcg_spark.scoring.ranking import LISTED, RANK
from ndcg_spark.scoring.refusals import refusal

Cutoffs = Sequence[int | None]

_IDEAL_RANK = "ideal_rank"


def judged_documents(judgments: DataFrame, query_key: list[str], convention: Convention) -> DataFrame:
    """The judgments with what each is worth; one row per judged document: query key, doc_id, relevance, gain.

    `gain` is null for a judgment that does not count (a negative grade, unless negative=keep); the row stays, as it
    shows that its query was judged.
    """
    key = [*query_key, "doc_id"]
    relevance = F.col("relevance")
    worth = gain(relevance, convention)
    no_gain = refusal("judgments: no finite gain", [*key, "relevance"], "correct the grade, or set another gain")
    counted = F.when(worth.isNotNull(), worth).otherwise(no_gain)
    if convention.negative == "error":
        negative = refusal("judgments: a negative grade", key, "correct it, or --set negative=as_unjudged")
        counted = F.when(relevance < 0, negative).otherwise(counted)
    elif convention.negative != "keep":
        counted = F.when(relevance >= 0, counted)
    return _merged(judgments, key, convention).select(*key, "relevance", counted.alias("gain"))


def ideal_ranking(judged: DataFrame, query_key: list[str], convention: Convention, depth: int | None) -> DataFrame:
    """The gains of each query's judged documents, largest first, down to `depth`: query key, ideal_rank, discounted.

    A query without a gain that counts has one row, whose rank and discounted gain are null. A document that is judged
    twice is refused wherever it stands: one grade may be within the depth and one beyond it.
    """
    lists = judged.groupBy(*query_key).agg(
        F.sort_array(F.collect_list("gain"), asc=False).alias("gains"), F.collect_list("doc_id").alias("documents")
    )
    refused = refusal(
        "judgments: a document judged twice", query_key, "keep one row each, or --set judgment_duplicates=max"
    )
    gains = F.when(_are_distinct("documents"), F.col("gains")).otherwise(F.array(refused))
    best = gains if depth is None else F.slice(gains, 1, depth)
    ranked = lists.select(*query_key, best.alias("gains")).select(
        *query_key, F.posexplode_outer("gains").alias("position", "gain")
    )
    ranked = ranked.select(*query_key, (F.col("position") + 1).alias(_IDEAL_RANK), "gain")
    discounted = F.col("gain") * discount(F.col(_IDEAL_RANK), convention)
    return ranked.select(*query_key, _IDEAL_RANK, discounted.alias("discounted"))


def ideal_scores(ideal: DataFrame, query_key: list[str], cutoffs: Cutoffs) -> DataFrame:
    """One row per judged query: its key and ideal_dcg_K for every cutoff, null where nothing counts as relevant."""
    sums = {_name("ideal_dcg", k): F.sum(F.when(_within(_IDEAL_RANK, k), F.col("discounted"))) for k in cutoffs}
    return ideal.groupBy(*query_key).agg(*(column.alias(name) for name, column in sums.items()))


def listed_gains(
    results: DataFrame,
    judged: DataFrame,
    query_key: list[str],
    convention: Convention,
    depth: int | None,
    one_by_one: bool = False,
) -> DataFrame:
    """The results of judged queries, ranked and looked up: run, query key, doc_id, the rank, own_gain, gain, judged.

    `own_gain` is the document's, `gain` what counts at its rank: the mean of a tie group where ties are averaged.
    """
    run_key = ["run", *query_key]
    table = results.join(judged.select(*query_key).distinct(), on=query_key, how="left_semi")
    if _looks_up_first(convention):
        table = _listed(_looked_up(table, judged, query_key), run_key, convention)
        table = ranking.rank_results(table, run_key, convention, depth)
    else:
        table = ranking.rank_results(_listed(table, run_key, convention), run_key, convention, depth, one_by_one)
        table = _looked_up(table, judged, query_key)
    own_gain = F.coalesce("gain", F.lit(unjudged_gain(convention)))
    table = table.withColumns({"judged": F.col("gain").isNotNull(), "own_gain": own_gain, "gain": own_gain})
    return ranking.settle_ties(table, run_key, convention, depth)


def run_scores(
    documents: DataFrame, query_key: list[str], convention: Convention, cutoffs: Cutoffs, depth: int | None
) -> DataFrame:
    """One row per run and query with results: its key, returned, and dcg_K, cg_K, judged_K for every cutoff.

    `returned` counts the listed documents, up to `depth`. With ideal=retrieved there is ideal_dcg_K too.
    """
    run_key = ["run", *query_key]
    listed = F.col(LISTED) if ranking.takes_documents_off(convention) else F.lit(True)
    table = documents.withColumn("discounted", F.col("gain") * discount(F.col(RANK), convention))
    sums = {"returned": F.count(F.when(listed, 1))}
    for k in cutoffs:
        counts = listed if k == depth else listed & _within(RANK, k)
        sums[_name("dcg", k)] = F.sum(F.when(counts, F.col("discounted")))
        sums[_name("cg", k)] = F.sum(F.when(counts, F.col("gain")))
        sums[_name("judged", k)] = F.count(F.when(counts & F.col("judged"), 1))
    if convention.ideal == "retrieved":
        table = ranking.rank_by_gain(
            table.withColumn("ideal_gain", F.when(listed, F.col("own_gain"))), run_key, "ideal_gain", _IDEAL_RANK
        )
        ideal = F.col("ideal_gain") * discount(F.col(_IDEAL_RANK), convention)
        for k in cutoffs:
            sums[_name("ideal_dcg", k)] = F.sum(F.when(_within(_IDEAL_RANK, k), ideal))
    refused = refusal(
        "results: a document returned, or judged, twice", run_key, "keep one row each, or --set duplicates=best"
    )
    return _sums_of_distinct_documents(table, run_key, sums, listed, refused)


def capped_ideal_scores(scores: DataFrame, ideal: DataFrame, query_key: list[str], cutoffs: Cutoffs) -> DataFrame:
    """`scores` with ideal_dcg_K of the first min(K, returned) documents of the ideal ranking."""
    run_key = ["run", *query_key]
    reached = F.col(_IDEAL_RANK) <= F.col("returned")
    sums = {
        _name("ideal_dcg", k): F.sum(F.when(reached & _within(_IDEAL_RANK, k), F.col("discounted"))) for k in cutoffs
    }
    both = scores.select(*run_key, "returned").join(ideal, on=query_key, how="inner")
    capped = both.groupBy(*run_key).agg(*(column.alias(name) for name, column in sums.items()))
    return scores.join(capped, on=run_key, how="left")


def query_scores(
    runs: DataFrame,
    queries: DataFrame,
    scores: DataFrame,
    query_key: list[str],
    convention: Convention,
    cutoffs: Cutoffs,
) -> DataFrame:
    """One row per run, judged query and cutoff, whether the run answered the query or not.

    Columns: the key, cutoff (null: the whole ranking), status, returned, judged, ndcg, dcg, ideal_dcg, cg.
    `ndcg` is at most 1 and at least 0 unless negative gains are kept; null where the convention skips the query.
    """
    run_key = ["run", *query_key]
    pairs = runs.join(queries, on=["dataset"], how="inner") if "dataset" in query_key else runs.crossJoin(queries)
    answered = scores.withColumn("answered", F.lit(True))
    table = pairs.join(answered, on=run_key, how="left")
    long = table.select(
        *run_key,
        F.coalesce("answered", F.lit(False)).alias("answered"),
        F.explode(F.array(*(_at_cutoff(k) for k in cutoffs))).alias("at"),
    ).select(*run_key, "answered", "at.*")
    ndcg, status = _policies(convention, [*run_key, "cutoff"])
    return long.select(
        *run_key,
        F.nullif("cutoff", F.lit(0)).alias("cutoff"),
        status.alias("status"),
        "returned",
        "judged",
        ndcg.alias("ndcg"),
        "dcg",
        "ideal_dcg",
        "cg",
    )


def _policies(convention: Convention, key: list[str]) -> tuple[Column, Column]:
    """NDCG and status of a row: first whether the run has the query, then whether there is anything to gain."""
    missing, ideal = ~F.col("answered"), F.col("ideal_dcg")
    # Kept negative grades can make an ideal negative. CatBoost, which scores 1 for no gain, does so for that too; the
    # tools that skip such a query or score 0 divide by it.
    no_gain = ideal <= 0 if convention.no_relevant == "one" else ideal == 0
    infinite = refusal("scores: DCG is no finite number", key, "correct the gains or the discounts")
    finite = F.abs(F.col("dcg")) + F.abs(F.col("ideal_dcg")) < F.lit(float("inf"))
    ndcg = F.when(finite, F.col("dcg") / F.col("ideal_dcg")).otherwise(infinite)
    nothing = {"skip": F.lit(None).cast("double"), "zero": F.lit(0.0), "one": F.lit(1.0)}.get(
        convention.no_relevant,
        refusal("judgments: a query without a relevant document", key, "judge one, or --set no_relevant=skip"),
    )
    scored = F.when(no_gain, nothing).otherwise(ndcg)
    # An ideal of the returned documents is 0 for every query without results: that says nothing of the query.
    nothing_relevant = no_gain if convention.ideal == "judged" else no_gain & ~missing
    status = F.when(nothing_relevant, "no_relevant").when(missing, "missing").otherwise("scored")
    if convention.missing_query == "zero":
        return scored, status
    left_out = {"skip": F.lit(None).cast("double")}.get(
        convention.missing_query,
        refusal("results: a judged query without results", key, "complete the run, or --set missing_query=zero"),
    )
    return F.when(missing, left_out).otherwise(scored), F.when(missing, "missing").otherwise(status)


def _at_cutoff(cutoff: int | None) -> Column:
    """The scores at one cutoff, 0 for the whole ranking; alike for every cutoff, as arrays of structs want it."""
    judged, dcg, ideal_dcg, cg = (_name(score, cutoff) for score in ("judged", "dcg", "ideal_dcg", "cg"))
    return F.expr(
        f"struct({cutoff or 0} as cutoff, least(coalesce(returned, 0L), {cutoff or 2**62}L) as returned, "
        f"coalesce({judged}, 0L) as judged, coalesce({dcg}, 0D) as dcg, coalesce({ideal_dcg}, 0D) as ideal_dcg, "
        f"coalesce({cg}, 0D) as cg)"
    )


def _merged(judgments: DataFrame, key: list[str], convention: Convention) -> DataFrame:
    merge = {"max": F.max, "min": F.min, "mean": F.avg}.get(convention.judgment_duplicates)
    return judgments.groupBy(*key).agg(merge("relevance").alias("relevance")) if merge else judgments


def _looks_up_first(convention: Convention) -> bool:
    """Whether judgments decide who is on the list, so that the whole list is looked up before it is ranked."""
    return convention.unjudged == "drop" or convention.negative == "drop"


def _looked_up(table: DataFrame, judged: DataFrame, query_key: list[str]) -> DataFrame:
    return table.join(judged, on=[*query_key, "doc_id"], how="left")


def _listed(table: DataFrame, run_key: list[str], convention: Convention) -> DataFrame:
    """The table with LISTED, false for documents that the convention takes off their list."""
    rules = []
    if convention.exclude_query_as_document:
        rules.append(F.col("doc_id") != F.col("query_id"))
    if convention.duplicates == "best":
        rules.append(ranking.first_of_each_document(run_key, convention))
    if convention.unjudged == "drop":
        rules.append(F.col("gain").isNotNull())
    if convention.negative == "drop":
        rules.append(F.coalesce(F.col("relevance") >= 0, F.lit(True)))
    return table.withColumn(LISTED, functools.reduce(Column.__and__, rules)) if rules else table


def _sums_of_distinct_documents(
    table: DataFrame, key: list[str], sums: dict[str, Column], counted: Column, refused: Column
) -> DataFrame:
    """The sums by key, each of which refuses a document that is counted twice."""
    documents = F.when(counted, F.col("doc_id"))
    scores = table.groupBy(*key).agg(
        *(column.alias(name) for name, column in sums.items()),
        F.collect_list(documents).alias("documents"),
    )
    once = _are_distinct("documents")
    # On every column: an engine computes only those that are asked for.
    return scores.select(
        *key, *(F.when(once, F.col(name)).otherwise(refused.cast(_kind(name))).alias(name) for name in sums)
    )


def _kind(name: str) -> str:
    return "bigint" if name.startswith(("returned", "judged")) else "double"


def _within(rank: str, cutoff: int | None) -> Column:
    return F.lit(True) if cutoff is None else F.col(rank) <= cutoff


def _name(score: str, cutoff: int | None) -> str:
    return f"{score}_{cutoff or 'all'}"


def _are_distinct(documents: str) -> Column:
    # Not count_distinct: the embedded engine keeps a set for every group, which took half of all the time.
    return F.size(documents) == F.size(F.array_distinct(documents))
