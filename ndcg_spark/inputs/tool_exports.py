"""JSON that search tools export: judgment lists of OpenSearch and Quepid, and query logs of UBI.

They are known by the keys of these tools, never by their values. What OpenSearch keeps may be as it was sent, as a
search returns it, or one document after another, with or without the lines of a bulk request between them.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.strict_json import JsonStream, Members, broken, fault_of, refused_unless_whole, shown
from ndcg_spark.inputs.text_blocks import Row

#: The columns of the rows, by table.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "judgments": ("query_id", "doc_id", "relevance"),
    "results": ("query_id", "doc_id", "rank"),
}
#: The key of the array in a judgment list of OpenSearch, in a case of Quepid, and in a book of Quepid.
_LIST, _CASE, _BOOK = "judgmentRatings", "queries", "query_doc_pairs"
#: The key of a query's documents in UBI, in their order.
_HITS = "query_response_hit_ids"
#: The keys of the lines that say what a bulk request does.
_ACTIONS = ("index", "create")
#: What a document of these tools has at its beginning: by key, the character that its value begins with, or its keys.
_SIGNS: Mapping[str, Any] = {
    **dict.fromkeys((_LIST, _CASE, _BOOK), "["),
    "hits": {"hits": "["},
    "_index": '"',
    **{action: {"_index": '"'} for action in _ACTIONS},
}
#: The code of a scorer may stand before the queries of a case.
_LONGEST_BEGINNING = 1 << 16


def is_export(beginning: str) -> bool:
    """Whether a file that begins with this text is an export. {query: {document: number}} never is."""
    try:
        return _has_sign(JsonStream(io.StringIO(beginning[:_LONGEST_BEGINNING])), _SIGNS)
    except (ValueError, RecursionError):
        return False


def is_export_object(table: Mapping[Any, Any]) -> bool:
    """Whether `object_rows` reads this. {query: [document, ...]} never is, as no document is a dictionary."""
    hits = table.get("hits")
    found = hits.get("hits") if isinstance(hits, Mapping) else None
    return any(
        isinstance(listed, list) and listed != [] and all(isinstance(entry, Mapping) for entry in listed)
        for listed in (*(table.get(key) for key in (_LIST, _CASE, _BOOK)), found)
    )


def object_rows(value: Any, table: str, where: str, query_key: str = "query_id") -> Iterator[Row]:
    """The `rows` of a file with this value, for what somebody has read from JSON already."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: it cannot be written as JSON, {first_line(error)}; give what json.load gives"
        ) from error
    return rows(io.StringIO(text), table, where, query_key)


def rows(text: TextIO, table: str, where: str, query_key: str = "query_id") -> Iterator[Row]:
    """One row per document, with the COLUMNS of the table. Of the file, one query at a time is in memory.

    A document's place in its list is its rank, from 1. What Quepid lists without a rating is not judged, so it has no
    row. `query_key` is the key of UBI's queries: `query_id`, or `user_query` where judgments name queries by their
    text. What is not a row is broken, with a `strict_json.fault_of`. `where` is the table and the file, for messages.

    Raises
    ------
    InputError
        The file is not JSON, an object has none of the keys of the tools, the file is of the other table, or it has two
        judgment lists, or one without ratings.
    """
    reader = _Reader(JsonStream(text), table, where)
    names = COLUMNS[table]
    with refused_unless_whole(where):
        for key, entry in reader.queries():
            fields = dict(entry) if isinstance(entry, Members) else {}
            documents = _returned(fields, query_key) if key == _HITS else _judged(fields, key, where)
            if documents is None:
                yield broken(names, shown(entry))
            for values in documents or ():
                fault = fault_of(values)
                yield broken(names, shown(Members(zip(names, values, strict=True))), fault) if fault else Row(values)


