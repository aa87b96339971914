"""Attributes and weights of queries from storage, read in this process."""

import pyarrow as pa
from pyarrow import csv, json
from pyarrow import dataset as ds

from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.column_names import of_attributes, resolve
from ndcg_spark.inputs.files import BINARY, TABLES, File, TableLogError, files_of, format_of
from ndcg_spark.text import masked


def read_query_table(config: TableConfig, where: str) -> pa.Table | None:
    """The rows of the files, all columns under our names or their own; of text files, every value is text.

    None for a table of a catalog or with a log, which an engine reads. InputError for a file that is missing or
    damaged, or whose name has no ending of a format, and for a mapped column that is missing.
    """
    named = any(path.startswith(("table:", *(f"{kind}:" for kind in TABLES))) for path in config.path)
    if named or config.format in TABLES:
        return None
    try:
        files = [file for path in config.path for file in files_of(path, where)]
    except TableLogError:
        return None
    kind = format_of(files, config.format, where)
    table = pa.concat_tables([_read(file, kind, where) for file in files], promote_options="permissive")
    has = table.column_names
    absent = [f"{name} = {theirs!r}" for name, theirs in config.columns.items() if theirs not in has]
    if absent:
        raise InputError(f"{where}: no column for columns.{absent[0]}; it has {', '.join(has)}")
    if "attribute" in config.names:
        ours = of_attributes(config.columns, has, where)
    else:
        ours = resolve(config.columns, config.names, has, where)
    names = {theirs: name for name, theirs in ours.items()}
    return table.rename_columns([names.get(name, name) for name in has])


def _read(file: File, kind: str, where: str) -> pa.Table:
    if kind not in (*BINARY, "csv", "tsv", "jsonl"):
        raise InputError(f"{where}: {masked(file.path)} has no ending of a format, such as .csv or .parquet")
    system, path = file.location(where)
    try:
        if kind in BINARY:
            return ds.dataset(path, filesystem=system, format=kind).to_table()
        with system.open_input_stream(path) as stream:
            if kind == "jsonl":
                return json.read_json(stream)
            parse = csv.ParseOptions(delimiter="," if kind == "csv" else "\t", newlines_in_values=True)
            names = csv.open_csv(stream, parse_options=parse).schema.names
        kinds = dict.fromkeys(names, pa.string())
        convert = csv.ConvertOptions(column_types=kinds, strings_can_be_null=True, null_values=[""])
        with system.open_input_stream(path) as stream:
            return csv.read_csv(stream, parse_options=parse, convert_options=convert)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise InputError(f"{where}: {masked(file.path)} cannot be read, {first_line(error)}; correct it") from error
