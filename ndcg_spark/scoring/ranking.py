"""The order of documents within a query; every order is total, so the same rows always get the same ranks."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import TIES

#: Where a document stands in its list, from 1, int.
RANK = "rank_in_list"
#: The best rank of the documents it ties with; equal for all of a tie group.
TIE_RANK = "tie_rank"
#: Whether a document is on the list that is scored; there if the convention `takes_documents_off`.
LISTED = "listed"


def first_of_each_document(key: list[str], convention: Convention) -> Column:
    """Whether a row is its document's best in its query: of documents returned twice, exactly one is."""
    same = Window.partitionBy(*key, "doc_id").orderBy(*_sort_keys(convention), *_tie_break(convention))
    return F.row_number().over(same) == 1


#: A way to the ranks of each list: by_window or list_by_list, whichever is faster on the engine.
Ranker = Callable[[DataFrame, list[str], Convention, int | None], DataFrame]


def by_window(table: DataFrame, key: list[str], convention: Convention, depth: int | None) -> DataFrame:
    """The table with RANK within each key, and TIE_RANK where ties are no matter of ids; cut at `depth`.

    Documents that are not LISTED come last, so that a query whose every document is taken off is still seen.
    The cut keeps tied groups whole where a tie across it matters. Where ties wait for the gains (best and worst),
    RANK is by document id and is set anew by `settle_ties`.
    """
    scored = [*([F.desc(LISTED)] if takes_documents_off(convention) else []), *_sort_keys(convention)]
    window = Window.partitionBy(*key)
    ranked = table.withColumn(RANK, F.row_number().over(window.orderBy(*scored, *_tie_break(convention))))
    if not breaks_ties_by_gain(convention):
        return ranked if depth is None else ranked.where(F.col(RANK) <= depth)
    grouped = ranked.withColumn(TIE_RANK, F.rank().over(window.orderBy(*scored)))
    return grouped if depth is None else grouped.where(F.col(TIE_RANK) <= depth)


def list_by_list(table: DataFrame, key: list[str], convention: Convention, depth: int | None) -> DataFrame:
    """The key, doc_id and RANK of each list's best documents; as by a window where that needs more than their order.

    Lists are collected and sorted one by one: a sort of the whole table, by the text of the key and of every document,
    took the embedded engine 1.7 times as long. Spark took 1.6 times as long for the lists (it limits a window to the
    depth before the shuffle).
    """
    if depth is None or breaks_ties_by_gain(convention) or takes_documents_off(convention):
        return by_window(table, key, convention, depth)
    rule = TIES[convention.ties]
    ascending = rule.by == "doc_id" and rule.ascending
    document = F.struct(*_numeric_keys(convention, ascending), F.col("doc_id"))
    lists = table.groupBy(*key).agg(F.sort_array(F.collect_list(document), asc=ascending).alias("documents"))
    best = lists.select(*key, F.slice(F.col("documents.doc_id"), 1, depth).alias("documents"))
    ranked = best.select(*key, F.posexplode("documents").alias("position", "doc_id"))
    return ranked.select(*key, "doc_id", (F.col("position") + 1).alias(RANK))


def _numeric_keys(convention: Convention, ascending: bool) -> list[Column]:
    """What documents are ordered by before their id, so that all keys go the way the ids go."""
    rank, score = F.col("rank").cast("double"), _score(convention)
    better_is_more = [-rank] if convention.order == "rank" else [score]
    if convention.order == "score" and convention.ties == "rank":
        better_is_more.append(-rank)
    return [(-key if ascending else key).alias(f"key_{at}") for at, key in enumerate(better_is_more)]


def takes_documents_off(convention: Convention) -> bool:
    """Whether returned documents can leave the list; the table then has the column LISTED."""
    return (
        convention.exclude_query_as_document
        or convention.duplicates == "best"
        or convention.unjudged == "drop"
        or convention.negative == "drop"
    )


def breaks_ties_by_gain(convention: Convention) -> bool:
    """Whether tied documents are ordered, or averaged, by what they are worth."""
    return TIES[convention.ties].by == "gain"


def settle_ties(table: DataFrame, key: list[str], convention: Convention, depth: int | None) -> DataFrame:
    """Ties settled by the column `gain`: best or worst first, or every document with its group's mean gain.

    A mean gain at each of a group's ranks sums to the expectation over all orders of the group, whatever the
    discount and wherever the cutoff falls (McSherry and Najork 2008). The table is cut at `depth` again. Ties that
    ids or ranks break are settled already.
    """
    if not breaks_ties_by_gain(convention):
        return table
    if convention.ties == "average":
        group = Window.partitionBy(*key, TIE_RANK)
        settled = table.withColumn("gain", F.avg("gain").over(group))
    else:
        worth = F.asc("gain") if TIES[convention.ties].ascending else F.desc("gain")
        order = Window.partitionBy(*key).orderBy(F.asc(TIE_RANK), worth, F.desc("doc_id"), F.asc(RANK))
        settled = table.withColumn(RANK, F.row_number().over(order))
    return settled if depth is None else settled.where(F.col(RANK) <= depth)


def rank_by_gain(table: DataFrame, key: list[str], gain: str, name: str) -> DataFrame:
    """The table with the ideal order's rank, from 1, in the column `name`: largest gain first, null gains last."""
    order = Window.partitionBy(*key).orderBy(F.desc_nulls_last(gain), F.desc("doc_id"))
    return table.withColumn(name, F.row_number().over(order))


def _sort_keys(convention: Convention) -> list[Column]:
    if convention.order == "rank":
        return [F.asc("rank")]
    return [F.desc(_score(convention))]


def at_precision(score: Column, convention: Convention) -> Column:
    """The score as it is compared."""
    # trec_eval 9 keeps scores in C floats: scores that differ less than a float can tell are tied. 0.0 is added because
    # a small negative score becomes the float -0.0, which the embedded engine takes for less than 0.0.
    return score.cast("float").cast("double") + F.lit(0.0) if convention.score_precision == "float32" else score


def _score(convention: Convention) -> Column:
    return at_precision(F.col("score"), convention)


def _tie_break(convention: Convention) -> list[Column]:
    rule = TIES[convention.ties]
    if rule.by == "rank":
        return [F.asc("rank"), F.desc("doc_id")]
    return [F.asc("doc_id") if rule.by == "doc_id" and rule.ascending else F.desc("doc_id")]
