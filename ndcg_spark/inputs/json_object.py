"""One JSON object of all queries, {query: {document: grade or score}}, as BEIR, ranx and pytrec_eval write it.

Results may have their runs around it: {run: {query: {document: score}}}. The file is read a piece at a time, and of its
content only the documents of one query are kept in memory.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs import strict_json
from ndcg_spark.inputs.json_stream import JsonStream
from ndcg_spark.inputs.strict_json import Members
from ndcg_spark.inputs.text_blocks import Row


def json_columns(columns: Sequence[str], depth: int) -> list[str]:
    """The columns of an object of this depth, of those that a table has: the outermost key first."""
    value = "relevance" if "relevance" in columns else "score"
    return [*(["run"] if depth == 3 else []), "query_id", "doc_id", *([value] if value in columns else [])]


def rows(columns: Sequence[str], depth: int, text: TextIO, where: str) -> Iterator[Row]:
    """The values of an object of this depth as rows of `columns`, the outermost key first.

    A value that is neither text nor a number is a broken row, and so is what should be the documents of a query, or the
    queries of a run, and is not.

    Raises
    ------
    InputError
        The text is not one whole object of strict JSON. `where` is the table and the file, for this message.
    """
    stream = JsonStream(text)
    try:
        yield from _rows(columns, depth, stream, ())
        if stream.next():
            raise ValueError("there is more after its end")
    except (ValueError, RecursionError) as error:
        # Positions are those in what was read of it, which would mislead.
        said = error.msg if isinstance(error, json.JSONDecodeError) else first_line(error)
        reason = "its values nest too deep" if isinstance(error, RecursionError) else said
        raise InputError(f"{where} is not one whole JSON object, {reason}; write it again") from error


def _rows(columns: Sequence[str], depth: int, stream: JsonStream, outer: tuple[str, ...]) -> Iterator[Row]:
    for key in stream.members():
        if depth > 2 and stream.next() == "{":
            row = None
            for row in _rows(columns, depth - 1, stream, (*outer, key)):
                yield row
            # A run without documents would vanish.
            if row is None:
                yield strict_json.broken(columns, strict_json.shown(Members([(key, Members())])))
        else:
            yield from _of_query(columns, (*outer, key), stream.value())


def _of_query(columns: Sequence[str], keys: tuple[str, ...], documents: Any) -> Iterator[Row]:
    if not isinstance(documents, Members) or len(keys) + 2 < len(columns):
        yield strict_json.broken(columns, strict_json.shown(Members([(keys[-1], documents)])))
        return
    for document, value in documents:
        values = (*keys, document, value)
        if (value is None or isinstance(value, str)) and strict_json.is_whole(values):
            yield Row(values)
        else:
            inner = Members([(document, value)])
            yield strict_json.row_of(columns, values, strict_json.shown(Members([(keys[-1], inner)])))
