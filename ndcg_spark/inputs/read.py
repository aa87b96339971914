"""Judgments, results and tables about queries from storage: one way in for every format.

Text, JSON and tables of lakehouses become Parquet once, in this process. Engines see Parquet, ORC where they read it,
and catalog tables. Columns have the schema's names. What was typed when it was stored keeps its types; of text, numbers
are typed, and the columns INTERNAL of `schemas` tell what is wrong with a row and how a number was written.
"""

import dataclasses
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.config import JudgmentsConfig, ResultsConfig, TableConfig
from ndcg_spark.conforming import missing_columns, named_by_user, refuse_alike, refuse_own
from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import (
    aliases,
    columnar,
    discover,
    engine_files,
    file_formats,
    footers,
    lakehouse,
    recognise,
    run_names,
    staging,
)
from ndcg_spark.inputs.conversion import Converted
from ndcg_spark.inputs.engine_files import quoted
from ndcg_spark.inputs.file_formats import BINARY
from ndcg_spark.inputs.files import TABLES, File
from ndcg_spark.inputs.footers import Footer
from ndcg_spark.inputs.lists import unlisted, unpacked
from ndcg_spark.inputs.recognise import Shape
from ndcg_spark.inputs.storage import is_local
from ndcg_spark.inputs.swapped import refuse_other
from ndcg_spark.inputs.text_to_parquet import text_to_parquet
from ndcg_spark.schemas import EXCLUDE, FAULT, INTERNAL, JUDGMENTS, RESULTS, WRITTEN

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
    _refuse_folders(found, name)
    known = _footers(engine, found, kind, name)
    if kind in (*BINARY, *TABLES):
        shape = recognise.of_columns(found, known, kind, config, wanted, name)
    else:
        shape = recognise.of_text(found, kind, config, wanted, name)
    schema = schema_of([*shape.fields, *(key for key, _ in found[0].partition)])
    found, named_runs, runs = _with_runs(found, shape, config) if isinstance(config, ResultsConfig) else (found, [], ())
    if kind in (*BINARY, *TABLES):
        table, rows = _of_columns(engine, found, shape, config, schema, known, name)
    else:
        if shape.fields:
            has = [*shape.fields, *(key for key, _ in found[0].partition)]
            _names_in(has, shape, config, schema, f"{name}: {found[0].path}")
        written = text_to_parquet(shape, found, schema.names, engine.scratch, name)
        table, rows = _given(engine, written, name), written.rows
    notes = (*notes, *shape.notes(config), *named_runs)
    doubtful = _doubtful_run(shape, config, found) if schema is RESULTS else None
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
    shape = recognise.named("table", table.columns, [], config, wanted, place)
    rows = unlisted(_named(table, shape, config, schema, place), schema is RESULTS, name)
    doubtful = aliases.doubtful_run(shape.columns, config.columns, []) if schema is RESULTS else None
    files = [file] if file.content else []
    said = (*notes, *shape.notes(config))
    return Source(rows, name, file.content or file.path, files, notes=said, doubtful_run=doubtful)


def _of_columns(
    engine: Engine,
    files: list[File],
    shape: Shape,
    config: TableConfig,
    schema: StructType,
    known: Sequence[Footer],
    name: str,
) -> tuple[DataFrame, int | None]:
    """The rows of files with types, as they are where every engine can read them, else a plain copy; and their number.

    The number is None where rows have lists, or nobody has counted.
    """
    place = f"{name}: {files[0].path}"
    columns = [shape.columns.get(field, field) for field in schema.names]
    if len(known) == len(files):
        footers.refuse_different_types(files, known, columns, name)
    rows: int | None
    if _is_copied(engine, files[0], shape.kind, known, columns):
        if not any(map(columnar.holds_structs, known[0].columns.values())):
            _names_in([*shape.fields, *(key for key, _ in files[0].partition)], shape, config, schema, place)
        copy = columnar.columns_to_parquet(shape.kind, files, known, columns, engine.scratch, name)
        table, rows = _given(engine, copy, name), copy.rows
    else:
        table = engine_files.gathered(engine, shape.kind, files, name)
        rows = sum(footer.rows for footer in known) if len(known) == len(files) and files[0].found else None
    listed = unlisted(_named(table, shape, config, schema, place), schema is RESULTS, place)
    return listed, None if FAULT in listed.columns else rows


