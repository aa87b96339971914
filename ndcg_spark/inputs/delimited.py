"""Reads TREC text, CSV and TSV: blocks of whole lines become typed columns.

pyarrow parses every block, and returns the lines with too few or too many fields. If a numeric
field is not a number, it parses the block again as text. `quotes` decides beforehand what the
quotes mean.
"""

import contextlib
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow_csv

from ndcg_spark.inputs.comments import Preamble
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.quotes import Quotes, RowText
from ndcg_spark.schemas import LINE, UNREAD_GRADE
from ndcg_spark.text import PLAIN_NUMBER

#: The columns that hold numbers.
NUMBERS = ("relevance", "score", "rank")
#: The type of text with few distinct values. All columns but numbers and documents have it.
FEW = pa.dictionary(pa.int32(), pa.string())

_BLOCK_BYTES = 8 << 20
_BYTE_ORDER_MARK = "\ufeff".encode()
_BLANKS = " \t\r\n\f"
_TO_BLANKS = bytes.maketrans(b"\t\f", b"  ")
_LINE_END = re.compile(rb"\r\n?|\n")
#: Text in quotes, up to the end of the line if the quotes are not closed.
_QUOTED = re.compile(r'"[^"]*("|\Z)')
#: The last fields of a TREC run.
_RUN_ENDS = ("rank", "score", "run")
#: A line of a run ends with a rank, a score and a name if the document's id has a blank and the
#: run's name has none.
_ENDS_AS_RUN = re.compile(rf" [+-]?[0-9]+(\.0*)? {PLAIN_NUMBER} [^ ]+\Z")


class ParsedPart(NamedTuple):
    """The columns of a part by our names, and the lines that are not rows.

    LINE has the line of a row in which a numeric field is not a number.
    """

    columns: Mapping[str, pa.ChunkedArray]
    broken: Sequence[str] = ()


