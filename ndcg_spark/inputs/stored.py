"""Reads files with types and tables with a log, in place if every engine can, or from a copy.

The libraries of Delta and Iceberg apply deleted rows and column mapping, and this process copies
the rows that they return. The engine reads a table of a catalog that it knows.
"""

import contextlib
import dataclasses
import functools
import importlib.util
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ndcg_spark import parquet_files
from ndcg_spark.config import TableConfig, moment
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError, InputError, about, first_line, within
from ndcg_spark.inputs import row_documents
from ndcg_spark.inputs.dataframes import document_rows, read_copy, read_files
from ndcg_spark.inputs.delimited import FEW
from ndcg_spark.inputs.files import (
    BINARY,
    TABLES,
    File,
    Listing,
    Snapshot,
    TableLogError,
    list_files,
    listed_files,
    map_files,
    refuse_log,
)
from ndcg_spark.inputs.memory import holds_structs, is_readable, plain_type
from ndcg_spark.inputs.mixed_types import as_type, common_type, is_list
from ndcg_spark.inputs.parquet_copy import (
    ParquetCopy,
    complete_table,
    refuse_other_value,
    write_copy,
    write_numbered_copy,
)
from ndcg_spark.inputs.reshape import Positions, Reshape
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.inputs.storage import (
    NoStorageError,
    delta_address,
    delta_options,
    is_local,
    reading,
    storage,
)
from ndcg_spark.inputs.stored_rows import StoredRows, copied_rows
from ndcg_spark.schemas import FAULT, RESULTS
from ndcg_spark.scratch import Scratch
from ndcg_spark.text import refuse_alike

_CATALOG = "table:"


class StoredTable(NamedTuple):
    """A table that the engine reads, and what is known about it."""

    table: DataFrame
    #: The number of its rows; None if it is unknown.
    rows: int | None
    #: The rows as this process reads them; None if it cannot open the files.
    stored: StoredRows | None
    #: Reads some of the files when a filter leaves few rows; None if that is not faster.
    lookup: Callable[[list[File]], DataFrame] | None = None
    #: Notes for the user on how its rows were read.
    notes: Sequence[str] = ()


class Footer(NamedTuple):
    """The columns of a file with their types, and its number of rows."""

    columns: dict[str, pa.DataType]
    rows: int = 0


def read_footers(engine: Engine, files: list[File], kind: str) -> list[Footer]:
    """Return the footers of files with types, or nothing for text.

    For remote files, and files that only the engine can open, it is only the first footer.
    """
    if kind in TABLES:
        return [_footer(file.snapshot.schema) for file in files if file.snapshot]
    if kind not in BINARY:
        return []
    if not files[0].storage:
        names = read_files(engine, files[:1]).columns
        return [Footer(dict.fromkeys(names, pa.null()))]
    is_near = engine.sees_local_files or is_local(files[0].path)
    return map_files(files if is_near else files[:1], lambda file: footer_of(file, kind))


def _footer(schema: pa.Schema, rows: int = 0) -> Footer:
    return Footer({field.name: field.type for field in schema}, rows)


def footer_of(file: File, kind: str) -> Footer:
    """Return the footer of a Parquet or ORC file. Raise InputError if it cannot be read."""
    from pyarrow import orc

    system, fs_path = file.location
    failures = (OSError, ValueError, pa.ArrowException)
    with reading(file.path, failures), system.open_input_file(fs_path) as stream:
        if kind == "orc":
            schema, rows = orc.ORCFile(stream).schema, 0
        else:
            schema, rows = parquet_files.read_footer(stream)
    with within(file.path):
        refuse_alike(schema.names)
    return _footer(schema, rows)


def _plain_types(
    footers: Sequence[Footer],
    wanted: Mapping[str, str],
    origin: str,
) -> dict[str, pa.DataType]:
    """Return the plain types of the columns that any file has.

    `wanted` has our name of each column that is wanted, such as `{"docno": "doc_id"}`. Raise
    InputError if no type fits the values of all files.
    """
    types = {}
    for column, ours in wanted.items():
        found = [footer.columns[column] for footer in footers if column in footer.columns]
        kind = common_type(ours, map(plain_type, found))
        if kind is None:
            names = " and ".join(map(str, dict.fromkeys(found)))
            sentence = f"files with different types: {column} is {names}; use one type"
            raise InputError(f"{origin}, {sentence}")
        if found:
            types[column] = kind
    return types


