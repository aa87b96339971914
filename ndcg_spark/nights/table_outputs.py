"""Which outputs are tables, and who writes and reads them: a library on the embedded engine, else Spark."""

import importlib.util
import os

from pyspark.util import is_remote_only

from ndcg_spark import paths
from ndcg_spark.engine import is_sail, running_session
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.table_format import TableFormat
from ndcg_spark.text import did_you_mean

#: How outputs of tables begin; any other is a folder.
FORMS = ("delta:", "iceberg:", "table:")


def is_of_tables(output: str) -> bool:
    """Whether an output is a set of tables rather than a folder.

    ConfigurationError for a name that is almost one of FORMS: a night would be in a folder where nobody looks for it.
    """
    form, colon, place = output.partition(":")
    near = did_you_mean(form, (known.rstrip(":") for known in FORMS))
    if near and colon and not output.startswith(FORMS) and not place.startswith("//"):
        raise ConfigurationError(f"output: unknown kind of tables {form!r}{near}; write ./{output} if it is a folder")
    return output.startswith(FORMS)


def format_of(output: str) -> TableFormat:
    """The tables of an output. ConfigurationError where nobody here can write them."""
    form, _, place = output.partition(":")
    if not place:
        raise ConfigurationError(f"output: {output} names no place; write delta:PATH, or {form}:CATALOG.NAMESPACE")
    if form == "delta":
        try:
            place = paths.expanded(place)
        except ValueError as error:
            raise ConfigurationError(f"output: {error}") from None
    session = running_session()
    on_spark = session is not None and not is_sail(session)
    if form == "delta" and not on_spark and importlib.util.find_spec("deltalake"):
        from ndcg_spark.nights.delta_tables import DeltaTables

        return DeltaTables(place)
    if form == "iceberg" and not on_spark and importlib.util.find_spec("pyiceberg"):
        from ndcg_spark.nights.iceberg_tables import IcebergTables

        return IcebergTables(place)
    can_start = session is None and not (is_remote_only() and "SPARK_REMOTE" not in os.environ)
    if not on_spark and not can_start:
        need = "classic Spark or Spark Connect" if form == "table" else f"pip install 'ndcg-spark[{form}]', or Spark"
        raise ConfigurationError(f"output: tables in {output} need {need}; the embedded engine cannot write them alone")
    from ndcg_spark.nights.spark_tables import SparkTables

    return SparkTables(form, place)
