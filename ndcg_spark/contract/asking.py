"""What is asked of the rows of a table, so that one scan of it answers everything."""

import dataclasses
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.conforming import as_type
from ndcg_spark.schemas import JUDGMENTS, LINE, RESULTS, query_key
from ndcg_spark.scoring.floors import FLOOR, Floors
from ndcg_spark.scoring.pruning import MOST_NAMED, Pruning

#: The lower half of a hash.
LOW = 0xFFFFFFFF

_TYPES = {field.name: field.dataType for schema in (JUDGMENTS, RESULTS) for field in schema}


@dataclasses.dataclass(frozen=True)
class Question:
    """One thing to count: columns of every row, sums over the rows of a query, sums over the queries of a run.

    For judgments the last are over the queries of a dataset. All questions are answered by one scan.
    """

    of_rows: Mapping[str, Column]
    of_queries: Mapping[str, Column]
    of_totals: Mapping[str, Column]


def row_counts(reason: Column) -> Question:
    """How many rows there are, and how many of them break a rule."""
    counts = {"rows": F.count("*"), "bad": F.count("reason")}
    return Question({"reason": reason}, counts, {name: F.sum(name) for name in counts})


def fingerprint(table: DataFrame, key: Sequence[str]) -> Question:
    """A hash of all rows that does not depend on their order. Values are hashed by row, the key once per query."""
    # A sum notices a row that occurs twice, which xor does not. Of 40 bits: 16 million rows cannot overflow it.
    of_query = F.sum(F.shiftright("row", 24))
    high, low = F.sum(F.shiftrightunsigned("hash", 32)), F.sum(F.col("hash").bitwiseAND(F.lit(LOW)))
    return Question({"row": _row_hash(table, key)}, {"hash": of_query}, {"high": high, "low": low})


def _row_hash(table: DataFrame, key: Sequence[str]) -> Column:
    """A hash of all values of a row but those of the key."""
    kinds = dict(table.dtypes)
    values = [as_type(F.col(name), _TYPES[name], kinds[name]) for name in _TYPES if name in kinds and name not in key]
    return F.xxhash64(*values, *([LINE] if LINE in kinds else []))


def grades(table: DataFrame, reason: Column) -> Question:
    """The smallest and the largest grade of the good rows."""
    grade = as_type(F.col("relevance"), _TYPES["relevance"], dict(table.dtypes)["relevance"])
    return Question(
        {"grade": F.when(reason.isNull(), grade)},
        {"worst": F.min("grade"), "best": F.max("grade")},
        {"worst": F.min("worst"), "best": F.max("best")},
    )


def scores_of_lists(table: DataFrame, reason: Column) -> Question:
    """What the least and the largest score of each list tell, of the queries of a run with at least two results.

    How many these are, how many have one score only, how many may have the scores 1, 2, 3 or 0, 1, 2, and the largest
    score of the run, whatever its sign.
    """
    score = as_type(F.col("score"), _TYPES["score"], dict(table.dtypes)["score"])
    several = F.col("good") > 1
    least, most = F.col("least_score"), F.col("most_score")
    counting = several & least.isin(0.0, 1.0) & (most - least == F.col("good") - 1)
    large = F.greatest(-least, most)
    return Question(
        {"scored": F.when(reason.isNull(), score)},
        {"least_score": F.min("scored"), "most_score": F.max("scored")},
        {
            "lists": F.count_if(several),
            "tied_lists": F.count_if(several & (least == most)),
            "counting_lists": F.count_if(counting),
            "largest_score": F.max(large),
        },
    )


def ranks_beside_scores(table: DataFrame, reason: Column) -> Question:
    """What ranks say beside scores, of the queries of a run with at least two results that do not all tie.

    How many of these have a rank 0 or 1, and in how many of those its score is the least; and how many queries of a run
    have the rank 1 twice.
    """
    kinds = dict(table.dtypes)
    rank = as_type(F.col("rank"), _TYPES["rank"], kinds["rank"])
    score = as_type(F.col("score"), _TYPES["score"], kinds["score"])
    several = (F.col("good") > 1) & (F.col("least_score") < F.col("most_score"))
    ranked = several & F.col("first_score").isNotNull()
    # One number counts both.
    ones, zeros = F.col("first_ranks").bitwiseAND(F.lit(LOW)), F.shiftright("first_ranks", 32)
    repeated = (ones > 1) & (ones < F.col("good"))
    # Of two results with the ranks 0 and 1, the least score is always that of one of these ranks.
    ranked &= ones + zeros < F.col("good")
    # In a list that has a rank twice, nothing is reversed.
    reversed_ = ranked & (F.col("first_score") == F.col("least_score")) & (ones < 2) & (zeros < 2)
    return Question(
        {
            "first_score": F.when(reason.isNull() & rank.isin(0, 1), score),
            "first_rank": F.when(reason.isNull() & rank.isin(0, 1), F.when(rank == 1, 1).otherwise(1 << 32)),
        },
        {"first_score": F.min("first_score"), "first_ranks": F.coalesce(F.sum("first_rank"), F.lit(0))},
        {
            "ranked_lists": F.count_if(ranked),
            "reversed_lists": F.count_if(reversed_),
            "repeated_lists": F.count_if(repeated),
        },
    )


def untrusted_lists(pruning: Pruning, reason: Column, kinds: Mapping[str, str]) -> Question:
    """How many lists of judged queries have ranks that cannot be trusted, and the queries of at most MOST_NAMED."""
    of_rows = {name: F.when(reason.isNull(), at) for name, at in pruning.columns(kinds).items()}
    refuted = F.col("judged").isNotNull() & pruning.refuted(F.col("good"))
    named = F.slice(F.collect_list(F.when(refuted, F.col("query_id"))), 1, MOST_NAMED)
    return Question(of_rows, pruning.aggregates(), {"untrusted": F.count_if(refuted), "untrusted_lists": named})


def floors_of(floors: Floors, table: DataFrame, reason: Column) -> Question:
    """The floor of each list, by the hash of the fingerprint, which is computed anyway."""
    columns = floors.columns(dict(table.dtypes), _row_hash(table, ["run", *query_key(table.columns)]))
    of_rows = {name: F.when(reason.isNull(), column) for name, column in columns.items()}
    return Question(of_rows, {FLOOR: floors.aggregate()}, {})
