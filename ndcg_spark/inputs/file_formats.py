"""Which format files have, by their names and their first bytes."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File, of_each
from ndcg_spark.inputs.first_lines import head
from ndcg_spark.inputs.snapshots import TABLES

#: The formats that have types and a footer; the others are text.
BINARY = ("parquet", "orc")
_FORMATS = {
    ".parquet": "parquet",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_MAGIC = {b"PAR1": "parquet", b"ORC": "orc", b"\x1f\x8b": "gzip"}
#: A gzip file of nothing is smaller: 20 bytes, and the name of what was compressed.
_LARGEST_EMPTY_GZIP = 300


def sniffed(files: list[File], where: str) -> list[File]:
    """The files, with `content` set from the first bytes of those whose names name no binary format.

    A gzip file in which nothing was compressed has the size 0, as the file that was compressed.

    InputError for a file that cannot be opened.
    """
    return of_each(files, lambda file: _measured(_sniff(file, where), where))


def _measured(file: File, where: str) -> File:
    if not file.compressed or file.size >= _LARGEST_EMPTY_GZIP:
        return file
    try:
        is_empty = not head(file, where)
    except InputError:
        # What is wrong with it is said when it is read.
        return file
    return dataclasses.replace(file, size=0) if is_empty else file


def _sniff(file: File, where: str) -> File:
    if file.path.endswith((".parquet", ".orc", ".gz")) or file.size == 0:
        return file
    system, place = file.located(where)
    try:
        with system.open_input_stream(place, compression=None) as stream:
            start = stream.read(4)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; check its rights") from error
    content = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    return dataclasses.replace(file, content=content)


def format_of(files: Iterable[File], where: str) -> str:
    """The format that names and contents tell, TREC text where they tell nothing; InputError where they disagree."""
    by_format: dict[str, str] = {}
    for file in files:
        suffix = Path(file.path.removesuffix(".gz")).suffix.lower()
        binary = file.content if file.content in (*BINARY, *TABLES) else None
        by_format.setdefault(binary or _FORMATS.get(suffix, "trec"), file.path)
    if len(by_format) > 1:
        examples = ", ".join(f"{name} ({path})" for name, path in by_format.items())
        raise InputError(f"{where}: {len(by_format)} formats in one place, {examples}; name one with format")
    return next(iter(by_format))


def refuse_unreadable(files: list[File], kind: str, where: str) -> None:
    """InputError if the files have no content at all, or the first bytes of one contradict the format `kind`."""
    if sum(file.size for file in files) == 0:
        raise InputError(
            f"{where}: {len(files)} file(s) without a byte, e.g. {files[0].path}; an empty table is refused"
        )
    for file in files:
        other = file.content if file.content in BINARY or (file.content and kind in BINARY) else kind
        if other != kind:
            raise InputError(f"{where}: {file.path} is {other} by its first bytes, not {kind}; name its format")
