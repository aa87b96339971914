"""Judgments and results from storage: text, JSON, Parquet, ORC and catalog tables, of the shapes of `inputs.shapes`.

Columns have the schema's names. They keep the types they were stored with, and text formats stay text, so that a
message can still show a bad value before `conforming` makes it a number. The column BROKEN_LINE of `schemas` has the
text of lines that are not rows.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.config import JudgmentsConfig, ResultsConfig, TableConfig
from ndcg_spark.conforming import missing_columns, named_by_user, refuse_alike, refuse_own
from ndcg_spark.engine import Engine, failures
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs import aliases, file_formats, finding, limits, log_tables, run_files, run_names, shapes
from ndcg_spark.inputs.damage import damaged
from ndcg_spark.inputs.file_formats import BINARY
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.format_readers import Reader
from ndcg_spark.inputs.lists import unlisted, unpacked
from ndcg_spark.inputs.loading import quoted, set_down
from ndcg_spark.inputs.parsed_once import Text
from ndcg_spark.inputs.run_files import UNIT
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.inputs.snapshots import TABLES
from ndcg_spark.inputs.swapped import refuse_other
from ndcg_spark.schemas import EXCLUDE, INTERNAL, JUDGMENTS, RESULTS, UNEQUAL

#: The formats whose text an engine does not decode.
_TYPED = (*BINARY, *TABLES)


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
    #: The same table without the test that its text is UTF-8; None if it has no such test.
    untested: DataFrame | None = None
    #: The text of which the typed rows are kept, so that it is parsed only once; None where that does not pay.
    text: Text | None = None
    #: Writes a table to a temporary place and reads it from there; None where the engine cannot do that cheaply.
    set_down: Callable[[DataFrame], DataFrame] | None = None
    #: The documents that leave the lists of this table before they are ranked.
    without: "Source | None" = None
    #: What was recognised and not configured, in sentences for people.
    notes: tuple[str, ...] = ()
    #: The runs that files or folders name, by dataset (None if rows tell it) and name, whether or not they have rows.
    runs: tuple[tuple[str | None, str], ...] = ()
    #: What names the runs, where that may as well be something else; None where it is certain.
    doubtful_run: str | None = None

    @property
    def sources(self) -> tuple["Source", ...]:
        """The table itself, and the one whose documents leave its lists."""
        return (self,) if self.without is None else (self, self.without)

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


def read_judgments(engine: Engine, config: JudgmentsConfig, paths: list[str], graded: bool = True) -> Source:
    """The judgments (qrels): those of the columns dataset, query_id, doc_id and relevance that are stored.

    If `config.relevance` is given, it is the grade of every row, whatever the files say. If judgments need not be
    `graded`, a table without grades has 1 for each.

    Raises
    ------
    InputError
        A path does not exist, a folder is empty, a file is damaged, or a mapped column or every column is missing.
    ConfigurationError
        Columns are mapped, but TREC text has no names of columns.
    """
    constant = config.relevance
    needed = [name for name in JUDGMENTS.names if name != "relevance" or (graded and constant is None)]
    source = _read(engine, "judgments", config, paths, JUDGMENTS, needed)
    if constant is None and not graded and "relevance" not in source.table.columns:
        constant = 1.0
    if constant is None:
        return source
    note = f"every judgment has the grade {constant:g}"
    return dataclasses.replace(_with_constant(source, "relevance", constant), notes=(*source.notes, note))


def read_results(engine: Engine, config: ResultsConfig, paths: list[str]) -> Source:
    """The results (runs): those of the columns dataset, run, query_id, doc_id, score and rank that are stored.

    If `config.run` is given, it is the run of every row, whatever the files say. Raises as `read_judgments`.
    """
    source = _read(engine, "results", config, paths, RESULTS)
    if config.run is None:
        return source
    return _with_constant(source, "run", config.run)


def read_excluded(engine: Engine, config: TableConfig, paths: list[str]) -> Source:
    """The documents that leave the lists: those of the columns dataset, query_id and doc_id. Raises as above."""
    return _read(engine, "exclude", config, paths, EXCLUDE)


def read_query_table(engine: Engine, name: str, config: TableConfig, paths: list[str], schema: StructType) -> Source:
    """A table about queries: those of the schema's columns that are stored. Raises as above."""
    return _read(engine, name, config, paths, schema)


