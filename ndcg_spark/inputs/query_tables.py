"""Attributes and weights of queries from storage: read in this process, by an engine only what it alone can read."""

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import csv, json
from pyarrow import dataset as ds

from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.column_names import attribute_columns, resolve
from ndcg_spark.inputs.files import BINARY, File, TableLogError, file_format, list_files
from ndcg_spark.inputs.storage import NoStorageError

if TYPE_CHECKING:
    from ndcg_spark.engine import Engine


def read_query_table(config: TableConfig, where: str, engine: "Engine | None" = None) -> pa.Table | None:
    """The rows of the files, all columns under our names or their own; of CSV and TSV, every value is text.

    None without an engine for what needs one to be found: tables with a log or of a catalog, and storage that this
    process cannot open. InputError for a file that is missing or damaged, or has an unknown format.
    """
    if engine is not None:
        from ndcg_spark.inputs import lakehouse

        files = lakehouse.find(engine, config, config.path, where)
    elif config.as_of is not None or any(path.startswith("table:") for path in config.path):
        return None
    else:
        try:
            files = [file for path in config.path for file in list_files(path, where)]
        except (TableLogError, NoStorageError):
            return None
    kind = file_format(files, config.format, where)
    if kind == "trec":
        raise InputError(
            f"{where}: {files[0].path} has no ending of a format; it is one of .csv, .tsv, .jsonl, .parquet, .orc"
        )
    try:
        table = pa.concat_tables((_read(file, kind, engine, where) for file in files), promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(f"{where}: files with different columns, {first_line(error)}; write them alike") from error
    has = table.column_names
    if {"attribute", "value"} & {*config.names}:
        ours = attribute_columns(config.columns, has, where)
    else:
        ours = resolve(config.columns, config.names, has, where)
    if absent := [f"{name} = {theirs!r}" for name, theirs in config.columns.items() if theirs not in has]:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {', '.join(has)}"
        )
    names = {theirs: name for name, theirs in ours.items()}
    return table.rename_columns([names.get(name, name) for name in has])


def _read(file: File, kind: str, engine: "Engine | None", where: str) -> pa.Table:
    """The rows of a file, with the values of its folders."""
    if engine is not None and file.snapshot and file.snapshot.table is not None:
        return file.snapshot.table.toArrow()
    try:
        if file.snapshot:
            return pa.Table.from_batches(file.snapshot.scan(file.snapshot.schema.names), file.snapshot.schema)
        if engine is not None and not file.storage:
            from ndcg_spark.inputs.engine_files import read_files

            return read_files(engine, [file], where).toArrow()
        rows = _rows(file, kind, where)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; correct it") from error
    for key, value in file.partition:
        if key not in rows.column_names:
            rows = rows.append_column(key, pa.array([value] * len(rows), pa.string()))
    return rows


def _rows(file: File, kind: str, where: str) -> pa.Table:
    system, fs_path = file.location(where)
    if kind in BINARY:
        return ds.dataset(fs_path, filesystem=system, format=kind).to_table()
    if kind == "jsonl":
        with file.open(where) as stream:
            return json.read_json(stream)
    parse = csv.ParseOptions(delimiter="," if kind == "csv" else "\t", newlines_in_values=True)
    with file.open(where) as stream:
        names = csv.open_csv(stream, parse_options=parse).schema.names
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
    )
    with file.open(where) as stream:
        return csv.read_csv(stream, parse_options=parse, convert_options=convert)
