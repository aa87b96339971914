"""Which text has a header because the user names its columns, and what separates the names."""

import re
from collections.abc import Iterable

from ndcg_spark.inputs.column_names import plain_name
from ndcg_spark.inputs.quotes import header_of

#: In place of a separator: any number of blanks and tabs.
BLANKS = " "
_SEPARATORS = "\t,;"


def mapped_separator(text: str, row: str, mapped: Iterable[str], own: str = "") -> str | None:
    """What separates the names of the first line, if one of them is `mapped`; else None.

    It is what gives most of these names; of several the format's `own`. The lines end in LF. With
    blanks between the names, these are in `row`, the first line that is no comment.
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
    """The fields of a line with blanks or tabs between them."""
    return re.split(r"[ \t\f]+", line.strip(" \t\r\f"))