def _refuse_different_columns(
    files: Sequence[File], footers: Sequence[Footer], shape: Shape
) -> None:
    """Raise InputError if a file lacks a column that other files have and every row needs.

    The column would be null in its rows.
    """
    # Either a score or a rank is enough.
    for names in (["query_id"], ["doc_id"], ["relevance"], ["score", "rank"]):
        columns = [shape.columns.get(name, name) for name in names]
        lacking = []
        for file, footer in zip(files, footers, strict=True):
            known = {*footer.columns, *dict(file.partition)}
            if known.isdisjoint(columns):
                lacking.append(file.path)
        if lacking and len(lacking) < len(files):
            what = f"{lacking[0]}: no column {columns[0]}, which other files have"
            raise InputError(f"{what}; write the same columns in all files")


def read_typed(
    engine: Engine,
    files: list[File],
    shape: Shape,
    schema: pa.Schema,
    footers: Sequence[Footer],
    name: str,
) -> StoredTable:
    """Return the schema's columns of the files of the table `name`, and their number of rows.

    The number is None if it is unknown, or if rows have lists.
    """
    wanted = _struct_lists(footers)
    has_objects = bool(wanted) or shape.objects is not None
    for ours in schema.names:
        wanted[shape.columns.get(ours, ours)] = ours
    origin = files[0].path
    types = _plain_types(footers, wanted, origin)
    are_all_footers = len(footers) == len(files)
    if are_all_footers and not has_objects:
        _refuse_different_columns(files, footers, shape)
    if shape.is_reshaped:
        return _read_reshaped(engine, files, shape, schema, footers, name)

    def as_documents(table: DataFrame) -> DataFrame:
        with within(origin):
            return document_rows(table, shape.columns, schema)

    def lookup(some: list[File]) -> DataFrame:
        return as_documents(read_files(engine.for_lookups, some))

    original = None
    if all(file.storage for file in files):
        original = StoredRows(files, shape.columns, schema.names, name, origin)
    if _is_read_in_place(engine, files, shape, footers, types):
        documents = as_documents(read_files(engine, files))
        rows = None
        if are_all_footers and files[0].storage:
            rows = _rows_without_lists(documents, sum(footer.rows for footer in footers))
        return StoredTable(documents, rows, original, lookup)
    copy = _plain_copy(engine, shape, files, _copy_schema(files, types, wanted))
    documents = as_documents(read_copy(engine, copy))
    stored = original
    if shape.kind != "parquet":
        stored = copied_rows(copy.folder, shape.columns, schema.names, name, origin)
    return StoredTable(documents, _rows_without_lists(documents, copy.rows), stored)


def _rows_without_lists(documents: DataFrame, rows: int) -> int | None:
    """The number of rows, or None if a row may have had a list of documents."""
    return None if FAULT in documents.columns else rows


def _struct_lists(footers: Sequence[Footer]) -> dict[str, str]:
    """Return the columns with lists of structs, under their own names: {"hits": "hits"}."""
    found = {}
    for footer in footers:
        for column, kind in footer.columns.items():
            if holds_structs(kind):
                found[column] = column
    return found


def _read_reshaped(
    engine: Engine,
    files: list[File],
    shape: Shape,
    schema: pa.Schema,
    footers: Sequence[Footer],
    name: str,
) -> StoredTable:
    """Return the same as `read_typed` for files that first have to become rows of documents."""
    origin = files[0].path
    wanted = _columns_of_files(shape, schema.names)
    types = _plain_types(footers, wanted, origin)
    copy_schema = _copy_schema(files, types, wanted)
    # In the copy, fields of objects are columns under our names.
    columns = {ours: theirs for ours, theirs in shape.columns.items() if ours not in shape.paths}
    positions = None
    if shape.is_ordered:
        has = {*copy_schema.names, *shape.paths}
        keys = [columns.get(ours, ours) for ours in shape.list_key]
        positions = Positions([key for key in keys if key in has])
    document = columns.get("doc_id", "doc_id")
    reshape = Reshape(shape.objects, document, shape.separator_of_ids, positions)
    copy = _plain_copy(engine, shape, files, copy_schema, reshape)
    if positions is not None:
        schema = schema.append(RESULTS.field("rank"))
    stored = copied_rows(copy.folder, columns, schema.names, name, origin)
    with within(origin):
        documents = document_rows(read_copy(engine, copy), columns, schema)
    rows = _rows_without_lists(documents, copy.rows)
    notes = [] if positions is None else positions.notes(files)
    return StoredTable(documents, rows, stored, notes=notes)


