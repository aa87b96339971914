"""Write Parquet files, and read their footers and batches.

Files are written without statistics. Writers disagree about nulls and NaN in statistics, and an
engine may use them instead of the values. They would not save time either: rows of all kinds are in
every part of a file, so no plan could skip a part.

Some files are read elsewhere: `nights.reader` reads nights, whose files have checksums, the spot
check uses `inputs.stored_rows`, and engines read and write files themselves.
"""

import base64
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs, parquet


def open_writer(
    target: Path | Any,
    schema: pa.Schema,
    *,
    compression: str = "snappy",
    dictionaries: bool | Sequence[str] = True,
    keeps_arrow_types: bool = False,
    has_checksums: bool = False,
) -> Any:
    """A context manager; its method `write_table` writes tables to a local file or a stream.

    `dictionaries` are the columns in which each value is written once, by default all. With
    `keeps_arrow_types`, pyarrow reads exactly the types that were written. Without it, every engine
    reads text as plain text.
    """
    return parquet.ParquetWriter(
        target,
        schema,
        filesystem=fs.LocalFileSystem() if isinstance(target, Path) else None,
        compression=compression,
        use_dictionary=dictionaries,
        store_schema=keeps_arrow_types,
        write_page_checksum=has_checksums,
        write_statistics=False,
    )


def write_table(table: pa.Table, target: Path | Any, **how: Any) -> None:
    """Write a table as a file; `how` are the options of `open_writer`."""
    with open_writer(target, table.schema, **how) as writer:
        writer.write_table(table)


def read_footer(stream: Any) -> tuple[pa.Schema, int]:
    """A file's schema, as its writer declared it, and the number of its rows."""
    metadata = parquet.read_metadata(stream)
    declared = (metadata.metadata or {}).get(b"ARROW:schema")
    if declared is None:
        return metadata.schema.to_arrow_schema(), metadata.num_rows
    # Decoded here, because pyarrow's own schema does not show that numbers were written as
    # categories, which engines cannot read.
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(declared)))
    return schema, metadata.num_rows


def read_batches(
    paths: Sequence[str],
    system: fs.FileSystem,
    wanted: Collection[str] | None = None,
    kind: str = "parquet",
) -> pa.RecordBatchReader:
    """The rows of files with the same schema, batch by batch, in any order.

    They have the `wanted` columns that exist, by default all. `kind` is parquet or orc. Raises
    pyarrow's error for a file of a different kind or a damaged file.
    """
    # Imported here because it imports pandas, which nights do not need.
    from pyarrow import dataset

    stored = dataset.dataset([*paths], filesystem=system, format=kind)
    fields = [field for field in stored.schema if wanted is None or field.name in wanted]
    batches = stored.to_batches(columns=[field.name for field in fields], batch_readahead=1)
    return pa.RecordBatchReader.from_batches(pa.schema(fields), batches)


def read_in_order(
    path: str,
    system: fs.FileSystem,
    wanted: Collection[str],
    kind: str,
) -> Iterator[pa.RecordBatch]:
    """The rows of one file, as from `read_batches`, but in the file's order."""
    with system.open_input_file(path) as stream:
        if kind == "orc":
            from pyarrow import orc

            file = orc.ORCFile(stream)
            names = [name for name in file.schema.names if name in wanted]
            for stripe in range(file.nstripes):
                yield file.read_stripe(stripe, names)
            return
        stored = parquet.ParquetFile(stream)
        names = [name for name in stored.schema_arrow.names if name in wanted]
        # iter_batches keeps the order of the row groups and of their rows.
        yield from stored.iter_batches(columns=names)


def read_whole(content: bytes) -> pa.Table:
    """The table of a small file, from its content. Raises pyarrow's error if a page is damaged."""
    stored = parquet.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
    return stored.read(use_threads=False)
