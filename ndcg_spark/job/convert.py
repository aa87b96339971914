"""A table of any format is written as Parquet."""

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import open_engine
from ndcg_spark.errors import StorageError
from ndcg_spark.inputs.read import read_judgments, read_results, without_broken
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.nights.store import Store


def convert(config: EvaluationConfig, folder: str) -> int:
    """Write the judgments, or else the results, to a new folder; returns the number of rows.

    InputError if a line is not a row; StorageError if there is something in the folder.
    """
    store = Store(folder)
    if store.files("", suffix=""):
        raise StorageError(f"output: there are files in {store.place}; name a new folder")
    with open_engine("embedded") as engine:
        if config.judgments:
            source = read_judgments(engine, config.judgments, config.judgments.path, graded=False)
        else:
            source = read_results(engine, config.results, config.results.path)
        with translated_failures([source]):
            without_broken(source).write.parquet(store.for_engine(""), mode="append")
            return engine.session.read.parquet(store.for_engine("")).count()
