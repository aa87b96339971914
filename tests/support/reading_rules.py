"""What files of text and JSON are read as: the definition, in plain Python, which knows nothing of the program.

A line ends with a line feed. A line that is no row, and a value that breaks a rule, become a rejected row with the code
of the first rule that it breaks. A rejected row keeps its values as they are written, or its whole line if that is no
row.
"""

import csv
import dataclasses
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any

BROKEN, NO_SCALAR, UNEQUAL = "broken_line", "value_is_no_scalar", "lists_of_unequal_length"
#: The columns of both tables, in the order in which a row is quoted.
COLUMNS = {
    "judgments": ("dataset", "query_id", "doc_id", "relevance"),
    "results": ("dataset", "run", "query_id", "doc_id", "score", "rank"),
}
#: The columns that have a value for each document of a list.
OF_DOCUMENTS = ("relevance", "score", "rank")
QUOTED = 200
#: Of a longer part of a JSON object only the beginning is kept.
KEPT = 1000

MARK = "\ufeff"
BLANKS = " \t\r\f"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
#: How many of the first lines tell which keys JSON lines have.
FIRST = 200


@dataclasses.dataclass(frozen=True)
class Layout:
    """Lines of text without a header: how many fields they have, and which of them, from 0, is which column."""

    fields: int
    positions: Mapping[str, int]
    #: Whether more fields may follow.
    open: bool = False


QRELS = Layout(4, {"query_id": 0, "doc_id": 2, "relevance": 3})
RUN = Layout(6, {"query_id": 0, "doc_id": 2, "rank": 3, "score": 4, "run": 5}, open=True)


@dataclasses.dataclass(frozen=True)
class Row:
    """A row as it is written: the text of its values by column, or the line that is no row and why."""

    values: Mapping[str, str | None]
    line: str | None = None
    reason: str | None = None


@dataclasses.dataclass(frozen=True)
class Found:
    """The rows of a table: the accepted ones typed, the rejected ones with the code of a rule."""

    table: str
    #: The columns that the table has, in the order in which a row is quoted.
    columns: tuple[str, ...]
    #: The values of those columns in the order of COLUMNS.
    accepted: list[tuple[Any, ...]]
    rejected: list[tuple[str, Row]]

    @property
    def breaches(self) -> dict[str, tuple[int, str]]:
        """By code, how many rows break that rule first, and the smallest of their quotations."""
        quoted: dict[str, list[str]] = {}
        for code, row in self.rejected:
            pairs = (f"{name}={'null' if row.values[name] is None else row.values[name]}" for name in self.columns)
            quoted.setdefault(code, []).append((" ".join(pairs) if row.line is None else row.line)[:QUOTED])
        return {code: (len(texts), min(texts)) for code, texts in quoted.items()}

    @property
    def kept(self) -> Counter[tuple[str | None, ...]]:
        """The rejected rows as they are kept: the code, the line, and the values in the order of COLUMNS.

        A line that is no row has no values.
        """
        return Counter(
            (code, row.line, *(row.values.get(name) if row.line is None else None for name in COLUMNS[self.table]))
            for code, row in self.rejected
        )


def found(
    table: str,
    kind: str,
    files: Sequence[bytes],
    layout: Layout | None = None,
    constants: Mapping[str, str | float] = MappingProxyType({}),
) -> Found:
    """The rows of the files of a table, `judgments` or `results`, that were written in one way.

    `kind` is trec (text without a header, of this `layout`), csv, tsv, jsonl, lists (JSON lines with arrays) or json
    (one object of all queries). `constants` are columns that have one value in every row. ValueError if a file is
    refused as a whole.
    """
    names = COLUMNS[table]
    if layout is not None:
        columns, rows = tuple(layout.positions), (row for file in files for row in of_text(file, layout))
    elif kind in ("csv", "tsv"):
        columns, rows = of_separated(files, "," if kind == "csv" else "\t", names)
    elif kind == "json":
        columns, rows = of_objects(files, names)
    else:
        columns, rows = of_json_lines(files, names, has_lists=kind == "lists")
    columns = (*columns, *constants)
    accepted, rejected = [], []
    for row in rows:
        whole = Row({**row.values, **{name: f"{value}" for name, value in constants.items()}}, row.line, row.reason)
        values = {name: typed(name, text) for name, text in whole.values.items()}
        code = row.reason or next(broken_rules(table, columns, values), None)
        if code is None:
            accepted.append(tuple(values[name] for name in COLUMNS[table] if name in values))
        else:
            rejected.append((code, whole))
    return Found(table, columns, accepted, rejected)


