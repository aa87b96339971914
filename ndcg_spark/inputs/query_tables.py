"""Reads and validates attributes and weights of queries in this process, without an engine."""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, json

from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError, about, first_line, within
from ndcg_spark.inputs.column_names import is_alias, resolve_columns
from ndcg_spark.inputs.delimited import separator_of, single_blanks, valid_lines
from ndcg_spark.inputs.files import BINARY, File, Listing, file_format, list_files, listed_files
from ndcg_spark.inputs.headers import BLANKS, blank_fields, mapped_separator
from ndcg_spark.inputs.mixed_types import concatenated
from ndcg_spark.inputs.quotes import Quotes, header_of
from ndcg_spark.inputs.storage import reading
from ndcg_spark.parquet_files import read_batches
from ndcg_spark.schemas import QUERY_WEIGHTS
from ndcg_spark.text import refuse_alike, rename_advice

#: More slices than this are refused, because they cannot be kinds of queries.
MAX_SLICES = 1_000
#: How many characters are searched for a table's header.
_HEAD = 1 << 16
#: Columns whose values are on one line; other columns may have line breaks.
_KEYS = ("dataset", "query_id", "doc_id", "weight")
#: The Arrow types of ids, by their names.
_ID_TYPE = re.compile(r"(large_)?string|u?int\d+|null|decimal\d+\(\d+, 0\)")
#: The range of a weight. The squares of weights outside it are 0 or infinite, and so are the
#: quotients of their sums.
MIN_WEIGHT = 1e-100
MAX_WEIGHT = 1e100
#: The columns of a table with one row per attribute of a query.
_PAIR = ("attribute", "value")


class QueryTables(NamedTuple):
    """What is known about queries: the tables QUERY_ATTRIBUTES and QUERY_WEIGHTS, or None."""

    attributes: pa.Table | None = None
    weights: pa.Table | None = None


def read_query_table(config: TableConfig, table: str, has_prose: bool = False) -> pa.Table:
    """Return the rows of the files of `table`, with all columns under our names or their own.

    Columns from CSV are text. With `has_prose`, quoted text may contain lines that look like rows.
    """
    with about(table):
        files = listed_files(table, _listings(config))
        return _rows_of(files, config, has_prose)


def _listings(config: TableConfig) -> list[Listing]:
    """Return each path's files. Raise InputError for a table or a version of one."""
    if config.as_of is not None or any(path.startswith("table:") for path in config.path):
        what = f"{config.path[0]} is a table or a version of one"
        raise InputError(f"{what}; write its rows as Parquet")
    return [list_files(path) for path in config.path]


def _rows_of(files: Sequence[File], config: TableConfig, has_prose: bool) -> pa.Table:
    """Return the rows of all files, under our names. Raise InputError if they cannot be read."""
    kind = file_format(files, config.format)
    origin = files[0].path
    mapped = config.columns.values()
    # With the user's names, a header is found in text with any file extension.
    if kind == "json" or (kind == "trec" and not mapped):
        raise InputError(
            f"{origin} has no known file extension; use .csv, .tsv, .jsonl, .parquet or .orc"
        )
    with reading(origin):
        table = concatenated(_read(file, kind, mapped, has_prose) for file in files)
    has = table.column_names
    ours_by_theirs = {}
    for ours, theirs in resolve_columns(config.columns, config.names, has).items():
        if theirs not in has:
            raise InputError(f"{origin} has no column {theirs}; it has {', '.join(has)}")
        ours_by_theirs[theirs] = ours
    return table.rename_columns([ours_by_theirs.get(name, name) for name in has])


def _read(file: File, kind: str, mapped: Collection[str], has_prose: bool) -> pa.Table:
    """Return the rows of a file with the columns of its folders; `mapped` are the user's names."""
    if kind in BINARY:
        system, fs_path = file.location
        rows = read_batches([fs_path], system, kind=kind).read_all()
    else:
        with file.open() as stream:
            text = bytes(stream.read())
        if kind == "jsonl":
            rows = json.read_json(pa.BufferReader(text))
        else:
            with within(file.path):
                rows = _read_delimited(text, kind, mapped, has_prose)
    for key, value in file.partition:
        if key not in rows.column_names:
            rows = rows.append_column(key, pa.array([value] * len(rows), pa.string()))
    return rows


