"""What an engine reads from paths: tables with columns, or text line by line."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError, MissingInputError, first_line
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.storage import is_local
from ndcg_spark.schemas import OWN


def loaded(
    engine: Engine,
    kind: str,
    paths: list[str],
    name: str,
    options: Mapping[str, str] = MappingProxyType({}),
    schema: StructType | None = None,
) -> DataFrame:
    """The table that the engine reads from the paths, which may be globs; see `literal`. InputError if it cannot.

    Without a `schema` the engine finds it in the files, for which Spark starts a job.
    """
    try:
        reader = engine.session.read.format(kind).options(**options)
        table = (reader if schema is None else reader.schema(schema)).load(paths)
        _ = table.schema
    except PySparkException as error:
        refused = MissingInputError if error.getCondition() == "PATH_NOT_FOUND" else InputError
        raise refused(
            f"{name}: {paths[0]} cannot be read as {kind}, {first_line(error)}; write it again, or name its format"
        ) from error
    return table


def set_down(engine: Engine, table: DataFrame, name: str) -> DataFrame:
    """The same rows, written to a temporary folder and read from there. An action. Raises what the engine raises."""
    return loaded(engine, "parquet", literal(engine, [written(engine, table)]), name)


def written(engine: Engine, table: DataFrame) -> str:
    """A new temporary folder with the rows of the table as Parquet. An action. Raises what the engine raises."""
    folder = str(engine.scratch.folder() / "rows")
    table.write.parquet(folder, compression="lz4")
    return folder


def lines(text: DataFrame, around: str) -> DataFrame:
    """The lines that are not blank, as column `value`, without the characters `around` each of them."""
    trimmed = text.select(F.btrim("value", F.lit(around)).alias("value"), *carried(text))
    return trimmed.where(F.trim("value") != "")


def carried(table: DataFrame) -> list[str]:
    """The columns that tell where a row came from. Every step of reading passes them on."""
    return [name for name in table.columns if name.startswith(OWN)]


def paths_of(group: list[File]) -> list[str]:
    """The paths of the files."""
    return [file.path for file in group]


def literal(engine: Engine, paths: list[str]) -> list[str]:
    """The paths with every wildcard escaped, so that each stands for one file only."""
    if engine.kind == "embedded":
        # Sail takes a URI's %2F for a slash, and reads no rows where it then finds no file.
        encoded = (path if is_local(path) else path.replace("%", "%25") for path in paths)
        return [re.sub(r"([*?\[\]{}])", r"[\1]", path) for path in encoded]
    return [re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in paths]


def quoted(name: str) -> str:
    """A column's name, quoted so that Spark takes every character of it literally."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
