"""Finds the separator in the header of text if the user gives names of columns."""

import re
from collections.abc import Iterable

from ndcg_spark.inputs.column_names import plain_name
from ndcg_spark.inputs.quotes import header_of

#: Stands for a separator of any number of blanks and tabs.
BLANKS = " "
_SEPARATORS = "\t,;"


def mapped_separator(text: str, row: str, mapped: Iterable[str], own: str = "") -> str | None:
    """Return the separator of the names in the first line, or None if none of them is `mapped`.

    It is the separator that finds the most mapped names, or the format's `own` in a tie. The lines
    of `text` end in LF. Names with blanks between them are looked for in `row`, the first line
    that is not a comment.
    """
    wanted = {plain_name(name) for name in mapped}
    best = None
    most_found = 0
    for separator in [*own, *_SEPARATORS]:
        names = header_of(text, separator).names or []
        found = len(wanted.intersection(map(plain_name, names)))
        if found > most_found:
            best = separator
            most_found = found
    found_by_blanks = len(wanted.intersection(map(plain_name, blank_fields(row))))
    return BLANKS if found_by_blanks > most_found else best


def blank_fields(line: str) -> list[str]:
    """Return the fields of a line with blanks or tabs between them."""
    return re.split(r"[ \t\f]+", line.strip(" \t\r\f"))
