"""TREC text, CSV and TSV: blocks of whole lines as typed columns, and the lines that are not rows.

pyarrow parses every block, and hands over the lines with too few or too many fields. Where it meets a number that is
none, it parses the block again as text.
"""

import contextlib
import csv
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.schemas import LINE

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
BROKEN = "broken_line"
#: The columns that hold numbers, and the text of few distinct values that every other column but a document's id is.
NUMBERS = ("relevance", "score", "rank")
FEW = pa.dictionary(pa.int32(), pa.string())

_BLOCK_BYTES = 8 << 20
_MAX_LINE = 256 << 20
_BYTE_ORDER_MARK = "\ufeff".encode()
_BLANKS = " \t\r\n\f"
_HEADER = re.compile(rb"\A[^\r\n]*(\r\n?|\n|\Z)")
#: A line of a run with a blank in the document's id, and not in the run's name, ends with a rank, a score and a name.
_ENDS_AS_RUN = re.compile(rf" [+-]?[0-9]+(\.0*)? {NUMBER} [^ ]+\Z")
#: The bytes that are compared with a blank together: few enough for a processor's own memory.
_SLICE = 1 << 17


class Part(NamedTuple):
    """The columns of a part of a file by our names, and the code of the rule and the text of lines that are not rows.

    The column LINE has the whole line of a row with a number that is none.
    """

    columns: Mapping[str, pa.ChunkedArray]
    broken: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Delimited:
    """Lines of fields with these names, and which field is which of our columns."""

    fields: Sequence[str]
    columns: Mapping[str, str]
    #: Between fields; "" for any blanks. A field may be in quotes if it is not.
    separator: str = ""
    has_header: bool = False
    #: Whether more fields may follow, which belong to the run's name, as trec_eval allows.
    is_open: bool = False

    @property
    def names(self) -> Collection[str]:
        """Our columns."""
        return self.columns

    def parts(self, file: File, where: str) -> Iterator[bytes]:
        """The text of a file in blocks of whole lines, without its header."""
        texts = blocks(file, where)
        if self.has_header and (first := next(texts, b"")):
            yield _HEADER.sub(b"", first, count=1)
        yield from texts

    def read(self, block: bytes) -> Part:
        """The rows of a block."""
        block, broken = valid_lines(block)
        separator = self.separator or ("\t" if b"\t" in block else " ")
        if not self.separator and block and not _is_plain(block, separator):
            block, separator = _single_blanks(block), " "
        columns, invalid = self._parse(block, separator)
        if self.separator and b'"' in block and self._has_unclosed(block, len(next(iter(columns.values()))), invalid):
            good: list[str] = []
            for line in block.decode().split("\n"):
                good.append(line) if self._is_closed(line) else broken.append((BROKEN, line))
            block = "\n".join(good).encode()
            columns, invalid = self._parse(block, separator)
        columns = with_numbers(columns, _rows(block, {"", *invalid}))
        named = {line: self._with_name(line, separator) for line in invalid}
        broken += [(BROKEN, line) for line in invalid if line.strip(_BLANKS) and not named[line]]
        if any(named.values()):
            more = self.read("\n".join(filter(None, map(named.__getitem__, invalid))).encode())
            both = pa.concat_tables([pa.table(dict(columns)), pa.table(dict(more.columns))], promote_options="default")
            columns = dict(zip(both.column_names, both.unify_dictionaries().columns, strict=True))
        return Part(columns, broken)

    def _parse(self, block: bytes, separator: str) -> tuple[dict[str, pa.ChunkedArray], list[str]]:
        """The columns, numbers as far as pyarrow reads them, and the lines with another number of fields."""
        from pyarrow import csv as arrow_csv

        invalid: list[str] = []

        def skip(row: arrow_csv.InvalidRow) -> str:
            invalid.append(row.text)
            return "skip"

        def parse(*, as_text: bool) -> pa.Table:
            invalid.clear()
            kinds = {theirs: _kind(ours, as_text=as_text) for ours, theirs in self.columns.items()}
            return arrow_csv.read_csv(
                pa.BufferReader(block or b"\n"),
                arrow_csv.ReadOptions(column_names=self.fields, use_threads=False, block_size=len(block) + 2),
                arrow_csv.ParseOptions(
                    delimiter=separator, quote_char='"' if self.separator else False, invalid_row_handler=skip
                ),
                arrow_csv.ConvertOptions(
                    column_types=kinds,
                    include_columns=list(kinds),
                    null_values=[""] if self.separator else [],
                    strings_can_be_null=bool(self.separator),
                    check_utf8=False,
                ),
            )

        try:
            table = parse(as_text=False)
        except pa.ArrowInvalid:
            table = parse(as_text=True)
        return {ours: table.column(theirs) for ours, theirs in self.columns.items()}, invalid

    def _has_unclosed(self, block: bytes, rows: int, invalid: Sequence[str]) -> bool:
        """Whether a quote that does not end in its line has swallowed other lines, or would."""
        lines = block.rstrip(b"\n").split(b"\n")
        return rows + len(invalid) != sum(map(bool, lines)) or not self._is_closed(lines[-1].decode())

    def _is_closed(self, line: str) -> bool:
        """Whether every quote ends: a reader of two lines takes them for one if the first has one that does not."""
        return '"' not in line or len(list(csv.reader([f"{line}\n", "x"], delimiter=self.separator))) > 1

    def _with_name(self, line: str, separator: str) -> str:
        """A line whose run's name has blanks, without what follows them; "" if they may be in the document's id."""
        fields = line.split(separator)
        if not self.is_open or len(fields) <= len(self.fields):
            return ""
        rank = fields[self.fields.index(self.columns["rank"])]
        is_run = re.fullmatch(NUMBER, rank) and not _ENDS_AS_RUN.search(" ".join(fields))
        return separator.join(fields[: len(self.fields)]) if is_run else ""


