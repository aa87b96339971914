"""Tables of Delta and Iceberg, written by the libraries of these formats; what these cannot write, written by hand."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa


def rows(run: str, *documents: str, query: str = "q1") -> pa.Table:
    """The results of a run for a query, best first."""
    count = len(documents)
    scores = [float(count - at) for at in range(count)]
    return pa.table(
        {
            "run": [run] * count,
            "query_id": [query] * count,
            "doc_id": list(documents),
            "score": scores,
        }
    )


def delta(folder: Path, *tables: pa.Table, **options: Any) -> str:
    """A table of Delta with one version for each of the tables, appended from version 0 on; its folder."""
    from deltalake import write_deltalake

    for table in tables:
        write_deltalake(str(folder), table, mode="append", **options)
    return str(folder)


def commit(folder: str, version: int) -> Path:
    """The file of a commit in the log of Delta."""
    return Path(folder, "_delta_log", f"{version:020}.json")


def written_at(folder: str, version: int, seconds: float) -> None:
    """Let a version of Delta be from this time, which is that of its file."""
    os.utime(commit(folder, version), (seconds, seconds))


def delete_by_vector(folder: str, positions: list[int]) -> None:
    """Version 1 of a table of Delta with one file: a deletion vector takes out the rows at these positions.

    As the protocol of Delta has it, "Deletion Vector Format", in the log itself. deltalake rewrites files in place.
    """
    import pyroaring

    (added,) = [
        action["add"]
        for action in map(json.loads, commit(folder, 0).read_text().splitlines())
        if "add" in action
    ]
    bitmap = struct.pack("<iqi", 1681511377, 1, 0) + pyroaring.BitMap(positions).serialize()
    vector = {
        "storageType": "i",
        "pathOrInlineDv": _z85(bitmap),
        "sizeInBytes": len(bitmap),
        "cardinality": len(positions),
    }
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    actions = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {"path": added["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**added, "deletionVector": vector}},
    ]
    commit(folder, 1).write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")


def _z85(data: bytes) -> str:
    alphabet = (
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    )
    text = ""
    for (value,) in struct.iter_unpack(">I", data + b"\0" * (-len(data) % 4)):
        text += "".join(alphabet[value // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def catalog(folder: Path) -> Any:
    """A catalog of Iceberg in a file of SQLite, whose tables are in the folder, and which is called as that is."""
    from pyiceberg.catalog.sql import SqlCatalog
    from sqlalchemy import NullPool, create_engine

    folder.mkdir(parents=True, exist_ok=True)
    made = SqlCatalog(folder.name, uri=catalog_uri(folder), warehouse=folder.as_uri())
    # Tables outlive this function and write through their catalog: it keeps no connection open between two writes.
    made.close()
    made.engine = create_engine(catalog_uri(folder), poolclass=NullPool)
    made.create_namespace_if_not_exists("db")
    return made


def catalog_uri(folder: Path) -> str:
    return f"sqlite:///{folder}/catalog.db"


def iceberg(folder: Path, *tables: pa.Table, name: str = "db.runs") -> Any:
    """A table of Iceberg with one snapshot for each of the tables."""
    made = catalog(folder).create_table(name, tables[0].schema)
    for table in tables:
        made.append(table)
    return made
