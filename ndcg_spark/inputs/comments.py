"""Finds the lines of TREC text that are not rows: comments, a header block, and field names.

A line that begins with # is a comment, as in trec_eval. NTCIR runs begin with a block such as
<SYSDESC>what the run is</SYSDESC>, which may span several lines.
"""

import re
from collections.abc import Sequence

from ndcg_spark.errors import InputError

_BLANKS = " \t\r\f"
_TAG = re.compile(r"<([A-Z]+)>")
_LINE_END = re.compile(rb"\r\n?|\n")


class Preamble:
    """Removes the lines before the first row of a file, which are given one after the other.

    Comments among them are not removed.
    """

    def __init__(self, path: str, names: int = 0) -> None:
        self._path = path
        #: The number of lines with field names that have not been seen.
        self._names_left = names
        #: The tag that ends the open block; empty outside a block.
        self._end_tag = ""
        self._has_first_row = False
        self.block_lines = 0

    def takes(self, line: str) -> bool:
        """Whether the next line of the file belongs to the preamble.

        Such a line is blank, has field names, or is within a header block.
        """
        line = line.strip(_BLANKS)
        if self._end_tag:
            self._take_block_line(line)
            return True
        if self._has_first_row or line.startswith("#"):
            return False
        tag = _TAG.match(line)
        if tag:
            self._end_tag = f"</{tag[1]}>"
            self._take_block_line(line)
            return True
        if not line:
            return True
        if self._names_left:
            self._names_left -= 1
            return True
        self._has_first_row = True
        return False

    def _take_block_line(self, line: str) -> None:
        self.block_lines += 1
        if line.endswith(self._end_tag):
            self._end_tag = ""

    def rest(self, text: bytes) -> bytes:
        """Return the next whole lines of the file without those that belong to the preamble."""
        kept: list[bytes] = []
        at = 0
        while at < len(text) and not self._has_first_row:
            found = _LINE_END.search(text, at)
            end = found.end() if found else len(text)
            line = text[at:end].decode("utf-8", "replace").rstrip("\n")
            if not self.takes(line):
                kept.append(text[at:end])
            at = end
        return b"".join(kept) + text[at:]

    def refuse_open_block(self) -> None:
        """Raise InputError if the file ends within a block."""
        if self._end_tag:
            start = self._end_tag.replace("/", "")
            what = f"{self._path}: the header {start} does not end"
            to_do = f"end its last line with {self._end_tag}, or remove the header"
            raise InputError(f"{what}; {to_do}")


def first_lines(lines: Sequence[str], path: str) -> list[str]:
    """Return the lines without a header block and comments.

    If all lines are comments, return the ones that begin with more than #, such as `#q1 0 d1 1`,
    because they may be rows.
    """
    preamble = Preamble(path)
    below = [line for line in lines if not preamble.takes(line)]
    preamble.refuse_open_block()
    rows = [line for line in below if not is_comment(line)]
    return rows or [line for line in below if line.split()[0].strip("#")]


def is_comment(line: str) -> bool:
    return line.lstrip(_BLANKS).startswith("#")
