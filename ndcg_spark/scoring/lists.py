"""The list of each run and query: ranked, joined with the judgments, and summed to DCG at every cutoff."""

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff, column_at
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.schemas import query_key as key_of
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.gains import discount
from ndcg_spark.scoring.ideal import IDEAL_RANK
from ndcg_spark.scoring.ranking import LISTED, RANK, Ranker, are_distinct, sums_at, within
from ndcg_spark.scoring.refusals import RETURNED_TWICE, refusal

#: The column that says whether no document counts twice in a list.
DISTINCT = "all_distinct"


def of_judged_queries(results: DataFrame, judgments: DataFrame) -> DataFrame:
    """The results of judged queries."""
    key = key_of(judgments.columns)
    return results.join(judgments.select(*key).distinct(), on=key, how="left_semi")


def listed_gains(
    results: DataFrame,
    judged: DataFrame,
    query_key: list[str],
    convention: Convention,
    depth: int | None,
    rank: Ranker = ranking.by_window,
    of_documents: Mapping[str, Column] = MappingProxyType({}),
) -> DataFrame:
    """The results down to `depth`, ranked and joined with the judgments, in no order.

    One row per run, query key and doc_id, with the rank, own_gain, gain and judged. `own_gain` is the document's own;
    `gain` is what counts at its rank, which is the mean of its tie group if ties are averaged. `rank` is the fastest
    way to rank lists on the engine; all ways give the same ranks. `of_documents` are further columns of double,
    computed from those of a document and its judgment, and averaged over ties like `gain`.
    """
    run_key = ["run", *query_key]
    if _joins_first(convention):
        table = with_listed(_with_judgments(results, judged, query_key), run_key, convention)
        table = rank(table, run_key, convention, depth)
    else:
        table = rank(with_listed(results, run_key, convention), run_key, convention, depth)
        table = _with_judgments(table, judged, query_key)
    own_gain = F.coalesce("gain", F.lit(unjudged_gain(convention)))
    table = table.withColumns({"judged": F.col("gain").isNotNull(), "own_gain": own_gain, "gain": own_gain})
    table = table.withColumns(dict(of_documents)) if of_documents else table
    return ranking.settle_ties(table, run_key, convention, depth, ["gain", *of_documents])


def run_scores(
    documents: DataFrame,
    query_key: list[str],
    convention: Convention,
    cutoffs: Sequence[Cutoff],
    depth: int | None,
    of_ranks: Mapping[str, Column] = MappingProxyType({}),
    of_lists: Mapping[str, Column] = MappingProxyType({}),
) -> DataFrame:
    """One row per run and query with results: its key, returned, and dcg_K, cg_K and judged_K for every cutoff K.

    `returned` counts the listed documents, at most `depth`. With ideal=retrieved there is ideal_dcg_K as well.
    `of_ranks` are columns to add to the documents, and `of_lists` are aggregates of these. DISTINCT is false for a list
    in which a document counts twice, whose sums are wrong; see `refuse_returned_twice`.
    """
    run_key = ["run", *query_key]
    listed = ranking.is_listed(convention)
    discounted = F.col("gain") * discount(F.col(RANK), convention)
    table = documents.withColumns({"discounted": discounted, **of_ranks})
    sums = {"returned": F.count(F.when(listed, 1))}
    for k in cutoffs:
        counts = listed if k == depth else listed & within(RANK, k)
        sums[column_at("dcg", k)] = F.sum(F.when(counts, F.col("discounted")))
        sums[column_at("cg", k)] = F.sum(F.when(counts, F.col("gain")))
        sums[column_at("judged", k)] = F.count(F.when(counts & F.col("judged"), 1))
    if convention.ideal == "retrieved":
        table = ranking.rank_by_gain(
            table.withColumn("ideal_gain", F.when(listed, F.col("own_gain"))), run_key, "ideal_gain", IDEAL_RANK
        )
        ideal = F.col("ideal_gain") * discount(F.col(IDEAL_RANK), convention)
        sums |= sums_at(cutoffs, "ideal_dcg", ideal, IDEAL_RANK)
    scores = table.groupBy(*run_key).agg(
        *(column.alias(name) for name, column in {**sums, **of_lists}.items()),
        F.collect_list(F.when(listed, F.col("doc_id"))).alias("documents"),
    )
    return scores.select(*run_key, *sums, *of_lists, are_distinct("documents").alias(DISTINCT))


def refuse_returned_twice(
    table: DataFrame, key: list[str], convention: Convention, cutoffs: Sequence[Cutoff]
) -> DataFrame:
    """The table with the sums of `run_scores` by key, each of which fails if DISTINCT is false, with RETURNED_TWICE.

    Every sum is guarded, because engines compute only the columns that are used.
    """
    scores = ["dcg", "cg", "judged", *(["ideal_dcg"] if convention.ideal == "retrieved" else [])]
    sums = ["returned", *(column_at(score, k) for score in scores for k in cutoffs)]
    # Null stands for a query that the run did not answer.
    once, refused = F.coalesce(DISTINCT, F.lit(True)), refusal(RETURNED_TWICE, key)
    return table.withColumns(
        {name: F.when(once, F.col(name)).otherwise(refused.cast(_kind(name))) for name in sums}
    ).drop(DISTINCT)


def _joins_first(convention: Convention) -> bool:
    """Whether judgments decide which documents stay on the list, so that they are joined before it is ranked."""
    return convention.unjudged == "drop" or convention.negative == "drop"


def _with_judgments(table: DataFrame, judged: DataFrame, query_key: list[str]) -> DataFrame:
    # The embedded engine takes a column that is constant before an outer join, such as the gain of gain=judged or the
    # grade of --relevance, for constant after it too, and does not sort by it.
    not_constant = {name: F.when(F.octet_length("doc_id") >= 0, F.col(name)) for name in ("relevance", "gain")}
    return table.join(judged.withColumns(not_constant), on=[*query_key, "doc_id"], how="left")


def with_listed(table: DataFrame, run_key: list[str], convention: Convention) -> DataFrame:
    """The table with the column LISTED, if the convention removes documents from their list."""
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


def _kind(name: str) -> str:
    return "bigint" if name.startswith(("returned", "judged")) else "double"
