"""Small evaluations from files: a test names only what it is about."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ndcg_spark import config
from ndcg_spark.config import EvaluationConfig

QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\nq9 Q0 c 1 1.0 bm25\n"


def configuration(folder: Path) -> Callable[..., EvaluationConfig]:
    """Writes two small files, and makes configurations of them; what a test is about goes on top."""
    (folder / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (folder / "run.txt").write_text(RUN, encoding="utf-8")

    def with_(**settings: Any) -> EvaluationConfig:
        paths = {"judgments": {"path": str(folder / "qrels.txt")}, "results": {"path": str(folder / "run.txt")}}
        return config.validate({**paths, "cutoffs": [1, 3], "date": "2026-11-20", **settings}, "test")

    return with_
