"""Tables from storage: TREC text, Parquet, ORC, CSV, TSV, JSON lines and catalog tables, under the schema's names.

A column keeps the type it was stored with, and text formats stay text, so that checking can still show what a value
was before `schemas.conform` makes it a number. Lines that are no row at all have their text in BROKEN_LINE.
"""

import dataclasses
import functools
import urllib.parse
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.config import ResultsConfig, TableConfig
from ndcg_spark.engine import Engine, failures
from ndcg_spark.errors import ConfigurationError, InputError, first_line
from ndcg_spark.inputs import files, trec
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.json_lines import json_lines
from ndcg_spark.inputs.loading import lines, loaded, paths_of, quoted
from ndcg_spark.inputs.orc import orc
from ndcg_spark.inputs.plain_parquet import copied, must_be_copied
from ndcg_spark.inputs.separated import header_names, separated
from ndcg_spark.schemas import BROKEN_LINE, INTERNAL, JUDGMENTS, RESULTS, refuse_alike

_CATALOG = "table:"


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
    return _read(engine, "judgments", config, paths, JUDGMENTS, trec.QRELS)


def read_results(engine: Engine, config: ResultsConfig, paths: list[str]) -> Source:
    """The results (runs): run, query_id, doc_id, score and rank as far as stored, and dataset where there is such.

    `config.run` names the run of every row, whatever the files say. Raises as `read_judgments`.
    """
    source = _read(engine, "results", config, paths, RESULTS, trec.RUN)
    if config.run is None:
        return source
    return dataclasses.replace(source, table=source.table.withColumn("run", F.lit(config.run)))


def _read(
    engine: Engine, name: str, config: TableConfig, paths: list[str], schema: StructType, positions: dict[str, int]
) -> Source:
    catalog = [path for path in paths if path.startswith(_CATALOG)]
    if catalog and len(paths) > 1:
        raise InputError(f"{name}: {len(paths)} paths, among them {catalog[0]}; give a catalog table alone")
    if catalog:
        table = _catalog_table(engine, catalog[0].removeprefix(_CATALOG), name)
        return Source(_renamed(table, config, schema, name), name, catalog[0], [], False)
    found = [file for path in paths for file in _find(engine, path, name)]
    kind = config.format or files.format_of(found, name)
    _refuse_unreadable(engine, found, name)
    if kind == "trec" and config.columns:
        raise ConfigurationError(f"{name}: columns are mapped, and TREC text has no names; leave columns out")
    try:
        if kind == "trec":
            table = _grouped(engine, found, name, lambda group: trec.trec(lines(engine, group, name), positions))
            table = table.select(*(column for column in table.columns if column in (*schema.names, BROKEN_LINE)))
        else:
            names = [config.columns.get(field.name, field.name) for field in schema]
            table = _renamed(_stored(engine, kind, paths, found, names, name), config, schema, name)
            if kind in ("parquet", "orc") and engine.kind != "embedded":
                table = _with_valid_text(table)
    except failures() as error:
        damage = files.damaged(found, kind) if engine.sees_local_files else None
        reason = damage or f"{paths[0]} cannot be read as {kind}, {first_line(error)}"
        raise InputError(f"{name}: {reason}; write it again, or name its format") from error
    return Source(table, name, kind, found, engine.sees_local_files)


def _stored(engine: Engine, kind: str, paths: list[str], found: list[File], names: list[str], where: str) -> DataFrame:
    """The table as it is stored, in a format that names its columns."""
    looks = engine.sees_local_files
    if kind == "jsonl":
        return _grouped(
            engine, found, where, lambda group: json_lines(lines(engine, group, where), names, where, group[0].path)
        )
    if kind in ("csv", "tsv"):
        separator = "\t" if kind == "tsv" else ","
        header = _header(engine, found, separator, where)
        return _grouped(
            engine,
            found,
            where,
            lambda group: separated(
                lines(engine, group, where, "\ufeff\r"), header, separator, on_java=engine.kind != "embedded"
            ),
        )
    if kind == "orc" and engine.kind == "embedded":
        return _grouped(engine, found, where, lambda group: orc(engine, group, where))
    if kind == "parquet" and looks:
        footers = files.check_parquet(found, names, where)
        if must_be_copied(footers, names, engine.kind):
            return _grouped(engine, found, where, lambda group: copied(engine, group, names, where))
    if all(file.regular for file in found) and len({tuple(dict(file.partition)) for file in found}) == 1:
        return loaded(engine, kind, paths, where)
    return _grouped(engine, found, where, lambda group: loaded(engine, kind, paths_of(group), where))