def _read_delimited(
    text: bytes,
    kind: str,
    mapped: Collection[str],
    has_prose: bool,
) -> pa.Table:
    """Return the rows of CSV or TSV, all as text. The `mapped` columns have no line breaks."""
    block, broken = valid_lines(text.removeprefix("\ufeff".encode()))
    if broken:
        what = f"{len(broken):,} line(s) are not UTF-8, e.g. {broken[0][:100]!r}"
        raise InputError(f"{what}; save it as UTF-8")
    lines = block.decode()
    separator = _separator(lines, kind, mapped)
    if separator == BLANKS:
        return _blank_separated(lines)
    header = header_of(lines, separator)
    names = header.names
    if names is None:
        raise _malformed_error([header.text])
    refuse_alike(names)
    quotes = Quotes(
        separator,
        len(names),
        ids=_positions_of_keys(names, mapped),
        is_literal=header.is_literal,
        keeps_breaks=True,
        has_prose=has_prose,
    )
    below_header = lines[len(header.text) + 1 :].encode()
    parts = list(quotes.rows([below_header]))
    broken = list(itertools.chain(*(part.broken for part in parts)))
    if broken:
        raise _malformed_error(broken)
    # pyarrow needs at least an empty line.
    rows = b"".join(part.block for part in parts) or b"\n"
    kinds = dict.fromkeys(names, pa.string())
    return csv.read_csv(
        pa.BufferReader(rows),
        csv.ReadOptions(column_names=names, block_size=len(text) + 2),
        csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        csv.ConvertOptions(column_types=kinds, strings_can_be_null=True, null_values=[""]),
    )


def _positions_of_keys(names: Sequence[str], mapped: Collection[str]) -> frozenset[int]:
    """Return the positions of the columns without line breaks, from 0."""
    positions = set()
    for position, name in enumerate(names):
        if name in mapped or any(is_alias(key, name) for key in _KEYS):
            positions.add(position)
    return frozenset(positions)


def _separator(lines: str, kind: str, mapped: Collection[str]) -> str:
    """Return the separator of the names in the first line. Raise InputError if it has no names."""
    first = lines.partition("\n")[0]
    own = separator_of(kind, first) if kind != "trec" else ""
    separator = mapped_separator(lines[:_HEAD], first, mapped, own) or own
    if not separator:
        what = f"the first line {first[:200]!r} has none of the names {', '.join(mapped)}"
        to_do = "correct the names, or give the file a .csv or .tsv extension"
        raise InputError(f"{what}; {to_do}")
    return separator


