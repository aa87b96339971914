"""Documents that occur more than once in one query's list or judgments: counted in one scan, and set aside."""

import dataclasses
from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from ndcg_spark.contract.counting import counts_of_runs, example_of, totals_of_runs
from ndcg_spark.contract.counts import Breach, RunCounts
from ndcg_spark.contract.rejecting import rejected
from ndcg_spark.rules import TWICE
from ndcg_spark.schemas import query_key

#: At most this many documents are passed to later plans as a list. If there are more, those plans search again.
MOST_NAMED = 10_000


@dataclasses.dataclass(frozen=True)
class Duplicates:
    """The documents of a table that occur more than once for one query (and run)."""

    #: Counts all of their rows.
    breach: Breach
    #: How many different documents they are.
    documents: int

    def set_aside(self, table: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The table without any row of these documents, and their rows as `rejecting.rejected` makes them.

        No row of such a document is kept, because nothing tells which one is right. An action if they are few.
        """
        key = _document_key(table)
        duplicates = _few(table) if self.documents <= MOST_NAMED else _duplicates(table)
        once = table.join(duplicates, on=key, how="left_anti").select(*table.columns)
        copies = table.join(duplicates, on=key, how="left_semi").select(*table.columns)
        return once, rejected(copies, F.lit(self.breach.reason), self.breach.table)


def in_judgments(table: DataFrame) -> tuple[Duplicates | None, Mapping[str | None, int]]:
    """The documents judged twice, and how many queries of each dataset are judged without them. An action."""
    key = query_key(table.columns)
    dataset = [name for name in key if name == "dataset"]
    judged_queries = F.count_if(F.col("good") > 0).alias("queries")
    rows = _by_query(table, key).groupBy(*dataset).agg(*_totals(), judged_queries).collect()
    left = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["queries"]}
    return _found("judgments", rows), left


def in_results(table: DataFrame, judged_queries: DataFrame) -> tuple[Duplicates | None, list[RunCounts]]:
    """The documents returned twice, and the counts of every run without them. An action."""
    key = query_key(table.columns)
    judged = judged_queries.withColumn("judged", F.lit(True))
    queries = _by_query(table, ["run", *key]).join(judged, on=key, how="left")
    rows = queries.groupBy("run", *key[:-1]).agg(*_totals(), *totals_of_runs()).collect()
    return _found("results", rows), counts_of_runs(rows)


def _document_key(table: DataFrame) -> list[str]:
    return [name for name in ("dataset", "run", "query_id", "doc_id") if name in table.columns]


def _by_query(table: DataFrame, key: list[str]) -> DataFrame:
    """One row per query: `good` counts its rows of documents that occur once; the others are counted beside them."""
    documents = table.groupBy(*key, "doc_id").agg(F.count("*").alias("copies"))
    is_duplicate = F.col("copies") > 1
    return documents.groupBy(*key).agg(
        F.count_if(~is_duplicate).alias("good"),
        F.count_if(is_duplicate).alias("documents"),
        F.sum(F.when(is_duplicate, F.col("copies")).otherwise(0)).alias("copies"),
        F.min(F.when(is_duplicate, example_of(_document_key(table)))).alias("example"),
    )


def _totals() -> list[Column]:
    return [F.sum("documents").alias("documents"), F.sum("copies").alias("copies"), F.min("example").alias("example")]


def _found(name: str, rows: list[Row]) -> Duplicates | None:
    # The totals of a table without rows are null.
    documents = sum(row["documents"] or 0 for row in rows)
    if not documents:
        return None
    example = min(row["example"] for row in rows if row["example"] is not None)
    return Duplicates(Breach(name, TWICE[name].code, sum(row["copies"] or 0 for row in rows), example), documents)


def _duplicates(table: DataFrame) -> DataFrame:
    """One row per document that occurs more than once: its key."""
    key = _document_key(table)
    return table.groupBy(*key).agg(F.count("*").alias("copies")).where(F.col("copies") > 1).select(*key)


def _few(table: DataFrame) -> DataFrame:
    """As `_duplicates`, from names that were collected, so that later plans need not search the table. An action."""
    rows = _duplicates(table).collect()
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in _document_key(table)}
    return table.sparkSession.createDataFrame(pa.table(columns))
