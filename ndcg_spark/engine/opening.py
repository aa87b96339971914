"""Choose an engine, open it, and close it at the end."""

import contextlib
import dataclasses
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
def open_engine(choice: str = "auto", remote: str | None = None, shared: str | None = None) -> Iterator[Engine]:
    """The engine for one evaluation, stopped at the end if it was started here.

    `shared` is a folder that this process and the engine see, in case that it reads other files.

    `auto` takes a running session, SPARK_REMOTE or spark-submit's session first, then the embedded engine if it is
    installed, then local Spark if there is Java.

    Raises
    ------
    EngineError
        The engine that was asked for, or any engine at all, is not available; or it died within the block.
    """
    running = None if remote else SparkSession.getActiveSession()
    if running is not None:
        engine = classic.described(running) if classic.is_classic(running) else described(running)
        engine = dataclasses.replace(engine, shared=shared)
        with _working(engine):
            yield engine
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
    engine = dataclasses.replace(engine, shared=shared)
    try:
        with interrupts.cleaned_up_by(engine.abort), _working(engine):
            yield engine
    finally:
        engine.close()


@contextlib.contextmanager
def _working(engine: Engine) -> Iterator[None]:
    """Around all work on an engine: its temporary folders are removed at the end, also if a signal ends the process.

    EngineError for whatever fails because the engine died, even if the input was blamed for it.
    """
    try:
        with interrupts.cleaned_up_by(engine.scratch.remove):
            yield
    except Exception as error:
        if not lost(error):
            raise
        raise EngineError(f"engine: it died at its work, {masked(reason_of(error))}; its log may say more") from error
    finally:
        engine.scratch.remove()