def typed(name: str, text: str | None) -> str | float | int | None:
    """A value of a column; None for a number that is not plain or not finite, and for a rank that is not whole."""
    if text is None or name not in OF_DOCUMENTS:
        return text
    plain = text.strip(BLANKS + "\n")
    number = float(plain) if NUMBER.fullmatch(plain) else math.nan
    if not math.isfinite(number):
        return None
    if name != "rank":
        return number + 0.0
    return int(number) if number.is_integer() and -(2**31) <= number < 2**31 else None


def broken_rules(table: str, columns: Iterable[str], values: Mapping[str, Any]) -> Iterator[str]:
    """The codes of the rules that a row breaks, where grades gain 2^grade - 1 and negative ones are refused."""
    for name in ("dataset", "run", "query_id", "doc_id"):
        if name in columns and not values[name]:
            yield f"no_{name}"
    if table == "judgments":
        grade = values["relevance"]
        if grade is None:
            yield "relevance_is_no_number"
        elif grade < 0:
            yield "relevance_negative"
        elif grade > math.log2(1e300):
            yield "relevance_without_gain"
    if "score" in columns and values["score"] is None:
        yield "score_is_no_number"
    if "rank" in columns and (values["rank"] is None or values["rank"] < 1):
        yield "rank_is_no_rank"


def lines(content: bytes, around: str) -> Iterator[tuple[str, bool]]:
    """The lines that are not blank, without what is `around` them, and whether each is UTF-8."""
    for line in content.split(b"\n"):
        try:
            text, is_text = line.decode(), True
        except UnicodeDecodeError:
            text, is_text = line.decode("utf-8", "replace"), False
        text = text.strip(around)
        if text.strip(" "):
            yield text, is_text


def of_text(content: bytes, layout: Layout) -> Iterator[Row]:
    """Lines of fields between blanks. A run's name may have blanks, but not if the document's id may have them too."""
    for line, is_text in lines(content, MARK + BLANKS):
        fields = re.split(f"[{BLANKS}]+", line)
        is_row = len(fields) == layout.fields
        if layout.open and len(fields) > layout.fields:
            ends_as_a_run = WHOLE.fullmatch(fields[-3]) and NUMBER.fullmatch(fields[-2])
            is_row = not ends_as_a_run and NUMBER.fullmatch(fields[layout.positions["rank"]]) is not None
        if is_row and is_text:
            yield Row({name: fields[at] for name, at in layout.positions.items()})
        else:
            yield Row(dict.fromkeys(layout.positions), line, BROKEN)


def of_separated(files: Sequence[bytes], separator: str, names: Sequence[str]) -> tuple[tuple[str, ...], Iterator[Row]]:
    """Lines of CSV or TSV after a header that is the same in all files. An empty field is null."""
    read = [list(lines(file, MARK + "\r")) for file in files]
    header = next(line for file in read for line, _ in file)
    header_names = next(csv.reader([header], delimiter=separator, strict=True))
    columns = tuple(name for name in names if name in header_names)
    # In quotes, where "" is one quote; or without a quote in front.
    field = f'"(?:[^"]|"")*+"|(?!")[^{separator}]*'
    whole = re.compile(f"(?:{field})(?:{separator}(?:{field}))*")

    def rows() -> Iterator[Row]:
        for line, is_text in (each for file in read for each in file if each[0] != header):
            fields = re.findall(f"{separator}({field})", separator + line) if whole.fullmatch(line) else []
            if is_text and len(fields) == len(header_names):
                values = dict(zip(header_names, map(unquoted, fields), strict=True))
                yield Row({name: values[name] for name in columns})
            else:
                yield Row(dict.fromkeys(columns), line, BROKEN)

    return columns, rows()


def unquoted(field: str) -> str | None:
    return (field[1:-1].replace('""', '"') if field.startswith('"') else field) or None


class Members(list[tuple[str, Any]]):
    """The keys and values of an object, in their order."""


#: What is read for NaN and Infinity, which strict JSON lacks.
NOT_A_NUMBER = object()
#: Strict JSON, in which numbers are the text that they are written as.
DECODER = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=str, parse_float=str, parse_constant=lambda _: NOT_A_NUMBER
)


def of_json_lines(files: Sequence[bytes], names: Sequence[str], *, has_lists: bool) -> tuple[tuple[str, ...], Any]:
    """JSON lines. The first lines tell which keys there are; a line that has another of ours is broken."""
    read = [line for file in files for line in lines(file, MARK + BLANKS)]
    first = [object_in(line) if is_text else None for line, is_text in read[:FIRST]]
    has = {key for row in first if row is not None for key, _ in row}
    ranked = has_lists and "run" in names
    columns = tuple(name for name in names if name in has or (ranked and name == "rank"))
    nothing = dict.fromkeys(columns)

    def rows() -> Iterator[Row]:
        for line, is_text in read:
            row = object_in(line) if is_text else None
            is_row = row and len(keys := [key for key, _ in row if key in has and key in names]) == len({*keys})
            values = {name: dict(row).get(name) for name in names} if is_row else {}
            is_foreign = any(value is not None for name, value in values.items() if name not in has)
            if is_foreign or all(value is None for value in values.values()):
                yield Row(nothing, line, BROKEN)
            elif not has_lists:
                yield row_of(columns, values, line)
            else:
                yield from of_lists(columns, values, line, numbered=ranked and "rank" not in has)

    return columns, rows()


