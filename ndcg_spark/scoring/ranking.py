"""The order of documents within a list. Every order is total, so the same rows always get the same
ranks.
"""

from collections.abc import Callable, Iterable, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff, column_at
from ndcg_spark.convention.options import TIES
from ndcg_spark.convention.refused_queries import RANK_TWICE
from ndcg_spark.scoring.refusals import refusal

#: The rank of a document in its list, int, from 1.
RANK = "rank_in_list"
TIE_RANK = "tie_rank"
#: The rank of a document in its list as returned, before any is removed, and a number that tied
#: documents share.
RETURNED_RANK, TIE_GROUP = "returned_rank", "tie_group"
#: Whether a listed document ties with another one.
TIED = "tied"
#: Whether a document stays on the list that is scored. The column exists only if
#: `removes_documents`.
LISTED = "listed"

#: An id that is a whole number from 0. Spelled out because engines differ in what \\d and $ match.
_WHOLE_NUMBER = r"^[0-9]+\z"


def within(rank: str, cutoff: Cutoff) -> str:
    """Whether a rank is within a cutoff, in SQL."""
    return "true" if cutoff is None else f"{rank} <= {cutoff}"


def sums_at(cutoffs: Iterable[Cutoff], name: str, value: str, rank: str = RANK) -> dict[str, str]:
    """Sums of a value down to every cutoff, by the names of their columns: dcg_10, dcg_all."""
    return {column_at(name, k): sum_where(within(rank, k), value) for k in cutoffs}


def sum_where(condition: str, value: str) -> str:
    return f"sum(case when {condition} then {value} end)"


def count_where(condition: str) -> str:
    return f"count(case when {condition} then 1 end)"


def are_distinct(values: str) -> Column:
    return F.expr(distinct(values))


def distinct(values: str) -> str:
    """Whether no value is twice in an array, in SQL."""
    # With count_distinct, the embedded engine keeps a set for every group, which took half of the
    # time.
    return f"size({values}) = size(array_distinct({values}))"


def first_of_each_document(key: list[str], convention: Convention) -> Column:
    """Whether a row is the best of its document in its list: of a document returned twice, exactly
    one row is.
    """
    same = Window.partitionBy(*key, "doc_id").orderBy(
        *_sort_keys(convention), *_tie_break(convention)
    )
    return F.row_number().over(same) == 1


#: A function that ranks every list: by_window or list_by_list, whichever is faster on the engine.
Ranker = Callable[[DataFrame, list[str], Convention, int | None], DataFrame]


def by_window(
    table: DataFrame, key: list[str], convention: Convention, depth: int | None
) -> DataFrame:
    """The table with RANK within every key, cut at `depth`; with TIE_RANK and whole tie groups if
    gains break ties.

    Documents that are not LISTED come last; they stay, so that a query which loses all its
    documents still counts as answered. Where ranks are the order, RANK fails if two documents
    within the depth, or at its end, share one.
    """
    scored = [*([F.desc(LISTED)] if removes_documents(convention) else []), *_sort_keys(convention)]
    window = Window.partitionBy(*key)
    ranked = table.withColumn(
        RANK, F.row_number().over(window.orderBy(*scored, *_tie_break(convention)))
    )
    if not breaks_ties_by_gain(convention) and convention.order == "score":
        return ranked if depth is None else ranked.where(F.col(RANK) <= depth)
    grouped = ranked.withColumn(TIE_RANK, F.rank().over(window.orderBy(*scored)))
    cut = grouped if depth is None else grouped.where(F.col(TIE_RANK) <= depth)
    if convention.order == "score":
        return cut
    shared = F.col(TIE_RANK) < F.col(RANK)
    if removes_documents(convention):
        shared &= F.col(LISTED)
    refused = refusal(RANK_TWICE, [*key, "rank"], "int")
    return cut.withColumn(RANK, F.when(shared, refused).otherwise(F.col(RANK)))


def list_by_list(
    table: DataFrame, key: list[str], convention: Convention, depth: int | None
) -> DataFrame:
    """The key, doc_id and RANK of the first `depth` documents of each list, which is sorted by
    itself if it can be.

    Measured with 9.6 million results: on the embedded engine 1.2 s instead of 3.1 s by a window,
    which sorts the whole table by the text of key and document; on Spark 11.4 s instead of 7.2 s,
    because Spark limits a window to the depth before the shuffle.
    """
    if depth is None or breaks_ties_by_gain(convention) or removes_documents(convention):
        return by_window(table, key, convention, depth)
    rule = TIES[convention.ties]
    ascending = rule.by in ("doc_id", "number") and rule.ascending
    keys = [
        *_numeric_keys(convention, ascending),
        *(_number_keys(ascending) if rule.by == "number" else []),
    ]
    document = F.struct(*(key.alias(f"key_{at}") for at, key in enumerate(keys)), F.col("doc_id"))
    lists = table.groupBy(*key).agg(
        F.sort_array(F.collect_list(document), asc=ascending).alias("documents")
    )
    listed = F.slice(F.col("documents.doc_id"), 1, depth)
    if convention.ranks_decide:
        # One more than the depth, because two documents may share the last rank.
        single = are_distinct(f"slice(documents.key_0, 1, {depth + 1})")
        listed = F.when(single, listed).otherwise(refusal(RANK_TWICE, key, "array<string>"))
    best = lists.select(*key, listed.alias("documents"))
    ranked = best.select(*key, F.posexplode("documents").alias("position", "doc_id"))
    return ranked.select(*key, "doc_id", (F.col("position") + 1).alias(RANK))


