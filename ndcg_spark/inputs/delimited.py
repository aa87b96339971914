"""TREC text, CSV and TSV: blocks of whole lines as typed columns, and the lines that are not rows.

pyarrow parses every block, and hands over the lines with too few or too many fields. If a numeric
field is not a number, it parses the block again as text. What quotes mean is decided before, in
`quotes`.
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

#: The columns that hold numbers, and the text of few distinct values that every other column but a
#: document's id is.
NUMBERS = ("relevance", "score", "rank")
FEW = pa.dictionary(pa.int32(), pa.string())

_BLOCK_BYTES = 8 << 20
_BYTE_ORDER_MARK = "\ufeff".encode()
_BLANKS = " \t\r\n\f"
_TO_BLANKS = bytes.maketrans(b"\t\f", b"  ")
_LINE_END = re.compile(rb"\r\n?|\n")
#: What is in quotes, to the end of the line if it has several.
_QUOTED = re.compile(r'"[^"]*("|\Z)')
#: How a run of TREC ends.
_RUN_ENDS = ("rank", "score", "run")
#: A line of a run with a blank in the document's id, and not in the run's name, ends with a rank, a
#: score and a name.
_ENDS_AS_RUN = re.compile(rf" [+-]?[0-9]+(\.0*)? {NUMBER} [^ ]+\Z")


class ParsedPart(NamedTuple):
    """The columns of a part by our names, LINE where a numeric field is no number, and the lines
    that are not rows.
    """

    columns: Mapping[str, pa.ChunkedArray]
    broken: Sequence[str] = ()


@dataclass(frozen=True)
class Delimited:
    fields: Sequence[str]
    columns: Mapping[str, str]
    #: Between fields; "" for any blanks. A field may be in quotes if it is not.
    separator: str = ""
    #: How many lines the names of the fields take; 0 if there are none.
    header_lines: int = 0
    #: Whether quotes belong to the values, as `quotes.are_literal` says.
    has_literal_quotes: bool = False
    #: The labels that stand for grades; empty where grades are numbers.
    labels: Collection[str] = ()
    #: By file that was read, its last line if that has no line end.
    unended: dict[str, str] = field(default_factory=dict, compare=False)
    #: How many comments the parts of TREC text had, and how many lines the header blocks of files.
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
        """The same text; its last line is kept if it may have been cut off."""
        last = b"\n"
        for text in texts:
            yield text
            last = text
        if not last.endswith((b"\n", b"\r")):
            self.unended[path] = re.split(rb"[\r\n]", last)[-1].decode("utf-8", "replace")

    def _without_preamble(self, texts: Iterable[bytes], path: str) -> Iterator[bytes]:
        """The text below the header block and the names of the fields, with its comments."""
        preamble = Preamble(path, self.header_lines)
        for text in texts:
            rest = preamble.rest(text)
            if rest:
                yield rest
        preamble.refuse_open_block()
        self.block_lines.append(preamble.block_lines)

    def _without_header(self, texts: Iterable[bytes], header: list[bytes]) -> Iterator[bytes]:
        """The text below the lines of the header, which go to `header`."""
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
        """The block without comments, which are counted, and the lines that may be rows or none.

        These are comments that have the fields of a row, and the names of the fields again.
        """
        names = separator.join(self.fields) if self.header_lines else ""
        has_names = bool(names) and names.encode() in block
        # One character is found ten times as fast as two.
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
        """Whether the fields of a line that begins with # have the number and kinds of a row's."""
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
        """The columns, numbers as far as pyarrow reads them, and the lines with another number of
        fields.
        """
        invalid: list[str] = []

        def skip(row: arrow_csv.InvalidRow) -> str:
            invalid.append(row.text)
            return "skip"

        def parse(number: pa.DataType) -> pa.Table:
            invalid.clear()
            # Few grades are quicker as text, and Arrow would read 0x1F as a whole number.
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
        """A line of a run with the first word of a name with blanks, which trec_eval allows; "" if
        it is unclear.
        """
        fields = line.split(separator)
        if self.separator or not self._is_run or len(fields) <= len(self.fields):
            return ""
        is_run = re.fullmatch(NUMBER, fields[3]) and not _ENDS_AS_RUN.search(" ".join(fields))
        return separator.join(fields[: len(self.fields)]) if is_run else ""


def blocks(file: File, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """The text in parts of about this many bytes, each of whole lines, without a byte order mark at
    its beginning.
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
    """The blocks as `valid_lines` has them. What it does not take goes to `broken`.

    So do later lines that are the header again, where files were put together.
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
    """What is between the fields of CSV or TSV; in many countries spreadsheets write semicolons as
    CSV.
    """
    plain = _QUOTED.sub("", header)
    return "\t" if kind == "tsv" else max(",;\t", key=plain.count)


def filled_lines(block: bytes) -> Iterator[str]:
    """The lines that are not empty; a generator, as they are rarely needed."""
    yield from filter(None, block.decode().split("\n"))


def valid_lines(block: bytes) -> tuple[bytes, list[str]]:
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
        broken = [text for line, text in pairs if text.encode() != line]
        block = b"\n".join(line for line, text in pairs if text.encode() == line)
    # A file that was put together of several may have marks within, also where a block begins.
    block = block.removeprefix(_BYTE_ORDER_MARK)
    return block.replace(b"\n" + _BYTE_ORDER_MARK, b"\n"), broken


def with_numbers(
    columns: Mapping[str, pa.ChunkedArray], lines: Iterable[str], labels: Collection[str] = ()
) -> dict[str, pa.ChunkedArray]:
    """The columns with numbers as such, and LINE of their `lines`, if a numeric field is not a
    number.

    Grades stay text if they are `labels`; a label that is another one is no number then.
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
    """The column as numbers, or as it is if it has labels; and where a value is neither, None if
    that is nowhere.
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
        # Ranks may be absent where scores decide, but not another thing.
        is_lost = compute.and_(is_lost, _is_given(column))
    return typed, is_lost


def _is_given(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether there is a value; text of blanks is none."""
    if not pa.types.is_string(column.type):
        return compute.is_valid(column)
    is_text = compute.not_equal(compute.utf8_trim(column, _BLANKS), "")
    return compute.fill_null(is_text, False)


def numbers(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as doubles, ranks as whole numbers of 32 bits; null for what is not a plain,
    finite number.

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


def single_blanks(block: bytes) -> tuple[bytes, str]:
    """The lines with one separator between fields and none around them, and that separator: a tab
    if all are tabs.
    """
    one, other = (b"\t", b" ") if b"\t" in block else (b" ", b"\t")
    is_low = np.frombuffer(block, np.uint8) <= ord(" ")
    # Separators and line ends, and what comes before them in ASCII: two in a row are an empty
    # field, or an empty line.
    is_odd = is_low[:1].any() or (is_low[1:] & is_low[:-1]).any()
    if not (is_odd or other in block or b"\f" in block or block.endswith(one)):
        return block, one.decode()
    codes = np.frombuffer(block.translate(_TO_BLANKS), np.uint8)
    is_kept = codes != ord(" ")
    is_kept[1:] |= is_kept[:-1].copy()
    return codes[is_kept].tobytes().replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" "), " "
