"""One JSON object of all queries, {query: {document: grade or score}}, as BEIR, ranx and pytrec_eval write it.

Results may have their runs around it: {run: {query: {document: score}}}. The file is read a piece at a time, and of its
content only the documents of one query are kept in memory.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from ndcg_spark.inputs.strict_json import JsonStream, Members, broken, fault_of, is_text, refused_unless_whole, shown
from ndcg_spark.inputs.text_blocks import Row


def columns_of_object(names: Sequence[str], depth: int) -> list[str]:
    """The columns of an object of this depth, of the `names` that a table has: the outermost key first."""
    value = "relevance" if "relevance" in names else "score"
    return [*(["run"] if depth == 3 else []), "query_id", "doc_id", *([value] if value in names else [])]


def rows(columns: Sequence[str], depth: int, text: TextIO, where: str) -> Iterator[Row]:
    """The values of an object of this depth as rows of `columns`, the outermost key first.

    A value that is neither text nor a number is a broken row. So is anything else in place of a query's documents or a
    run's queries. InputError if the text is not one whole object; `where` is the table and the file.
    """
    stream = JsonStream(text)
    with refused_unless_whole(where):
        yield from _rows(columns, depth, stream, ())
        if stream.next():
            raise ValueError("there is more text after its end")


def _rows(columns: Sequence[str], depth: int, stream: JsonStream, outer: tuple[str, ...]) -> Iterator[Row]:
    for key in stream.members():
        if depth > 2 and stream.next() == "{":
            row = None
            for row in _rows(columns, depth - 1, stream, (*outer, key)):
                yield row
            # A run without documents would vanish.
            if row is None:
                yield broken(columns, shown(Members([(key, Members())])))
        else:
            yield from _of_query(columns, (*outer, key), stream.value())


def _of_query(columns: Sequence[str], keys: tuple[str, ...], documents: Any) -> Iterator[Row]:
    if not isinstance(documents, Members) or len(keys) + 2 < len(columns):
        yield broken(columns, shown(Members([(keys[-1], documents)])))
        return
    for member in documents:
        values = (*keys, *member)
        # Most values are text, for which this is quicker.
        fault = None if isinstance(member[1], str) and is_text(values) else fault_of(values)
        yield broken(columns, shown(Members([(keys[-1], Members([member]))])), fault) if fault else Row(values)