def _columns_of_files(shape: Shape, names: Sequence[str]) -> dict[str, str]:
    """Return the columns of the files that are needed for ours, each with our name of it.

    The name is "" for a column of objects: {"hits": "", "topic": "query_id"}.
    """
    needed = {}
    for path in shape.paths.values():
        needed[path.partition(".")[0]] = ""
    for ours in names:
        if ours not in shape.paths:
            needed[shape.columns.get(ours, ours)] = ours
    return needed


def read_numbered(
    engine: Engine,
    files: list[File],
    shape: Shape,
    schema: pa.Schema,
    footers: Sequence[Footer],
    name: str,
) -> StoredTable:
    """Return the schema's columns of the table `name`, in which each row is a document."""
    wanted = {shape.columns.get(ours, ours): ours for ours in row_documents.COLUMNS}
    types = _plain_types(footers, wanted, files[0].path)
    _refuse_different_columns(files, footers, shape)
    copy_schema = _copy_schema(files, types, wanted)
    numbers = row_documents.RowNumbers("rank" in shape.has)
    copy = _plain_copy(engine, shape, files, copy_schema, numbers=numbers)
    stored = copied_rows(copy.folder, shape.columns, schema.names, name, files[0].path)
    documents = document_rows(read_copy(engine, copy), shape.columns, schema)
    return StoredTable(documents, copy.rows, stored)


def _copy_schema(
    files: Sequence[File], types: Mapping[str, pa.DataType], wanted: Collection[str]
) -> pa.Schema:
    """Return the schema of a copy with columns of these types and the wanted folder columns."""
    folders = {key: FEW for key, _ in files[0].partition if key in wanted}
    return pa.schema({**types, **folders})


def _is_read_in_place(
    engine: Engine,
    files: Sequence[File],
    shape: Shape,
    footers: Sequence[Footer],
    types: Mapping[str, pa.DataType],
) -> bool:
    """Whether every engine reads these files as they are. Otherwise they are copied in `types`."""
    if shape.kind != "parquet" or shape.in_both:
        return False
    if not engine.sees_local_files and any(_is_only_here(engine, file) for file in files):
        return False
    columns = footers[0].columns
    # Not every engine reads files with different columns or types.
    if any(footer.columns != columns for footer in footers):
        return False
    if not all(map(is_readable, columns.values())):
        return False
    # No engine hashes unsigned numbers.
    unsigned = [name for name, kind in columns.items() if pa.types.is_unsigned_integer(kind)]
    return types.keys().isdisjoint(unsigned)


def _is_only_here(engine: Engine, file: File) -> bool:
    """Whether an engine elsewhere cannot open the file. A cluster may share local paths."""
    return file.is_temporary or (engine.kind == "connect" and file.is_local)


def _plain_copy(
    engine: Engine,
    shape: Shape,
    files: Sequence[File],
    schema: pa.Schema,
    reshape: Reshape | None = None,
    numbers: row_documents.RowNumbers | None = None,
) -> ParquetCopy:
    """Write a copy of the files with this schema, reshaped or with numbered rows."""
    _refuse_times(schema, files[0].path)
    in_order = reshape is not None and reshape.positions is not None

    def to_table(batch: pa.RecordBatch, file: File) -> pa.Table:
        table = _batch_as_table(batch, file, shape, schema)
        return table if reshape is None else reshape.table(table, file)

    def batches(file: File) -> Iterator[pa.RecordBatch]:
        return _batches(file, schema.names, shape.kind, in_order=in_order)

    if numbers is not None:
        return write_numbered_copy(files, batches, to_table, schema, engine.scratch, numbers)
    written = schema
    if reshape is not None:
        written = reshape.table(schema.empty_table(), files[0]).schema
    return write_copy(files, batches, to_table, written, engine.scratch, in_order=in_order)


