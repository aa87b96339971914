"""All lists of the runs, one per row, from which catalog measures are computed.

If the engine keeps them, they are ranked once for both these measures and the scores.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from ndcg_spark import sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.convention.refused_queries import RETURNED_TWICE
from ndcg_spark.scoring import lists, ranking
from ndcg_spark.scoring.ranking import DOCUMENTS, LISTED, RANK, Ranker, distinct, list_by_list
from ndcg_spark.scoring.refusals import refusal_sql


def shown_lists(
    results: DataFrame,
    query_key: Sequence[str],
    convention: Convention,
    depth: Cutoff,
    rank: Ranker,
) -> DataFrame:
    """The run, the key and DOCUMENTS of every list down to a depth, judged or not.

    DOCUMENTS raises RETURNED_TWICE for a list with a document twice.
    """
    key = ["run", *query_key]
    if depth is not None and rank is list_by_list and ranking.is_list_by_list(convention, depth):
        found = ranking.sorted_lists(results, key, convention, depth)
    else:
        found = _collect_lists(results, key, convention, depth, rank)
    if convention.duplicates == "best":
        return found
    refused = refusal_sql(RETURNED_TWICE, key, "array<string>")
    guarded = f"case when {distinct(DOCUMENTS)} then {DOCUMENTS} else {refused} end"
    return found.selectExpr(*key, f"{guarded} as {DOCUMENTS}")


def _collect_lists(
    results: DataFrame, key: list[str], convention: Convention, depth: Cutoff, rank: Ranker
) -> DataFrame:
    """The lists, collected from ranked rows."""
    ranked = rank(lists.with_listed(results, key, convention), key, convention, depth)
    if ranking.removes_documents(convention):
        ranked = ranked.where(LISTED)
    in_order = f"sort_array(collect_list(struct({RANK}, doc_id)))"
    found = ranked.groupBy(*key).agg(*sql.aggregates({DOCUMENTS: in_order}))
    return found.selectExpr(*key, f"{DOCUMENTS}.doc_id as {DOCUMENTS}")