@dataclass(frozen=True)
class Delimited:
    """Reads files whose fields are separated by a character or by blanks."""

    #: The names of all fields, in order.
    fields: Sequence[str]
    #: The name of the field for each of our columns.
    columns: Mapping[str, str]
    #: The separator between fields, or "" for any blanks. Fields may be in quotes unless it is "".
    separator: str = ""
    #: The number of header lines, or 0 if there is no header.
    header_lines: int = 0
    #: Whether quotes belong to the values; see `quotes.are_literal`.
    has_literal_quotes: bool = False
    #: The labels that stand for grades; empty if grades are numbers.
    labels: Collection[str] = ()
    #: The last line of each file that has no line end, by the file's path. This and the next
    #: two grow while files are read.
    unended: dict[str, str] = field(default_factory=dict, compare=False)
    #: The number of comments in each part of TREC text.
    comments: list[int] = field(default_factory=list, compare=False)
    #: The number of header block lines in each file of TREC text.
    block_lines: list[int] = field(default_factory=list, compare=False)

    def parts(self, file: File, size: int = _BLOCK_BYTES) -> Iterator[bytes | RowText]:
        """Yield the file below its header in parts of whole rows, which `read` parses."""
        header: list[bytes] = []
        watched = self._remember_last_line(blocks(file, size), file.path)
        if not self.separator:
            yield from self._without_preamble(watched, file.path)
            return
        texts = self._without_header(watched, header)
        broken: list[str] = []
        yield from self._quotes().rows(_valid_blocks(texts, header, broken))
        if broken:
            yield RowText(b"", broken, {})

    def _remember_last_line(self, texts: Iterable[bytes], path: str) -> Iterator[bytes]:
        """Yield the same text, and remember its last line if it may have been cut off."""
        last = b"\n"
        for text in texts:
            yield text
            last = text
        if not last.endswith((b"\n", b"\r")):
            self.unended[path] = re.split(rb"[\r\n]", last)[-1].decode("utf-8", "replace")

    def _without_preamble(self, texts: Iterable[bytes], path: str) -> Iterator[bytes]:
        """Yield the text below the header block and the field names, including comments."""
        preamble = Preamble(path, self.header_lines)
        for text in texts:
            rest = preamble.rest(text)
            if rest:
                yield rest
        preamble.refuse_open_block()
        self.block_lines.append(preamble.block_lines)

    def _without_header(self, texts: Iterable[bytes], header: list[bytes]) -> Iterator[bytes]:
        """Yield the text below the header, and add the lines of the header to `header`."""
        lines_left = self.header_lines
        for text in texts:
            rest = text
            while lines_left and rest:
                found = _LINE_END.search(rest)
                end = found.end() if found else len(rest)
                header.append(rest[:end])
                rest = rest[end:]
                lines_left -= 1
            if rest:
                yield rest

    def _quotes(self) -> Quotes:
        """Return the rules for quotes in these fields."""
        fields = [*self.fields]
        at = {ours: fields.index(theirs) for ours, theirs in self.columns.items()}
        numbers = frozenset(at[name] for name in NUMBERS if name in at)
        ids = frozenset(at.values()) - numbers
        return Quotes(self.separator, len(fields), ids, numbers, self.has_literal_quotes)

    def read(self, part: bytes | RowText) -> ParsedPart:
        """Return the columns of a part, and its lines that are not rows."""
        if isinstance(part, bytes):
            part = RowText(*valid_lines(part), {})
        block, broken, original = part
        separator = self.separator
        if not separator:
            block, separator = single_blanks(block)
            block, unclear = self._without_comments(block, separator)
            broken = [*broken, *unclear]
        columns, invalid = self._parse(block, separator)
        if invalid:
            # Read the part once more, without the lines that cannot be corrected.
            corrected = {line: self._with_short_run(line, separator) for line in invalid}
            return self.read(_replace_lines(RowText(block, broken, original), corrected))
        lines_read = (original.get(line, line) for line in filled_lines(block))
        return ParsedPart(with_numbers(columns, lines_read, self.labels), broken)

    def _without_comments(self, block: bytes, separator: str) -> tuple[bytes, list[str]]:
        """Return the block without comments, and the removed lines that may be rows.

        Other comments are counted. A line that begins with # may be a row if it has the fields of a
        row. A line that repeats the header may also be one.
        """
        header = ""
        if self.header_lines:
            header = separator.join(self.fields)
        repeats_header = header != "" and header.encode() in block
        # A search for one character is ten times as fast as for two.
        has_comments = b"#" in block and (block.startswith(b"#") or b"\n#" in block)
        if not repeats_header and not has_comments:
            return block, []
        rows: list[str] = []
        unclear: list[str] = []
        comments = 0
        for line in block.decode().split("\n"):
            if line.startswith("#"):
                if self._may_be_row(line.split(separator)):
                    unclear.append(line)
                else:
                    comments += 1
            elif repeats_header and line == header:
                unclear.append(line)
            else:
                rows.append(line)
        self.comments.append(comments)
        return "\n".join(rows).encode(), unclear

    def _may_be_row(self, fields: Sequence[str]) -> bool:
        """Whether a line that begins with # has a row's fields, including its numbers."""
        if self._is_run:
            fields = fields[: len(self.fields)]
        if not fields[0].strip("#") or len(fields) != len(self.fields):
            return False
        called = {self.columns.get(name, name) for name in NUMBERS}
        for name, text in zip(self.fields, fields, strict=True):
            if name in called and not re.fullmatch(PLAIN_NUMBER, text):
                return False
        return True

    @property
    def _is_run(self) -> bool:
        """Whether the fields are those of a TREC run, which ends with the run's name."""
        return tuple(self.fields[3:]) == _RUN_ENDS

    def _parse(self, block: bytes, separator: str) -> tuple[dict[str, pa.ChunkedArray], list[str]]:
        """Return the columns, and the lines with too few or too many fields.

        Numbers are parsed if pyarrow can read all of them.
        """
        invalid: list[str] = []

        def skip(row: arrow_csv.InvalidRow) -> str:
            invalid.append(row.text)
            return "skip"

        # Quotes, and null for an empty field, exist only in CSV and TSV.
        is_quoted = bool(self.separator)
        read_options = arrow_csv.ReadOptions(
            column_names=self.fields, use_threads=False, block_size=len(block) + 2
        )
        parse_options = arrow_csv.ParseOptions(
            delimiter=separator,
            quote_char='"' if is_quoted else False,
            invalid_row_handler=skip,
        )
        convert_options = arrow_csv.ConvertOptions(
            column_types=self._types(pa.float64()),
            include_columns=[*self.columns.values()],
            null_values=[""] if is_quoted else [],
            strings_can_be_null=is_quoted,
            check_utf8=False,
        )
        # pyarrow needs at least an empty line.
        text = block or b"\n"
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(text), read_options, parse_options, convert_options
            )
        except pa.ArrowInvalid:
            invalid.clear()
            convert_options.column_types = self._types(pa.string())
            table = arrow_csv.read_csv(
                pa.BufferReader(text), read_options, parse_options, convert_options
            )
        return {ours: table.column(theirs) for ours, theirs in self.columns.items()}, invalid

    def _types(self, number: pa.DataType) -> dict[str, pa.DataType]:
        """Return the type of each field that is read; scores and ranks have the type `number`."""
        # Few distinct grades are faster as text, and Arrow would read 0x1F as a whole number.
        kinds = {"doc_id": pa.string(), "score": number, "rank": number}
        return {theirs: kinds.get(ours, FEW) for ours, theirs in self.columns.items()}

    def _with_short_run(self, line: str, separator: str) -> str:
        """Return a line of a run with only the first word of a run name that has blanks.

        trec_eval allows such names. Return "" if the blanks may be in a different field.
        """
        fields = line.split(separator)
        if self.separator or not self._is_run or len(fields) <= len(self.fields):
            return ""
        has_rank = re.fullmatch(PLAIN_NUMBER, fields[3]) is not None
        # Then the blanks are in the document's id.
        ends_as_run = _ENDS_AS_RUN.search(" ".join(fields)) is not None
        if not has_rank or ends_as_run:
            return ""
        return separator.join(fields[: len(self.fields)])