def _batch_as_table(batch: pa.RecordBatch, file: File, shape: Shape, schema: pa.Schema) -> pa.Table:
    """Return a batch of a file with the types of the schema and the columns of its folders."""
    for ours, theirs in shape.in_both.items():
        refuse_other_value(batch[theirs], ours, theirs, file)
    of_folders = {name: value for name, value in file.partition if name in schema.names}
    with reading(file.path):
        columns = {}
        for name in batch.schema.names:
            column = batch[name]
            # A folder's column replaces a column of the same name.
            if name not in of_folders:
                column = as_type(column, schema.field(name).type)
            columns[name] = column
        return complete_table(columns, len(batch), of_folders, schema)


def _refuse_times(schema: pa.Schema, origin: str) -> None:
    """Raise InputError for columns of dates, times or durations, which Spark reads as numbers."""
    wrong = []
    for field in schema:
        kind = field.type.value_type if is_list(field.type) else field.type
        if pa.types.is_temporal(kind):
            wrong.append(f"{field.name} is {field.type}")
    if wrong:
        what = f"{len(wrong)} column(s) of the wrong type, {', '.join(wrong)}"
        raise InputError(f"{origin}: {what}; write numbers or text")


def _batches(
    file: File, names: Sequence[str], kind: str, *, in_order: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the columns `names` of a file or of a table with a log."""
    # The library of each format raises its own errors.
    with reading(file.path, (Exception,)):
        if file.snapshot is not None:
            known = [name for name in file.snapshot.schema.names if name in names]
            yield from file.snapshot.scan(known)
            return
        system, path = file.location
        if in_order:
            yield from parquet_files.read_in_order(path, system, names, kind)
        else:
            yield from parquet_files.read_batches([path], system, names, kind)


def find(engine: Engine, config: TableConfig, table: str) -> list[File]:
    """Return the files of a table's paths.

    A table of Delta, Iceberg or a catalog is one file with a snapshot.
    """
    with about(table):
        listings = [_listing(engine, config, path) for path in config.path]
        files = listed_files(table, listings)
        _refuse_tables_among(files)
    without_versions = [file.path for file in files if file.snapshot is None]
    if config.as_of is not None and without_versions:
        version = f"the version {config.as_of} is given"
        what = f"{version}, but {without_versions[0]} is not a Delta or Iceberg table"
        raise ConfigurationError(f"{table}: {what}; leave it out")
    return files


def _refuse_tables_among(files: Sequence[File]) -> None:
    """Raise InputError if a table that only the engine reads is given with other files."""
    tables = [file.path for file in files if file.snapshot and file.snapshot.table is not None]
    if tables and len(files) > 1:
        what = f"{len(files)} tables, including {tables[0]}"
        raise InputError(f"{what}; give a table that the engine reads on its own")


def _listing(engine: Engine, config: TableConfig, path: str) -> Listing:
    """Return the files of a path, or one file that stands for a table or for the path itself."""
    if path.startswith(_CATALOG):
        return Listing(path, [_catalog_table(engine, path, config.as_of)])
    if Path(path).is_fifo():
        return _pipe_listing(engine.scratch, path)
    try:
        listing = _listing_here(engine, path)
    except TableLogError as log:
        if not _is_delta_table(engine, path, log):
            raise
        return Listing(path, [_delta(path, config.as_of)])
    if listing is not None:
        return listing
    # Only the engine can open the path, which then stands for all files below it.
    _refuse_logs_of_engine(engine, path)
    return Listing(path, [File(path, 0)])


def _listing_here(engine: Engine, path: str) -> Listing | None:
    """Return the files of a path as this process sees them; None if only the engine can see them.

    Raise NoStorageError for an unknown storage if the engine sees no more than this process.
    """
    try:
        listing = list_files(engine.addressed(path))
    except NoStorageError:
        if engine.sees_local_files:
            raise
        return None
    may_be_elsewhere = is_local(path) and not engine.sees_local_files
    if not listing.files and may_be_elsewhere:
        return None
    return listing


def _pipe_listing(scratch: Scratch, path: str) -> Listing:
    """Return the copy of a pipe."""
    listing = list_files(_pipe_copy(scratch, path))
    files = [dataclasses.replace(file, is_temporary=True) for file in listing.files]
    return listing._replace(files=files)


def _is_delta_table(engine: Engine, path: str, log: TableLogError) -> bool:
    """Whether the path is the folder of a Delta table that deltalake can read.

    deltalake returns the rows of a version. Its data files may still contain deleted rows.
    """
    if log.format != "delta" or not engine.sees_local_files:
        return False
    is_installed = importlib.util.find_spec("deltalake") is not None
    return is_installed and storage(path)[1].rstrip("/") == log.folder


def _refuse_logs_of_engine(engine: Engine, path: str) -> None:
    """Raise TableLogError if a folder that only the engine can open is a table with a log."""
    for name in ("_delta_log", "metadata/*.metadata.json"):
        with contextlib.suppress(PySparkException):
            files = engine.session.read.format("binaryFile").load(f"{path.rstrip('/')}/{name}")
            rows = files.select("path").take(1)
            refuse_log(row["path"] for row in rows)


@functools.lru_cache(maxsize=8)
def _pipe_copy(scratch: Scratch, path: str) -> str:
    """Copy a pipe, which can be read only once, such as /dev/stdin or the shell's <(zcat ...).

    Return the path of the copy.
    """
    copy = scratch.folder() / Path(path).name
    with Path(path).open("rb") as pipe, copy.open("wb") as target:
        shutil.copyfileobj(pipe, target, 1 << 20)
    return str(copy)


def _delta(path: str, as_of: int | str | None) -> File:
    """Return the latest version of a Delta table, or the one at the version or time `as_of`."""
    from deltalake import DeltaTable

    address = delta_address(path)
    # The library raises many kinds of errors, including Exception itself.
    with reading(path, (Exception,)):
        table = DeltaTable(address, storage_options=delta_options())
        if as_of is not None:
            table.load_as_version(as_of if isinstance(as_of, int) else moment(as_of))
        version = table.version()
        schema = pa.schema(table.schema().to_arrow())
        if isinstance(as_of, str):
            _refuse_time_before(path, as_of, version)

    def scan(names: list[str]) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(table.scan(columns=names))

    snapshot = Snapshot("delta", version, schema, scan)
    return File(address if is_local(path) else path, 0, snapshot=snapshot)


def _refuse_time_before(path: str, as_of: str, version: int) -> None:
    """Raise InputError if a time is before the first version, which deltalake then loads."""
    system, fs_path = storage(path)
    commit = system.get_file_info(f"{fs_path}/_delta_log/{version:020}.json")
    if commit.is_file and commit.mtime > moment(as_of):
        what = f"{path} has no version as of {as_of}"
        raise InputError(f"{what}, its first version is from {commit.mtime}")


def _catalog_table(engine: Engine, path: str, as_of: int | str | None) -> File:
    """Return a table of a catalog that the engine or pyiceberg is configured for."""
    name = path.removeprefix(_CATALOG)
    reason: object = "only pyiceberg reads a version of it; make a view of that version"
    # Some engines ignore a version and read the table as it is now.
    if as_of is None:
        try:
            table = engine.session.read.table(name)
            # Connect does not look for the table before its schema is needed.
            _ = table.schema
        except PySparkException as error:
            reason = first_line(error)
        else:
            return File(path, 0, snapshot=Snapshot(path, None, table=table))
    catalog, _, table_name = name.partition(".")
    if table_name and importlib.util.find_spec("pyiceberg"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.utils.config import Config

        with reading(path, (Exception,)):
            settings = Config().get_catalog_config(catalog)
            if settings is not None:
                with load_catalog(catalog, **settings) as opened:
                    return _iceberg(opened.load_table(table_name), path, as_of)
    raise InputError(f"no catalog table {name}, {reason}; check its name")


def _iceberg(table: Any, path: str, as_of: int | str | None) -> File:
    """Return the current version of an Iceberg table, or that at the snapshot or time `as_of`."""
    if as_of is None:
        snapshot = table.current_snapshot()
    elif isinstance(as_of, int):
        snapshot = table.snapshot_by_id(as_of)
    else:
        snapshot = table.snapshot_as_of_timestamp(int(moment(as_of).timestamp() * 1000))
    if snapshot is None and as_of is not None:
        raise InputError(f"{path} has no snapshot as of {as_of}; name a different one")
    scan = table.scan(snapshot_id=snapshot.snapshot_id if snapshot else None)

    def read(names: list[str]) -> pa.RecordBatchReader:
        return scan.select(*names).to_arrow_batch_reader()

    schema = scan.projection().as_arrow()
    return File(path, 0, snapshot=Snapshot("iceberg", scan.snapshot_id, schema, read))
