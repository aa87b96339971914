"""The steps that are logged."""

import contextlib
import logging

from ndcg_spark.steps import LOGGER


@contextlib.contextmanager
def logged_steps(then=lambda step: None):
    """A list that gets the name and the sentence of every step of the block; `then` is called after it."""
    steps, handler = [], logging.Handler(logging.INFO)

    def emit(record):
        steps.append((record.step, record.getMessage()))
        then(record.step)

    handler.emit = emit
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield steps
    finally:
        LOGGER.setLevel(logging.NOTSET)
        LOGGER.removeHandler(handler)
