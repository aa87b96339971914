"""Results whose runs are probably not named by the column that names them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.contract.counts import ResultCounts
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import query_key
from ndcg_spark.table_config import ResultsConfig

#: More runs than this with fewer results each are not compared by anybody: a column of scores looks like that.
_MOST_RUNS = 100
_RESULTS_OF_A_RUN = 2
#: The results of so many queries are read before those of all.
_FEW_QUERIES = 20


def refuse_values_as_runs(counts: ResultCounts, results: Source, config: ResultsConfig) -> None:
    """InputError if there are many runs with hardly any results, so that their column cannot be the name of a run.

    Runs that the user or a folder names are accepted.
    """
    if config.run_from or "run" in config.columns or any(file.partition for file in results.files):
        return
    runs, rows = len(counts.runs), sum(run.rows for run in counts.runs)
    if runs > _MOST_RUNS and rows < _RESULTS_OF_A_RUN * runs:
        raise InputError(
            f"results: {runs:,} runs of {rows / runs:.1f} results each, e.g. run={counts.runs[0].run}, in "
            f"{results.place}; is this column (the sixth of TREC files) the name of the run? if so, say --run-from "
            "column; if not, give the name with --run NAME"
        )


def refuse_categories_as_runs(good: DataFrame, counts: ResultCounts, results: Source, config: ResultsConfig) -> None:
    """InputError if the column that names runs may be a category, and no two runs return the same document for a query.

    Runs that answer the same queries share documents; a category, such as that of a product, splits one list. Runs a
    Spark job only if the name of the column is ambiguous.
    """
    column = results.doubtful_run
    names = sorted({run.run for run in counts.runs})
    if column is None or config.run_from == "column" or len(names) < 2:
        return
    key = query_key(good.columns)
    few = F.broadcast(good.select(*key).distinct().limit(_FEW_QUERIES))
    if _share_documents(good.join(few, on=key, how="left_semi"), key) or _share_documents(good, key):
        return
    raise InputError(
        f"results: {column} gives {len(names):,} runs, e.g. {names[0]} and {names[1]}, no two of which return the same "
        f"document for a query, in {results.place}, so it may split one list instead; say --run-from column if it "
        "names the runs; if not, name the run with --run NAME"
    )


def _share_documents(table: DataFrame, key: list[str]) -> bool:
    """Whether two runs return the same document for a query. Runs a Spark job."""
    documents = table.groupBy(*key, "doc_id").agg(F.min("run").alias("first"), F.max("run").alias("last"))
    return bool(documents.where(F.col("first") < F.col("last")).limit(1).count())
