"""What an engine itself reads of the paths it is given: whole tables, or text line by line."""

import re
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.storage import is_local, local
from ndcg_spark.schemas import OWN


def loaded(engine: Engine, kind: str, paths: list[str], name: str, **options: str) -> DataFrame:
    """What the engine reads of the paths; InputError where it cannot."""
    try:
        table = engine.session.read.format(kind).options(**options).load([_as_written(engine, path) for path in paths])
        _ = table.schema
    except PySparkException as error:
        raise InputError(
            f"{name}: {paths[0]} cannot be read as {kind}, {first_line(error)}; write it again, or name its format"
        ) from error
    return table


def lines(text: DataFrame, around: str = "\ufeff \t\r\f") -> DataFrame:
    """The lines that are not blank, column `value`, without the characters `around` them."""
    trimmed = text.select(F.btrim("value", F.lit(around)).alias("value"), *carried(text))
    return trimmed.where(F.trim("value") != "")


def carried(table: DataFrame) -> list[str]:
    """The columns that tell where a row stood, which every step of reading passes on."""
    return [name for name in table.columns if name.startswith(OWN)]


def paths_of(group: list[File]) -> list[str]:
    """The paths of the files."""
    return [file.path for file in group]


def literal(paths: list[str]) -> list[str]:
    """Paths for Spark, of whose characters none is a wildcard."""
    return [re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in paths]


def quoted(name: str) -> str:
    """A column's name as Spark parses it, whatever is in it."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _as_written(engine: Engine, path: str) -> str:
    """A path for the engine: one that exists is absolute and none of its characters is a wildcard."""
    if not engine.sees_local_files or not is_local(path):
        return path
    place = local(path)
    if not Path(place).exists():
        return place
    wildcards = r"([*?\[\]{}])" if engine.kind == "embedded" else r"([*?\[\]{}\\])"
    return re.sub(wildcards, r"[\1]" if engine.kind == "embedded" else r"\\\1", place)
