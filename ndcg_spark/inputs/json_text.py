"""JSON: one object a line, of a document or of a query with lists of its documents; and one object of all queries.

JSON lines are parsed by pyarrow. A block that it refuses is read line by line: a line is broken if it is not one object
of strict JSON, has a wanted key twice, or has one that the first lines lack. Numbers keep their text there, so that
long ids stay exact.
"""

import contextlib
import functools
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.delimited import BROKEN, NUMBERS, Part, blocks, filled_lines, valid_lines, with_numbers
from ndcg_spark.inputs.files import File

NO_SCALAR, UNEQUAL = "value_is_no_scalar", "lists_of_unequal_length"
_BLANKS = " \t\r\f"
#: How many queries of an object become columns together.
_QUERIES = 10_000


class Members(list[tuple[str, Any]]):
    """The keys and values of an object in their order; a key that comes twice is there twice."""


class Documents(NamedTuple):
    """The keys and values of an object whose values are all text, numbers or null, in little memory."""

    ids: pa.Array
    numbers: pa.Array


def _compact(members: list[tuple[str, Any]]) -> Members | Documents:
    if members and all(value is None or isinstance(value, str) for _, value in members):
        with contextlib.suppress(UnicodeEncodeError):
            return Documents(*(pa.array(column, pa.string()) for column in zip(*members, strict=True)))
    return Members(members)


#: Numbers as they are written, but NaN and Infinity, which strict JSON lacks, as numbers.
_decoder = functools.partial(json.JSONDecoder, parse_int=str, parse_float=str, parse_constant=float)
_LINE, _WHOLE = _decoder(object_pairs_hook=Members), _decoder(object_pairs_hook=_compact)


@dataclass(frozen=True)
class JsonLines:
    """Objects with these keys of our columns; `absent` are the keys of other columns of ours."""

    columns: Mapping[str, str]
    absent: Sequence[str] = ()
    #: Whether a line has lists of documents, in which the position, from 1, is the rank where there are no ranks.
    has_lists: bool = False

    def parts(self, file: File, where: str) -> Iterator[bytes]:
        """The text of a file in blocks of whole lines."""
        return blocks(file, where)

    def read(self, block: bytes) -> Part:
        """The rows of a block."""
        block, broken = valid_lines(block)
        lines = (line for line in filled_lines(block) if line.strip(_BLANKS))
        table = self._parsed(block)
        if table is not None:
            columns = {ours: table.column(theirs) for ours, theirs in self.columns.items()}
            texts = {name: column.cast(pa.string()) for name, column in columns.items() if name not in NUMBERS}
            return Part(with_numbers({**columns, **texts}, lines), broken)
        rows: list[tuple[dict[str, str | None], str]] = []
        for line in lines:
            parsed = self._rows(line)
            if isinstance(parsed, str):
                broken.append((parsed, line))
            else:
                rows += ((row, line) for row in parsed)
        names = dict.fromkeys([*self.columns, *(["rank"] if self.has_lists else [])])
        read = {name: pa.chunked_array([[row[name] for row, _ in rows]], pa.string()) for name in names}
        return Part(with_numbers(read, (line for _, line in rows)), broken)

    def _parsed(self, block: bytes) -> pa.Table | None:
        """The columns of a block whose lines have plain values as the first one has; else None."""
        if self.has_lists or any(f'"{key}"'.encode() in block for key in self.absent):
            return None
        try:
            first = json.loads(block.lstrip().partition(b"\n")[0])
            kinds = {theirs: _kind(ours, first.get(theirs)) for ours, theirs in self.columns.items()}
            table = arrow_json.read_json(
                pa.BufferReader(block),
                arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                arrow_json.ParseOptions(explicit_schema=pa.schema(kinds), unexpected_field_behavior="ignore"),
            )
        except (ValueError, AttributeError, RecursionError):
            return None
        # Arrow would take two objects in a line for two rows, and an object in two lines for one.
        lines = block.strip().count(b"\n") + 1
        return table if len(table) == lines == block.count(b"}\n{") + 1 else None

    def _rows(self, line: str) -> str | list[dict[str, str | None]]:
        """The rows of a line; or the code of the rule that it breaks."""
        try:
            members = _LINE.decode(line)
        except (ValueError, RecursionError):
            return BROKEN
        keys = [key for key, _ in members] if isinstance(members, Members) else []
        wanted = [key for key in keys if key in self.columns.values()]
        if not wanted or len(wanted) > len({*wanted}) or ("\\ud" in line.lower() and not is_text(members)):
            return BROKEN
        values = dict(members)
        if any(values.get(key) is not None for key in self.absent):
            return BROKEN
        row = {ours: values.get(theirs) for ours, theirs in self.columns.items()}
        rows = [row]
        if self.has_lists:
            lists: dict[str, Any] = {name: row[name] for name in ("doc_id", *NUMBERS) if row.get(name) is not None}
            if any(type(value) is not list for value in lists.values()):
                return BROKEN
            if len({len(value) for value in lists.values()}) > 1:
                return UNEQUAL
            # A query without a list is a row without a document, an empty list has no rows.
            documents = zip(*lists.values(), strict=True) if lists else [()]
            rows = [
                {"rank": f"{at}", **row, **dict(zip(lists, document, strict=True))}
                for at, document in enumerate(documents, 1)
            ]
        is_plain = all(value is None or isinstance(value, str) for row in rows for value in row.values())
        return rows if is_plain else NO_SCALAR


