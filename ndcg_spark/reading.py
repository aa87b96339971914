"""Tables from storage: TREC text, Parquet, ORC, CSV, TSV, JSON lines and catalog tables, under the schema's names.

A column keeps the type it was stored with, and text formats stay text, so that checking can still show what a value
was before `schemas.conform` makes it a number. Lines that are no row at all have their text in `broken_line`.
"""

import atexit
import dataclasses
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

from ndcg_spark import files
from ndcg_spark.config import ResultsConfig, TableConfig
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.files import File
from ndcg_spark.schemas import JUDGMENTS, RESULTS

#: The text of a line that is no row; null for every other.
BROKEN_LINE = "broken_line"

_CATALOG = "table:"
_QRELS = {"query_id": 0, "doc_id": 2, "relevance": 3}
_RUN = {"query_id": 0, "doc_id": 2, "rank": 3, "score": 4, "run": 5}
_LINES_TO_SEE_COLUMNS = 200


@dataclasses.dataclass(frozen=True)
class Source:
    """A table and where it came from."""

    table: DataFrame
    name: str
    format: str
    files: list[File]
    #: Whether this process can open the files.
    seen: bool

    @property
    def place(self) -> str:
        """Where the rows are, for a message: the one file, or the first of several."""
        if not self.files:
            return self.format
        return self.files[0].path if len(self.files) == 1 else f"{self.files[0].path} and {len(self.files) - 1} more"


def read_judgments(engine: Engine, config: TableConfig, paths: list[str]) -> Source:
    """The judgments (qrels): query_id, doc_id, relevance, and dataset where there is such a column.

    Raises
    ------
    InputError
        A path that is not there, an empty folder, a damaged file, a column that is missing.
    """
    return _read(engine, "judgments", config, paths, JUDGMENTS, _QRELS)


def read_results(engine: Engine, config: ResultsConfig, paths: list[str]) -> Source:
    """The results (runs): run, query_id, doc_id, score and rank as far as stored, and dataset where there is such.

    `config.run` names the run of every row, whatever the files say. Raises as `read_judgments`.
    """
    source = _read(engine, "results", config, paths, RESULTS, _RUN)
    if config.run is None:
        return source
    return dataclasses.replace(source, table=source.table.withColumn("run", F.lit(config.run)))


def _read(
    engine: Engine, name: str, config: TableConfig, paths: list[str], schema: StructType, trec: dict[str, int]
) -> Source:
    catalog = [path for path in paths if path.startswith(_CATALOG)]
    if catalog and len(paths) > 1:
        raise InputError(f"{name}: {len(paths)} paths, among them {catalog[0]}; give a catalog table alone")
    if catalog:
        table = _catalog_table(engine, catalog[0].removeprefix(_CATALOG), name)
        return Source(_renamed(table, config, schema, name), name, catalog[0], [], False)
    found = [file for path in paths for file in _find(engine, path, name)]
    kind = config.format or files.format_of(found, name)
    if sum(file.size for file in found) == 0:
        raise InputError(
            f"{name}: {len(found)} file(s) without a byte, e.g. {found[0].path}; an empty table is refused"
        )
    if kind == "trec":
        if config.columns:
            raise ConfigurationError(f"{name}: columns are mapped, and TREC text has no names; leave columns out")
        return Source(_trec(_lines(engine, found), trec), name, kind, found, engine.sees_local_files)
    names = [config.columns.get(field.name, field.name) for field in schema]
    if kind == "jsonl":
        table = _json_lines(_lines(engine, found), names, name)
    elif kind in ("csv", "tsv"):
        table = _separated(engine, paths, found, "\t" if kind == "tsv" else ",", name)
    elif kind == "orc":
        table = _orc(engine, paths, found, name)
    else:
        if engine.sees_local_files:
            files.check_parquet(found, names, name)
        table = _loaded(engine, "parquet", paths, name)
    return Source(_renamed(table, config, schema, name), name, kind, found, engine.sees_local_files)


def _find(engine: Engine, path: str, name: str) -> list[File]:
    if engine.sees_local_files:
        return files.find(path, name)
    # The engine's own storage, which this process may not see: ask it for names and sizes, not for content.
    listing = _loaded(engine, "binaryFile", [path], name, recursiveFileLookup="true").select("path", "length")
    found = sorted((File(row["path"], row["length"]) for row in listing.collect()), key=lambda file: file.path)
    if not found:
        raise InputError(f"{name}: no files in {path}, an empty folder; check what should have written it")
    return found


def _catalog_table(engine: Engine, table: str, name: str) -> DataFrame:
    try:
        found = engine.session.table(table)
        _ = found.schema  # Connect looks the table up only when it is asked something
    except PySparkException as error:
        raise InputError(f"{name}: no catalog table {table}, {_first_line(error)}; check its name") from error
    return found


def _loaded(engine: Engine, kind: str, paths: list[str], name: str, **options: str) -> DataFrame:
    try:
        table = engine.session.read.format(kind).options(**options).load([_as_written(engine, path) for path in paths])
        _ = table.schema
    except PySparkException as error:
        raise InputError(f"{name}: {paths[0]} cannot be read as {kind}, {_first_line(error)}") from error
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


