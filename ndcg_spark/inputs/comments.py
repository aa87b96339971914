"""The parts of TREC text that are not rows: comments, a header block, and the names of its fields.

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
    """The lines before the first row of a file. Comments among them are not removed."""

    def __init__(self, path: str, names: int = 0) -> None:
        self._path = path
        #: How many header lines are still to come.
        self._names = names
        #: The tag that ends the open block; empty outside a block.
        self._end = ""
        self._is_over = False
        self.block_lines = 0

    def takes(self, line: str) -> bool:
        """Whether the next line of the file is blank, a line of names, or within a block."""
        line = line.strip(_BLANKS)
        if self._is_over:
            return False
        if self._end:
            self._take_block_line(line)
            return True
        if line.startswith("#"):
            return False
        tag = _TAG.match(line)
        if tag:
            self._end = f"</{tag[1]}>"
            self._take_block_line(line)
            return True
        if line and not self._names:
            self._is_over = True
            return False
        if line:
            self._names -= 1
        return True

    def _take_block_line(self, line: str) -> None:
        self.block_lines += 1
        if line.endswith(self._end):
            self._end = ""

    def rest(self, text: bytes) -> bytes:
        """Return the next whole lines of the file without those that belong to the preamble."""
        kept: list[bytes] = []
        at = 0
        while at < len(text) and not self._is_over:
            found = _LINE_END.search(text, at)
            end = found.end() if found else len(text)
            if not self.takes(text[at:end].decode("utf-8", "replace").rstrip("\n")):
                kept.append(text[at:end])
            at = end
        return b"".join(kept) + text[at:]

    def refuse_open_block(self) -> None:
        """Raise InputError if the file ends within a block."""
        if self._end:
            start = self._end.replace("/", "")
            what = f"{self._path}: the header {start} does not end"
            raise InputError(f"{what}; end its last line with {self._end}, or remove the header")


def first_lines(lines: Sequence[str], path: str) -> list[str]:
    """Return the lines without a header block and comments.

    If all lines are comments, return those whose first word is more than #, because they may be
    rows.
    """
    preamble = Preamble(path)
    below = [line for line in lines if not preamble.takes(line)]
    preamble.refuse_open_block()
    rows = [line for line in below if not is_comment(line)]
    return rows or [line for line in below if line.split()[0].strip("#")]


def is_comment(line: str) -> bool:
    return line.lstrip(_BLANKS).startswith("#")
