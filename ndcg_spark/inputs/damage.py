"""Which file is damaged, found after an engine failed without saying so."""

import io
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from ndcg_spark.errors import first_line
from ndcg_spark.inputs.files import File


def damaged(files: Iterable[File], kind: str) -> str | None:
    """Which file of the format `kind` is the first that cannot be read, and why; None if all can be.

    Every file is read to its end, which takes one pass over the data.
    """
    read_all = _READ.get(kind, _read_text)
    for file in files:
        if file.snapshot:
            # Of a table, what was copied is read, and that was whole.
            continue
        try:
            read_all(file, *file.located(kind))
        except (OSError, EOFError, ValueError, pa.ArrowException) as error:
            return f"{file.path} cannot be read, {first_line(error)}"
    return None


def _read_parquet(_: File, system: Any, place: str) -> None:
    from pyarrow import parquet

    with parquet.ParquetFile(place, filesystem=system) as stored:
        for batch in stored.iter_batches():
            # Finds text that is not UTF-8, above all.
            batch.validate(full=True)


def _read_orc(_: File, system: Any, place: str) -> None:
    from pyarrow import orc

    with system.open_input_file(place) as stream:
        stored = orc.ORCFile(stream)
        for stripe in range(stored.nstripes):
            stored.read_stripe(stripe).validate(full=True)


def _read_text(file: File, system: Any, place: str) -> None:
    compression = "gzip" if file.compressed else None
    with io.TextIOWrapper(
        system.open_input_stream(place, compression=compression), encoding="utf-8", newline=""
    ) as text:
        for _ in text:
            pass


_READ: dict[str, Callable[[File, Any, str], None]] = {"parquet": _read_parquet, "orc": _read_orc}
