"""Text without a header that blanks and tabs do not part into its fields."""

from collections import Counter
from collections.abc import Sequence

#: What separates fields in files of others, and in none that are read here.
UNREAD = ("::", "|")


def unread_separator(lines: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """What separates the fields of lines that blanks part into these rows; None if blanks do."""
    numbers = Counter(map(len, rows))
    # Where blanks part all lines alike but broken ones, ids may contain the others.
    if any(number > 1 and 10 * lines_of > 9 * len(rows) for number, lines_of in numbers.items()):
        return None
    for separator in UNREAD:
        counts = {line.count(separator) for line in lines}
        if len(counts) == 1 and min(counts) > 1:
            return separator
    return None


def has_blanks_within_tabs(lines: Sequence[str]) -> bool:
    """Whether tabs part all lines into equally many fields, and one of the first has a blank."""
    rows = [line.split("\t") for line in lines]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) == 1:
        return False
    # The name of a run, which is the sixth field, may go on.
    return any(" " in field.strip() for row in rows for field in row[:5])
