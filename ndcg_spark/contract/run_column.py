"""Whether a column names runs, where its name is another tool's word for a run and also a word for other things."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.config import ResultsConfig
from ndcg_spark.contract.counts import ResultCounts
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import query_key

#: The results of so many queries are looked at before those of all.
_SOME_QUERIES = 20


def refuse_one_list_as_runs(good: DataFrame, counts: ResultCounts, results: Source, config: ResultsConfig) -> None:
    """InputError if a doubtful column gives several runs, of which no two return the same document for a query.

    Runs that answer the same queries share documents; a category, such as a product's, parts one list instead. An
    action only if the column's name leaves doubt.
    """
    column = results.doubtful_run
    if column is None or config.run_from == "column" or len({run.run for run in counts.runs}) < 2:
        return
    key = query_key(good.columns)
    some = F.broadcast(good.select(*key).distinct().limit(_SOME_QUERIES))
    if _share(good.join(some, on=key, how="left_semi"), key) or _share(good, key):
        return
    names = sorted({run.run for run in counts.runs})
    raise InputError(
        f"results: {column} gives {len(names):,} runs, e.g. {names[0]} and {names[1]}, no two of which return the same "
        f"document for a query, in {results.place}, so it may part one list instead; say --run-from column if it names "
        "the runs; if not, name the run with --run NAME"
    )


def _share(table: DataFrame, key: list[str]) -> bool:
    """Whether two runs return the same document for a query. An action."""
    documents = table.groupBy(*key, "doc_id").agg(F.min("run").alias("first"), F.max("run").alias("last"))
    return bool(documents.where(F.col("first") < F.col("last")).limit(1).count())
