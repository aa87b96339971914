"""Attributes and weights of queries from storage, read in this process."""

from collections.abc import Sequence
from pathlib import PurePosixPath

import pyarrow as pa
from pyarrow import csv, fs, json
from pyarrow import dataset as ds

from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.column_names import of_attributes, resolve
from ndcg_spark.inputs.storage import storage
from ndcg_spark.text import masked

_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
_ENDINGS |= {".parquet": "parquet", ".orc": "orc"}


def is_read_here(config: TableConfig) -> bool:
    """Whether these are plain files; an engine reads tables with a log, tables of a catalog, and globs."""
    engines = any(path.startswith(("table:", "delta:", "iceberg:")) or {*"*?["} & {*path} for path in config.path)
    return not engines and config.format in (None, *_ENDINGS.values())


def read_query_table(config: TableConfig, where: str) -> pa.Table:
    """The rows of the files, all columns under our names or their own; of text files, every value is text.

    Raises
    ------
    InputError
        A file is missing or damaged, or has an unknown format.
    """
    tables = [
        _read(system, path, config.format or _format(path, where), where)
        for given in config.path
        for system, path in _files(given, where)
    ]
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


def _files(path: str, where: str) -> Sequence[tuple[fs.FileSystem, str]]:
    """The files at a path: itself, or all files of a folder that are not hidden."""
    system, place = storage(path, where)
    info = system.get_file_info(place)
    if info.type == fs.FileType.Directory:
        found = (each.path for each in system.get_file_info(fs.FileSelector(place, recursive=True)) if each.is_file)
        files = sorted(each for each in found if not PurePosixPath(each).name.startswith((".", "_")))
    else:
        files = [place] if info.is_file else []
    if not files:
        raise InputError(f"{where}: no file at {masked(path)}; check the path")
    return [(system, file) for file in files]


def _format(path: str, where: str) -> str:
    suffix = PurePosixPath(path.lower().removesuffix(".gz")).suffix
    if suffix not in _ENDINGS:
        raise InputError(f"{where}: {masked(path)} has no ending of a format; it is one of {', '.join(_ENDINGS)}")
    return _ENDINGS[suffix]


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
