"""Finds the header of text whose columns the user names, and what separates the names."""

import re
from collections.abc import Iterable

from ndcg_spark.inputs.column_names import plain_name
from ndcg_spark.inputs.quotes import header_of

#: Stands for a separator of any number of blanks and tabs.
BLANKS = " "
_SEPARATORS = "\t,;"


def mapped_separator(text: str, row: str, mapped: Iterable[str], own: str = "") -> str | None:
    """Return what separates the names in the first line, or None if none of them is `mapped`.

    It is the separator that finds the most mapped names, or the format's `own` in a tie. The lines
    of `text` end in LF. Names with blanks between them are looked for in `row`, the first line
    that is not a comment.
    """
    wanted = {plain_name(name) for name in mapped}
    best, most = None, 0
    for separator in [*own, *_SEPARATORS]:
        names = header_of(text, separator).names or []
        found = len(wanted.intersection(map(plain_name, names)))
        if found > most:
            best, most = separator, found
    found = len(wanted.intersection(map(plain_name, blank_fields(row))))
    return BLANKS if found > most else best


def blank_fields(line: str) -> list[str]:
    """Return the fields of a line with blanks or tabs between them."""
    return re.split(r"[ \t\f]+", line.strip(" \t\r\f"))
