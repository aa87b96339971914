"""Documents that stand twice for one query: found in one scan, which also counts what is left without them."""

import dataclasses
from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from ndcg_spark.contract.counting import example_of, run_counts, totals_of_judged
from ndcg_spark.contract.counts import Breach, RunCounts
from ndcg_spark.contract.rejecting import rejected
from ndcg_spark.rules import TWICE
from ndcg_spark.schemas import query_key

#: So many documents are handed to the next plan by name; where there are more, it looks for them again.
MOST_NAMED = 10_000


@dataclasses.dataclass(frozen=True)
class Duplicates:
    """The documents of a table that stand twice for one query."""

    #: All of their rows.
    breach: Breach
    documents: int
    #: One row per such document: its key.
    twice: DataFrame

    def set_aside(self, table: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The table without any row of such a document, and those rows as `rejecting.rejected` makes them.

        None of a document's rows stays: nothing tells which of them is right.
        """
        key = _key(table)
        once = table.join(self.twice, on=key, how="left_anti").select(*table.columns)
        copies = table.join(self.twice, on=key, how="left_semi").select(*table.columns)
        return once, rejected(copies, F.lit(self.breach.reason), self.breach.table)


def in_judgments(table: DataFrame) -> tuple[Duplicates | None, Mapping[str | None, int]]:
    """The documents judged twice, and the queries by dataset that are judged without them. An action."""
    key = query_key(table.columns)
    dataset = [name for name in key if name == "dataset"]
    queries = F.count_if(F.col("good") > 0).alias("queries")
    rows = _queries(table, key).groupBy(*dataset).agg(*_documents(), queries).collect()
    left = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["queries"]}
    return _found(table, "judgments", rows), left


def in_results(table: DataFrame, judged_queries: DataFrame) -> tuple[Duplicates | None, list[RunCounts]]:
    """The documents returned twice, and the counts of every run without them. An action."""
    key = query_key(table.columns)
    judged = judged_queries.withColumn("judged", F.lit(True))
    queries = _queries(table, ["run", *key]).join(judged, on=key, how="left")
    totals = {"rows": F.sum("good"), "bad": F.lit(0), **totals_of_judged()}
    asked = (column.alias(name) for name, column in totals.items())
    rows = queries.groupBy("run", *key[:-1]).agg(*_documents(), *asked).collect()
    return _found(table, "results", rows), [run_counts(row) for row in rows if row["rows"]]


def _key(table: DataFrame) -> list[str]:
    return [name for name in ("dataset", "run", "query_id", "doc_id") if name in table.columns]


def _queries(table: DataFrame, key: list[str]) -> DataFrame:
    """One row per query: its rows that stand once (`good`), and its documents that stand twice, with their rows."""
    names = _key(table)
    documents = table.groupBy(*key, "doc_id").agg(F.count("*").alias("copies"))
    is_twice = F.col("copies") > 1
    named = F.struct(*names)
    return documents.groupBy(*key).agg(
        F.count_if(~is_twice).alias("good"),
        F.slice(F.collect_list(F.when(is_twice, named)), 1, MOST_NAMED + 1).alias("named"),
        F.count_if(is_twice).alias("documents"),
        F.sum(F.when(is_twice, F.col("copies")).otherwise(0)).alias("copies"),
        F.min(F.when(is_twice, example_of(names))).alias("example"),
    )


def _documents() -> list[Column]:
    return [
        F.slice(F.flatten(F.collect_list("named")), 1, MOST_NAMED + 1).alias("named"),
        F.sum("documents").alias("documents"),
        F.sum("copies").alias("copies"),
        F.min("example").alias("example"),
    ]


def _found(table: DataFrame, name: str, rows: list[Row]) -> Duplicates | None:
    documents = sum(row["documents"] or 0 for row in rows)
    if not documents:
        return None
    example = min(row["example"] for row in rows if row["example"] is not None)
    breach = Breach(name, TWICE[name].code, sum(row["copies"] or 0 for row in rows), example)
    named = [document for row in rows for document in row["named"]]
    return Duplicates(breach, documents, _by_name(table, named) if len(named) == documents else _by_plan(table))


def _by_name(table: DataFrame, named: list[Row]) -> DataFrame:
    columns = {name: pa.array([document[name] for document in named], pa.string()) for name in _key(table)}
    return table.sparkSession.createDataFrame(pa.table(columns))


def _by_plan(table: DataFrame) -> DataFrame:
    key = _key(table)
    return table.groupBy(*key).agg(F.count("*").alias("copies")).where(F.col("copies") > 1).select(*key)
