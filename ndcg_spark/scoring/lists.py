"""The list of each run and query: ranked, joined with the judgments, and summed to DCG or returned
as documents.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark import sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import NDCG_ONLY, Cutoff, MeasureSet, column_at
from ndcg_spark.convention.refused_queries import RETURNED_TWICE
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.schemas import OWN
from ndcg_spark.schemas import query_key as key_columns
from ndcg_spark.scoring import measure_columns as beside_ndcg
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.ideal import IDEAL_RANK, discount
from ndcg_spark.scoring.ranking import (
    LISTED,
    RANK,
    Ranker,
    count_where,
    distinct,
    is_within,
    sum_where,
    sums_at,
)
from ndcg_spark.scoring.refusals import refusal, refusal_sql

#: The column that is true if no document counts twice in a list.
DISTINCT = "all_distinct"
#: Lists cut at this depth or less have fewer rows than the judgments. Measured with 9.6 million
#: results on the embedded engine: with the lists on the left of the join, it needs 0.64 GB instead
#: of 0.85 GB at a depth of 10, but 1.73 GB instead of 1.36 GB at a depth of 100.
_SHALLOW = 20
_MARK = f"{OWN}mark"


def keep_judged_queries(results: DataFrame, judgments: DataFrame) -> DataFrame:
    return rows_with_keys(results, judgments, key_columns(judgments.columns))


def rows_with_keys(table: DataFrame, keys: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows whose values in the columns `names` are in `keys`, the smaller table."""
    # Not a left semi join, because the larger table would be on its left.
    return keys.selectExpr(*names).distinct().join(table, on=[*names], how="inner")