def _lines(engine: Engine, found: list[File]) -> DataFrame:
    """One row per line that is not blank, column `value`; the embedded engine reads one compression at a time."""
    plain = [file.path for file in found if not file.compressed]
    gzipped = [file.path for file in found if file.compressed]
    groups = [_loaded(engine, "text", group, "text") for group in (plain, gzipped) if group]
    lines = functools.reduce(DataFrame.unionByName, groups).select(
        F.btrim("value", F.lit("\ufeff \t\r")).alias("value")
    )
    return lines.where(F.col("value") != "")


def _trec(lines: DataFrame, positions: dict[str, int]) -> DataFrame:
    """The fields of TREC qrels (four) or run lines (six; a run line may go on, as trec_eval allows), all text."""
    fields = F.split("value", r"[ \t\r\f]+")
    least = max(positions.values()) + 1
    whole = F.size(fields) == least if positions is _QRELS else F.size(fields) >= least
    broken = F.when(~whole | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    parts = lines.select(fields.alias("fields"), broken)
    return parts.select(*(F.get("fields", F.lit(at)).alias(name) for name, at in positions.items()), BROKEN_LINE)


def _json_lines(lines: DataFrame, names: list[str], where: str) -> DataFrame:
    """The wanted keys of each line's object as text; which of them there are is seen from the first lines."""
    seen: set[str] = set()
    for row in lines.limit(_LINES_TO_SEE_COLUMNS).collect():
        seen.update(_keys(row["value"]))
    if not seen:
        raise InputError(f"{where}: no line is a JSON object; give the format with format if it is another")
    wanted = [name for name in names if name in seen]
    schema = StructType([StructField(name, StringType()) for name in wanted or sorted(seen)])
    parsed = lines.select("value", F.from_json("value", schema).alias("row"))
    values = [F.col(f"row.{_quoted(field.name)}") for field in schema]
    nothing = functools.reduce(Column.__and__, (column.isNull() for column in values))
    broken = F.when(nothing | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    return parsed.select(*(column.alias(field.name) for column, field in zip(values, schema, strict=True)), broken)


def _keys(line: str) -> list[str]:
    try:
        row: Any = json.loads(line)
    except ValueError:
        return []
    return list(row) if isinstance(row, dict) else []


def _separated(engine: Engine, paths: list[str], found: list[File], separator: str, name: str) -> DataFrame:
    """CSV or TSV with a header line, RFC 4180 quotes, all text; a line of another length is an error of the engine."""
    if engine.sees_local_files:
        files.check_headers(found, name)
    mixed = len({file.compressed for file in found}) > 1
    groups = (
        [[f.path for f in found if f.compressed is compressed] for compressed in (False, True)] if mixed else [paths]
    )
    options = {
        "header": "true",
        "sep": separator,
        "quote": '"',
        "escape": '"',
        "mode": "FAILFAST",
        "columnPruning": "false",
        "inferSchema": "false",
    }
    tables = [_loaded(engine, "csv", group, name, **options) for group in groups]
    table = functools.reduce(DataFrame.unionByName, tables)
    text = functools.reduce(Column.__or__, (~F.is_valid_utf8(_quoted(c)) for c in table.columns))
    row = F.concat_ws(separator, *(_quoted(column) for column in table.columns))
    return table.withColumn(BROKEN_LINE, F.when(text, row))


def _orc(engine: Engine, paths: list[str], found: list[File], name: str) -> DataFrame:
    """ORC by the engine; the embedded engine has none, so through Parquet in a folder that ends with the process."""
    if engine.kind != "embedded":
        return _loaded(engine, "orc", paths, name)
    from pyarrow import orc
    from pyarrow import parquet as pq

    folder = tempfile.mkdtemp(prefix="ndcg-spark-orc-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number, file in enumerate(found):
        try:
            stored = orc.ORCFile(file.path)
            with pq.ParquetWriter(f"{folder}/{number:06}.parquet", stored.schema) as writer:
                for stripe in range(stored.nstripes):
                    writer.write_batch(stored.read_stripe(stripe))
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{name}: {file.path} is no whole ORC file, {_first_line(error)}; write it again"
            ) from error
    return _loaded(engine, "parquet", [folder], name)


def _renamed(table: DataFrame, config: TableConfig, schema: StructType, where: str) -> DataFrame:
    """The schema's columns under the schema's names, and broken_line where there is one."""
    has = table.columns
    absent = [f"{name} = {source!r}" for name, source in config.columns.items() if source not in has]
    if absent:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {', '.join(has)}"
        )
    sources = {field.name: config.columns.get(field.name, field.name) for field in schema}
    kept = [F.col(_quoted(source)).alias(name) for name, source in sources.items() if source in has]
    if not kept:
        raise InputError(f"{where}: none of {', '.join(sources.values())} is a column; it has {', '.join(has)}")
    return table.select(*kept, *([BROKEN_LINE] if BROKEN_LINE in has else []))


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
