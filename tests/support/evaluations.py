"""Small evaluations from files: a test names only what it is about."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sessions
from logged import logged_steps

from ndcg_spark import config
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.job import check_inputs, evaluate_inputs
from ndcg_spark.job.evaluate_inputs import EvaluationOutcome

QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\nq9 Q0 c 1 1.0 bm25\n"

#: The steps of an evaluation with what was said of each.
Told = list[tuple[str, str]]


def configuration(folder: Path) -> Callable[..., EvaluationConfig]:
    """Writes two small files, and makes configurations of them; files and settings of a test go on top."""
    (folder / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (folder / "run.txt").write_text(RUN, encoding="utf-8")

    def with_(files: Mapping[str, str] | None = None, **settings: Any) -> EvaluationConfig:
        for name, text in (files or {}).items():
            (folder / name).write_text(text, encoding="utf-8")
        paths = {"judgments": str(folder / "qrels.txt"), "results": str(folder / "run.txt")}
        return config.validate(
            {**paths, "cutoffs": [1, 3], "date": "2026-11-20", **settings}, "test"
        )

    return with_


def evaluated(
    settings: EvaluationConfig, then: Callable[[str], object] = lambda step: None
) -> tuple[EvaluationOutcome, Told]:
    """The outcome on the session of the tests, and the steps that were told; after each, `then` is called with it."""
    sessions.engine()
    with logged_steps(then) as told:
        return evaluate_inputs.evaluate(settings), told


def checked(settings: EvaluationConfig) -> tuple[dict[str, Any], Told]:
    """What a check of the input finds on the session of the tests, and the steps that were told."""
    sessions.engine()
    with logged_steps() as told:
        return check_inputs.check_inputs(settings.model_copy(update={"engine": "embedded"})), told
