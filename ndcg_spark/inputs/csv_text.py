"""CSV and TSV with a header: fields by the names in the first line (RFC 4180, but a row is one line)."""

import csv
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ndcg_spark.inputs.text_blocks import Columns, Row, column_type, is_plain_text, lines, read_csv, with_line_feeds

SEPARATORS = {"csv": ",", "tsv": "\t"}
_AROUND = "\ufeff\r"
_QUOTE, _NEW_LINE = ord('"'), ord("\n")


@dataclasses.dataclass(frozen=True)
class CsvText:
    """Lines with these fields; an empty field is not a value, and a line that repeats the header is not a row."""

    separator: str
    header: str
    #: The fields' names for our columns, by our names.
    names: Mapping[str, str]

    @property
    def columns(self) -> Sequence[str]:
        """Our names of the columns."""
        return list(self.names)

    def quick(self, block: bytes, *, as_text: bool) -> Columns | None:
        """The columns, if every line has as many fields as the header, and quotes are only around whole fields."""
        header = self.header.encode()
        block = with_line_feeds(block)
        if block.startswith(header + b"\n"):
            block = block[len(header) + 1 :]
        if header in block or b"\r" in block or not is_plain_text(block):
            return None
        if not block or (b'"' in block and not _are_around_fields(block, self.separator)):
            return None
        fields = header_names(self.header, self.separator)
        kinds = {theirs: column_type(ours, as_text=as_text) for ours, theirs in self.names.items()}
        table = read_csv(block, fields, self.separator, kinds, '"')
        return None if table is None else {ours: table.column(theirs) for ours, theirs in self.names.items()}

    def rows(self, block: bytes) -> Iterator[Row]:
        """One row per line; a line with other quotes or another number of fields, or that is not UTF-8, is broken."""
        fields = header_names(self.header, self.separator)
        places = [fields.index(name) for name in self.names.values()]
        nothing = [None] * len(places)
        for line, is_valid in lines(block, _AROUND):
            if line == self.header:
                continue
            found = self._fields(line) if is_valid else []
            if len(found) == len(fields):
                yield Row([found[at] or None for at in places])
            else:
                yield Row(nothing, "broken_line", line)

    def _fields(self, line: str) -> list[str]:
        """The fields of a line; empty if a field goes on after its closing quote, or lacks one."""
        if '"' not in line:
            return line.split(self.separator)
        fields, at, end = [], 0, len(line)
        while at <= end:
            if line[at : at + 1] == '"':
                close = at + 1
                while (close := line.find('"', close)) >= 0 and line[close + 1 : close + 2] == '"':
                    close += 2
                if close < 0 or line[close + 1 : close + 2] not in ("", self.separator):
                    return []
                fields.append(line[at + 1 : close].replace('""', '"'))
                at = close + 2
            else:
                close = line.find(self.separator, at)
                close = end if close < 0 else close
                fields.append(line[at:close])
                at = close + 1
        return fields


def header_names(line: str, separator: str) -> list[str]:
    """The names of columns in the header of a CSV or TSV file; ValueError if it is not a line of such a file."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{line[:200]!r} is not a header, {error}") from error


def _are_around_fields(block: bytes, separator: str) -> bool:
    """Whether every quote opens a field, closes one or is doubled within one, and no field goes on in another line."""
    codes = np.frombuffer(b"\n" + block + b"\n", np.uint8)
    quotes = np.flatnonzero(codes == _QUOTE)
    if len(quotes) % 2:
        return False
    ends = (ord(separator), _NEW_LINE)
    opening, closing = quotes[::2], quotes[1::2]
    # A doubled quote closes and opens at once.
    opens = np.isin(codes[opening - 1], (*ends, _QUOTE)) & (
        (codes[opening - 1] != _QUOTE) | np.isin(opening - 1, closing)
    )
    closes = np.isin(codes[closing + 1], (*ends, _QUOTE)) & (
        (codes[closing + 1] != _QUOTE) | np.isin(closing + 1, opening)
    )
    lines_before = np.cumsum(codes == _NEW_LINE)
    return bool(opens.all() and closes.all() and (lines_before[opening] == lines_before[closing]).all())
