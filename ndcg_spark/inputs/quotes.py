"""Applies one rule for quotes to CSV and TSV, after which pyarrow reads each line as one row.

A field that begins with a quote ends with one, and a doubled quote within it is a quote (RFC 4180).
It may contain separators and line breaks. A line that breaks this rule is not a row. Many tools
write TSV without a rule for quotes (Google Sheets, MS MARCO). In such files, a field's quotes
belong to its value, unless the field needs them or the column names are also in quotes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ndcg_spark.text import PLAIN_NUMBER

#: A row over several lines with more characters than this is caused by a quote that is not closed.
#: Excel cells have up to 32,767 characters.
_MAX_ROW = 1 << 20
#: The text between a field's quotes, and a field, where S is the separator. No quantifier is
#: possessive, because Python 3.11 before 3.11.5 does not match possessive groups correctly.
_BODY = r'[^"]*(?:""[^"]*)*'
_FIELD = rf'(?:"{_BODY}"(?=S|\Z)|(?!")[^S]*)'


class _Patterns(NamedTuple):
    """The patterns for one separator."""

    field: re.Pattern[str]
    #: A line that is a whole row.
    closed: re.Pattern[str]
    #: The first line of a row that continues on the next line, within a quoted field.
    open: re.Pattern[str]
    #: The last line of such a row.
    closed_later: re.Pattern[str]
    #: A line between the two.
    open_later: re.Pattern[str]


def _patterns(separator: str) -> _Patterns:
    """Return the patterns for a separator."""
    closed = f"{_FIELD}(?:S{_FIELD})*"
    opened = f'(?:{_FIELD}S)*"{_BODY}'
    closed_later = f'{_BODY}"(?:S{_FIELD})*'
    open_later = f'{_BODY}(?:"S(?:{_FIELD}S)*"{_BODY})?'
    texts = (_FIELD, closed, opened, closed_later, open_later)
    return _Patterns(*(re.compile(text.replace("S", separator)) for text in texts))


#: Instead of the end of a row: its quotes are malformed.
_NONE = 0
#: Instead of the end of a row: a quote is still open on the last line.
_OPEN = -1
_BY_SEPARATOR = {separator: _patterns(separator) for separator in ",;\t"}


class RowText(NamedTuple):
    """Text in which each row is one line, and the lines that are not rows."""

    block: bytes
    broken: list[str]
    #: For each rewritten line, the line of the file in which it begins.
    original: Mapping[str, str]


@dataclass(frozen=True)
class Quotes:
    """Splits text into rows whose fields may be in quotes."""

    separator: str
    #: The number of fields in a row.
    fields: int
    #: The positions of the fields that are ids, from 0.
    ids: frozenset[int] = frozenset()
    #: The positions of the fields that are numbers, from 0.
    numbers: frozenset[int] = frozenset()
    #: Whether quotes belong to the value of a field unless the field needs them.
    is_literal: bool = False
    #: Whether line breaks in values are kept, for readers that accept them.
    keeps_breaks: bool = False
    #: Whether a field may contain a line that looks like a row, as in text for people.
    has_prose: bool = False

    def rows(self, blocks: Iterable[bytes]) -> Iterator[RowText]:
        """Yield the same rows, each within one block. The blocks are whole lines of UTF-8."""
        rest = b""
        for block in blocks:
            rows, rest = self._rows(rest + block, is_last=False)
            yield rows
        if rest:
            yield self._rows(rest, is_last=True)[0]

    def _rows(self, block: bytes, is_last: bool) -> tuple[RowText, bytes]:
        """Return the rows of a block, and its last lines if their row may continue in the next."""
        odd_lines = _lines_to_look_at(block, self.separator, self.is_literal)
        if not odd_lines:
            # Every line is a row.
            return RowText(block, [], {}), b""
        lines = block.decode().split("\n")
        broken: list[str] = []
        original: dict[str, str] = {}
        done = 0
        for at in odd_lines:
            if at < done:
                # The line belongs to a row that began before it.
                continue
            end = self._end(lines, at)
            if end == _OPEN and not is_last:
                # The row may end in the next block.
                rest = "\n".join(lines[at:]).encode()
                finished = "".join(f"{line}\n" for line in lines[:at]).encode()
                return RowText(finished, broken, original), rest
            row, done = self._row(lines, at, end)
            if row is None:
                broken += filter(None, lines[at:done])
            elif row != lines[at]:
                original[row] = lines[at]
            # The row replaces its first line. Readers skip the empty lines after it.
            lines[at] = row or ""
            lines[at + 1 : done] = [""] * (done - at - 1)
        return RowText("\n".join(lines).encode(), broken, original), b""

    def _end(self, lines: Sequence[str], at: int) -> int:
        """Return the number of the line after the row that begins in line `at`.

        Return _NONE if the row's quotes are malformed, and _OPEN if it does not end.
        """
        patterns = _BY_SEPARATOR[self.separator]
        if patterns.closed.fullmatch(lines[at]):
            return at + 1
        if not patterns.open.fullmatch(lines[at]):
            return _NONE
        size = 0
        for number in range(at + 1, len(lines)):
            line = lines[number]
            size += len(line)
            if size > _MAX_ROW:
                return _NONE
            if '"' not in line:
                continue
            if patterns.closed_later.fullmatch(line):
                return number + 1
            if not patterns.open_later.fullmatch(line):
                return _NONE
        return _OPEN

    def _row(self, lines: Sequence[str], at: int, end: int) -> tuple[str | None, int]:
        """Return the row that begins in line `at`, or None if it is not a row, and its end.

        `end` is what `_end` has returned.
        """
        next_line = at + 1
        has_several_lines = end > next_line
        if has_several_lines and (self.has_prose or not self._contain_rows(lines[at:end])):
            row = self._join(lines[at:end])
            if row is not None or not self.is_literal:
                return row, end
        if self.is_literal:
            return self._literal_row(lines[at]), next_line
        is_whole = end == next_line
        return (lines[at] if is_whole else None), next_line

    def _join(self, lines: Sequence[str]) -> str | None:
        """Return the row in these lines as one line.

        Return None if the number of fields is wrong, or if an id or a number has a line break.
        """
        fields = self._fields("\n".join(lines))
        if len(fields) != self.fields:
            return None
        if any("\n" in fields[at] for at in self.ids | self.numbers):
            return None
        if self.is_literal:
            fields = [self._escape(field) for field in fields]
        row = self.separator.join(fields)
        return row if self.keeps_breaks else row.replace("\n", " ")

    def _contain_rows(self, lines: Sequence[str]) -> bool:
        """Whether these lines are several rows that a stray quote has joined."""
        if any(self._is_row(line) for line in lines[1:-1]):
            return True
        # The last line of a row with a line break may look like a row, but its first does not.
        return self._is_row(lines[0]) and self._is_row(lines[-1])

    def _is_row(self, line: str) -> bool:
        """Whether a line has the right number of fields, with numbers in their places."""
        fields = self._fields(line) if self._is_closed(line) else line.split(self.separator)
        if len(fields) != self.fields:
            return False
        return all(re.fullmatch(PLAIN_NUMBER, fields[at].strip(' "')) for at in self.numbers)

    def _is_closed(self, line: str) -> bool:
        """Whether all quoted fields of a line end on it."""
        return self._end([line], 0) == 1

    def _literal_row(self, line: str) -> str | None:
        """Return a line in which most quotes belong to the values, or None if it is not a row.

        Such quotes are escaped.
        """
        fields = line.split(self.separator)
        if len(fields) != self.fields and self._is_closed(line):
            fields = self._fields(line)
        if len(fields) != self.fields:
            return None
        return self.separator.join(self._escape(field) for field in fields)

    def _escape(self, field: str) -> str:
        """Return the field with escaped quotes if they belong to its value.

        They do not if the field needs them: `"a ""b"" c"` is unchanged.
        """
        if not field.startswith('"'):
            return field
        inner = field[1:-1]
        is_quoted = len(field) > 1 and self._is_closed(field)
        needs_quotes = not inner or '""' in inner or self.separator in inner or "\n" in inner
        if is_quoted and needs_quotes:
            return field
        doubled = field.replace('"', '""')
        return f'"{doubled}"'

    def _fields(self, text: str) -> list[str]:
        """Return a row's fields as they are written, with their quotes.

        Return an empty list if the quotes are malformed.
        """
        pattern = _BY_SEPARATOR[self.separator].field
        fields = []
        at = 0
        while at <= len(text):
            match = pattern.match(text, at)
            if match is None:
                return []
            fields.append(match.group())
            at = match.end() + 1
        return fields


#: The first line of a file in which Excel names the separator.
_EXCEL_SEPARATOR = re.compile(r"sep=([,;\t])\n", re.IGNORECASE)


def excel_separator(text: str) -> str:
    """Return the separator that the first line names, as in `sep=;`, or "".

    The lines of the text end in LF.
    """
    found = _EXCEL_SEPARATOR.match(text)
    return found[1] if found else ""


class Header(NamedTuple):
    """The first row of text, which has the names of the fields."""

    text: str
    #: None if the quotes are malformed.
    names: list[str] | None
    #: Whether quotes belong to the values below it.
    is_literal: bool

    @property
    def lines(self) -> int:
        """The number of its lines."""
        return self.text.count("\n") + 1


def header_of(text: str, separator: str) -> Header:
    """Return the header of text whose lines end in LF; a name in it may have a line break.

    Excel may write the separator in a line above, such as `sep=;`, which belongs to the header.
    """
    above = ""
    if excel_separator(text):
        above = text[: text.index("\n") + 1]
        text = text[len(above) :]
    header = _first_row(text, separator)
    below = _first_row(text[len(header) + 1 :], separator)
    is_literal = are_literal(header, below, separator)
    names = values(header, separator)
    if names is None and is_literal:
        names = header.split(separator)
    return Header(above + header, names, is_literal)


def values(row: str, separator: str) -> list[str] | None:
    """Return the values of a row without their quotes, or None if its quotes are malformed."""
    quotes = Quotes(separator, 0)
    lines = row.split("\n")
    if quotes._end(lines, 0) != len(lines):
        return None
    return [_unquoted(field) for field in quotes._fields(row)]


def are_literal(first: str, second: str, separator: str) -> bool:
    """Whether quotes belong to the values, given the first two rows.

    They do in TSV, unless a field of the first row or all fields of the second are in quotes.
    """
    if separator != "\t":
        return False
    is_quoted = re.compile(r'"[^"]*"').fullmatch
    if any(is_quoted(name) for name in first.split(separator)):
        return False
    return not all(is_quoted(value) for value in second.split(separator))


def _first_row(text: str, separator: str) -> str:
    """Return the first row, or the first line if its quotes are malformed."""
    lines = text.split("\n")
    end = Quotes(separator, 0)._end(lines, 0)
    # _NONE and _OPEN are less than 1.
    return "\n".join(lines[: max(end, 1)])


def _unquoted(field: str) -> str:
    """Return a field's value, without outer quotes and with doubled quotes as one."""
    if not field.startswith('"'):
        return field
    return field[1:-1].replace('""', '"')


