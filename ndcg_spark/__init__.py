"""Graded NDCG@k on Spark that is correct and states which definition of NDCG it uses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ndcg_spark.errors import engine_imports

if TYPE_CHECKING:
    from ndcg_spark.agreement import compare_judgments
    from ndcg_spark.comparison.api import compare
    from ndcg_spark.convention.convention import Convention
    from ndcg_spark.library import evaluate
    from ndcg_spark.lists import compare_lists
    from ndcg_spark.nights.api import read_scores
    from ndcg_spark.report.api import explain, gate_night, report_night, trend
    from ndcg_spark.report.charts import latex, plot_queries, plot_runs
    from ndcg_spark.spark_library import open_session

__all__ = [
    "Convention",
    "compare",
    "compare_judgments",
    "compare_lists",
    "evaluate",
    "explain",
    "gate_night",
    "latex",
    "open_session",
    "plot_queries",
    "plot_runs",
    "read_scores",
    "report_night",
    "trend",
]
__version__ = "0.1.0"

_HOMES = {
    "Convention": "ndcg_spark.convention.convention",
    "compare": "ndcg_spark.comparison.api",
    "compare_judgments": "ndcg_spark.agreement",
    "compare_lists": "ndcg_spark.lists",
    "evaluate": "ndcg_spark.library",
    "explain": "ndcg_spark.report.api",
    "gate_night": "ndcg_spark.report.api",
    "latex": "ndcg_spark.report.charts",
    "open_session": "ndcg_spark.spark_library",
    "plot_queries": "ndcg_spark.report.charts",
    "plot_runs": "ndcg_spark.report.charts",
    "read_scores": "ndcg_spark.nights.api",
    "report_night": "ndcg_spark.report.api",
    "trend": "ndcg_spark.report.api",
}


def __dir__() -> list[str]:
    """What completion offers."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """The library's public names, each imported on first use, so that help does not wait for Spark."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with engine_imports():
        return getattr(import_module(_HOMES[name]), name)
