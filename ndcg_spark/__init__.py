"""Graded NDCG@k on Spark that is correct and states which definition of NDCG it uses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ndcg_spark.errors import engine_imports

if TYPE_CHECKING:
    from ndcg_spark.api.compare import compare as compare
    from ndcg_spark.api.conventions import find_convention as find_convention
    from ndcg_spark.api.describe import describe as describe
    from ndcg_spark.api.evaluate import compare_judgments as compare_judgments
    from ndcg_spark.api.evaluate import compare_lists as compare_lists
    from ndcg_spark.api.evaluate import evaluate as evaluate
    from ndcg_spark.api.nights import explain as explain
    from ndcg_spark.api.nights import gate_night as gate_night
    from ndcg_spark.api.nights import judge_next as judge_next
    from ndcg_spark.api.nights import report_night as report_night
    from ndcg_spark.api.nights import rescore as rescore
    from ndcg_spark.api.nights import trend as trend
    from ndcg_spark.api.plots import latex as latex
    from ndcg_spark.api.plots import plot_queries as plot_queries
    from ndcg_spark.api.plots import plot_runs as plot_runs
    from ndcg_spark.convention.convention import Convention as Convention
    from ndcg_spark.engine import open_session as open_session
    from ndcg_spark.nights.reader import read_scores as read_scores

__version__ = "0.1.0"

#: The module of every public name.
_MODULES = {
    "Convention": "convention.convention",
    "compare": "api.compare",
    **dict.fromkeys(("compare_judgments", "compare_lists", "evaluate"), "api.evaluate"),
    "describe": "api.describe",
    "find_convention": "api.conventions",
    **dict.fromkeys(("explain", "gate_night", "judge_next"), "api.nights"),
    **dict.fromkeys(("latex", "plot_queries", "plot_runs"), "api.plots"),
    **dict.fromkeys(("report_night", "rescore", "trend"), "api.nights"),
    "open_session": "engine",
    "read_scores": "nights.reader",
}
__all__ = list(_MODULES)


def __dir__() -> list[str]:
    """The names that completion offers."""
    return sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that help does not wait for Spark."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with engine_imports():
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