def _has_sign(stream: JsonStream, signs: Mapping[str, Any]) -> bool:
    for key in stream.members():
        begins, sign = stream.next(), signs.get(key)
        if begins == sign or (begins == "{" and isinstance(sign, Mapping) and _has_sign(stream, sign)):
            return True
        if begins != "{" or not isinstance(sign, Mapping):
            stream.value()
    return False


class _Reader:
    """Finds the queries in what a stream holds."""

    def __init__(self, stream: JsonStream, table: str, where: str) -> None:
        self._stream, self._table, self._where = stream, table, where
        self._found: list[str] = []

    def queries(self) -> Iterator[tuple[str, Any]]:
        """The key of a query's array, or _HITS, and its entry."""
        while self._stream.next():
            yield from self._document()

    def _document(self) -> Iterator[tuple[str, Any]]:
        before, rest = len(self._found), Members()
        for key in self._stream.members():
            begins = self._stream.next()
            if key in (_LIST, _CASE, _BOOK) and begins == "[":
                self._note(key)
                for _ in self._stream.entries():
                    yield key, self._stream.value()
            elif key == "hits" and begins == "[":
                self._found.append(key)
                for _ in self._stream.entries():
                    yield from self._document()
            elif key in ("hits", "_source") and begins == "{":
                yield from self._document()
            else:
                rest.append((key, self._stream.value()))
        fields = dict(rest)
        if _HITS in fields or "query_id" in fields:
            self._note(_HITS)
            yield _HITS, rest
        elif before == len(self._found) and not any(isinstance(fields.get(action), Members) for action in _ACTIONS):
            raise InputError(
                f"{self._where} has an object without {_LIST}, {_CASE}, {_BOOK} and {_HITS}, {shown(rest)[:200]}; "
                f"write one object a line, with the keys {', '.join(COLUMNS[self._table])}"
            )

    def _note(self, key: str) -> None:
        other = "judgments" if self._table == "results" else "results"
        if (key == _HITS) != (self._table == "results"):
            raise InputError(f"{self._where} has {key}, which are {other}; is this the {other} file?")
        if key != _HITS and set(self._found) - {"hits"}:
            raise InputError(f"{self._where} has more than one list of judgments; write each to a file of its own")
        self._found.append(key)


def _judged(fields: Mapping[str, Any], key: str, where: str) -> list[Sequence[Any]] | None:
    """The query, document and rating of each judgment in an entry of the array `key`; None for anything else."""
    if not fields:
        return None
    if key == _LIST and "ratings" not in fields:
        raise InputError(
            f"{where} has no ratings for the query {shown(fields.get('query'))}, which OpenSearch leaves out of what a "
            "search returns; get the judgment list by its id, or ask for its ratings with _source"
        )
    if key == _CASE and ("query" in fields) == ("query_text" in fields):
        both = "both" if "query" in fields else "neither"
        raise InputError(f"{where} has a query with {both} of query and query_text; write one of them")
    listed = fields.get("judgements" if key == _BOOK else "ratings")
    # Quepid leaves out the ratings of a query that has none.
    if listed is None and key != _LIST:
        return []
    if not isinstance(listed, Members):
        if not isinstance(listed, list) or not all(isinstance(rating, Members) for rating in listed):
            return None
        ratings = [dict(rating) for rating in listed]
        name = "docId" if key == _LIST else "doc_id"
        listed = [(fields.get(name) if key == _BOOK else each.get(name), each.get("rating")) for each in ratings]
    query = fields.get("query_text" if key == _BOOK or "query" not in fields else "query")
    return [(query, doc, rating) for doc, rating in listed if rating is not None or key == _LIST]


def _returned(fields: Mapping[str, Any], query_key: str) -> list[Sequence[Any]] | None:
    """The query, document and rank of each hit; one row without a document where there is no list."""
    query, hits = fields.get(query_key), fields.get(_HITS)
    if hits is None:
        return [(query, None, None)]
    if type(hits) is not list:
        return None
    return [(query, doc, str(rank)) for rank, doc in enumerate(hits, start=1)]
