"""The process behind `background.call`: tasks on its standard input, what they return on its standard output."""

import contextlib
import importlib.util
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import NdcgSparkError
from ndcg_spark.explanation.request import Explained, ExplainRequest
from ndcg_spark.job.clock import Clock
from ndcg_spark.job.evaluate import evaluate_on
from ndcg_spark.job.outcome import EvaluationOutcome


def evaluate(engine: Engine, config: EvaluationConfig) -> tuple[EvaluationOutcome, list[str]]:
    """The outcome of an evaluation, published in the configured output, and its warnings."""
    warnings: list[str] = []

    def report_step(step: str, sentence: str) -> None:
        if step == "warning":
            warnings.append(sentence)

    return evaluate_on(engine, config, report_step, Clock()), warnings


def explain(engine: Engine, config: EvaluationConfig, request: ExplainRequest) -> Explained:
    """The explanations of a query, from its inputs."""
    from ndcg_spark.job.explain import explain_on

    return explain_on(engine, config, request)


TASKS: dict[str, Callable[..., Any]] = {"evaluate": evaluate, "explain": explain}


def serve() -> None:
    """Do tasks until the standard input ends, on one engine: the embedded one if it is installed, else local Spark."""
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What engines and users' functions print must not meet the replies.
    os.dup2(2, 1)
    name = "embedded" if importlib.util.find_spec("pysail") else "spark"
    engine: Engine | None = None
    with contextlib.ExitStack() as stack:
        while True:
            try:
                task, arguments = pickle.load(requests)  # noqa: S301  # from the process that started this one
            except EOFError:
                return
            try:
                engine = engine or stack.enter_context(open_engine(name))
                reply = None, TASKS[task](engine, *arguments)
            except NdcgSparkError as error:
                reply = type(error).__name__, str(error)
            except Exception:  # a bug, which the other process shows
                reply = NdcgSparkError.__name__, traceback.format_exc()
            pickle.dump(reply, replies)
            replies.flush()


if __name__ == "__main__":
    serve()
