"""JSON lines with lists: the documents of a query in their order, and their scores or grades beside them."""

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs import strict_json
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.strict_json import DECODER, Members, Row
from ndcg_spark.schemas import UNEQUAL

#: The columns that have a value for each document of the list.
_OF_DOCUMENTS = ("relevance", "score", "rank")


def list_batches(columns: Mapping[str, str], file: File, where: str) -> Iterator[pa.RecordBatch]:
    """One row per document of each line's list, under the names of the files; see `strict_json.batches`.

    `columns` are the keys of the lines, by our names. Where there is no rank among them, the position in the list is
    the rank, from 1. A line is broken as in `json_lines`, or if its lists differ in length; an empty list has no rows.

    Raises
    ------
    InputError
        The file is not UTF-8.
    OSError
        The file cannot be read.
    """
    system, place = file.located(where)
    compression = "gzip" if file.compressed else None
    names = [*columns.values(), *([] if "rank" in columns else ["rank"])]
    with io.TextIOWrapper(
        system.open_input_stream(place, compression=compression), encoding="utf-8-sig", newline="\n"
    ) as text:
        rows = (
            row for line in text if line.strip(" \t\r\n\f") for row in _rows(columns, names, line.strip(" \t\r\n\f"))
        )
        try:
            yield from strict_json.batches(names, rows)
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error


def _rows(columns: Mapping[str, str], names: Sequence[str], line: str) -> Iterator[Row]:
    try:
        members: Any = DECODER.decode(line)
    except (ValueError, RecursionError):
        members = None
    # Of a key that is repeated, the last value counts.
    row = dict(members) if isinstance(members, Members) else {}
    documents = row.get(columns["doc_id"])
    beside = {name: row.get(columns[name]) for name in _OF_DOCUMENTS if name in columns}
    lists = [value for value in (documents, *beside.values()) if value is not None]
    if not any(name in row for name in columns.values()) or any(type(value) is not list for value in lists):
        yield strict_json.broken(names, line)
        return
    if len({len(value) for value in lists}) > 1:
        yield strict_json.broken(names, line, UNEQUAL)
        return
    # A query without a list is a row without a document, which is refused; one with an empty list has no results.
    length = len(lists[0]) if lists else 1
    for at in range(length):
        values = [
            _at(row.get(column), at) if name in ("doc_id", *_OF_DOCUMENTS) else row.get(column)
            for name, column in columns.items()
        ]
        yield strict_json.row_of(names, [*values, *([] if "rank" in columns else [str(at + 1)])], line)


def _at(values: list[Any] | None, at: int) -> Any:
    return None if values is None else values[at]