def blocks(file: File, where: str, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """The text in parts of about this many bytes, each of whole lines, without a byte order mark at its beginning."""
    with file.open(where) as stream:
        rest = stream.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
        while part := stream.read(size):
            end = part.rfind(b"\n") + 1
            if end:
                # Most parts are whole, and are not copied.
                yield part if end == len(part) and not rest else rest + part[:end]
                rest = part[end:]
            else:
                rest += part
            if len(rest) > _MAX_LINE:
                raise InputError(
                    f"{where}: {file.path} has a line of more than {_MAX_LINE >> 20} MiB; write one row a line"
                )
        if rest:
            yield rest


def valid_lines(block: bytes) -> tuple[bytes, list[tuple[str, str]]]:
    """The lines that are UTF-8, each with a line feed at its end alone, and those that are not."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if block.isascii():
        return block, []
    broken = []
    try:
        block.decode()
    except UnicodeDecodeError:
        pairs = [(line, line.decode("utf-8", "replace")) for line in block.split(b"\n")]
        broken = [(BROKEN, text) for line, text in pairs if text.encode() != line]
        block = b"\n".join(line for line, text in pairs if text.encode() == line)
    # A file that was put together of several may have marks within.
    return block.replace(b"\n" + _BYTE_ORDER_MARK, b"\n"), broken


def with_numbers(columns: Mapping[str, pa.ChunkedArray], lines: Iterable[str]) -> dict[str, pa.ChunkedArray]:
    """The columns with numbers as such, and LINE of their `lines`, if there are numbers that are none."""
    typed = {name: numbers(name, column) if name in NUMBERS else column for name, column in columns.items()}
    wrong = [compute.is_null(typed[name]) for name in NUMBERS if name in typed and typed[name].null_count]
    if wrong:
        is_wrong = functools.reduce(compute.or_, wrong)
        texts = pa.chunked_array([[*lines]], pa.string())
        if len(texts) == len(is_wrong):
            typed[LINE] = compute.if_else(is_wrong, texts, None)
    return typed


def _rows(block: bytes, without: Collection[str]) -> Iterator[str]:
    """The lines of a block but these; a generator, as they are rarely needed."""
    yield from (line for line in block.decode().split("\n") if line not in without)


def numbers(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as doubles, ranks as whole numbers of 32 bits; null for what is not a plain, finite number.

    -0.0 becomes 0.0, because engines distinguish the two in some plans and not in others.
    """
    if pa.types.is_dictionary(column.type):
        encoded = column.combine_chunks()
        return numbers(name, pa.chunked_array([encoded.dictionary])).take(encoded.indices)
    if pa.types.is_string(column.type):
        trimmed = compute.utf8_trim(column, _BLANKS)
        is_plain = compute.match_substring_regex(trimmed, f"^{NUMBER}$")
        column = compute.if_else(is_plain, trimmed, pa.scalar(None, pa.string()))
    elif name == "rank":
        with contextlib.suppress(pa.ArrowInvalid):
            # As most ranks are; a fraction cannot be cast.
            return column.cast(pa.int32())
    values = column.cast(pa.float64())
    is_good = compute.is_finite(values)
    if name == "rank":
        is_whole = compute.equal(values, compute.floor(values))
        is_good = compute.and_(is_whole, compute.less(compute.abs(values), 2.0**31))
    values = compute.if_else(is_good, values, None)
    return values.cast(pa.int32()) if name == "rank" else compute.add(values, 0.0)


def constant(value: str | None, kind: pa.DataType, rows: int) -> pa.Array:
    """The same value in all rows, null for text where numbers are expected."""
    if value is None:
        return pa.nulls(rows, kind)
    if kind == FEW:
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([value], pa.string()))
    text = pa.chunked_array([[value]])
    number = {pa.float64(): "score", pa.int32(): "rank"}.get(kind)
    return pa.repeat(numbers(number, text)[0] if number else text[0], rows)


def _kind(name: str, *, as_text: bool) -> pa.DataType:
    """The type in which a column is parsed: few grades are quicker as text, and Arrow would read 0x1F as a whole."""
    if name in ("score", "rank") and not as_text:
        return pa.float64()
    return pa.string() if name in ("doc_id", "score") else FEW


def _is_plain(block: bytes, separator: str) -> bool:
    """Whether fields have one separator between them, and lines end without a blank."""
    one, other = (b"\t", b" ") if separator == "\t" else (b" ", b"\t")
    if other in block or b"\f" in block or block.endswith(one) or block[0] <= ord(" "):
        return False
    codes = np.frombuffer(block, np.uint8)
    for at in range(0, len(codes), _SLICE):
        # Separators, line ends and what comes before them in ASCII: two in a row are an empty field, or an empty line.
        low = codes[at : at + _SLICE + 1] <= ord(" ")
        if (low[1:] & low[:-1]).any():
            return False
    return True


def _single_blanks(block: bytes) -> bytes:
    """The block with one blank between fields, and none around lines."""
    codes, parts = np.frombuffer(block.translate(bytes.maketrans(b"\t\f", b"  ")), np.uint8), []
    is_after_blank = True
    for at in range(0, len(codes), _SLICE):
        part = codes[at : at + _SLICE]
        is_blank = part == ord(" ")
        is_kept = ~is_blank
        is_kept[1:] |= ~is_blank[:-1]
        is_kept[0] |= not is_after_blank
        is_after_blank = bool(is_blank[-1])
        parts.append(part[is_kept].tobytes())
    return b"".join(parts).replace(b" \n", b"\n").replace(b"\n ", b"\n").removesuffix(b" ")