def _read(
    engine: Engine,
    name: str,
    config: TableConfig,
    paths: list[str],
    schema: StructType,
    needed: Sequence[str] | None = None,
) -> Source:
    limits.raise_open_files()
    found, left_out = finding.without_backups(log_tables.find(engine, config, paths, name), paths, name)
    versions = log_tables.said(found)
    table = found[0].snapshot.table if found[0].snapshot else None
    if table is not None:
        place = f"{name}: {found[0].path}"
        refuse_own(table.columns, place)
        shape = shapes.named("table", table.columns, config, needed or schema.names, place)
        table = _unpacked(table, config, needed or schema.names, place)
        renamed = unlisted(_renamed(table, shape, config, schema, place), schema is RESULTS, name)
        files = found if found[0].content else []
        said = (*versions, *shape.said(config))
        doubtful = aliases.doubtful_run(shape.columns, config.columns, []) if schema is RESULTS else None
        place = found[0].content or found[0].path
        return Source(renamed, name, place, files, False, notes=said, doubtful_run=doubtful)
    kind = config.format or file_formats.format_of(found, name)
    file_formats.refuse_unreadable(found, kind, name)
    finding.refuse_colons(engine, found, name)
    shape = shapes.shape_of(engine, found, kind, config, needed or schema.names, name)
    kind, notes, units = shape.kind, [*versions, *left_out, *shape.said(config)], {}
    runs: tuple[tuple[str | None, str], ...] = ()
    doubtful = None
    if isinstance(config, ResultsConfig):
        found, run_column, naming = _with_runs(found, shape, config)
        notes += naming
        units = run_files.units_of(found, run_column)
        runs = run_names.of_files(found, run_column, shape.columns.get("dataset", "dataset"))
        doubtful = aliases.doubtful_run(shape.columns, config.columns, [name for name, _ in found[0].partition])
    reader = Reader(engine, kind, [shape.columns.get(field.name, field.name) for field in schema], shape, name)

    def read(some: list[File]) -> DataFrame:
        table = reader.table(some, units)
        if shape.layout is not None:
            return table.select(*(column for column in table.columns if column in (*schema.names, *INTERNAL, UNIT)))
        if kind in _TYPED:
            table = _unpacked(table, config, needed or schema.names, f"{name}: {found[0].path}")
        renamed = _renamed(table, shape, config, schema, f"{name}: {found[0].path}")
        return unlisted(renamed, schema is RESULTS, f"{name}: {found[0].path}")

    # The embedded engine refuses such text itself.
    is_tested = kind in _TYPED and engine.kind != "embedded"
    try:
        rows = reader.check(found)
        table = read(found)
        tested = _with_valid_text(table) if is_tested else table
    except failures() as error:
        damage = damaged(found, kind) if engine.sees_local_files else None
        reason = damage or f"{paths[0]} cannot be read as {kind}, {first_line(error)}"
        raise InputError(f"{name}: {reason}; write it again, or name its format") from error
    rows = None if UNEQUAL in table.columns else rows
    untested = table if is_tested else None
    source = Source(tested, name, kind, found, engine.sees_local_files, rows, units, read, untested, notes=tuple(notes))
    source = dataclasses.replace(source, runs=runs, doubtful_run=doubtful)
    if engine.kind == "embedded":
        source = dataclasses.replace(source, set_down=partial(set_down, engine, name=name))
    text = Text(engine, name, found, units, read, shape.layout)
    return dataclasses.replace(source, text=text) if source.is_text and text.is_worth_keeping else source


def _with_constant(source: Source, name: str, value: str | float) -> Source:
    """The source with this value in a column of every row."""
    untested = None if source.untested is None else source.untested.withColumn(name, F.lit(value))
    text = source.text and source.text.with_constant(name, value)
    return dataclasses.replace(source, table=source.table.withColumn(name, F.lit(value)), untested=untested, text=text)


def _with_runs(found: list[File], shape: Shape, config: ResultsConfig) -> tuple[list[File], str | None, list[str]]:
    """The files with the names of their runs, the column that has these, if there is one, and what is said of it."""
    if config.run is not None:
        return found, None, []
    column = shape.columns.get("run", "run")
    if config.run_from == "column" and "run" not in shape.has:
        raise InputError(
            f"results: run_from is column, and {found[0].path} has no column {column}; map it, or name runs by files"
        )
    if config.run_from != "file" and "run" in shape.has:
        return found, column, []
    named = run_names.named_by_file(found, column, "results")
    names = list(dict.fromkeys(dict(file.partition)[column] for file in named))
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return named, column, [f"runs are named by their files: {names[0]}{more}"]


def _unpacked(table: DataFrame, config: TableConfig, wanted: Sequence[str], where: str) -> DataFrame:
    """The table with an array of structs as arrays of our columns, unless the document is mapped or not wanted."""
    return unpacked(table, wanted, where) if "doc_id" in wanted and "doc_id" not in config.columns else table


def _renamed(table: DataFrame, shape: Shape, config: TableConfig, schema: StructType, where: str) -> DataFrame:
    """The schema's columns under the schema's names, and those of our own columns that there are."""
    has = table.columns
    refuse_alike(has, where)
    known = ", ".join(named_by_user(has))
    absent = [f"{name} = {source!r}" for name, source in config.columns.items() if source not in has]
    if absent:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {known}; correct it"
        )
    sources = {field.name: shape.columns.get(field.name, field.name) for field in schema}
    refuse_other(has, sources.values(), where)
    kept = [F.col(quoted(source)).alias(name) for name, source in sources.items() if source in has]
    if not kept:
        raise InputError(
            f"{where}: none of {', '.join(sources.values())} is a column; it has {known}; map names in the "
            "configuration with columns, or name its format"
        )
    lost = [name for name in ("query_id", "doc_id") if name in sources and sources[name] not in has]
    if lost:
        raise missing_columns(lost, named_by_user(has), where)
    return table.select(*kept, *(F.col(quoted(name)) for name in (*INTERNAL, UNIT) if name in has))


def _with_valid_text(table: DataFrame) -> DataFrame:
    """Null for text that is not UTF-8, which Spark would make equal."""
    columns = {name: F.try_validate_utf8(F.col(quoted(name))) for name, kind in table.dtypes if kind == "string"}
    return table.withColumns(columns) if columns else table