def _blank_separated(lines: str) -> pa.Table:
    """Return the rows of text that has blanks between its fields, and no quotes."""
    header, _, rest = lines.partition("\n")
    names = blank_fields(header)
    refuse_alike(names)
    block, separator = single_blanks(rest.encode())
    broken: list[str] = []

    def skip(row: csv.InvalidRow) -> str:
        broken.append(row.text)
        return "skip"

    rows = csv.read_csv(
        pa.BufferReader(block or b"\n"),
        csv.ReadOptions(column_names=names, block_size=len(block) + 2),
        csv.ParseOptions(delimiter=separator, quote_char=False, invalid_row_handler=skip),
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    if broken:
        what = f"{len(broken):,} line(s) do not have the {len(names)} fields of the first line"
        raise InputError(f"{what}, e.g. {broken[0][:100]!r}; write CSV if values have blanks")
    return rows


def _malformed_error(lines: Sequence[str]) -> InputError:
    """Return the error for lines with malformed quotes."""
    return InputError(
        f"{len(lines):,} line(s) with an unclosed quote, or with text after a closing quote, "
        f"e.g. {lines[0][:100]!r}; correct them, and double each quote within quotes"
    )


def attribute_rows(table: pa.Table) -> pa.Table:
    """Return the rows of QUERY_ATTRIBUTES, from such rows or from one column for each attribute.

    A null in a column of an attribute adds no row.
    """
    with about("query_attributes"):
        return _attribute_rows(table)


def _attribute_rows(table: pa.Table) -> pa.Table:
    has = table.column_names
    attributes = [name for name in has if name not in ("dataset", "query_id")]
    pair_names = [name for name in _PAIR if name in attributes]
    has_pair = len(pair_names) == len(_PAIR)
    has_half_a_pair = len(pair_names) == 1
    if "query_id" not in has or not attributes or has_half_a_pair:
        missing = [name for name in ("query_id", *_PAIR) if name not in has]
        wide = "query_id and one column for each attribute, named after it"
        rename = rename_advice(missing[:1], has)
        to_do = f"give query_id, attribute and value, or {wide}; {rename}"
        raise InputError(f"it has {', '.join(has)}; {to_do}")
    keys = {}
    for name in ("dataset", "query_id"):
        if name in has:
            keys[name] = column(table, name, pa.string())
    _refuse_empty(pa.table(keys))
    if has_pair:
        pair = {name: table[name].cast(pa.string()) for name in _PAIR}
        rows = pa.table({**keys, **pair})
    else:
        rows = _one_row_per_attribute(table, keys, attributes)
    _refuse_empty_or_repeated(rows, ["query_id", *_PAIR])
    slices = rows.group_by([*_PAIR]).aggregate([]).sort_by("attribute")
    if len(slices) > MAX_SLICES:
        example = f"{slices['attribute'][0]}={slices['value'][0]}"
        raise InputError(f"{len(slices):,} slices, e.g. {example}, more than {MAX_SLICES:,}")
    return rows


def _one_row_per_attribute(
    table: pa.Table, keys: Mapping[str, pa.ChunkedArray], attributes: Sequence[str]
) -> pa.Table:
    """Return a row for each value in the columns `attributes`, with its query in `keys`."""
    parts = []
    for name in attributes:
        names = pa.repeat(name, len(table))
        part = {**keys, "attribute": names, "value": table[name].cast(pa.string())}
        parts.append(pa.table(part))
    return pa.concat_tables(parts).filter(pc.field("value").is_valid())


def weight_rows(table: pa.Table) -> pa.Table:
    """Return the rows of QUERY_WEIGHTS from a table.

    Raise InputError for an empty cell, a repeated query, or a weight outside its range.
    """
    with about("query_weights"):
        return _weight_rows(table)


def _weight_rows(table: pa.Table) -> pa.Table:
    has = table.column_names
    missing = [name for name in ("query_id", "weight") if name not in has]
    if missing:
        advice = rename_advice(missing, has)
        raise InputError(f"it has {', '.join(has)}; give query_id and weight; {advice}")
    fields = [field for field in QUERY_WEIGHTS if field.name in has]
    rows = pa.table({field.name: column(table, field.name, field.type) for field in fields})
    _refuse_empty_or_repeated(rows, ["query_id"])
    weights = np.asarray(rows["weight"])
    is_good = (weights >= MIN_WEIGHT) & (weights <= MAX_WEIGHT)
    bad = np.flatnonzero(~is_good).tolist()
    if bad:
        what = f"{len(bad):,} weight(s) are not numbers from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}"
        example = f"query_id={rows['query_id'][bad[0]]}"
        raise InputError(f"{what}, e.g. for {example}; correct them")
    return rows


def column(table: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column in this type. Raise InputError if its values do not fit."""
    values = table[name]
    if pa.types.is_dictionary(values.type):
        # These are pandas categories.
        values = values.cast(values.type.value_type)
    own = values.type
    if pa.types.is_string(kind) and not _ID_TYPE.fullmatch(str(own)):
        raise InputError(f"{name} is {own}; ids are text or whole numbers")
    try:
        # pandas writes a date as a time, which is cut off.
        return values.cast(kind, safe=not pa.types.is_timestamp(own))
    except pa.ArrowException as error:
        what = f"{name} is not {kind}, {first_line(error)}"
        raise InputError(f"{what}; write decimals with a point") from None


def _refuse_empty(table: pa.Table) -> None:
    """Raise InputError for a cell that is null or empty."""
    for name in table.column_names:
        is_empty = pc.fill_null(pc.equal(table[name].cast(pa.string()), ""), True)
        count = pc.sum(is_empty).as_py()
        if count:
            what = f"{count:,} row(s) with an empty {name}"
            raise InputError(f"{what}; leave out rows without one")


def _refuse_empty_or_repeated(table: pa.Table, key: Sequence[str]) -> None:
    """Raise InputError for an empty cell, or for two rows with the same dataset and `key`."""
    _refuse_empty(table)
    names = [name for name in ("dataset", *key) if name in table.column_names]
    counted = table.group_by(names).aggregate([([], "count_all")])
    if len(counted) < len(table):
        most_often_first = counted.sort_by([("count_all", "descending")])
        example = most_often_first["query_id"][0]
        repeated = len(table) - len(counted)
        what = f"{repeated:,} row(s) repeat the {' and '.join(key)} of another row"
        raise InputError(f"{what}, e.g. query_id={example}; remove them")
