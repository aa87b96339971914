"""Sessions that refuse what Databricks' serverless compute refuses: settings, and keeping tables."""

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession


def refuse_setting(_, name, *__):
    """Refuse to change a setting."""
    words = f"[CONFIG_NOT_AVAILABLE] Configuration {name} is not available. SQLSTATE: 42K0I"
    raise AnalysisException(words)


def refuse_keeping(*_, **__):
    """Refuse to keep a table."""
    words = "[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute."
    raise AnalysisException(words)


def restrict(patch: pytest.MonkeyPatch, session: SparkSession, table: type[DataFrame]) -> None:
    """Make a session, and all tables of this kind, refuse what serverless compute refuses."""
    patch.setattr(type(session.conf), "set", refuse_setting)
    for name in ("cache", "persist", "checkpoint", "localCheckpoint"):
        patch.setattr(table, name, refuse_keeping)


def command_line(*arguments: str) -> None:
    """The program, whose sessions on a server are restricted."""
    from pyspark.sql.connect.conf import RuntimeConf
    from pyspark.sql.connect.dataframe import DataFrame as RemoteTable

    from ndcg_spark.__main__ import main

    # pyspark itself reads settings that Spark has.
    RuntimeConf.set = refuse_setting
    for name in ("cache", "persist", "checkpoint", "localCheckpoint"):
        setattr(RemoteTable, name, refuse_keeping)
    main([*arguments])


def save_tables(remote: str) -> None:
    """Two tables of a server's catalog, of which the run has a name of digits."""
    session = SparkSession.builder.remote(remote).getOrCreate()
    judged = [("q", "a", 3.0), ("q", "b", 1.0)]
    returned = [("007", "q", "b", 2.0), ("007", "q", "a", 1.0)]
    for name, rows, columns in (
        ("judgments", judged, ["query_id", "doc_id", "relevance"]),
        ("results", returned, ["run", "query_id", "doc_id", "score"]),
    ):
        session.createDataFrame(rows, columns).write.saveAsTable(name)
    session.stop()
