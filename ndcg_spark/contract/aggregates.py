"""What is counted in the rows of a table, so that one scan of it computes everything."""

import dataclasses
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from ndcg_spark.casting import as_type
from ndcg_spark.schemas import JUDGMENTS, LINE, RESULTS, query_key
from ndcg_spark.scoring.floors import FLOOR, Floors
from ndcg_spark.scoring.pruning import MOST_NAMED, Pruning

#: The lower half of a hash.
LOW = 0xFFFFFFFF

_TYPES = {field.name: field.dataType for schema in (JUDGMENTS, RESULTS) for field in from_arrow_schema(schema)}


@dataclasses.dataclass(frozen=True)
class Aggregates:
    """What one count needs: columns of every row, aggregates of them by query, and aggregates of those by run.

    For judgments, the last aggregates are by dataset. All Aggregates of a table are computed in one scan.
    """

    columns: Mapping[str, Column]
    by_query: Mapping[str, Column]
    totals: Mapping[str, Column]


def row_counts(reason: Column) -> Aggregates:
    """How many rows there are, and how many of them break a rule."""
    counts = {"rows": F.count("*"), "bad": F.count("reason")}
    return Aggregates({"reason": reason}, counts, {name: F.sum(name) for name in counts})


def fingerprint(table: DataFrame, key: Sequence[str]) -> Aggregates:
    """A hash of all rows, whatever their order. Values are hashed row by row, the key once per query."""
    # A sum changes if a row occurs twice, an xor does not. A sum of 40 bits cannot overflow with 16 million rows.
    of_query = F.sum(F.shiftright("row", 24))
    high, low = F.sum(F.shiftrightunsigned("hash", 32)), F.sum(F.col("hash").bitwiseAND(F.lit(LOW)))
    return Aggregates({"row": _row_hash(table, key)}, {"hash": of_query}, {"high": high, "low": low})


def _row_hash(table: DataFrame, key: Sequence[str]) -> Column:
    """A hash of all values of a row except those of the key."""
    kinds = dict(table.dtypes)
    values = [as_type(F.col(name), _TYPES[name], kinds[name]) for name in _TYPES if name in kinds and name not in key]
    return F.xxhash64(*values, *([LINE] if LINE in kinds else []))


def best_grade(table: DataFrame, reason: Column) -> Aggregates:
    """The largest grade of the good rows."""
    grade = as_type(F.col("relevance"), _TYPES["relevance"], dict(table.dtypes)["relevance"])
    return Aggregates(
        {"grade": F.when(reason.isNull(), grade)},
        {"best": F.max("grade")},
        {"best": F.max("best")},
    )


def scores_of_lists(table: DataFrame, reason: Column) -> Aggregates:
    """Counts of the lists of a run with at least two results, from the smallest and the largest score of each.

    How many there are, how many have only one score, how many may have the scores 1, 2, 3 or 0, 1, 2, and the largest
    absolute score of the run.
    """
    score = as_type(F.col("score"), _TYPES["score"], dict(table.dtypes)["score"])
    several = F.col("good") > 1
    least, most = F.col("least_score"), F.col("most_score")
    counting = several & least.isin(0.0, 1.0) & (most - least == F.col("good") - 1)
    large = F.greatest(-least, most)
    return Aggregates(
        {"scored": F.when(reason.isNull(), score)},
        {"least_score": F.min("scored"), "most_score": F.max("scored")},
        {
            "lists": F.count_if(several),
            "tied_lists": F.count_if(several & (least == most)),
            "counting_lists": F.count_if(counting),
            "largest_score": F.max(large),
        },
    )


def ranks_beside_scores(table: DataFrame, reason: Column, files: int = 1) -> Aggregates:
    """Counts of the lists of a run whose ranks contradict their scores.

    Of the lists with different scores: how many have a rank 0 or 1, and in how many of those that rank has the smallest
    score. Of all lists: how many have the rank 1 twice, and how many have it with different scores, and so are two
    lists; also the query of one. The table has so many `files`.
    """
    kinds = dict(table.dtypes)
    rank = as_type(F.col("rank"), _TYPES["rank"], kinds["rank"])
    score = as_type(F.col("score"), _TYPES["score"], kinds["score"])
    several = (F.col("good") > 1) & (F.col("least_score") < F.col("most_score"))
    ranked = several & F.col("first_score").isNotNull()
    # One number counts both ranks: 1 in its lower half, 0 in its upper half.
    ones, zeros = F.col("first_ranks").bitwiseAND(F.lit(LOW)), F.shiftright("first_ranks", 32)
    repeated = (ones > 1) & (ones < F.col("good"))
    # Where all ranks are 1 nobody has given any, unless each result may be the first of a file.
    merged = (F.col("least_top") < F.col("most_top")) & ((ones < F.col("good")) | (F.col("good") <= files))
    # In a list of the ranks 0 and 1 only, the least score always belongs to one of them.
    ranked &= ones + zeros < F.col("good")
    # A list with a rank twice is not counted as reversed.
    reversed_ = ranked & (F.col("first_score") == F.col("least_score")) & (ones < 2) & (zeros < 2)
    return Aggregates(
        {
            "first_score": F.when(reason.isNull() & rank.isin(0, 1), score),
            "top_score": F.when(reason.isNull() & (rank == 1), score),
            "first_rank": F.when(reason.isNull() & rank.isin(0, 1), F.when(rank == 1, 1).otherwise(1 << 32)),
        },
        {
            "first_score": F.min("first_score"),
            "least_top": F.min("top_score"),
            "most_top": F.max("top_score"),
            "first_ranks": F.coalesce(F.sum("first_rank"), F.lit(0)),
        },
        {
            "ranked_lists": F.count_if(ranked),
            "reversed_lists": F.count_if(reversed_),
            "repeated_lists": F.count_if(repeated),
            "merged_lists": F.count_if(merged),
            "merged_query": F.min(F.when(merged, F.col("query_id"))),
        },
    )


def untrusted_lists(pruning: Pruning, reason: Column, kinds: Mapping[str, str]) -> Aggregates:
    """How many lists of judged queries have ranks that cannot be trusted, and the queries of at most MOST_NAMED."""
    of_rows = {name: F.when(reason.isNull(), at) for name, at in pruning.columns(kinds).items()}
    refuted = F.col("judged").isNotNull() & pruning.refuted(F.col("good"))
    named = F.slice(F.collect_list(F.when(refuted, F.col("query_id"))), 1, MOST_NAMED)
    return Aggregates(of_rows, pruning.aggregates(), {"untrusted": F.count_if(refuted), "untrusted_lists": named})


def floors_of_lists(floors: Floors, table: DataFrame, reason: Column) -> Aggregates:
    """The floor of each list. Its buckets come from the hash of the fingerprint, which is computed anyway."""
    columns = floors.columns(dict(table.dtypes), _row_hash(table, ["run", *query_key(table.columns)]))
    of_rows = {name: F.when(reason.isNull(), column) for name, column in columns.items()}
    return Aggregates(of_rows, {FLOOR: floors.aggregate()}, {})
