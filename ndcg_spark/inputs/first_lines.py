"""How text files begin: the header of CSV and TSV, and the first line of JSON."""

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File

_HEAD_BYTES = 1 << 16
_HEAD_LINES = 200


def common_header(files: list[File], where: str) -> str:
    """The line that all files of a CSV or TSV table begin with; InputError where their first lines differ."""
    headers = {file.path: _header(file, where) for file in files}
    first = headers[files[0].path]
    for path, header in headers.items():
        if header != first:
            raise InputError(
                f"{where}: files with different headers, {files[0].path} has {first!r}, {path} has {header!r}; "
                "write them alike"
            )
    return first


def beginning(file: File, where: str) -> str:
    """The first line that is not blank, or as much of it as is in the first 64 KiB.

    Bytes that are not UTF-8 are replaced. InputError if the file cannot be read.
    """
    lines = (line.strip("\ufeff \t\r\f") for line in _head(file, where).decode("utf-8", "replace").split("\n"))
    return next((line for line in lines if line), "")


def head(file: File, where: str) -> str:
    """The first 64 KiB, in which bytes that are not UTF-8 are replaced. InputError if the file cannot be read."""
    return _head(file, where).decode("utf-8", "replace").removeprefix("\ufeff")


def whole_lines(text: str) -> list[str]:
    """The first lines of a file's head that are not blank, without one that the head cuts off."""
    lines = text.split("\n")
    if len(lines) > 1 and len(text.encode("utf-8", "replace")) >= _HEAD_BYTES:
        lines.pop()
    return [line for line in (line.strip(" \t\r\f") for line in lines) if line][:_HEAD_LINES]


def _header(file: File, where: str) -> str:
    try:
        return _head(file, where).split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error


def _head(file: File, where: str) -> bytes:
    system, place = file.located(where)
    try:
        with system.open_input_stream(place, compression="gzip" if file.compressed else None) as stream:
            return bytes(stream.read(_HEAD_BYTES))
    except OSError as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error
