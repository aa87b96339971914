"""Documents and ranks that occur more than once in a query's list or judgments: counted in one scan, and set aside."""

import dataclasses
from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from ndcg_spark.contract.counting import counts_of_runs, example_of, totals_of_runs
from ndcg_spark.contract.counts import Breach, RunCounts
from ndcg_spark.contract.rejecting import rejected
from ndcg_spark.rules import RANK_TWICE, TWICE, Rule
from ndcg_spark.schemas import query_key

#: At most this many documents are passed to later plans as a list. If there are more, those plans search again.
MOST_NAMED = 10_000


@dataclasses.dataclass(frozen=True)
class Duplicates:
    """The documents of a table that occur more than once for one query (and run), or the ranks that do."""

    #: Counts all of their rows.
    breach: Breach
    #: How many different ones they are.
    different: int
    #: What occurs more than once: doc_id or rank.
    column: str

    def set_aside(self, table: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The table without any of their rows, and these rows as `rejecting.rejected` makes them.

        None of them is kept, because nothing tells which one is right. An action if they are few.
        """
        key = _full_key(table, self.column)
        few = self.different <= MOST_NAMED
        duplicates = _few(table, self.column) if few else _duplicates(table, self.column)
        once = table.join(duplicates, on=key, how="left_anti").select(*table.columns)
        copies = table.join(duplicates, on=key, how="left_semi").select(*table.columns)
        return once, rejected(copies, F.lit(self.breach.reason), self.breach.table)


def in_judgments(table: DataFrame) -> tuple[Duplicates | None, Mapping[str | None, int]]:
    """The documents judged twice, and how many queries of each dataset are judged without them. An action."""
    key = query_key(table.columns)
    dataset = [name for name in key if name == "dataset"]
    judged_queries = F.count_if(F.col("good") > 0).alias("queries")
    rows = _by_query(table, key, "doc_id").groupBy(*dataset).agg(*_totals(), judged_queries).collect()
    left = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["queries"]}
    return _found("judgments", TWICE["judgments"], "doc_id", rows), left


def in_results(table: DataFrame, judged_queries: DataFrame) -> tuple[Duplicates | None, list[RunCounts]]:
    """The documents returned twice, and the counts of every run without them. An action."""
    rows = _by_run(table, judged_queries, "doc_id")
    return _found("results", TWICE["results"], "doc_id", rows), counts_of_runs(rows)


def in_ranks(table: DataFrame, judged_queries: DataFrame) -> tuple[Duplicates | None, list[RunCounts]]:
    """The ranks that several documents of a list have, and the counts of every run without these. An action."""
    rows = _by_run(table, judged_queries, "rank")
    return _found("results", RANK_TWICE, "rank", rows), counts_of_runs(rows)


def _by_run(table: DataFrame, judged_queries: DataFrame, column: str) -> list[Row]:
    key = query_key(table.columns)
    judged = judged_queries.withColumn("judged", F.lit(True))
    queries = _by_query(table, ["run", *key], column).join(judged, on=key, how="left")
    return queries.groupBy("run", *key[:-1]).agg(*_totals(), *totals_of_runs()).collect()


def _full_key(table: DataFrame, column: str) -> list[str]:
    return [name for name in ("dataset", "run", "query_id", column) if name in table.columns]


def _copies(table: DataFrame, key: list[str]) -> DataFrame:
    """One row per key: `copies`, how many rows it has, and `several`, whether it is a duplicate.

    A document that has a rank twice is a document returned twice, and no rank of two documents.
    """
    copies = {"copies": F.count("*"), "first": F.min("doc_id"), "last": F.max("doc_id")}
    if "doc_id" in key:
        copies = {"copies": F.count("*")}
    several = F.col("copies") > 1 if "doc_id" in key else F.col("first") < F.col("last")
    counted = table.groupBy(*key).agg(*(column.alias(name) for name, column in copies.items()))
    return counted.select(*key, "copies", several.alias("several"))


def _by_query(table: DataFrame, key: list[str], column: str) -> DataFrame:
    """One row per query: `good` counts its rows that are no duplicates; the others are counted beside them."""
    is_duplicate, copies = F.col("several"), F.col("copies")
    return (
        _copies(table, [*key, column])
        .groupBy(*key)
        .agg(
            F.sum(F.when(is_duplicate, 0).otherwise(copies)).alias("good"),
            F.count_if(is_duplicate).alias("different"),
            F.sum(F.when(is_duplicate, copies).otherwise(0)).alias("copies"),
            F.min(F.when(is_duplicate, _example(table, column))).alias("example"),
        )
    )


def _example(table: DataFrame, column: str) -> Column:
    return example_of({name: F.col(name).cast("string") for name in _full_key(table, column)})


def _totals() -> list[Column]:
    return [F.sum("different").alias("different"), F.sum("copies").alias("copies"), F.min("example").alias("example")]


def _found(name: str, rule: Rule, column: str, rows: list[Row]) -> Duplicates | None:
    # The totals of a table without rows are null.
    different = sum(row["different"] or 0 for row in rows)
    if not different:
        return None
    example = min(row["example"] for row in rows if row["example"] is not None)
    return Duplicates(Breach(name, rule.code, sum(row["copies"] or 0 for row in rows), example), different, column)


def _duplicates(table: DataFrame, column: str) -> DataFrame:
    """One row per document, or rank, that occurs more than once: its key."""
    key = _full_key(table, column)
    return _copies(table, key).where("several").select(*key)


def _few(table: DataFrame, column: str) -> DataFrame:
    """As `_duplicates`, from names that were collected, so that later plans need not search the table. An action."""
    rows = _duplicates(table, column).collect()
    kinds = {"rank": pa.int32()}
    columns = {
        name: pa.array([row[name] for row in rows], kinds.get(name, pa.string())) for name in _full_key(table, column)
    }
    return table.sparkSession.createDataFrame(pa.table(columns))
