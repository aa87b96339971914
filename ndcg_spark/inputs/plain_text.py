"""Plain text without a header, read by Arrow: in every line the same fields, with one blank or one tab between them.

Arrow takes a third of the engine's time. What is not obviously plain is refused, and the engine reads it: so the two
never differ, and all that is uncommon is decided in one place, by the engine's expressions.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

#: The bytes of text that are looked at together.
BLOCK_BYTES = 8 << 20

_BLANK, _TAB, _LINE_END = b" ", b"\t", b"\n"
#: The bytes that are compared with a blank together: few enough for a processor's own memory.
_SLICE = 1 << 17
#: Blanks to the engine, or something else to one of the two; no other control character is special to either.
_STRANGE = (b"\r", b"\f", b"\0")
_BYTE_ORDER_MARK = "\ufeff".encode()


class NotPlainError(ValueError):
    """Text that the engine has to read."""


def blocks(stream: pa.NativeFile, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The text in parts of about this many bytes, each of whole lines. NotPlainError for a longer line."""
    rest = b""
    while part := stream.read(size):
        end = part.rfind(_LINE_END) + 1
        if end:
            # Most files are one part that ends with a line, which is not copied.
            yield part if end == len(part) and not rest else rest + part[:end]
            rest = part[end:]
        else:
            rest += part
        if len(rest) > size:
            raise NotPlainError("a long line")
    if rest:
        yield rest


def columns_of(block: bytes, fields: int, kinds: Mapping[int, pa.DataType]) -> dict[int, pa.ChunkedArray]:
    """By position, from 0, those fields of the lines that `kinds` has, in the type it gives: text, double or int32.

    NotPlainError if any line has another number of `fields`, or an odd one.
    """
    from pyarrow import compute, csv

    # Arrow reads 0x1F as a whole number and 1.0 not, other than the engine.
    read = {str(at): pa.float64() if pa.types.is_int32(kind) else kind for at, kind in kinds.items()}
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(
                column_names=[str(at) for at in range(fields)], use_threads=False, block_size=len(block) + 1
            ),
            parse_options=csv.ParseOptions(delimiter=_separator(block), quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=read, include_columns=list(read), null_values=[], check_utf8=False
            ),
        )
        found = {at: table.column(str(at)) for at in kinds}
        for at, kind in kinds.items():
            if pa.types.is_floating(kind):
                if not compute.all(compute.is_finite(found[at])).as_py():
                    raise NotPlainError("a number that is not finite")
                # -0.0 becomes 0.0, as in `conforming`.
                found[at] = compute.add(found[at], 0.0)
            elif pa.types.is_int32(kind):
                found[at] = found[at].cast(kind)
    except pa.ArrowInvalid as error:
        raise NotPlainError("lines with odd fields") from error
    return found


def _separator(block: bytes) -> str:
    """What stands between the fields; NotPlainError for what engine and Arrow may take for different fields."""
    import numpy as np

    separator, other = (_TAB, _BLANK) if _TAB in block else (_BLANK, _TAB)
    if any(byte in block for byte in (other, *_STRANGE)) or block.endswith(separator) or block[0] <= _BLANK[0]:
        raise NotPlainError("odd blanks")
    codes = np.frombuffer(block, np.uint8)
    for at in range(0, len(codes), _SLICE):
        # Separators, line ends and what comes before them in ASCII: two in a row are an empty field, or an empty line.
        low = codes[at : at + _SLICE + 1] <= _BLANK[0]
        if (low[1:] & low[:-1]).any():
            raise NotPlainError("fields that are empty")
    if not block.isascii():
        _require_text(block)
    return separator.decode()


def _require_text(block: bytes) -> None:
    if _BYTE_ORDER_MARK in block:
        raise NotPlainError("a byte order mark")
    try:
        block.decode()
    except UnicodeDecodeError as error:
        raise NotPlainError("bytes that are no text") from error
