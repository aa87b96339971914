"""Strict JSON (RFC 8259) in which numbers stay the text they are written as."""

import json
from collections.abc import Sequence
from typing import Any

from ndcg_spark.inputs.text_blocks import Row

_LONGEST_TEXT = 1000


class Members(list[tuple[str, Any]]):
    """The keys and values of an object in their order; a key that is repeated is there as often."""


class NotANumber:
    """NaN or Infinity, which strict JSON lacks."""


def _refused(name: str) -> NotANumber:
    raise ValueError(f"{name} is no value of JSON")


#: Objects as dictionaries, in which the last of equal keys counts; ValueError for NaN and Infinity.
LINE = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refused)
#: Objects as Members.
DECODER = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=str, parse_float=str, parse_constant=lambda _: NotANumber()
)


def broken(names: Sequence[str], text: str, fault: str = "broken_line") -> Row:
    """A row that is none, for these columns, with as much of its text as a message may show."""
    return Row([None] * len(names), fault, text.encode("utf-8", "backslashreplace").decode()[:_LONGEST_TEXT])


def row_of(names: Sequence[str], values: Sequence[Any], text: str) -> Row:
    """A row of these values of JSON: text, numbers and nulls. Any other makes it broken, and `text` shows it."""
    if any(isinstance(value, NotANumber) for value in values):
        return broken(names, text)
    if not all(value is None or isinstance(value, str) for value in values):
        return broken(names, text, "value_is_no_scalar")
    return Row(values) if is_whole(values) else broken(names, text)


def is_whole(values: Sequence[str | None]) -> bool:
    """Whether no text has half of a surrogate pair, which is no character."""
    try:
        "".join(value for value in values if value).encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: Any) -> str:
    """A value as JSON, for a message; numbers are in quotes."""
    if isinstance(value, Members):
        return "{" + ", ".join(f"{json.dumps(key)}: {shown(entry)}" for key, entry in value[:9]) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value[:9]))}]"
    return "NaN" if isinstance(value, NotANumber) else json.dumps(value, ensure_ascii=False)