def _replace_lines(part: RowText, corrected: Mapping[str, str]) -> RowText:
    """Return the part with corrected lines. A line whose correction is "" is broken."""
    lines = []
    broken = list(part.broken)
    for line in part.block.decode().split("\n"):
        new_line = corrected.get(line, line)
        lines.append(new_line)
        if not new_line and line.strip(_BLANKS):
            broken.append(part.original.get(line, line))
    return RowText("\n".join(lines).encode(), broken, part.original)


def blocks(file: File, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the text in parts of whole lines, each with about `size` bytes.

    A byte order mark at the beginning is removed.
    """
    with file.open() as stream:
        # The last line of a part continues in the next part.
        rest = stream.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
        while part := stream.read(size):
            end = part.rfind(b"\n") + 1
            if end:
                yield rest + part[:end]
                rest = b""
            rest += part[end:]
        if rest:
            yield rest


def _valid_blocks(
    texts: Iterable[bytes],
    header: Sequence[bytes],
    broken: list[str],
) -> Iterator[bytes]:
    """Yield the valid lines of each block, and add the lines that are not valid to `broken`.

    A repeated header, as in concatenated files, is added to `broken` as well.
    """
    for text in texts:
        block, other = valid_lines(text)
        broken += other
        # The line of names comes last: Excel writes its separator above it.
        names = header[-1].strip() if header else b""
        if names and names in block:
            lines = block.split(b"\n")
            broken += [line.decode() for line in lines if line == names]
            block = b"\n".join(line for line in lines if line != names)
        yield block


def separator_of(kind: str, header: str) -> str:
    """Return the separator between the fields of CSV or TSV.

    In many countries, spreadsheets write CSV with semicolons.
    """
    if kind == "tsv":
        return "\t"
    without_quoted = _QUOTED.sub("", header)
    return max(",;\t", key=without_quoted.count)


def filled_lines(block: bytes) -> Iterator[str]:
    """Yield the lines that are not empty. Nothing is decoded until the first line is needed."""
    yield from filter(None, block.decode().split("\n"))


def valid_lines(block: bytes) -> tuple[bytes, list[str]]:
    """Return the lines that are UTF-8, separated by line feeds only, and the lines that are not."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if block.isascii():
        return block, []
    broken = []
    try:
        block.decode()
    except UnicodeDecodeError:
        valid = []
        for line in block.split(b"\n"):
            text = line.decode("utf-8", "replace")
            if text.encode() == line:
                valid.append(line)
            else:
                broken.append(text)
        block = b"\n".join(valid)
    # Concatenated files may have byte order marks inside, even at the beginning of a block.
    block = block.removeprefix(_BYTE_ORDER_MARK)
    return block.replace(b"\n" + _BYTE_ORDER_MARK, b"\n"), broken


def with_numbers(
    columns: Mapping[str, pa.ChunkedArray], lines: Iterable[str], labels: Collection[str] = ()
) -> dict[str, pa.ChunkedArray]:
    """Return the columns with numbers parsed, and LINE and UNREAD_GRADE for invalid numbers.

    Grades that are `labels` remain text. An unknown label is then treated like a field that is not
    a number.
    """
    typed = dict(columns)
    invalid: dict[str, pa.ChunkedArray] = {}
    for name in NUMBERS:
        if name not in columns:
            continue
        typed[name], is_no_number = _as_number(name, columns[name], labels)
        if is_no_number is not None:
            invalid[name] = is_no_number
    if not invalid:
        return typed
    # With labels, the grades are still there as text.
    if "relevance" in invalid and not labels:
        texts = columns["relevance"].cast(pa.string())
        typed[UNREAD_GRADE] = compute.if_else(invalid["relevance"], texts, None)
    is_wrong = functools.reduce(compute.or_, invalid.values())
    all_lines = pa.chunked_array([[*lines]], pa.string())
    # A row over several lines has no single line to show.
    if len(all_lines) == len(is_wrong):
        typed[LINE] = compute.if_else(is_wrong, all_lines, None)
    return typed


def _as_number(
    name: str, column: pa.ChunkedArray, labels: Collection[str]
) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
    """Return the column as numbers, or unchanged if it has labels, and which values are neither.

    The second item is None if there is no such value.
    """
    if labels and name == "relevance":
        trimmed = compute.utf8_trim(column.cast(pa.string()), _BLANKS)
        is_known = compute.is_in(trimmed, value_set=pa.array(labels, pa.string()))
        has_only_labels = compute.all(is_known, min_count=0).as_py()
        return column, None if has_only_labels else compute.invert(is_known)
    typed = numbers(name, column)
    if not typed.null_count:
        return typed, None
    is_no_number = compute.is_null(typed)
    if name == "rank":
        # A rank may be absent if scores decide, but it may not be anything else.
        is_no_number = compute.and_(is_no_number, _is_given(column))
    return typed, is_no_number


def _is_given(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether there is a value; blank text is not a value."""
    if not pa.types.is_string(column.type):
        return compute.is_valid(column)
    is_text = compute.not_equal(compute.utf8_trim(column, _BLANKS), "")
    return compute.fill_null(is_text, False)


def numbers(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values as doubles, and ranks as 32-bit integers.

    A value that is not a plain, finite number becomes null. -0.0 becomes 0.0, because engines
    distinguish the two in some plans and not in others.
    """
    if pa.types.is_dictionary(column.type):
        encoded = column.combine_chunks()
        return numbers(name, pa.chunked_array([encoded.dictionary])).take(encoded.indices)
    if pa.types.is_string(column.type):
        trimmed = compute.utf8_trim(column, _BLANKS)
        is_plain = compute.match_substring_regex(trimmed, f"^{PLAIN_NUMBER}$")
        column = compute.if_else(is_plain, trimmed, pa.scalar(None, pa.string()))
    elif name == "rank":
        with contextlib.suppress(pa.ArrowInvalid):
            # Most ranks are whole numbers. A fraction cannot be cast.
            return column.cast(pa.int32())
    values = column.cast(pa.float64())
    if name == "rank":
        is_whole = compute.equal(values, compute.floor(values))
        fits = compute.less(compute.abs(values), 2.0**31)
        ranks = compute.if_else(compute.and_(is_whole, fits), values, None)
        return ranks.cast(pa.int32())
    finite = compute.if_else(compute.is_finite(values), values, None)
    # -0.0 + 0.0 is 0.0.
    return compute.add(finite, 0.0)


def single_blanks(block: bytes) -> tuple[bytes, str]:
    """Return the lines with exactly one separator between fields, and that separator.

    It is a tab if all separators are tabs, and otherwise a blank.
    """
    one, other = (b"\t", b" ") if b"\t" in block else (b" ", b"\t")
    # Blanks, tabs and line ends, which are the last control characters in ASCII.
    is_space = np.frombuffer(block, np.uint8) <= ord(" ")
    # Two in a row mean an empty field or an empty line.
    has_repeated = is_space[:1].any() or (is_space[1:] & is_space[:-1]).any()
    has_others = other in block or b"\f" in block
    if not (has_repeated or has_others or block.endswith(one)):
        # The lines already have single separators.
        return block, one.decode()
    codes = np.frombuffer(block.translate(_TO_BLANKS), np.uint8)
    # Keep the first blank of several in a row.
    is_kept = codes != ord(" ")
    is_kept[1:] |= is_kept[:-1].copy()
    single = codes[is_kept].tobytes()
    trimmed = single.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    return trimmed, " "
