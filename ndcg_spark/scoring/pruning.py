"""Results with ranks beyond the deepest cutoff are skipped, in lists whose ranks are proved to be the order of scores.

A scan proves this for a list without sorting it: enough of its rows have a rank down to the depth, and the worst of
these is better than the best of the others. All rows of other lists, which are not trusted, are kept.
The benefit, measured with 9.6 million results on the embedded engine: 1.7 s, not 3.3 s, and 0.64 GB, not 0.98 GB.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType

from ndcg_spark.casting import as_type
from ndcg_spark.convention.convention import Convention
from ndcg_spark.scoring import ranking

#: At most this many lists of a run, and of all runs, are named as untrusted. A run that has more is kept whole.
MOST_NAMED, MOST_NAMED_IN_ALL = 10_000, 100_000
#: At most this many runs are named in the plan as kept whole. If there are more runs, nothing is pruned.
MOST_RUNS = 500


@dataclasses.dataclass(frozen=True)
class Untrusted:
    """The lists whose ranks are not the order of their scores."""

    #: Runs without a trusted list.
    runs: tuple[str, ...] = ()
    #: The run and the query of each untrusted list of other runs.
    lists: tuple[tuple[str, str], ...] = ()


def untrusted_of(by_run: Iterable[tuple[str, int, Sequence[str]]]) -> Untrusted:
    """The untrusted lists, given how many each run has and the queries of at most MOST_NAMED of them."""
    runs: list[str] = []
    lists: list[tuple[str, str]] = []
    # The runs with the fewest come first, so that as many runs as possible are pruned.
    for run, count, queries in sorted(by_run, key=lambda of_run: (of_run[1], of_run[0])):
        if count > len(queries) or len(lists) + count > MOST_NAMED_IN_ALL:
            runs.append(run)
        else:
            lists += ((run, query) for query in queries)
    return Untrusted(tuple(runs), tuple(lists))


@dataclasses.dataclass(frozen=True)
class Pruning:
    """Skips results with ranks beyond `depth`, in lists that are proved to be in the order of their ranks."""

    depth: int
    convention: Convention

    def columns(self, types: Mapping[str, str]) -> dict[str, Column]:
        """The value that a row is ranked by, larger is better: in `near` for ranks down to the depth, else in `far`.

        The other column is null. `types` are those of the table as it was read. A row without a rank is far.
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
        """What `refuted` needs of each list, as aggregates of the columns near and far."""
        return {"near_rows": F.count("near"), "worst_near": F.min("near"), "best_far": F.max("far")}

    def refuted(self, good: Column) -> Column:
        """Whether a list cannot be trusted, by its `aggregates` and its number of good rows."""
        too_few = F.col("near_rows") < F.least(good, F.lit(self.depth))
        # Rows with equal scores are in the order of their ranks only if ranks break ties.
        by_rank = self.convention.order == "score" and self.convention.ties == "rank"
        mixed = F.col("worst_near") < F.col("best_far") if by_rank else F.col("worst_near") <= F.col("best_far")
        return too_few | F.coalesce(mixed, F.lit(False))

    def kept(self, results: DataFrame, untrusted: Untrusted) -> DataFrame:
        """The results with a rank down to the depth, and all results of the lists that are not trusted.

        If more than MOST_RUNS runs are not trusted at all, these are all results.
        """
        if len(untrusted.runs) > MOST_RUNS:
            return results
        near = F.col("rank") <= self.depth
        if untrusted.runs:
            near = near | F.col("run").isin(*untrusted.runs)
        if not untrusted.lists:
            return results.where(near)
        runs, queries = zip(*untrusted.lists, strict=True)
        named = pa.table({"run": pa.array(runs, pa.string()), "query_id": pa.array(queries, pa.string())})
        lists = results.sparkSession.createDataFrame(named).withColumn("untrusted", F.lit(True))
        marked = results.join(F.broadcast(lists), on=["run", "query_id"], how="left")
        return marked.where(near | F.col("untrusted").isNotNull()).select(*results.columns)


def pruning_of(convention: Convention, cutoffs: Sequence[int | None], columns: Iterable[str]) -> Pruning | None:
    """How results with these columns can be pruned; None if they have no ranks or every result may matter."""
    deepest = deepest_that_matters(convention, cutoffs)
    return None if deepest is None or "rank" not in columns else Pruning(deepest, convention)


def deepest_that_matters(convention: Convention, cutoffs: Sequence[int | None]) -> int | None:
    """The rank below which no result of a list can matter; None if every result may.

    Every result may matter if the convention needs the whole list, or removes documents from it, so that deeper ones
    move up.
    """
    whole = convention.ideal == "retrieved" or ranking.removes_documents(convention)
    return None if whole else cutoffs[-1]