@dataclass(frozen=True)
class JsonObject:
    """{query: {document: number}}, or with the runs around it; `names` from the outermost key on."""

    names: Sequence[str]

    def parts(self, file: File, where: str) -> Iterator[list[tuple[Sequence[str], Documents]]]:
        """The documents of some queries at a time, with the keys around them; InputError for JSON of another form."""
        try:
            with file.open(where) as stream:
                content = _WHOLE.decode(stream.read().decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: {file.path} is not valid JSON, {first_line(error)}; write it again") from error
        queries = self._queries((), content, f"{where}: {file.path}")
        while some := [*itertools.islice(queries, _QUERIES)]:
            yield some

    def read(self, queries: Sequence[tuple[Sequence[str], Documents]]) -> Part:
        """The rows of a part."""
        keys, documents = zip(*queries, strict=True)
        query_numbers = np.repeat(np.arange(len(keys), dtype=np.int32), [len(ids) for ids, _ in documents])
        outer = (pa.array(names, pa.string()).take(query_numbers) for names in zip(*keys, strict=True))
        inner = (pa.concat_arrays(arrays) for arrays in zip(*documents, strict=True))
        columns = {name: pa.chunked_array([one]) for name, one in zip(self.names, (*outer, *inner), strict=True)}
        lines = (
            json.dumps({query: {document: number}})
            for (*_, query), (ids, values) in queries
            for document, number in zip(ids.to_pylist(), values.to_pylist(), strict=True)
        )
        return Part(with_numbers(columns, lines))

    def _queries(self, outer: tuple[str, ...], content: Any, label: str) -> Iterator[tuple[Sequence[str], Documents]]:
        levels = len(self.names) - 2 - len(outer)
        # Without a document, a run would vanish.
        is_inner = levels and isinstance(content, Members) and not (outer and all(value == [] for _, value in content))
        if not levels and isinstance(content, Documents):
            yield outer, content
        elif is_inner and all(key.isascii() or is_text(key) for key, _ in content):
            for key, value in content:
                yield from self._queries((*outer, key), value, label)
        elif levels or content != []:
            form = "{run: {query: {document: score}}}" if len(self.names) > 3 else "{query: {document: number}}"
            raise InputError(f"{label} is not {form} below {'.'.join(outer)!r}; write it so, or as JSON lines")


def is_text(value: object) -> bool:
    """Whether all text in it can be encoded: half of a surrogate pair is not a character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(name: str, value: object) -> pa.DataType:
    """The type in which a column is parsed that has this value; ValueError if it is not plain."""
    if name in NUMBERS and isinstance(value, (int, float)) and not isinstance(value, bool):
        return pa.float64()
    if isinstance(value, str):
        return pa.string()
    if isinstance(value, int) and not isinstance(value, bool):
        return pa.int64()
    raise ValueError("the text of a fraction counts, and all else is no value")
