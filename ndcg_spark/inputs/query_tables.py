"""Attributes and weights of queries from storage, read in this process."""

import pyarrow as pa
from pyarrow import csv, fs, json
from pyarrow import dataset as ds

from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.column_names import of_attributes, resolve
from ndcg_spark.inputs.files import TableLogError, files_of, format_of
from ndcg_spark.inputs.storage import NoStorageError
from ndcg_spark.text import masked


def read_query_table(config: TableConfig, where: str) -> pa.Table | None:
    """The rows of the files, all columns under our names or their own; of text files, every value is text.

    None for what an engine reads: tables with a log, tables of a catalog, and what this process cannot open.

    Raises
    ------
    InputError
        A file is missing or damaged, or has an unknown format.
    """
    if any(path.startswith("table:") for path in config.path):
        return None
    try:
        files = [file for path in config.path for file in files_of(path, where)]
    except (TableLogError, NoStorageError):
        return None
    kind = format_of(files, config.format, where)
    if kind == "trec":
        raise InputError(
            f"{where}: {files[0].path} has no ending of a format; it is one of .csv, .tsv, .jsonl, .parquet, .orc"
        )
    tables = []
    for file in files:
        rows = _read(*file.location(where), kind, where)
        for key, value in file.partition:
            if key not in rows.column_names:
                rows = rows.append_column(key, pa.array([value] * len(rows), pa.string()))
        tables.append(rows)
    table = pa.concat_tables(tables, promote_options="permissive")
    has = table.column_names
    if {"attribute", "value"} & {*config.names}:
        ours = of_attributes(config.columns, has, where)
    else:
        ours = resolve(config.columns, config.names, has, where)
    absent = [f"{name} = {theirs!r}" for name, theirs in config.columns.items() if theirs not in has]
    if absent:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {', '.join(has)}"
        )
    names = {theirs: name for name, theirs in ours.items()}
    return table.rename_columns([names.get(name, name) for name in has])


def _read(system: fs.FileSystem, path: str, form: str, where: str) -> pa.Table:
    try:
        if form in ("parquet", "orc"):
            return ds.dataset(path, filesystem=system, format=form).to_table()
        with system.open_input_stream(path) as stream:
            if form == "jsonl":
                return json.read_json(stream)
            parse = csv.ParseOptions(delimiter="," if form == "csv" else "\t", newlines_in_values=True)
            names = csv.open_csv(stream, parse_options=parse).schema.names
        kinds = dict.fromkeys(names, pa.string())
        convert = csv.ConvertOptions(column_types=kinds, strings_can_be_null=True, null_values=[""])
        with system.open_input_stream(path) as stream:
            return csv.read_csv(stream, parse_options=parse, convert_options=convert)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise InputError(f"{where}: {masked(path)} cannot be read, {first_line(error)}; correct it") from error
