"""Detects text without a header that blanks do not split into its fields."""

from collections import Counter
from collections.abc import Sequence

#: Separators that other tools write and that are not read here.
UNREAD = ("::", "|")


def unread_separator(lines: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """Return the unsupported separator of the lines, if any. Blanks split them into `rows`."""
    lines_by_fields = Counter(map(len, rows))
    for fields, count in lines_by_fields.items():
        # If blanks split all but a few broken lines into the same number of fields, the other
        # separators may be part of ids.
        if fields > 1 and count > 0.9 * len(rows):
            return None
    for separator in UNREAD:
        counts = {line.count(separator) for line in lines}
        if len(counts) == 1 and min(counts) > 1:
            return separator
    return None


def has_blanks_within_tabs(lines: Sequence[str]) -> bool:
    """Whether tabs split all lines into the same number of fields, and a field has a blank."""
    rows = [line.split("\t") for line in lines]
    numbers_of_fields = set(map(len, rows))
    if len(numbers_of_fields) != 1 or numbers_of_fields == {1}:
        return False
    return any(map(_has_blank, rows))


def _has_blank(row: Sequence[str]) -> bool:
    """Whether a field has a blank within it.

    The sixth field is the name of a run, which may contain blanks.
    """
    return any(" " in field.strip() for field in row[:5])
