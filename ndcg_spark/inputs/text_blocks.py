"""Text in blocks of whole lines, and its rows: values as they were written, and what is wrong with a line.

A format has a rule in plain Python, which turns the lines of a block into rows, and a fast path through Arrow for
blocks in which nothing is odd. Both give the same columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.schemas import FAULT, LINE

#: The bytes of text that become columns together.
BLOCK_BYTES = 8 << 20
_LONGEST_LINE = 256 << 20
_BYTE_ORDER_MARK = "\ufeff".encode()
#: How many rows become columns together, where the input is not text of lines.
_ROWS = 1 << 16

#: Columns by our names; those of numbers may be text still.
Columns = Mapping[str, pa.ChunkedArray]


class Row(NamedTuple):
    """The values of a row as they were written; or the code of the rule that a line breaks, and its text."""

    values: Sequence[str | None]
    fault: str | None = None
    line: str | None = None


class TextFormat(Protocol):
    """How the blocks of a file become columns."""

    @property
    def columns(self) -> Sequence[str]:
        """Our names of the columns that the lines have."""

    def quick(self, block: bytes, *, as_text: bool) -> Columns | None:
        """The columns of a block in which every line is regular, else None; with `as_text` numbers stay text."""

    def rows(self, block: bytes) -> Iterator[Row]:
        """The rows of any block."""


def blocks(file: File, where: str, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The text in parts of about this many bytes, each of whole lines, without a byte order mark at its beginning.

    InputError if the file cannot be read, or for a line that does not fit into memory.
    """
    first = True
    for block in _blocks(file, where, size):
        text = block.removeprefix(_BYTE_ORDER_MARK) if first else block
        first = False
        if text:
            yield text


def _blocks(file: File, where: str, size: int) -> Iterator[bytes]:
    with file.open(where) as stream:
        rest = b""
        while part := stream.read(size):
            end = part.rfind(b"\n") + 1
            if end:
                # Most parts are whole, and are not copied.
                yield part if end == len(part) and not rest else rest + part[:end]
                rest = part[end:]
            else:
                rest += part
            if len(rest) > _LONGEST_LINE:
                raise InputError(
                    f"{where}: {file.path} has a line of more than {_LONGEST_LINE >> 20} MiB; write one row a line"
                )
        yield rest


def with_line_feeds(block: bytes) -> bytes:
    """The block with lines that end in LF where they ended in CR LF."""
    return block.replace(b"\r\n", b"\n") if b"\r" in block else block


def is_plain_text(block: bytes) -> bool:
    """Whether a block is UTF-8 without a byte order mark in it, which is not part of a line."""
    return block.isascii() or (_BYTE_ORDER_MARK not in block and _is_text(block))


def _is_text(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def lines(block: bytes, around: str) -> Iterator[tuple[str, bool]]:
    """The lines that are not blank, without the characters `around` each, and whether they are UTF-8.

    Bytes that are not are replaced.
    """
    for raw in block.split(b"\n"):
        line = raw.decode("utf-8", "replace").strip(around)
        if line.strip(" "):
            yield line, "\ufffd" not in line or _is_text(raw)


def read_csv(
    block: bytes, names: Sequence[str], separator: str, kinds: dict[str, pa.DataType], quote: str | bool = False
) -> pa.Table | None:
    """The columns in `kinds`, in these types, of lines with these fields; None if a line or a number does not fit."""
    from pyarrow import csv

    try:
        return csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(block) + 1),
            parse_options=csv.ParseOptions(delimiter=separator, quote_char=quote),
            convert_options=csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds),
                null_values=[""] if quote else [],
                strings_can_be_null=bool(quote),
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        return None


def column_type(name: str, *, as_text: bool) -> pa.DataType:
    """The type in which a column is read: few grades are quicker as text, and Arrow would read 0x1F as a rank."""
    if name in ("score", "rank") and not as_text:
        return pa.float64()
    return pa.string() if name in ("doc_id", "score") else pa.dictionary(pa.int32(), pa.string())


def columns_of(names: Sequence[str], rows: Iterator[Row]) -> Iterator[Columns]:
    """The rows as columns of text, with FAULT and LINE of `schemas`, some thousands at a time."""
    part: list[Row] = []
    for row in rows:
        part.append(row)
        if len(part) == _ROWS:
            yield _columns(names, part)
            part = []
    if part:
        yield _columns(names, part)


def _columns(names: Sequence[str], rows: list[Row]) -> Columns:
    values, faults, texts = zip(*rows, strict=True)
    columns = [*zip(*values, strict=True), faults, texts]
    named = zip((*names, FAULT, LINE), columns, strict=True)
    return {name: pa.chunked_array([pa.array(column, pa.string())]) for name, column in named}
