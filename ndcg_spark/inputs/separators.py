"""Text without a header whose fields are not separated by blanks or tabs."""

from collections import Counter
from collections.abc import Sequence

#: Separators that other tools write and that are not read here.
UNREAD = ("::", "|")


def unread_separator(lines: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """Return the unsupported separator of lines that blanks split into these rows, if any."""
    numbers = Counter(map(len, rows))
    # If blanks split all but a few broken lines into the same number of fields, the other
    # separators may be part of ids.
    if any(number > 1 and 10 * lines_of > 9 * len(rows) for number, lines_of in numbers.items()):
        return None
    for separator in UNREAD:
        counts = {line.count(separator) for line in lines}
        if len(counts) == 1 and min(counts) > 1:
            return separator
    return None


def has_blanks_within_tabs(lines: Sequence[str]) -> bool:
    """Whether tabs split all lines into equally many fields, with a blank in one of the first."""
    rows = [line.split("\t") for line in lines]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) == 1:
        return False
    # The sixth field is the name of a run, which may contain blanks.
    return any(" " in field.strip() for row in rows for field in row[:5])
