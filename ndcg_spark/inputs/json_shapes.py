"""How JSON begins: which keys its lines have, whether their values are lists, how deep one object of all queries is."""

import json
import re
from collections.abc import Sequence
from typing import Any

_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def depth_of(text: str) -> int:
    """How many objects are around the first value of a text that is no object: 2 for ``{"q": {"d": 1}}``.

    Empty objects tell nothing, so that the next value counts; 2 if there is no other. 0 for what is no object.
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


def keys_in(lines: Sequence[str]) -> list[str]:
    """The keys of the objects that the lines hold, in their order."""
    return list({key: None for line in lines for key in object_in(line) or ()})


def has_lists(lines: Sequence[str], key: str) -> bool:
    """Whether the first line that has a value for this key has an array."""
    values = (row[key] for row in map(object_in, lines) if row and row.get(key) is not None)
    return isinstance(next(values, None), list)


def object_in(line: str) -> dict[str, Any] | None:
    """The object that a line holds; None if it holds none."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
