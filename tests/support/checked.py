"""An input held to the contract: what was read of each, or the words in which it was refused."""

from ndcg_spark import config
from ndcg_spark.contract.check import check_tables
from ndcg_spark.engine import Engine
from ndcg_spark.errors import NdcgSparkError
from ndcg_spark.inputs import read


def check(engine: Engine, settings: dict) -> dict:
    """The rows of each run, or `error` and its `code`, of an evaluation's input."""
    try:
        wanted = config.validate(settings, "test")
        judgments = read.read_judgments(engine, wanted.judgments, wanted.judgments.path)
        results = read.read_results(engine, wanted.results, wanted.results.path)
        return {run.run: run.rows for run in check_tables(judgments, results, wanted).result_counts.runs}
    except NdcgSparkError as error:
        return {"error": str(error), "code": error.exit_code}
