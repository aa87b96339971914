"""TREC text, CSV and TSV: blocks of whole lines as typed columns, and the lines that are not rows.

pyarrow parses every block, and hands over the lines with too few or too many fields. If a numeric
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
from ndcg_spark.inputs.quotes import NUMBER, Quotes, RowText
from ndcg_spark.schemas import LINE, UNREAD_GRADE

#: The columns that hold numbers, and the type of all others but the document's id: text with few
#: distinct values.
NUMBERS = ("relevance", "score", "rank")
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
_ENDS_AS_RUN = re.compile(rf" [+-]?[0-9]+(\.0*)? {NUMBER} [^ ]+\Z")


class ParsedPart(NamedTuple):
    """The columns of a part by our names, and the lines that are not rows.

    LINE has the line of a row in which a numeric field is not a number.
    """

    columns: Mapping[str, pa.ChunkedArray]
    broken: Sequence[str] = ()


@dataclass(frozen=True)
class Delimited:
    fields: Sequence[str]
    columns: Mapping[str, str]
    #: The separator between fields, or "" for any blanks. Fields may be in quotes unless it is "".
    separator: str = ""
    #: The number of header lines, or 0 if there is no header.
    header_lines: int = 0
    #: Whether quotes belong to the values; see `quotes.are_literal`.
    has_literal_quotes: bool = False
    #: The labels that stand for grades; empty if grades are numbers.
    labels: Collection[str] = ()
    #: The last line of each file whose last line has no line end.
    unended: dict[str, str] = field(default_factory=dict, compare=False)
    #: The number of comments in each part of TREC text, and of header block lines in each file.
    comments: list[int] = field(default_factory=list, compare=False)
    block_lines: list[int] = field(default_factory=list, compare=False)

    def parts(self, file: File, size: int = _BLOCK_BYTES) -> Iterator[bytes | RowText]:
        header: list[bytes] = []
        watched = self._watched(blocks(file, size), file.path)
        if not self.separator:
            yield from self._without_preamble(watched, file.path)
            return
        texts = self._without_header(watched, header)
        broken: list[str] = []
        yield from self._quotes().rows(_valid_blocks(texts, header, broken))
        if broken:
            yield RowText(b"", broken, {})

    def _watched(self, texts: Iterable[bytes], path: str) -> Iterator[bytes]:
        """Yield the same text, and remember its last line if it may have been cut off."""
        last = b"\n"
        for text in texts:
            yield text
            last = text
        if not last.endswith((b"\n", b"\r")):
            self.unended[path] = re.split(rb"[\r\n]", last)[-1].decode("utf-8", "replace")

    def _without_preamble(self, texts: Iterable[bytes], path: str) -> Iterator[bytes]:
        """Yield the text below the header block and the names of the fields, with its comments."""
        preamble = Preamble(path, self.header_lines)
        for text in texts:
            rest = preamble.rest(text)
            if rest:
                yield rest
        preamble.refuse_open_block()
        self.block_lines.append(preamble.block_lines)

    def _without_header(self, texts: Iterable[bytes], header: list[bytes]) -> Iterator[bytes]:
        """Yield the text below the header, whose lines are added to `header`."""
        lines = self.header_lines
        for text in texts:
            rest = text
            while lines and rest:
                found = _LINE_END.search(rest)
                end = found.end() if found else len(rest)
                header.append(rest[:end])
                rest = rest[end:]
                lines -= 1
            if rest:
                yield rest

    def _quotes(self) -> Quotes:
        fields = [*self.fields]
        at = {ours: fields.index(theirs) for ours, theirs in self.columns.items()}
        numbers = frozenset(at[name] for name in NUMBERS if name in at)
        ids = frozenset(at.values()) - numbers
        return Quotes(self.separator, len(fields), ids, numbers, self.has_literal_quotes)

    def read(self, part: bytes | RowText) -> ParsedPart:
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
            other = {line: self._with_name(line, separator) for line in invalid}
            lines = block.decode().split("\n")
            lost = [line for line in lines if not other.get(line, line) and line.strip(_BLANKS)]
            broken = [*broken, *(original.get(line, line) for line in lost)]
            again = "\n".join(other.get(line, line) for line in lines).encode()
            return self.read(RowText(again, broken, original))
        lines_read = (original.get(line, line) for line in filled_lines(block))
        return ParsedPart(with_numbers(columns, lines_read, self.labels), broken)

    def _without_comments(self, block: bytes, separator: str) -> tuple[bytes, list[str]]:
        """Return the block without comments, which are counted, and the lines that may be rows.

        A comment with the fields of a row may be a row, and so may a repeated header line.
        """
        names = separator.join(self.fields) if self.header_lines else ""
        has_names = bool(names) and names.encode() in block
        # A search for one character is ten times as fast as for two.
        has_comments = b"#" in block and (block.startswith(b"#") or b"\n#" in block)
        if not (has_names or has_comments):
            return block, []
        rows: list[str] = []
        unclear: list[str] = []
        comments = 0
        for line in block.decode().split("\n"):
            if line.startswith("#"):
                may_be_row = self._may_be_row(line.split(separator))
                comments += not may_be_row
                unclear += [line] * may_be_row
            elif has_names and line == names:
                unclear.append(line)
            else:
                rows.append(line)
        self.comments.append(comments)
        return "\n".join(rows).encode(), unclear

    def _may_be_row(self, fields: Sequence[str]) -> bool:
        """Whether a line that begins with # has as many fields as a row, with numbers in place."""
        if self._is_run:
            fields = fields[: len(self.fields)]
        if not fields[0].strip("#") or len(fields) != len(self.fields):
            return False
        called = {self.columns.get(name, name) for name in NUMBERS}
        for name, text in zip(self.fields, fields, strict=True):
            if name in called and not re.fullmatch(NUMBER, text):
                return False
        return True

    @property
    def _is_run(self) -> bool:
        return tuple(self.fields[3:]) == _RUN_ENDS

    def _parse(self, block: bytes, separator: str) -> tuple[dict[str, pa.ChunkedArray], list[str]]:
        """Return the columns, and the lines with too few or too many fields.

        Numbers are parsed if pyarrow can read all of them.
        """
        invalid: list[str] = []

        def skip(row: arrow_csv.InvalidRow) -> str:
            invalid.append(row.text)
            return "skip"

        def parse(number: pa.DataType) -> pa.Table:
            invalid.clear()
            # Few distinct grades are faster as text, and Arrow would read 0x1F as a whole number.
            kinds = {"doc_id": pa.string(), "score": number, "rank": number}
            return arrow_csv.read_csv(
                pa.BufferReader(block or b"\n"),
                arrow_csv.ReadOptions(
                    column_names=self.fields, use_threads=False, block_size=len(block) + 2
                ),
                arrow_csv.ParseOptions(
                    delimiter=separator,
                    quote_char='"' if self.separator else False,
                    invalid_row_handler=skip,
                ),
                arrow_csv.ConvertOptions(
                    column_types={
                        theirs: kinds.get(ours, FEW) for ours, theirs in self.columns.items()
                    },
                    include_columns=[*self.columns.values()],
                    null_values=[""] if self.separator else [],
                    strings_can_be_null=bool(self.separator),
                    check_utf8=False,
                ),
            )

        try:
            table = parse(pa.float64())
        except pa.ArrowInvalid:
            table = parse(pa.string())
        return {ours: table.column(theirs) for ours, theirs in self.columns.items()}, invalid

    def _with_name(self, line: str, separator: str) -> str:
        """Return a line of a run with only the first word of a run name that has blanks.

        trec_eval allows such names. Return "" if it is unclear where the blanks are.
        """
        fields = line.split(separator)
        if self.separator or not self._is_run or len(fields) <= len(self.fields):
            return ""
        is_run = re.fullmatch(NUMBER, fields[3]) and not _ENDS_AS_RUN.search(" ".join(fields))
        return separator.join(fields[: len(self.fields)]) if is_run else ""


