"""The process behind `background.call`: tasks on its standard input, what they return on its standard output."""

import contextlib
import importlib.util
import logging
import os
import pickle
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ndcg_spark
from ndcg_spark import background, errors
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.measures import MeasureSet
from ndcg_spark.errors import NdcgSparkError, engine_imports
from ndcg_spark.steps import LOGGER

if TYPE_CHECKING:
    from ndcg_spark.engine import Engine
    from ndcg_spark.explanation.explain import Explained
    from ndcg_spark.explanation.facts import ExplainRequest


class _Warnings(logging.Handler):
    """The warnings among the steps."""

    def __init__(self) -> None:
        super().__init__()
        self.sentences: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "step", None) == "warning":
            self.sentences.append(record.getMessage())


def evaluate(engine: "Engine", config: EvaluationConfig) -> tuple[list[dict[str, Any]], MeasureSet, list[str]]:
    """The rows of DATASET_SCORES of an evaluation that is published in the configured output, and its warnings."""
    from ndcg_spark.job.evaluate import evaluate_on

    handler = _Warnings()
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        outcome = evaluate_on(engine, config)
    finally:
        LOGGER.removeHandler(handler)
    return [*outcome.dataset_scores, *outcome.slice_scores], outcome.measure_set, handler.sentences


def explain(engine: "Engine", config: EvaluationConfig, request: "ExplainRequest") -> "Explained":
    """The explanations of a query, from its inputs."""
    from ndcg_spark.job.explain import explain_on

    return explain_on(engine, config, request)


def function(_engine: "Engine", name: str, *arguments: Any, **options: Any) -> Any:
    """What a public function returns here, on the session that runs."""
    from ndcg_spark.job.inputs import translated_failures

    with translated_failures():
        return getattr(ndcg_spark, name)(*arguments, **options)


TASKS: dict[str, Callable[..., Any]] = {"evaluate": evaluate, "explain": explain, "function": function}


def serve() -> None:
    """Do tasks until the standard input ends, on one engine: the embedded one if it is installed, else local Spark."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What engines and users' functions print must not meet the replies, nor the path /dev/stdin the requests.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    name = "embedded" if importlib.util.find_spec("pysail") else "spark"
    engine: Engine | None = None
    background.is_here = True
    with contextlib.ExitStack() as stack:
        while True:
            try:
                task, folder, arguments, options = pickle.load(requests)  # noqa: S301  # from the one that started us
            except EOFError:
                return
            try:
                os.chdir(folder)
                with engine_imports():
                    if engine is None:
                        from ndcg_spark.engine import open_engine

                        engine = stack.enter_context(open_engine(name))
                    reply: tuple[str | None, Any] = None, TASKS[task](engine, *arguments, **options)
            except NdcgSparkError as error:
                kinds = (kind.__name__ for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind)
                reply = next(kinds), str(error)
            except Exception:  # noqa: BLE001  # a bug, which the other process shows
                reply = NdcgSparkError.__name__, traceback.format_exc()
            pickle.dump(reply, replies)
            replies.flush()


if __name__ == "__main__":
    serve()