def _is_copied(engine: Engine, file: File, kind: str, known: Sequence[Footer], columns: Sequence[str]) -> bool:
    """Whether files with types are written again: all files together must be what every engine reads."""
    is_out_of_reach = (
        engine.kind == "connect" and not engine.sees_local_files and bool(file.found) and is_local(file.path)
    )
    if kind in TABLES or (kind == "orc" and engine.kind == "embedded") or is_out_of_reach:
        return True
    is_uniform = len(set(footers.signatures(known))) < 2
    return not (is_uniform and columnar.is_readable((found.columns for found in known), columns))


def _given(engine: Engine, rows: Converted, where: str) -> DataFrame:
    """What was written, without those of our own columns that have no value."""
    table = staging.given(engine, rows.folder, where)
    return table.select(*(name for name in table.columns if name not in INTERNAL or rows.values[name]))


def _footers(engine: Engine, files: list[File], kind: str, where: str) -> list[Footer]:
    """What the files say of their columns; of files on a storage that others read, what the first one says.

    InputError if one is damaged.
    """
    if kind in TABLES:
        return [
            Footer({field.name: field.type for field in file.snapshot.schema}, 0) for file in files if file.snapshot
        ]
    if kind not in BINARY:
        return []
    if not files[0].found:
        table = engine_files.gathered(engine, kind, files[:1], where)
        return [Footer({name: pa.null() for name in table.columns}, 0)]
    is_near = engine.sees_local_files or is_local(files[0].path)
    return footers.footers(files if is_near else files[:1], kind, where)


def _refuse_folders(files: Sequence[File], where: str) -> None:
    """InputError if folders give different columns, or two that are alike but for their case."""
    keys = {tuple(dict(file.partition)): file.path for file in files}
    if len(keys) > 1:
        (first, *_, last) = keys.values()
        raise InputError(
            f"{where}: folders that give different columns, e.g. {first} and {last}; name them alike, column=value"
        )
    for given, path in keys.items():
        refuse_alike(given, f"{where}: the folders of {path}")


def _with_runs(
    files: list[File], shape: Shape, config: ResultsConfig
) -> tuple[list[File], list[str], tuple[tuple[str | None, str], ...]]:
    """The files with the names of their runs, where files name them; what is said of it; and the runs of folders."""
    column, dataset = shape.columns.get("run", "run"), shape.columns.get("dataset", "dataset")
    if config.run is not None:
        return files, [], run_names.of_files(files, None, dataset)
    if config.run_from == "column" and "run" not in shape.has:
        raise InputError(
            f"results: run_from is column, and {files[0].path} has no column {column}; map it, or name runs by files"
        )
    if config.run_from != "file" and "run" in shape.has:
        return files, [], run_names.of_files(files, column, dataset)
    named = run_names.named_by_file(files, column, "results")
    names = list(dict.fromkeys(dict(file.partition)[column] for file in named))
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    notes = [f"runs are named by their files: {names[0]}{more}"]
    return named, notes, run_names.of_files(named, column, dataset)


def _doubtful_run(shape: Shape, config: TableConfig, files: Sequence[File]) -> str | None:
    return aliases.doubtful_run(shape.columns, config.columns, [name for name, _ in files[0].partition])


def _named(table: DataFrame, shape: Shape, config: TableConfig, schema: StructType, where: str) -> DataFrame:
    """The schema's columns under the schema's names, of an array of structs as arrays."""
    refuse_alike(table.columns, where)
    if "doc_id" in schema.names and "doc_id" not in config.columns:
        table = unpacked(table, schema.names, where)
    names = _names_in(table.columns, shape, config, schema, where)
    return table.select(*(F.col(quoted(theirs)).alias(ours) for ours, theirs in names.items()))


def _names_in(has: Sequence[str], shape: Shape, config: TableConfig, schema: StructType, where: str) -> dict[str, str]:
    """What a table with these columns calls those of the schema that it has; InputError where needed ones lack."""
    known = ", ".join(named_by_user(has))
    absent = [f"{name} = {source!r}" for name, source in config.columns.items() if source not in has]
    if absent:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {known}; correct it"
        )
    sources = {field.name: shape.columns.get(field.name, field.name) for field in schema}
    refuse_other(has, sources.values(), where)
    kept = {ours: theirs for ours, theirs in sources.items() if theirs in has}
    if not kept:
        raise InputError(
            f"{where}: none of {', '.join(sources.values())} is a column; it has {known}; map names in the "
            "configuration with columns, or name its format"
        )
    lost = [name for name in ("query_id", "doc_id") if name in sources and name not in kept]
    if lost:
        raise missing_columns(lost, named_by_user(has), where)
    return kept
