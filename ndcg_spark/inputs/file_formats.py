"""Which format files have, by their names and their first bytes."""

import dataclasses
from collections.abc import Iterable
from pathlib import PurePosixPath

import pyarrow as pa

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import TABLES, File, of_each

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
    return of_each(files, lambda file: _sniffed(file, where))


def _sniffed(file: File, where: str) -> File:
    if file.size and not file.path.endswith((".parquet", ".orc", ".gz")):
        system, place = file.located(where)
        try:
            with system.open_input_stream(place, compression=None) as stream:
                start = stream.read(4)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; check its rights") from error
        content = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
        file = dataclasses.replace(file, content=content)
    if file.compressed and file.size < _LARGEST_EMPTY_GZIP and not file.head(where):
        return dataclasses.replace(file, size=0)
    return file


def format_of(files: Iterable[File], where: str) -> str:
    """The format that names and contents tell, TREC text where they tell nothing; InputError where they disagree.

    What only the engine can open is Parquet unless its name says otherwise.
    """
    by_format: dict[str, str] = {}
    for file in files:
        suffix = PurePosixPath(file.path.removesuffix(".gz")).suffix.lower()
        binary = file.content if file.content in (*BINARY, *TABLES) else None
        by_format.setdefault(binary or _FORMATS.get(suffix, "trec" if file.found else "parquet"), file.path)
    if len(by_format) > 1:
        examples = ", ".join(f"{name} ({path})" for name, path in by_format.items())
        raise InputError(f"{where}: {len(by_format)} formats in one place, {examples}; name one with format")
    return next(iter(by_format))


def refuse_unreadable(files: list[File], kind: str, where: str) -> None:
    """InputError if files have no content, are not of the format `kind`, or are text that this process cannot open."""
    unseen = [file.path for file in files if not file.found and file.snapshot is None]
    if unseen and kind not in BINARY:
        raise InputError(
            f"{where}: {unseen[0]} is {kind}, which this process reads, and it cannot open the storage; write Parquet, "
            "or give a path that pyarrow can open, such as s3://, hdfs:// or file://"
        )
    if not unseen and sum(file.size for file in files) == 0 and not any(file.snapshot for file in files):
        raise InputError(
            f"{where}: {len(files)} file(s) without a byte, e.g. {files[0].path}; an empty table is refused"
        )
    for file in files:
        other = file.content if file.content in BINARY or (file.content and kind in BINARY) else kind
        if other != kind:
            raise InputError(f"{where}: {file.path} is {other} by its first bytes, not {kind}; name its format")
