"""Which engine it is, and how long it lives."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator

from pyspark.sql import SparkSession

from ndcg_spark import interrupts
from ndcg_spark.engine import classic, sail
from ndcg_spark.engine.failing import lost, reason_of
from ndcg_spark.engine.opened import Engine
from ndcg_spark.engine.remote import connected, described
from ndcg_spark.errors import EngineError
from ndcg_spark.masking import masked


@contextlib.contextmanager
def open_engine(choice: str = "auto", remote: str | None = None) -> Iterator[Engine]:
    """The engine for one evaluation, stopped at the end if it was started here.

    `auto` takes a running session, SPARK_REMOTE or spark-submit's session first, then the embedded engine if it is
    installed, then local Spark if there is Java.

    Raises
    ------
    EngineError
        The engine that was asked for, or any engine at all, is not to be had here; or it died within the block.
    """
    running = None if remote else SparkSession.getActiveSession()
    if running is not None:
        with _noticing_a_loss():
            yield classic.described(running) if classic.is_classic(running) else described(running)
        return
    remote = remote or os.environ.get("SPARK_REMOTE")
    if remote:
        engine = connected(remote)
    elif "PYSPARK_GATEWAY_PORT" in os.environ:
        engine = classic.submitted(choice)
    elif choice == "embedded" or (choice == "auto" and importlib.util.find_spec("pysail")):
        engine = sail.embedded()
    else:
        engine = classic.local()
    try:
        with interrupts.cleaned_up_by(engine.abort), _noticing_a_loss():
            yield engine
    finally:
        engine.close()


@contextlib.contextmanager
def _noticing_a_loss() -> Iterator[None]:
    """Whatever fails because the engine died fails with an EngineError, also where the input was blamed for it."""
    try:
        yield
    except Exception as error:
        if not lost(error):
            raise
        raise EngineError(f"engine: it died at its work, {masked(reason_of(error))}; its log may say more") from error
