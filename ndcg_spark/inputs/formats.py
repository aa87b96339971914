"""How each format is read: files to a table of the columns that are stored, text formats as text."""

import atexit
import csv
import functools
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import files
from ndcg_spark.inputs.files import File

#: The text of a line that is no row; null for every other.
BROKEN_LINE = "broken_line"
#: Where the columns stand in a line of TREC qrels, and of a TREC run.
QRELS = {"query_id": 0, "doc_id": 2, "relevance": 3}
RUN = {"query_id": 0, "doc_id": 2, "rank": 3, "score": 4, "run": 5}

_LINES_TO_SEE_COLUMNS = 200


def loaded(engine: Engine, kind: str, paths: list[str], name: str, **options: str) -> DataFrame:
    """What the engine reads of the paths; InputError where it cannot."""
    try:
        table = engine.session.read.format(kind).options(**options).load([_as_written(engine, path) for path in paths])
        _ = table.schema
    except PySparkException as error:
        raise InputError(f"{name}: {paths[0]} cannot be read as {kind}, {first_line(error)}") from error
    return table


def _as_written(engine: Engine, path: str) -> str:
    """A path for the engine: one that exists is absolute and none of its characters is a wildcard."""
    if not engine.sees_local_files or ("://" in path and not path.startswith("file://")):
        return path
    place = files.local(path)
    if not Path(place).exists():
        return place
    wildcards = r"([*?\[\]{}])" if engine.kind == "embedded" else r"([*?\[\]{}\\])"
    return re.sub(wildcards, r"[\1]" if engine.kind == "embedded" else r"\\\1", place)


def lines(engine: Engine, group: list[File], name: str, around: str = "\ufeff \t\r\f") -> DataFrame:
    """One row per line that is not blank, column `value`, without the characters `around` it."""
    text = loaded(engine, "text", paths_of(group), name).select(F.btrim("value", F.lit(around)).alias("value"))
    return text.where(F.trim("value") != "")


def trec(table: DataFrame, positions: dict[str, int]) -> DataFrame:
    """The fields of TREC qrels (four) or run lines (six; a run line may go on, as trec_eval allows), all text."""
    fields = F.split("value", r"[ \t\r\f]+")
    least = max(positions.values()) + 1
    whole = F.size(fields) == least if positions is QRELS else F.size(fields) >= least
    broken = F.when(~whole | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    parts = table.select(fields.alias("fields"), broken)
    return parts.select(*(F.get("fields", F.lit(at)).alias(name) for name, at in positions.items()), BROKEN_LINE)


def json_lines(table: DataFrame, names: list[str], where: str) -> DataFrame:
    """The wanted keys of each line's object as text; which of them there are is seen from the first lines.

    A later line that has another of them is broken, for nothing may be lost without a word.
    """
    seen: set[str] = set()
    for row in table.limit(_LINES_TO_SEE_COLUMNS).collect():
        seen.update(_keys(row["value"]))
    if not seen:
        raise InputError(f"{where}: no line is a JSON object; give the format with format if it is another")
    kept = [name for name in names if name in seen] or sorted(seen)
    schema = StructType([StructField(name, StringType()) for name in dict.fromkeys([*kept, *names])])
    parsed = table.select("value", F.from_json("value", schema).alias("row"))
    values = {name: F.col(f"row.{quoted(name)}") for name in schema.names}
    nothing = functools.reduce(Column.__and__, (values[name].isNull() for name in kept))
    unseen = functools.reduce(Column.__or__, (values[n].isNotNull() for n in values if n not in kept), F.lit(False))
    broken = F.when(nothing | unseen | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    return parsed.select(*(values[name].alias(name) for name in kept), broken)


def _keys(line: str) -> list[str]:
    try:
        row: Any = json.loads(line)
    except ValueError:
        return []
    return list(row) if isinstance(row, dict) else []


def separated(table: DataFrame, header: str, separator: str) -> DataFrame:
    """CSV or TSV lines with RFC 4180 quotes as text, an empty field as null; lines like the header are left out.

    A row is one line. Written with columns, as no engine's own reader both keeps the lines that are no row and
    says which they are; without lambdas, which the embedded engine cannot filter by.
    """
    names = header_names(header, separator)
    # In quotes, where two stand for one; or not begun by one.
    field = f'{separator}("[^"]*(?:""[^"]*)*"|[^{separator}"][^{separator}]*|)'
    fields = F.regexp_extract_all(F.concat(F.lit(separator), F.col("value")), F.lit(field), F.lit(1))
    rows = table.where(F.col("value") != header).select("value", fields.alias("fields"))
    # What no field has matched is missing from their sum.
    whole = (F.size("fields") == len(names)) & (F.array_join("fields", separator) == F.col("value"))
    values = (_unquoted(F.get("fields", F.lit(at))).alias(name) for at, name in enumerate(names))
    broken = F.when(~(whole & F.is_valid_utf8("value")), F.col("value"))
    return rows.select(*values, broken.alias(BROKEN_LINE))


def header_names(line: str, separator: str) -> list[str]:
    """The columns that the first line of a CSV or TSV file names; ValueError where it is no line of such a file."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{line[:200]!r} is no header, {error}") from error


def _unquoted(field: Column) -> Column:
    within = F.substring(field, F.lit(2), F.length(field) - 2)
    text = F.when(field.startswith('"'), F.replace(within, F.lit('""'), F.lit('"'))).otherwise(field)
    return F.nullif(text, F.lit(""))


def orc(engine: Engine, group: list[File], name: str) -> DataFrame:
    """ORC for the embedded engine, which has none: through Parquet, in a folder that ends with the process."""
    from pyarrow import orc as pyarrow_orc
    from pyarrow import parquet as pq

    folder = tempfile.mkdtemp(prefix="ndcg-spark-orc-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number, file in enumerate(group):
        try:
            stored = pyarrow_orc.ORCFile(file.path)
            with pq.ParquetWriter(f"{folder}/{number:06}.parquet", stored.schema) as writer:
                for stripe in range(stored.nstripes):
                    writer.write_batch(stored.read_stripe(stripe))
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{name}: {file.path} is no whole ORC file, {first_line(error)}; write it again"
            ) from error
    return loaded(engine, "parquet", [folder], name)


def paths_of(group: list[File]) -> list[str]:
    """The paths of the files."""
    return [file.path for file in group]


def quoted(name: str) -> str:
    """A column's name as Spark parses it, whatever is in it."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def first_line(error: BaseException) -> str:
    """The first line of what an exception says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
