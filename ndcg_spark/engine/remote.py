"""Spark Connect: a session on a server, of Spark or of Sail."""

import dataclasses
import os
import sys

from pyspark.sql import SparkSession

from ndcg_spark import interrupts
from ndcg_spark.engine import classic, patience, sail
from ndcg_spark.engine.opened import Engine, created, join_in_place, keep_partition_names, quietly
from ndcg_spark.masking import masked


def connected(url: str) -> Engine:
    """A session on the server at this address, `sc://host:port/;name=value`, or `local...` for a server of our own.

    Raises
    ------
    EngineError
        No Spark Connect server answers there, or it is one that cannot be used.
    """
    own = url.startswith("local")
    if own:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    else:
        patience.ask(url)
    with interrupts.cleaned_up_by(classic.end_children if own else lambda: None):
        session = created(SparkSession.builder.remote(url), url)
    patience.bound(session, "own" if own else "remote")
    stop = quietly(session.stop)
    try:
        engine = described(session, url)
    except BaseException:
        stop()
        raise
    return dataclasses.replace(engine, close=stop, abort=classic.end_children if own else session.interruptAll)


def described(session: SparkSession, url: str = "running session") -> Engine:
    """The engine of a session on a server, which `close` leaves running; EngineError if it cannot be used."""
    place = masked(url)
    version = sail.version_of(session)
    if version:
        return sail.on_a_server(session, version, place)
    keep_partition_names(session)
    join_in_place(session)
    return Engine(session, "connect", f"Spark {session.version} ({place})", url.startswith("local"))
