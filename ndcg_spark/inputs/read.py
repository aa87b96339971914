"""Judgments, results and tables about queries from storage: one way in for every format.

Text, JSON and tables of lakehouses become Parquet once, in this process. Engines see Parquet, ORC where they read it,
and catalog tables. Columns have the schema's names. What was typed when it was stored keeps its types; of text, numbers
are typed, and the columns INTERNAL of `schemas` tell what is wrong with a row and how a number was written.
"""

import dataclasses
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.casting import refuse_own
from ndcg_spark.config import JudgmentsConfig, ResultsConfig, TableConfig
from ndcg_spark.engine import Engine
from ndcg_spark.inputs import (
    aliases,
    discover,
    engine_files,
    file_formats,
    lakehouse,
    recognise,
    run_names,
    staging,
)
from ndcg_spark.inputs.column_names import names_in, renamed
from ndcg_spark.inputs.file_formats import BINARY
from ndcg_spark.inputs.files import TABLES, File, refuse_folders
from ndcg_spark.inputs.lists import unlisted
from ndcg_spark.inputs.shapes import named
from ndcg_spark.inputs.text_to_parquet import text_to_parquet
from ndcg_spark.inputs.typed_files import footers_of, read_typed
from ndcg_spark.schemas import EXCLUDE, JUDGMENTS, RESULTS, WRITTEN

#: Runs by dataset (None if rows tell it) and name.
Runs = tuple[tuple[str | None, str], ...]
#: The schema of a table whose files have these columns.
SchemaOf = Callable[[Sequence[str]], StructType]


@dataclasses.dataclass(frozen=True)
class Source:
    """A table and where it came from."""

    table: DataFrame
    name: str
    format: str
    files: list[File]
    #: The number of rows according to footers, or to what was written; None where that is not known.
    expected_rows: int | None = None
    #: Writes a table to a temporary place and reads it from there; None where the engine cannot do that cheaply.
    materialize: Callable[[DataFrame], DataFrame] | None = None
    #: The documents that leave the lists of this table before they are ranked.
    without: "Source | None" = None
    #: What was recognised and not configured, in sentences for people.
    notes: tuple[str, ...] = ()
    #: The runs that files or folders name, whether or not they have rows.
    runs: Runs = ()
    #: What names the runs, where that may as well be something else; None where it is certain.
    doubtful_run: str | None = None

    @property
    def sources(self) -> tuple["Source", ...]:
        """The table itself, and the one whose documents leave its lists."""
        return (self,) if self.without is None else (self, self.without)

    @property
    def is_text(self) -> bool:
        """Whether its values were text in the files."""
        return self.format not in (*BINARY, *TABLES) and not self.format.startswith("table:")

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
    source = _read(engine, "judgments", config, paths, lambda _: JUDGMENTS, needed)
    if constant is None and not graded and "relevance" not in source.table.columns:
        constant = 1.0
    if constant is None:
        return source
    note = f"every judgment has the grade {constant:g}"
    table = source.table.drop(WRITTEN["relevance"]).withColumn("relevance", F.lit(constant))
    return dataclasses.replace(source, table=table, notes=(*source.notes, note))


def read_results(engine: Engine, config: ResultsConfig, paths: list[str]) -> Source:
    """The results (runs): those of the columns dataset, run, query_id, doc_id, score and rank that are stored.

    If `config.run` is given, it is the run of every row, whatever the files say. Raises as `read_judgments`.
    """
    source = _read(engine, "results", config, paths, lambda _: RESULTS)
    if config.run is None:
        return source
    return dataclasses.replace(source, table=source.table.withColumn("run", F.lit(config.run)))


def read_excluded(engine: Engine, config: TableConfig, paths: list[str]) -> Source:
    """The documents that leave the lists: those of the columns dataset, query_id and doc_id. Raises as above."""
    return _read(engine, "exclude", config, paths, lambda _: EXCLUDE)


def read_query_table(engine: Engine, name: str, config: TableConfig, paths: list[str], schema: SchemaOf) -> Source:
    """A table about queries: those columns that are stored of the schema for what its files have. Raises as above."""
    return _read(engine, name, config, paths, schema)


def _read(
    engine: Engine,
    name: str,
    config: TableConfig,
    paths: list[str],
    schema_of: SchemaOf,
    needed: Sequence[str] | None = None,
) -> Source:
    found, left_out = discover.without_backups(lakehouse.find(engine, config, paths, name), paths, name)
    wanted, notes = list(needed or config.names), (*lakehouse.versions(found), *left_out)
    if found[0].snapshot and found[0].snapshot.table is not None:
        return _of_engine_table(found[0], found[0].snapshot.table, config, wanted, schema_of, name, notes)
    kind = config.format or file_formats.format_of(found, name)
    file_formats.refuse_unreadable(found, kind, name)
    refuse_folders(found, name)
    known = footers_of(engine, found, kind, name)
    if kind in (*BINARY, *TABLES):
        shape = recognise.of_columns(found, known, kind, config, wanted, name)
    else:
        shape = recognise.of_text(found, kind, config, wanted, name)
    has = [*shape.fields, *(key for key, _ in found[0].partition)]
    schema = schema_of(has)
    named_runs: list[str] = []
    runs: Runs = ()
    if isinstance(config, ResultsConfig):
        found, named_runs, runs = run_names.with_runs(found, shape, config)
    if kind in (*BINARY, *TABLES):
        table, rows = read_typed(engine, found, shape, config, schema, known, name)
    else:
        if shape.fields:
            names_in(has, shape, config, schema, f"{name}: {found[0].path}")
        written = text_to_parquet(shape, found, schema.names, engine.scratch, name)
        table, rows = staging.given(engine, written, name), written.rows
    notes = (*notes, *shape.notes(config), *named_runs)
    folders = [key for key, _ in found[0].partition]
    doubtful = aliases.doubtful_run(shape.columns, config.columns, folders) if schema is RESULTS else None
    materialize = engine_files.materializer(engine, name)
    return Source(table, name, shape.kind, found, rows, materialize, notes=notes, runs=runs, doubtful_run=doubtful)


def _of_engine_table(
    file: File,
    table: DataFrame,
    config: TableConfig,
    wanted: Sequence[str],
    schema_of: SchemaOf,
    name: str,
    notes: Sequence[str],
) -> Source:
    """A table that the engine reads by its name or its log."""
    place = f"{name}: {file.path}"
    refuse_own(table.columns, place)
    schema = schema_of(table.columns)
    shape = named("table", table.columns, [], config, wanted, place)
    rows = unlisted(renamed(table, shape, config, schema, place), schema is RESULTS, name)
    doubtful = aliases.doubtful_run(shape.columns, config.columns, []) if schema is RESULTS else None
    files = [file] if file.content else []
    said = (*notes, *shape.notes(config))
    return Source(rows, name, file.content or file.path, files, notes=said, doubtful_run=doubtful)