def blocks(file: File, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the text in parts of whole lines, each with about `size` bytes.

    A byte order mark at the beginning is removed.
    """
    with file.open() as stream:
        rest = stream.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
        while part := stream.read(size):
            if end := part.rfind(b"\n") + 1:
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
        names = b"".join(header).strip()
        if names and names in block:
            lines = block.split(b"\n")
            broken += [line.decode() for line in lines if line == names]
            block = b"\n".join(line for line in lines if line != names)
        yield block


def separator_of(kind: str, header: str) -> str:
    """Return the separator between the fields of CSV or TSV.

    In many countries, spreadsheets write CSV with semicolons.
    """
    plain = _QUOTED.sub("", header)
    return "\t" if kind == "tsv" else max(",;\t", key=plain.count)


def filled_lines(block: bytes) -> Iterator[str]:
    """Yield the lines that are not empty. This is a generator because they are rarely needed."""
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
        pairs = [(line, line.decode("utf-8", "replace")) for line in block.split(b"\n")]
        broken = [text for line, text in pairs if text.encode() != line]
        block = b"\n".join(line for line, text in pairs if text.encode() == line)
    # Concatenated files may have byte order marks inside, even at the beginning of a block.
    block = block.removeprefix(_BYTE_ORDER_MARK)
    return block.replace(b"\n" + _BYTE_ORDER_MARK, b"\n"), broken


def with_numbers(
    columns: Mapping[str, pa.ChunkedArray], lines: Iterable[str], labels: Collection[str] = ()
) -> dict[str, pa.ChunkedArray]:
    """Return the columns with numbers parsed, and LINE for rows with a field that is not a number.

    Grades that are `labels` remain text. An unknown label is then treated like a field that is not
    a number.
    """
    typed = dict(columns)
    wrong = []
    for name in NUMBERS:
        if name not in columns:
            continue
        typed[name], is_lost = _as_number(name, columns[name], labels)
        if is_lost is not None:
            wrong.append(is_lost)
        if is_lost is not None and name == "relevance" and not labels:
            typed[UNREAD_GRADE] = compute.if_else(is_lost, columns[name].cast(pa.string()), None)
    if wrong:
        is_wrong = functools.reduce(compute.or_, wrong)
        texts = pa.chunked_array([[*lines]], pa.string())
        if len(texts) == len(is_wrong):
            typed[LINE] = compute.if_else(is_wrong, texts, None)
    return typed


def _as_number(
    name: str, column: pa.ChunkedArray, labels: Collection[str]
) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
    """Return the column as numbers, or unchanged if it has labels, and which values are neither.

    The second item is None if there is no such value.
    """
    if labels and name == "relevance":
        trimmed = compute.utf8_trim(column.cast(pa.string()), _BLANKS)
        is_unknown = compute.invert(compute.is_in(trimmed, value_set=pa.array(labels, pa.string())))
        return column, is_unknown if compute.any(is_unknown).as_py() else None
    typed = numbers(name, column)
    if not typed.null_count:
        return typed, None
    is_lost = compute.is_null(typed)
    if name == "rank":
        # A rank may be absent if scores decide, but it may not be anything else.
        is_lost = compute.and_(is_lost, _is_given(column))
    return typed, is_lost


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
        is_plain = compute.match_substring_regex(trimmed, f"^{NUMBER}$")
        column = compute.if_else(is_plain, trimmed, pa.scalar(None, pa.string()))
    elif name == "rank":
        with contextlib.suppress(pa.ArrowInvalid):
            # Most ranks are whole numbers. A fraction cannot be cast.
            return column.cast(pa.int32())
    values = column.cast(pa.float64())
    is_good = compute.is_finite(values)
    if name == "rank":
        is_whole = compute.equal(values, compute.floor(values))
        is_good = compute.and_(is_whole, compute.less(compute.abs(values), 2.0**31))
    values = compute.if_else(is_good, values, None)
    return values.cast(pa.int32()) if name == "rank" else compute.add(values, 0.0)


def single_blanks(block: bytes) -> tuple[bytes, str]:
    """Return the lines with one separator between fields and none around them, and the separator.

    It is a tab if all separators are tabs, and otherwise a blank.
    """
    one, other = (b"\t", b" ") if b"\t" in block else (b" ", b"\t")
    is_low = np.frombuffer(block, np.uint8) <= ord(" ")
    # Separators, line ends, and the control characters before them in ASCII: two in a row mean an
    # empty field or an empty line.
    is_odd = is_low[:1].any() or (is_low[1:] & is_low[:-1]).any()
    if not (is_odd or other in block or b"\f" in block or block.endswith(one)):
        return block, one.decode()
    codes = np.frombuffer(block.translate(_TO_BLANKS), np.uint8)
    is_kept = codes != ord(" ")
    is_kept[1:] |= is_kept[:-1].copy()
    return codes[is_kept].tobytes().replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" "), " "