def _numeric_keys(convention: Convention, ascending: bool) -> list[Column]:
    rank = F.col("rank").cast("double")
    better_is_more = (
        [-rank] if convention.ranks_decide else [at_precision(F.col("score"), convention)]
    )
    if convention.order == "score" and convention.ties == "rank":
        better_is_more.append(-rank)
    return [-key if ascending else key for key in better_is_more]


def _number_keys(ascending: bool) -> list[Column]:
    """Sort keys for ids as numbers of any length, if both are sorted in this direction; other ids
    come last.
    """
    # Without leading zeros, numbers are ordered by length, then by text: nothing is cast, and none
    # is too large.
    is_number = F.col("doc_id").rlike(_WHOLE_NUMBER)
    digits = F.regexp_replace("doc_id", "^0+", "")
    last = F.lit(2**31 - 1 if ascending else -1)
    return [
        F.when(is_number, F.length(digits)).otherwise(last),
        F.when(is_number, digits).otherwise(F.lit("")),
    ]


def removes_documents(convention: Convention) -> bool:
    c = convention
    return (
        c.exclude_query_as_document or c.duplicates == "best" or "drop" in (c.unjudged, c.negative)
    )


def is_listed(convention: Convention) -> str:
    """Whether a document counts on its list, in SQL."""
    return LISTED if removes_documents(convention) else "true"


def breaks_ties_by_gain(convention: Convention) -> bool:
    return TIES[convention.ties].by == "gain"


def settle_ties(
    table: DataFrame,
    key: list[str],
    convention: Convention,
    depth: int | None,
    averaged: Sequence[str] = ("gain",),
) -> DataFrame:
    """The table with ties broken by the column `gain`, if the convention does so, and cut at
    `depth` again.

    Averaged, documents have the means of their tie group. The DCG is then its expectation over all
    orders of the group, whatever the discount and wherever the cutoff falls (McSherry and Najork
    2008).
    """
    if not breaks_ties_by_gain(convention):
        return table
    if convention.ties == "average":
        group = Window.partitionBy(*key, TIE_RANK)
        settled = table.withColumns({name: F.avg(name).over(group) for name in averaged})
    else:
        by_gain = F.asc("gain") if TIES[convention.ties].ascending else F.desc("gain")
        order = Window.partitionBy(*key).orderBy(
            F.asc(TIE_RANK), by_gain, F.desc("doc_id"), F.asc(RANK)
        )
        settled = table.withColumn(RANK, F.row_number().over(order))
    return settled if depth is None else settled.where(F.col(RANK) <= depth)


def rank_by_gain(table: DataFrame, key: list[str], gain: str, name: str) -> DataFrame:
    """The table with the rank by gain within each key, from 1, in the column `name`: largest first,
    nulls last.
    """
    order = Window.partitionBy(*key).orderBy(F.desc_nulls_last(gain), F.desc("doc_id"))
    return table.withColumn(name, F.row_number().over(order))


def with_returned_ranks(table: DataFrame, key: list[str], convention: Convention) -> DataFrame:
    """The ranked table with RETURNED_RANK, TIE_GROUP and TIED within each key."""
    listed = [LISTED] if removes_documents(convention) else []
    order = Window.partitionBy(*key).orderBy(
        *_sort_keys(convention), *_tie_break(convention), F.asc(RANK)
    )
    groups = Window.partitionBy(*key).orderBy(*_sort_keys(convention))
    ranked = table.withColumns(
        {RETURNED_RANK: F.row_number().over(order), TIE_GROUP: F.dense_rank().over(groups)}
    )
    same = Window.partitionBy(*key, *listed, TIE_GROUP)
    return ranked.withColumn(TIED, F.count(F.lit(1)).over(same) > 1)


def _sort_keys(convention: Convention) -> list[Column]:
    return (
        [F.asc("rank")]
        if convention.ranks_decide
        else [F.desc(at_precision(F.col("score"), convention))]
    )


def at_precision(score: Column, convention: Convention) -> Column:
    # trec_eval 9 stores scores as C floats, so scores that are equal as floats tie. 0.0 is added
    # because a small negative score becomes the float -0.0, which is less than 0.0 on the embedded
    # engine.
    return (
        score.cast("float").cast("double") + F.lit(0.0)
        if convention.score_precision == "float32"
        else score
    )


def _tie_break(convention: Convention) -> list[Column]:
    rule = TIES[convention.ties]
    if rule.by == "rank":
        return [F.asc("rank"), F.desc("doc_id")]
    ids = [*(_number_keys(rule.ascending) if rule.by == "number" else []), F.col("doc_id")]
    ascending = rule.by != "gain" and rule.ascending
    return [key.asc() if ascending else key.desc() for key in ids]
