"""How often building one evaluation of DataFrames calls Java, and how many jobs its dataset scores take, on classic
Spark with its defaults.

`python tests/support/jvm_calls.py` prints both numbers, and the calls of each function of the package and what it calls.
"""

import collections
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import py4j.java_gateway
import pyarrow as pa
from py4j.protocol import MEMORY_COMMAND_NAME
from pyspark.sql import DataFrame, SparkSession

from ndcg_spark import evaluate

_PACKAGE = "/ndcg_spark/"
#: Of fewer rows, Spark computes parts of the plan before any job.
QUERIES, DOCUMENTS = 20, 50
IDS = {
    "query_id": [f"q{query}" for query in range(QUERIES) for _ in range(DOCUMENTS)],
    "doc_id": [f"d{document}" for _ in range(QUERIES) for document in range(DOCUMENTS)],
}
JUDGMENTS = {**IDS, "relevance": [1.0] * QUERIES * DOCUMENTS}
RESULTS = {
    **IDS,
    "score": [-float(document) for _ in range(QUERIES) for document in range(DOCUMENTS)],
}


def count_calls(build: Callable[[], Any]) -> tuple[int, collections.Counter[str]]:
    """The number of calls, and that of each function of the package.

    Those that release an object are left out: a thread sends them when it gets to it.
    """
    total, functions = 0, collections.Counter[str]()
    send = py4j.java_gateway.GatewayClient.send_command

    def counted(client: Any, command: str, *arguments: Any, **options: Any) -> Any:
        nonlocal total
        if not command.startswith(MEMORY_COMMAND_NAME):
            total += 1
            functions.update({*_functions(sys._getframe(1))})
        return send(client, command, *arguments, **options)

    py4j.java_gateway.GatewayClient.send_command = counted
    try:
        build()
    finally:
        py4j.java_gateway.GatewayClient.send_command = send
    return total, functions


def _functions(frame: FrameType | None) -> Iterator[str]:
    """The functions of the package that are running."""
    while frame is not None:
        path = frame.f_code.co_filename
        if _PACKAGE in path:
            yield f"{path.rpartition(_PACKAGE)[2]} {frame.f_code.co_name}"
        frame = frame.f_back


def count_jobs(session: SparkSession, collect: Callable[[], Any]) -> int:
    # The status store hears of jobs late, and keeps only the last ones.
    scheduler = session.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    collect()
    return int(scheduler.numTotalJobs()) - before


def inputs(session: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Small judgments and results."""
    judgments = session.createDataFrame(pa.table(JUDGMENTS))
    return judgments, session.createDataFrame(pa.table(RESULTS))


def main() -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "OFF").getOrCreate()
    judgments, results = inputs(session)
    # The first evaluation imports modules.
    evaluate(judgments, results, 10)
    total, functions = count_calls(lambda: evaluate(judgments, results, 10))
    for function, number in functions.most_common():
        sys.stderr.write(f"{number:6} {function}\n")
    scores = evaluate(judgments, results, 10).dataset_scores
    jobs = count_jobs(session, scores.collect)
    sys.stdout.write(f"{total} {jobs}\n")


if __name__ == "__main__":
    main()