def of_lists(columns: Sequence[str], values: Mapping[str, Any], line: str, *, numbered: bool) -> Iterator[Row]:
    """A row for each document of a list; a place in the list is a rank, from 1, where there is no other."""
    lists = {name: values[name] for name in ("doc_id", *OF_DOCUMENTS) if values.get(name) is not None}
    nothing = dict.fromkeys(columns)
    if any(type(value) is not list for value in lists.values()):
        yield Row(nothing, line, BROKEN)
        return
    lengths = {len(value) for value in lists.values()} or {1}
    if len(lengths) > 1:
        yield Row(nothing, line, UNEQUAL)
        return
    for at in range(lengths.pop()):
        own = {name: value[at] for name, value in lists.items()}
        yield row_of(columns, {**values, **({"rank": str(at + 1)} if numbered else {}), **own}, line)


def row_of(columns: Sequence[str], values: Mapping[str, Any], line: str) -> Row:
    own = {name: values[name] for name in columns}
    is_scalar = all(value is None or isinstance(value, str) for value in own.values())
    return Row(own) if is_scalar else Row(dict.fromkeys(columns), line, NO_SCALAR)


def object_in(line: str) -> Members | None:
    """The object that a line is; None if it is no object of strict JSON."""
    try:
        members = DECODER.decode(line)
        json.dumps(members, ensure_ascii=False).encode()
    except (ValueError, TypeError):
        # Half of a surrogate pair is no text, and NaN is no number.
        return None
    return members if isinstance(members, Members) else None


def of_objects(files: Sequence[bytes], names: Sequence[str]) -> tuple[tuple[str, ...], Iterator[Row]]:
    """One object of all queries for each file, {query: {document: number}}; of results maybe with runs around it."""
    objects = [DECODER.decode(file.decode("utf-8-sig").strip(" \t\r\n")) for file in files]
    value = "relevance" if "relevance" in names else "score"
    with_runs = next(filter(None, map(depth_of, objects)), 2) > 2
    columns = (*(["run"] if with_runs else []), "query_id", "doc_id", value)

    def rows() -> Iterator[Row]:
        for whole in objects:
            runs = [((run,), queries) for run, queries in whole] if with_runs else [((), whole)]
            for keys, group in groupby(runs, key=lambda pair: pair[0]):
                queries = Members(entry for _, members in group for entry in members)
                if with_runs and not queries:
                    yield broken_part(columns, Members([(keys[0], Members())]))
                for query, documents in queries:
                    yield from of_query(columns, (*keys, query), documents)

    return columns, rows()


def of_query(columns: Sequence[str], keys: tuple[str, ...], documents: Any) -> Iterator[Row]:
    if not isinstance(documents, Members):
        yield broken_part(columns, Members([(keys[-1], documents)]))
        return
    for document, value in documents:
        values, part = (*keys, document, value), Members([(keys[-1], Members([(document, value)]))])
        if value is NOT_A_NUMBER or any(has_half_a_pair(text) for text in values if isinstance(text, str)):
            yield broken_part(columns, part)
        elif value is None or isinstance(value, str):
            yield Row(dict(zip(columns, values, strict=True)))
        else:
            yield broken_part(columns, part, NO_SCALAR)


def has_half_a_pair(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def depth_of(value: Any) -> int:
    """How many objects are around the first value that is no object; 0 if there is none."""
    if not isinstance(value, Members):
        return 0
    inner = ((depth_of(entry), isinstance(entry, Members)) for _, entry in value)
    return next((depth + 1 for depth, is_object in inner if depth or not is_object), 0)


def broken_part(columns: Sequence[str], part: Members, reason: str = BROKEN) -> Row:
    line = shown(part)[:KEPT].encode("utf-8", "backslashreplace").decode()
    return Row(dict.fromkeys(columns), line, reason)


def shown(value: Any) -> str:
    """A value as JSON, of which the first nine members are shown; numbers are in quotes."""
    if isinstance(value, Members):
        return "{" + ", ".join(f"{json.dumps(key)}: {shown(inner)}" for key, inner in value[:9]) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value[:9]))}]"
    return "NaN" if value is NOT_A_NUMBER else json.dumps(value, ensure_ascii=False)
