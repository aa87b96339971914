"""The one place where a session is made: embedded, local Spark, the session of spark-submit, or Spark Connect."""

from ndcg_spark.engine.failing import failures, lost, reason_of
from ndcg_spark.engine.opened import Engine, Kind
from ndcg_spark.engine.opening import open_engine
from ndcg_spark.engine.sail import is_sail

__all__ = ["Engine", "Kind", "failures", "is_sail", "lost", "open_engine", "reason_of"]