def _lines_to_look_at(block: bytes, separator: str, all_quotes: bool) -> list[int]:
    """Return the lines with a quote that does not plainly begin or end a field.

    With `all_quotes`, return all lines with quotes.
    """
    if b'"' not in block:
        return []
    codes = np.frombuffer(b"\n" + block + b"\n", np.uint8)
    if not all_quotes and _are_plain(codes, separator):
        return []
    quotes = np.flatnonzero(codes == ord('"'))
    ends = np.flatnonzero(codes == ord("\n"))
    # The number of quotes before each line and after the last one, and on each line.
    before = np.searchsorted(quotes, ends)
    counts = np.diff(before)
    if all_quotes:
        return np.flatnonzero(counts).tolist()
    # The first quote of a line begins a field, the second one ends it, and so on.
    is_ending = np.arange(len(quotes)) % 2 == 1
    # On a line after an odd number of quotes, these positions are shifted by one.
    is_shifted = before[:-1] % 2 == 1
    if is_shifted.any():
        is_ending ^= np.repeat(is_shifted, counts)
    is_edge = np.zeros(256, bool)
    is_edge[[ord(separator), ord("\n")]] = True
    # The character before a quote that begins a field, and after a quote that ends one.
    outside = codes[np.where(is_ending, quotes + 1, quotes - 1)]
    inside_fields = quotes[~is_edge[outside]]
    needs_look = counts % 2 == 1
    lines_of_these = np.searchsorted(ends, inside_fields) - 1
    needs_look[lines_of_these] = True
    return np.flatnonzero(needs_look).tolist()


def _are_plain(codes: np.ndarray, separator: str) -> bool:
    """Whether every quote begins or ends a field on one line.

    This is faster than checking each line.
    """
    is_end = codes == ord("\n")
    is_edge = is_end | (codes == ord(separator))
    is_quote = codes[1:-1] == ord('"')
    begins = is_quote & is_edge[:-2]
    ends = is_quote & is_edge[2:]
    # A quote that does neither or both, such as in `,",`, is not plain.
    if (is_quote & ~(begins ^ ends)).any():
        return False
    depth = np.cumsum(begins.view(np.int8) - ends.view(np.int8), dtype=np.int8)
    is_in_order = depth.min() >= 0 and depth.max() <= 1
    return bool(is_in_order and not (depth[is_end[1:-1]]).any())
