"""A list is trusted if its first `depth` ranks hold its best scores; its deeper rows are skipped.

Tables of results mostly have ranks, and mostly the ranks are in the order of the scores. A scan can prove that for a
list without sorting it: as many rows have a rank down to the depth as the list has places there, and the worst of them
is better than the best of the others. A list for which that does not hold is kept whole.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType

from ndcg_spark.convention.convention import Convention
from ndcg_spark.schemas import as_type
from ndcg_spark.scoring import ranking

#: So many queries are kept whole by name, in the plan; where there are more, everything is kept.
MOST_WHOLE_QUERIES = 500


@dataclasses.dataclass(frozen=True)
class Pruning:
    """How far down the ranks results can matter, if the lists are as their ranks say."""

    depth: int
    convention: Convention

    def columns(self, types: Mapping[str, str]) -> dict[str, Column]:
        """What a row is ranked by, larger for better: `near` down to the depth, `far` below it; else null.

        `types` are those of the table as read. A row without a rank is far.
        """
        rank = as_type(F.col("rank"), IntegerType(), types["rank"])
        is_near = F.coalesce(rank <= self.depth, F.lit(False))
        if self.convention.order == "rank":
            key = -rank.cast("double")
        else:
            score = as_type(F.col("score"), DoubleType(), types["score"])
            key = ranking.at_precision(score, self.convention)
        return {"near": F.when(is_near, key), "far": F.when(~is_near, key)}

    def aggregates(self) -> dict[str, Column]:
        """What `refuted` asks of each list."""
        return {"near_rows": F.count("near"), "worst_near": F.min("near"), "best_far": F.max("far")}

    def refuted(self, good: Column) -> Column:
        """Whether a list's ranks do not tell its best rows, by its `aggregates` and how many good rows it has."""
        too_few = F.col("near_rows") < F.least(good, F.lit(self.depth))
        # Of rows that tie, those with the better rank come first only where ranks break ties.
        by_rank = self.convention.order == "score" and self.convention.ties == "rank"
        mixed = F.col("worst_near") < F.col("best_far") if by_rank else F.col("worst_near") <= F.col("best_far")
        return too_few | F.coalesce(mixed, F.lit(False))

    def kept(self, results: DataFrame, whole_queries: Sequence[str]) -> DataFrame:
        """The results that can matter; all results of the queries that are kept whole."""
        near = F.col("rank") <= self.depth
        return results.where(near | F.col("query_id").isin(*whole_queries) if whole_queries else near)


def pruning_of(convention: Convention, cutoffs: Sequence[int | None], columns: Iterable[str]) -> Pruning | None:
    """None where ranks cannot tell which results matter.

    The table has no ranks, the convention takes documents off a list, so that deeper ones come up, or needs all of it.
    """
    deepest = cutoffs[-1]
    if deepest is None or convention.ideal == "retrieved" or ranking.takes_documents_off(convention):
        return None
    return Pruning(deepest, convention) if "rank" in columns else None