def _header(engine: Engine, found: list[File], separator: str, where: str) -> str:
    """The line that all of the CSV or TSV files must begin with."""
    if engine.sees_local_files:
        line = files.check_headers(found, where)
    else:
        first = lines(engine, found[:1], where, "\ufeff\r").first()
        line = first["value"] if first else ""
    try:
        names = header_names(line, separator)
    except ValueError as error:
        raise InputError(f"{where}: {found[0].path}, {error}; write it again, or name its format") from error
    refuse_alike(names, f"{where}: {found[0].path}")
    return line


def _refuse_unreadable(engine: Engine, found: list[File], name: str) -> None:
    if sum(file.size for file in found) == 0:
        raise InputError(
            f"{name}: {len(found)} file(s) without a byte, e.g. {found[0].path}; an empty table is refused"
        )
    colons = [file.path for file in found if ":" in file.path.removeprefix("file:").split("://", 1)[-1]]
    if colons and engine.kind != "embedded" and engine.sees_local_files:
        raise InputError(
            f"{name}: {len(colons)} name(s) with a colon, e.g. {colons[0]}; Spark cannot read them, rename"
        )


def _find(engine: Engine, path: str, name: str) -> list[File]:
    if engine.sees_local_files:
        return files.find(path, name)
    # The engine's own storage, which this process may not see: ask it for names and sizes, not for content.
    listing = loaded(engine, "binaryFile", [path], name, recursiveFileLookup="true").select("path", "length")
    root = urllib.parse.urlsplit(files.before_wildcards(path)).path.rstrip("/")
    rows = [(row["path"], urllib.parse.urlsplit(row["path"]).path, row["length"]) for row in listing.collect()]
    found = sorted((files.below(root, *row) for row in rows), key=lambda file: file.path)
    if not found:
        raise InputError(f"{name}: no files in {path}, an empty folder; check what should have written it")
    return found


def _catalog_table(engine: Engine, table: str, name: str) -> DataFrame:
    try:
        found = engine.session.table(table)
        _ = found.schema  # Connect looks the table up only when it is asked something
    except PySparkException as error:
        raise InputError(f"{name}: no catalog table {table}, {first_line(error)}; check its name") from error
    return found


def _grouped(engine: Engine, found: list[File], name: str, read: Callable[[list[File]], DataFrame]) -> DataFrame:
    """The files read in groups that agree on the columns of their folders, which are added; and on compression.

    The embedded engine reads one compression at a time.
    """
    groups: dict[tuple[object, ...], list[File]] = {}
    for file in found:
        groups.setdefault((file.partition, file.compressed and engine.kind == "embedded"), []).append(file)
    if len({tuple(dict(file.partition)) for file in found}) > 1:
        raise InputError(
            f"{name}: folders that give different columns, e.g. {found[0].path} and {found[-1].path}; "
            "name them alike, column=value"
        )
    tables = []
    for group in groups.values():
        columns = {key: F.lit(value).cast("string") for key, value in group[0].partition}
        tables.append(read(group).withColumns(columns) if columns else read(group))
    return functools.reduce(DataFrame.unionByName, tables)


def _with_valid_text(table: DataFrame) -> DataFrame:
    """Null for text that is not UTF-8, of which Spark makes the same replacement; the embedded engine refuses it."""
    columns = {name: F.try_validate_utf8(F.col(quoted(name))) for name, kind in table.dtypes if kind == "string"}
    return table.withColumns(columns) if columns else table


def _renamed(table: DataFrame, config: TableConfig, schema: StructType, where: str) -> DataFrame:
    """The schema's columns under the schema's names, and broken_line where there is one."""
    has = table.columns
    refuse_alike(has, where)
    absent = [f"{name} = {source!r}" for name, source in config.columns.items() if source not in has]
    if absent:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {', '.join(has)}"
        )
    sources = {field.name: config.columns.get(field.name, field.name) for field in schema}
    kept = [F.col(quoted(source)).alias(name) for name, source in sources.items() if source in has]
    if not kept:
        raise InputError(f"{where}: none of {', '.join(sources.values())} is a column; it has {', '.join(has)}")
    return table.select(*kept, *(F.col(quoted(name)) for name in INTERNAL if name in has))
