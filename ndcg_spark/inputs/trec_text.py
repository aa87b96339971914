"""Text without a header, such as TREC's: fields between blanks, by their position in a line."""

import dataclasses
import re
from collections.abc import Iterator, Sequence

import numpy as np

from ndcg_spark.inputs.text_blocks import Columns, Row, column_type, is_plain_text, lines, read_csv, with_line_feeds
from ndcg_spark.inputs.trec_layouts import NUMBER, WHOLE_NUMBER, Layout

_AROUND = "\ufeff \t\r\f"
_BLANK = ord(" ")
_BLANKS = bytes.maketrans(b"\t\r\f", b"   ")
_SEVERAL = re.compile(r"[ \t\r\f]+")
#: How a line ends that has a blank in the document's id, and not in the run's name: a rank, a score and a run.
_ENDS_WITH_RANK_SCORE_RUN = re.compile(rf" {WHOLE_NUMBER} {NUMBER} [^ ]+\Z")
_NUMBER = re.compile(NUMBER)
#: The bytes that are compared with a blank together: few enough for a processor's own memory.
_SLICE = 1 << 17


@dataclasses.dataclass(frozen=True)
class TrecText:
    """Lines of a layout.

    A line of a TREC run has at least six fields, as trec_eval allows: what follows belongs to the run's name. It is
    broken where the blank may be in the document's id instead.
    """

    layout: Layout

    @property
    def columns(self) -> Sequence[str]:
        """The columns in the order of their fields."""
        return self.layout.names

    def quick(self, block: bytes, *, as_text: bool) -> Columns | None:
        """The columns, if all lines have as many fields; blanks may be repeated, and lines may end in CR LF."""
        if not is_plain_text(block):
            return None
        block = with_line_feeds(block)
        separator = b"\t" if b"\t" in block else b" "
        if not _is_plain(block, separator):
            block, separator = _single_blanks(block), b" "
        positions = {name: str(at) for name, at in self.layout.positions.items()}
        kinds = {positions[name]: column_type(name, as_text=as_text) for name in positions}
        table = read_csv(block, [str(at) for at in range(self.layout.fields)], separator.decode(), kinds)
        return None if table is None else {name: table.column(at) for name, at in positions.items()}

    def rows(self, block: bytes) -> Iterator[Row]:
        """One row per line; a line with another number of fields, or that is not UTF-8, is broken."""
        places = [self.layout.positions[name] for name in self.columns]
        nothing = [None] * len(places)
        for line, is_valid in lines(block, _AROUND):
            fields = _SEVERAL.sub(" ", line).split(" ")
            if is_valid and self._are_whole(fields):
                yield Row([fields[at] for at in places])
            else:
                yield Row(nothing, "broken_line", line)

    def _are_whole(self, fields: list[str]) -> bool:
        if not self.layout.open or len(fields) <= self.layout.fields:
            return len(fields) == self.layout.fields
        rank = fields[self.layout.positions["rank"]]
        return bool(_NUMBER.fullmatch(rank)) and not _ENDS_WITH_RANK_SCORE_RUN.search(" ".join(fields))


def _is_plain(block: bytes, separator: bytes) -> bool:
    """Whether fields have one separator between them, and lines end without a blank."""
    other = b" " if separator == b"\t" else b"\t"
    if any(byte in block for byte in (other, b"\r", b"\f")) or block.endswith(separator) or block[0] <= _BLANK:
        return False
    codes = np.frombuffer(block, np.uint8)
    for at in range(0, len(codes), _SLICE):
        # Separators, line ends and what comes before them in ASCII: two in a row are an empty field, or an empty line.
        low = codes[at : at + _SLICE + 1] <= _BLANK
        if (low[1:] & low[:-1]).any():
            return False
    return True


def _single_blanks(block: bytes) -> bytes:
    """The block with one blank between fields, and none around lines."""
    if any(byte in block for byte in (b"\t", b"\r", b"\f")):
        block = block.translate(_BLANKS)
    codes, parts = np.frombuffer(block, np.uint8), []
    is_after_blank = True
    for at in range(0, len(codes), _SLICE):
        part = codes[at : at + _SLICE]
        blank = part == _BLANK
        kept = ~blank
        kept[1:] |= ~blank[:-1]
        kept[0] |= not is_after_blank
        is_after_blank = bool(blank[-1])
        parts.append(part[kept].tobytes())
    return b"".join(parts).replace(b" \n", b"\n").replace(b"\n ", b"\n").removesuffix(b" ")