def rows_without_keys(table: DataFrame, keys: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows whose values in the columns `names` are not in `keys`, the smaller table."""
    return mark_listed(table, keys, names, _MARK).where(F.col(_MARK).isNull()).drop(_MARK)


def mark_listed(table: DataFrame, keys: DataFrame, names: Sequence[str], mark: str) -> DataFrame:
    """The table with a column `mark`, which is true or null.

    It is true if the values of the row in the columns `names` are in `keys`, the smaller table.
    """
    marks = keys.select(*names).distinct().withColumn(mark, F.lit(True))
    return marks.join(table, on=[*names], how="right")


def without_repeats(results: DataFrame, run_key: list[str], convention: Convention) -> DataFrame:
    """The lists in which no document would be refused, and no rank if ranks decide the order."""
    repeated = []
    if convention.duplicates == "error":
        repeated.append("doc_id")
    if convention.ranks_decide:
        repeated.append("rank")
    if not repeated:
        return results
    collected = {name: f"collect_list({name})" for name in repeated}
    lists = results.groupBy(*run_key).agg(*sql.aggregates(collected))
    sound = lists.where(sql.conjunction(map(distinct, repeated)))
    return rows_with_keys(results, sound, run_key)


def listed_gains(
    results: DataFrame,
    judged: DataFrame,
    query_key: list[str],
    convention: Convention,
    depth: int | None,
    rank: Ranker = ranking.by_window,
    measures: MeasureSet = NDCG_ONLY,
) -> DataFrame:
    """The results down to `depth`, ranked and joined with the judgments, in no particular order.

    `own_gain` is the document's own gain. `gain` is the gain that counts at its rank: the mean of
    its tie group if ties are averaged. The columns that measures other than NDCG need are averaged
    in the same way.
    """
    run_key = ["run", *query_key]
    # If judgments decide which documents stay on a list, they are joined before it is ranked.
    if "drop" in (convention.unjudged, convention.negative):
        table = with_listed(_with_judgments(results, judged, query_key), run_key, convention)
        table = rank(table, run_key, convention, depth)
    else:
        table = rank(with_listed(results, run_key, convention), run_key, convention, depth)
        table = _with_judgments(table, judged, query_key, depth)
    own_gain = f"coalesce(gain, {sql.number(unjudged_gain(convention))})"
    # `settle_ties` averages `gain`, but not `own_gain`.
    columns = {"judged": "gain is not null", "own_gain": own_gain, "gain": own_gain}
    document_columns = beside_ndcg.document_columns(convention, measures)
    table = table.withColumns(sql.columns(columns)).withColumns(sql.columns(document_columns))
    return ranking.settle_ties(table, run_key, convention, depth, ["gain", *document_columns])


def _with_judgments(
    table: DataFrame,
    judged: DataFrame,
    query_key: list[str],
    depth: int | None = None,
) -> DataFrame:
    """The table with the columns of the judgments, which are null for unjudged documents.

    `depth` is the rank at which the table was cut, or None.
    """
    # If a column is constant before an outer join, such as the gain with gain=judged or a grade
    # that all judgments share, the embedded engine assumes that it is constant after the join, and
    # does not sort by it.
    not_constant = {}
    for name in ("relevance", "gain"):
        not_constant[name] = f"case when octet_length(doc_id) >= 0 then {name} end"
    graded = judged.withColumns(sql.columns(not_constant))
    document = [*query_key, "doc_id"]
    if depth is not None and depth <= _SHALLOW:
        # The same rows as below. The engine needs less memory if the smaller table is on the left.
        return table.join(graded, on=document, how="left")
    return graded.join(table, on=document, how="right")


def with_listed(table: DataFrame, run_key: list[str], convention: Convention) -> DataFrame:
    """The table with the column LISTED, unless the convention keeps every document on its list.

    It is true if the convention keeps the document.
    """
    rules = []
    if convention.exclude_query_as_document:
        rules.append("doc_id != query_id")
    if convention.duplicates == "best":
        rules.append(ranking.first_of_each_document(run_key, convention))
    if convention.unjudged == "drop":
        rules.append("gain is not null")
    if convention.negative == "drop":
        rules.append("coalesce(relevance >= 0, true)")
    return table.withColumn(LISTED, F.expr(sql.conjunction(rules))) if rules else table


def run_scores(
    documents: DataFrame,
    query_key: list[str],
    convention: Convention,
    cutoffs: Sequence[Cutoff],
    depth: int | None,
    measures: MeasureSet,
) -> DataFrame:
    """One row per run and query with results: its key, returned, and dcg_K, cg_K and judged_K for
    every cutoff K.

    discount_K is the sum of the discounts, and judged_discount_K the sum for judged documents. If
    each run has its own ideal, the rows also have ideal_dcg_K. They also have the aggregates that
    `measures` need. DISTINCT is false for a list in which a document counts twice. The sums of such
    a list are wrong; see `refuse_returned_twice`.
    """
    run_key = ["run", *query_key]
    listed = ranking.is_listed(convention)
    by_rank = {
        "discount": discount(RANK, convention),
        **sql.columns(beside_ndcg.rank_columns(convention, measures)),
    }
    table = documents.withColumns(by_rank)
    sums = {"returned": count_where(listed)}
    for k in cutoffs:
        counts = _counts_within(k, depth, listed)
        sums[column_at("dcg", k)] = sum_where(counts, "gain * discount")
        sums[column_at("cg", k)] = sum_where(counts, "gain")
        sums[column_at("judged", k)] = count_where(f"{counts} and judged")
        sums[column_at("discount", k)] = sum_where(counts, "discount")
        known = f"{beside_ndcg.KNOWN} * discount"
        sums[column_at("judged_discount", k)] = sum_where(counts, known)
    if convention.ideal == "retrieved":
        own_gain = F.expr(f"case when {listed} then own_gain end")
        table = _with_own_ideal(table.withColumn("ideal_gain", own_gain), run_key, convention)
        sums |= sums_at(cutoffs, "ideal_dcg", "ideal_gain * ideal_discount", IDEAL_RANK)
    if convention.ideal == "retrieved_at_k":
        for k in cutoffs:
            # Each cutoff has its own ideal.
            counts = _counts_within(k, depth, listed)
            own_gain = F.expr(f"case when {counts} then own_gain end")
            own = table.withColumn(column_at("ideal_gain", k), own_gain)
            table = _with_own_ideal(own, run_key, convention, f"_{k or 'all'}")
            best = f"{column_at('ideal_gain', k)} * {column_at('ideal_discount', k)}"
            sums[column_at("ideal_dcg", k)] = f"sum({best})"
    sums |= beside_ndcg.list_aggregates(convention, measures)
    documents_of_list = {"documents": f"collect_list(case when {listed} then doc_id end)"}
    scores = table.groupBy(*run_key).agg(*sql.aggregates({**sums, **documents_of_list}))
    return scores.selectExpr(*run_key, *sums, *sql.named({DISTINCT: distinct("documents")}))


def _counts_within(cutoff: Cutoff, depth: int | None, listed: str) -> str:
    """Whether a document counts at a cutoff, in SQL, if lists are cut at `depth`."""
    if cutoff == depth:
        return listed
    return f"{listed} and {is_within(RANK, cutoff)}"


def _with_own_ideal(
    table: DataFrame,
    run_key: list[str],
    convention: Convention,
    suffix: str = "",
) -> DataFrame:
    """The table with the rank of its ideal_gain in the list, and the discount of that rank."""
    rank = f"{IDEAL_RANK}{suffix}"
    ranked = ranking.rank_by_gain(table, run_key, f"ideal_gain{suffix}", rank)
    return ranked.withColumn(f"ideal_discount{suffix}", discount(rank, convention))


def refuse_returned_twice(
    table: DataFrame, key: list[str], convention: Convention, cutoffs: Sequence[Cutoff]
) -> DataFrame:
    """Make every sum raise RETURNED_TWICE for a list with duplicates.

    Every sum is needed, because engines drop unused columns.
    """
    kinds = {"dcg": "double", "cg": "double", "judged": "bigint", "judged_discount": "double"}
    if convention.has_own_ideal:
        kinds["ideal_dcg"] = "double"
    sums = {"returned": "bigint"}
    for score, kind in kinds.items():
        for k in cutoffs:
            sums[column_at(score, k)] = kind
    guarded = {}
    for name, kind in sums.items():
        refused = refusal_sql(RETURNED_TWICE, key, kind)
        # Null means that the run did not answer the query.
        guarded[name] = f"case when coalesce({DISTINCT}, true) then {name} else {refused} end"
    return table.withColumns(sql.columns(guarded))


def returned_documents(
    results: DataFrame,
    judged: DataFrame,
    query_key: list[str],
    convention: Convention,
    depth: int | None = None,
) -> DataFrame:
    """One row per run, query and returned document down to `depth`, in no particular order.

    `rank` is the rank in the scored list, which contains the document if `on_list` is true. In that
    list, it contributes `gain` times `discount`.
    """
    run_key = ["run", *query_key]
    score = F.col("score") if "score" in results.columns else F.lit(None).cast("double")
    # The last document may tie with the next one.
    deeper = None if depth is None else depth + 1
    table = listed_gains(results.withColumn("score", score), judged, query_key, convention, deeper)
    table = ranking.with_returned_ranks(table, run_key, convention)
    table = table if depth is None else table.where(F.col(RANK) <= depth)
    return table.select(
        *run_key,
        "doc_id",
        F.col(RANK).alias("rank"),
        F.expr(ranking.is_listed(convention)).alias("on_list"),
        ranking.RETURNED_RANK,
        ranking.TIE_GROUP,
        ranking.TIED,
        "score",
        "relevance",
        "gain",
        "own_gain",
        discount(RANK, convention).alias("discount"),
    )


def with_single_documents(documents: DataFrame, run_key: list[str]) -> DataFrame:
    """The same documents; `rank` raises RETURNED_TWICE if a list has a document twice.

    This is needed for lists that are not scored.
    """
    copies = F.count(F.lit(1)).over(Window.partitionBy(*run_key, "doc_id"))
    refused = refusal(RETURNED_TWICE, [*run_key, "doc_id"], "int")
    return documents.withColumn("rank", F.when(copies > 1, refused).otherwise(F.col("rank")))


def unjudged_documents(documents: DataFrame, key: list[str], convention: Convention) -> DataFrame:
    # Inputs are summed here, and nights in job.to_judge, because nights are read without an engine.
    # With 10 million results at a depth of 100, fetching the rows and summing them there took 47 s
    # and 3.2 GB, and this takes 19 s and 1.5 GB.
    unjudged = documents.where(f"{ranking.is_listed(convention)} and not judged")
    unjudged = unjudged.withColumn("weight", discount(RANK, convention))
    return unjudged.groupBy(*key, "doc_id").agg(
        F.count(F.lit(1)).alias("runs"),
        F.min(RANK).alias("best_rank"),
        F.sum("weight").alias("weight"),
    )
