"""Judgments and results from storage: TREC text, Parquet, ORC, CSV, TSV, JSON lines and catalog tables.

Columns have the schema's names. They keep the types they were stored with, and text formats stay text, so that a
message can still show a bad value before `schemas.conform` makes it a number. The column BROKEN_LINE of `schemas` has
the text of lines that are not rows.
"""

import dataclasses
from collections.abc import Callable, Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.config import ResultsConfig, TableConfig
from ndcg_spark.engine import Engine, failures
from ndcg_spark.errors import ConfigurationError, InputError, first_line
from ndcg_spark.inputs import file_formats, finding, limits, run_files, trec
from ndcg_spark.inputs.damage import damaged
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.format_readers import Reader
from ndcg_spark.inputs.loading import quoted
from ndcg_spark.inputs.run_files import UNIT
from ndcg_spark.inputs.swapped import refuse_other
from ndcg_spark.schemas import INTERNAL, JUDGMENTS, RESULTS, named_by_user, refuse_alike, refuse_own

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
    #: The number of rows according to the footers of Parquet and ORC; None for text, and for files not seen.
    expected_rows: int | None = None
    #: The number of each file's unit, by path; empty if the table has no column UNIT (see run_files).
    units: Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: Reads some of the files again, the way the table was read. None for a catalog table.
    reread: Callable[[list[File]], DataFrame] | None = None

    @property
    def is_text(self) -> bool:
        """Whether rows are parsed from lines, which every plan that uses a column does again."""
        return self.format in ("trec", "csv", "tsv", "jsonl")

    @property
    def place(self) -> str:
        """Where the rows are, for a message: the one file, or the first of several."""
        if not self.files:
            return self.format
        return self.files[0].path if len(self.files) == 1 else f"{self.files[0].path} and {len(self.files) - 1} more"


def read_judgments(engine: Engine, config: TableConfig, paths: list[str]) -> Source:
    """The judgments (qrels): those of the columns dataset, query_id, doc_id and relevance that are stored.

    Raises
    ------
    InputError
        A path does not exist, a folder is empty, a file is damaged, or a mapped column or every column is missing.
    ConfigurationError
        Columns are mapped, but TREC text has no names of columns.
    """
    return _read(engine, "judgments", config, paths, JUDGMENTS, trec.QRELS)


def read_results(engine: Engine, config: ResultsConfig, paths: list[str]) -> Source:
    """The results (runs): those of the columns dataset, run, query_id, doc_id, score and rank that are stored.

    If `config.run` is given, it is the run of every row, whatever the files say. Raises as `read_judgments`.
    """
    column = config.columns.get("run", "run") if config.run is None else None
    source = _read(engine, "results", config, paths, RESULTS, trec.RUN, column)
    if config.run is None:
        return source
    return dataclasses.replace(source, table=source.table.withColumn("run", F.lit(config.run)))


def _read(
    engine: Engine,
    name: str,
    config: TableConfig,
    paths: list[str],
    schema: StructType,
    positions: dict[str, int],
    run_column: str | None = None,
) -> Source:
    catalog = [path for path in paths if path.startswith(_CATALOG)]
    if catalog and len(paths) > 1:
        raise InputError(f"{name}: {len(paths)} paths, among them {catalog[0]}; give a catalog table alone")
    if catalog:
        table = _catalog_table(engine, catalog[0].removeprefix(_CATALOG), name)
        refuse_own(table.columns, f"{name}: {catalog[0]}")
        return Source(_renamed(table, config, schema, f"{name}: {catalog[0]}"), name, catalog[0], [], False)
    limits.raise_open_files()
    found = [file for path in paths for file in finding.find(engine, path, name)]
    kind = config.format or file_formats.format_of(found, name)
    file_formats.refuse_unreadable(found, kind, name)
    finding.refuse_colons(engine, found, name)
    if kind == "trec" and config.columns:
        raise ConfigurationError(f"{name}: columns are mapped, and TREC text has no names; leave columns out")
    units = run_files.units_of(found, run_column) if schema is RESULTS else {}
    reader = Reader(engine, kind, [config.columns.get(field.name, field.name) for field in schema], positions, name)

    def read(some: list[File]) -> DataFrame:
        table = reader.table(some, units)
        if kind == "trec":
            return table.select(*(column for column in table.columns if column in (*schema.names, *INTERNAL, UNIT)))
        renamed = _renamed(table, config, schema, f"{name}: {found[0].path}")
        return _with_valid_text(renamed) if kind in ("parquet", "orc") and engine.kind != "embedded" else renamed

    try:
        rows = reader.check(found)
        table = read(found)
    except failures() as error:
        damage = damaged(found, kind) if engine.sees_local_files else None
        reason = damage or f"{paths[0]} cannot be read as {kind}, {first_line(error)}"
        raise InputError(f"{name}: {reason}; write it again, or name its format") from error
    return Source(table, name, kind, found, engine.sees_local_files, rows, units, read)


def _catalog_table(engine: Engine, table: str, name: str) -> DataFrame:
    try:
        found = engine.session.table(table)
        _ = found.schema  # Connect only looks the table up when something is asked of it
    except PySparkException as error:
        raise InputError(f"{name}: no catalog table {table}, {first_line(error)}; check its name") from error
    return found


def _renamed(table: DataFrame, config: TableConfig, schema: StructType, where: str) -> DataFrame:
    """The schema's columns under the schema's names, and those of our own columns that there are."""
    has = table.columns
    refuse_alike(has, where)
    known = ", ".join(named_by_user(has))
    absent = [f"{name} = {source!r}" for name, source in config.columns.items() if source not in has]
    if absent:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {known}; correct it"
        )
    sources = {field.name: config.columns.get(field.name, field.name) for field in schema}
    refuse_other(has, sources.values(), where)
    kept = [F.col(quoted(source)).alias(name) for name, source in sources.items() if source in has]
    if not kept:
        raise InputError(
            f"{where}: none of {', '.join(sources.values())} is a column; it has {known}; map names in the "
            "configuration with columns, or name its format"
        )
    return table.select(*kept, *(F.col(quoted(name)) for name in (*INTERNAL, UNIT) if name in has))


def _with_valid_text(table: DataFrame) -> DataFrame:
    """Null for text that is not UTF-8, which Spark would make equal. The embedded engine refuses such text itself."""
    columns = {name: F.try_validate_utf8(F.col(quoted(name))) for name, kind in table.dtypes if kind == "string"}
    return table.withColumns(columns) if columns else table
