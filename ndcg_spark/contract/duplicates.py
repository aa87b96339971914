"""Documents and ranks that occur more than once in a query's judgments or list: found in one scan, and removed."""

import dataclasses
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits, scan
from ndcg_spark.contract.checked_tables import CheckedTables
from ndcg_spark.contract.counts import Breach, ResultCounts, RunCounts
from ndcg_spark.contract.rows import rejected_rows
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import DuplicatesError
from ndcg_spark.inputs.read import Source
from ndcg_spark.inputs.run_batches import WHOLE, Batch
from ndcg_spark.rules import RANK_TWICE, TWICE, Rule
from ndcg_spark.schemas import query_key

#: At most this many documents are passed to later plans as a list. If there are more, those plans search again.
MOST_NAMED = 10_000
#: What is wrong, and what to do, by the code of the rule.
_ADVICE = {
    "judged_twice": (
        "document(s) judged twice for one query",
        "keep one row each, or --set judgment_duplicates=max",
    ),
    "returned_twice": ("document(s) returned twice for one query", "keep one row each, or --set duplicates=best"),
    "rank_twice": ("rank(s) with two documents", "number each list from 1 or, if there are scores, --set order=score"),
}


def without_duplicates(
    tables: CheckedTables, judgments: Source, results: Source, config: EvaluationConfig
) -> CheckedTables:
    """The tables without the documents that occur twice for one query, unless an option merges their rows.

    Where ranks are the order, also without documents that share one. All rows of such a document are removed, because
    nothing shows which one is right. Runs one Spark job for the judgments and one or two for the results.

    Raises
    ------
    DuplicatesError
        There are such documents, and the budget for rejected rows is 0.
    InputError
        As `check_tables`. The budget is for all rejected rows of a table, whatever the reason.
    """
    convention, once = config.convention, tables
    if convention.judgment_duplicates == "error":
        duplicates, queries = in_judgments(once.judgments)
        if duplicates:
            counts = dataclasses.replace(
                once.judgment_counts, queries=queries, breaches=[*once.judgment_counts.breaches, duplicates.breach]
            )
            _refuse(duplicates, counts.breaches, counts.rows, judgments, config)
            good, copies = duplicates.split(once.judgments)
            once = dataclasses.replace(once, judgments=good, judgment_counts=counts, rejected=(*once.rejected, copies))
    columns = _searched(convention)
    for column in columns:
        duplicates, runs = in_results(once.results, once.judged_queries, column, once.batches)
        if duplicates:
            once = _without(once, duplicates, results, config)
        once = once.with_runs(runs)
    if once is not tables and not columns:
        # Queries may have lost all their judgments.
        once = once.with_runs(scan.count_runs(once.results, once.judged_queries, once.batches))
    limits.refuse_coverage(once, config, results.place)
    return once


def lists_without_duplicates(
    table: DataFrame, counts: ResultCounts, source: Source, config: EvaluationConfig
) -> DataFrame:
    """Good results that are compared without judgments, without the documents that occur twice. Raises as the above."""
    breaches = counts.breaches
    for column in _searched(config.convention):
        duplicates, _ = in_results(table, None, column)
        if duplicates:
            breaches = [*breaches, duplicates.breach]
            _refuse(duplicates, breaches, counts.rows, source, config)
            table, _ = duplicates.split(table)
    return table


def _searched(convention: Convention) -> list[str]:
    """What may not occur twice in a list of results."""
    documents = ["doc_id"] if convention.duplicates == "error" else []
    return [*documents, *(["rank"] if convention.order == "rank" else [])]


