"""The engines: one opens per evaluation, and its failures are distinguished from those of the input."""

from ndcg_spark.engine.failures import failure_reason, failures, lost
from ndcg_spark.engine.sessions import Engine, Kind, is_sail, open_engine, running_session

__all__ = ["Engine", "Kind", "failure_reason", "failures", "is_sail", "lost", "open_engine", "running_session"]
