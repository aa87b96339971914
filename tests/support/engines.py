"""A whole evaluation, from a configuration to what it publishes, on an engine of choice."""

from programs import called

from ndcg_spark import config
from ndcg_spark.job import evaluate


def on_spark(settings: dict) -> None:
    """On the classic session of the tests."""
    evaluate.evaluate(config.validate(settings, "test"), lambda *_: None)


def on_embedded(settings: dict) -> None:
    """In a process of its own, as a process is either classic or embedded."""
    called(on_spark, {**settings, "engine": "embedded"})
