"""The shape of JSON: one object a line, or one object of all queries."""

import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any

from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs import trec_layouts
from ndcg_spark.inputs.column_names import is_known, refuse_other
from ndcg_spark.inputs.shapes import Shape, TableContext, whole_lines
from ndcg_spark.inputs.strict_json import is_text

_SHOWN_KEYS = 10

_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def of_json_text(text: str, kind: str, table: TableContext) -> Shape:
    """The shape of JSON that begins with this text, in a file whose name says `kind`.

    Raises
    ------
    InputError
        It is JSON of another shape, or no key is one of ours.
    ConfigurationError
        Columns of one object are mapped to names, which it does not have, or only some columns are mapped.
    """
    if table.config.format in (None, "json") and text.lstrip().startswith("{"):
        kind = _kind_of(text, kind, table)
    return _of_object(text, table) if kind == "json" else _of_json_lines(text, table)


def _kind_of(text: str, kind: str, table: TableContext) -> str:
    """Which kind of JSON a file is that begins with an object."""
    keys = _keys_in(whole_lines(text)[:1])
    if any(is_known(name, key) for name in table.names for key in keys):
        return "jsonl"
    return "json" if kind == "json" or _depth_of(text) > 1 else "jsonl"


def _of_json_lines(text: str, table: TableContext) -> Shape:
    some = whole_lines(text)
    keys = _keys_in(some)
    shape = table.shape("jsonl", keys)
    wanted = [shape.columns.get(name, name) for name in table.names]
    kept = [name for name in wanted if name in keys]
    other = _other_json(some[0] if some else "", bool(kept))
    if other:
        expected = ", ".join(name for name in wanted if name != "dataset")
        raise InputError(
            f"{table.place} is {other}, not JSON lines; write one object a line, with the keys {expected}, or TREC text"
        )
    if not keys:
        raise InputError(f"{table.place}: no line is a JSON object; give the format with format if it is another")
    refuse_other(keys, wanted, table.place)
    if not kept:
        raise InputError(
            f"{table.place}: none of {', '.join(wanted)} is a key of the first lines; they have "
            f"{', '.join(keys[:_SHOWN_KEYS])}; map names in the configuration with columns"
        )
    documents = shape.columns.get("doc_id", "doc_id")
    rows = (row for row in map(_object_in, some) if row and row.get(documents) is not None)
    return dataclasses.replace(shape, has_lists=isinstance(next(rows, {}).get(documents), list))


def _of_object(text: str, table: TableContext) -> Shape:
    """The shape of one JSON object of all queries."""
    names, place, numbers = table.names, table.place, table.numbers_of_fields
    if table.config.columns and not numbers:
        raise ConfigurationError(
            f"{place}: columns are mapped, and one JSON object has no names; leave columns out, or give the number of "
            "each: 1 for the outermost key"
        )
    depth = _depth_of(text)
    most = 3 if "run" in names else 2
    if not 2 <= depth <= most:
        runs = ", or {run: {query: {document: score}}}" if most == 3 else ""
        raise InputError(
            f"{place} is one JSON object of depth {depth}, and {{query: {{document: number}}}}{runs} is read; write it "
            "so, or as JSON lines"
        )
    if numbers:
        layout = trec_layouts.layout_by_numbers(numbers, [" ".join("?" * (depth + 1))], place)
        if len(layout.positions) <= depth:
            raise ConfigurationError(
                f"{place}: {len(numbers)} columns are mapped of {depth + 1}; give the number of each"
            )
        return Shape("json", {}, layout, frozenset(layout.positions), depth=depth)
    has = {"query_id", "doc_id", "relevance" if "relevance" in names else "score", *(["run"] if depth == 3 else [])}
    return Shape("json", {}, has=frozenset(has & set(names)), depth=depth)


def _keys_in(lines: Sequence[str]) -> list[str]:
    """The keys of the objects that the lines hold, in their order, without those that are not text."""
    return list({key: None for line in lines for key in _object_in(line) or () if is_text([key])})


def _other_json(first: str, has_keys: bool) -> str | None:
    """What a file that begins with this line is, in words; None if it may be JSON lines."""
    if re.match(r"\[\s*(\{|$)", first):
        return "one JSON array"
    if first.startswith("{") and first.endswith(("{", "[")):
        return "a JSON object of several lines"
    if has_keys:
        return None
    if re.match(r'\{\s*"([^"\\]|\\.)*"\s*:\s*[\[{]', first):
        return "one JSON object of many, like {query: {document: score}}"
    return "a JSON object of several lines" if first.startswith("{") and _object_in(first) is None else None


def _depth_of(text: str) -> int:
    """How many objects are around the first value of a text that is not an object: 2 for ``{"q": {"d": 1}}``.

    Empty objects are skipped; 2 if there is nothing else. 0 for a text that is not an object.
    """
    depth, is_value = 0, False
    for mark in _MARK.findall(text):
        if mark == "{":
            depth, is_value = depth + 1, False
        elif mark == "}":
            depth, is_value = depth - 1, False
        elif mark == ":":
            is_value = True
        elif mark == "[" or is_value or depth == 0:
            return depth
    return 2 if text.lstrip().startswith("{") else 0


def _object_in(line: str) -> dict[str, Any] | None:
    """The object that a line holds; None if it holds none."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