@dataclasses.dataclass(frozen=True)
class Duplicates:
    """The documents of a table that occur more than once for one query (and run), or the ranks that do."""

    #: The breach that counts all of their rows.
    breach: Breach
    #: How many different documents or ranks these are.
    different: int
    #: What occurs more than once: doc_id or rank.
    column: str

    def split(self, table: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The table without any of their rows, and these rows as `rejected_rows` returns them.

        Runs a Spark job if they are few.
        """
        key = _full_key(table, self.column)
        keys = (_named_keys if self.different <= MOST_NAMED else _keys)(table, self.column)
        once = table.join(keys, on=key, how="left_anti").select(*table.columns)
        copies = table.join(keys, on=key, how="left_semi").select(*table.columns)
        return once, rejected_rows(copies, F.lit(self.breach.reason), self.breach.table)


def in_judgments(table: DataFrame) -> tuple[Duplicates | None, Mapping[str | None, int]]:
    """The documents judged twice, and how many queries of each dataset are judged without them. Runs a Spark job."""
    key = query_key(table.columns)
    dataset = [name for name in key if name == "dataset"]
    judged_queries = F.count_if(F.col("good") > 0).alias("queries")
    rows = _by_query(table, key, "doc_id").groupBy(*dataset).agg(*_totals(), judged_queries).collect()
    queries = {row["dataset"] if dataset else None: row["queries"] for row in rows if row["queries"]}
    return _duplicates("judgments", TWICE["judgments"], "doc_id", rows), queries


def in_results(
    table: DataFrame, judged_queries: DataFrame | None, column: str = "doc_id", batches: Sequence[Batch] = WHOLE
) -> tuple[Duplicates | None, list[RunCounts]]:
    """The documents returned twice, or the ranks of several documents, by the `column`. Runs a Spark job per batch.

    The counts of the runs are those without them.
    """
    key = query_key(table.columns)
    queries = _by_query(table, ["run", *key], column)
    rows = scan.rows_of_runs([batch.of(queries) for batch in batches], key, judged_queries, _totals())
    rule = TWICE["results"] if column == "doc_id" else RANK_TWICE
    return _duplicates("results", rule, column, rows), scan.counts_of_runs(rows)


def _without(tables: CheckedTables, duplicates: Duplicates, source: Source, config: EvaluationConfig) -> CheckedTables:
    """The tables without the rows of results that are duplicates."""
    counts = tables.result_counts
    counts = dataclasses.replace(counts, breaches=[*counts.breaches, duplicates.breach])
    _refuse(duplicates, counts.breaches, counts.rows, source, config)
    good, copies = duplicates.split(tables.results)
    # The proofs about a list from its ranks or scores included the duplicates, so they no longer hold.
    return dataclasses.replace(
        tables, results=good, result_counts=counts, rejected=(*tables.rejected, copies), cut=None
    )


def _refuse(
    duplicates: Duplicates, breaches: Sequence[Breach], rows: int, source: Source, config: EvaluationConfig
) -> None:
    if config.max_rejected_fraction == 0:
        what, advice = _ADVICE[duplicates.breach.reason]
        if source.name == "results" and len(source.files) > 1 and not source.runs:
            advice += f"; if the {len(source.files):,} files are runs that share a name, --run-from file"
        raise DuplicatesError(
            f"{source.name}: {duplicates.different} {what}, e.g. {duplicates.breach.example}; {advice}"
        )
    limits.refuse_breaches(source.name, breaches, rows, source.place, config.max_rejected_fraction)


def _full_key(table: DataFrame, column: str) -> list[str]:
    return [name for name in ("dataset", "run", "query_id", column) if name in table.columns]


def _copies(table: DataFrame, key: list[str]) -> DataFrame:
    """One row per key: `copies`, how many rows it has, and `several`, whether it is a duplicate.

    A document that has a rank twice is a document returned twice, not a rank of two documents.
    """
    if "doc_id" in key:
        return table.groupBy(*key).agg(F.count("*").alias("copies")).withColumn("several", F.col("copies") > 1)
    several = (F.min("doc_id") < F.max("doc_id")).alias("several")
    return table.groupBy(*key).agg(F.count("*").alias("copies"), several)


def _by_query(table: DataFrame, key: list[str], column: str) -> DataFrame:
    """One row per query: `good` counts its rows that are not duplicates; the others are counted beside them."""
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
    return scan.example_of({name: F.col(name).cast("string") for name in _full_key(table, column)})


def _totals() -> list[Column]:
    return [F.sum("different").alias("different"), F.sum("copies").alias("copies"), F.min("example").alias("example")]


def _duplicates(name: str, rule: Rule, column: str, rows: list[Row]) -> Duplicates | None:
    # The totals of a table without rows are null.
    different = sum(row["different"] or 0 for row in rows)
    if not different:
        return None
    example = min(row["example"] for row in rows if row["example"] is not None)
    return Duplicates(Breach(name, rule.code, sum(row["copies"] or 0 for row in rows), example), different, column)


def _keys(table: DataFrame, column: str) -> DataFrame:
    """One row per document, or rank, that occurs more than once: its key."""
    key = _full_key(table, column)
    return _copies(table, key).where("several").select(*key)


def _named_keys(table: DataFrame, column: str) -> DataFrame:
    """As `_keys`, but collected, so that later plans need not search the table. Runs a Spark job."""
    rows = _keys(table, column).collect()
    types = {"rank": pa.int32()}
    columns = {
        name: pa.array([row[name] for row in rows], types.get(name, pa.string())) for name in _full_key(table, column)
    }
    return table.sparkSession.createDataFrame(pa.table(columns))
