"""Tables of Delta and Iceberg, written by the libraries of these formats; what these cannot write, written by hand."""

import dataclasses
import json
import os
import shutil
import struct
import sys
import uuid
from pathlib import Path
from typing import Any

import logged
import pyarrow as pa


def rows(run: str, *documents: str, query: str = "q1") -> pa.Table:
    """The results of a run for a query, best first."""
    count = len(documents)
    scores = [float(count - at) for at in range(count)]
    return pa.table({"run": [run] * count, "query_id": [query] * count, "doc_id": list(documents), "score": scores})


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
        action["add"] for action in map(json.loads, commit(folder, 0).read_text().splitlines()) if "add" in action
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
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
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


def folder_of(table: Any) -> str:
    """The folder of a table of Iceberg."""
    return table.location().removeprefix("file://")


def delete_by_position(table: Any, positions: list[int], content: str = "POSITION_DELETES") -> None:
    """One more version of metadata in the folder of a table of Iceberg with one file, which takes out these rows.

    As other writers do it, with a file of positions; pyiceberg rewrites files in place. The file may claim other
    `content`, such as EQUALITY_DELETES.
    """
    from pyarrow import parquet
    from pyiceberg import manifest as m

    (task,) = table.scan().plan_files()
    folder, io, snapshot = folder_of(table), table.io, table.current_snapshot()
    new, number = snapshot.snapshot_id + 1, snapshot.sequence_number + 1
    fields = [pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"})]
    fields.append(pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"}))
    gone = pa.table([[task.file.file_path] * len(positions), positions], schema=pa.schema(fields))
    place = f"{folder}/data/{uuid.uuid4()}-deletes.parquet"
    parquet.write_table(gone, place)

    class Deletes(m.ManifestWriterV2):
        def content(self) -> m.ManifestContent:
            return m.ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    output = io.new_output(f"{folder}/metadata/{uuid.uuid4()}-m0.avro")
    with Deletes(table.spec(), table.schema(), output, new, "deflate") as writer:
        file = m.DataFile.from_args(
            content=m.DataFileContent[content],
            file_path=f"file://{place}",
            file_format=m.FileFormat.PARQUET,
            partition=m.Record(),
            record_count=len(positions),
            file_size_in_bytes=Path(place).stat().st_size,
        )
        file.spec_id = table.spec().spec_id
        writer.add(m.ManifestEntry.from_args(status=m.ManifestEntryStatus.ADDED, snapshot_id=new, data_file=file))
    listing = f"file://{folder}/metadata/snap-{new}.avro"
    with m.write_manifest_list(2, io.new_output(listing), new, snapshot.snapshot_id, number, "deflate") as written:
        written.add_manifests([*snapshot.manifests(io), writer.to_manifest_file()])
    metadata = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text(encoding="utf-8"))
    added = {**metadata["snapshots"][-1], "snapshot-id": new, "parent-snapshot-id": snapshot.snapshot_id}
    added |= {"sequence-number": number, "manifest-list": listing, "summary": {"operation": "delete"}}
    metadata["snapshots"].append(added)
    metadata["snapshot-log"].append({"snapshot-id": new, "timestamp-ms": added["timestamp-ms"]})
    metadata |= {"current-snapshot-id": new, "last-sequence-number": number}
    metadata["refs"]["main"]["snapshot-id"] = new
    Path(folder, "metadata", f"00099-{uuid.uuid4()}.metadata.json").write_text(json.dumps(metadata), encoding="utf-8")


def evaluated_while_changed(settings: dict[str, Any], table: str) -> None:
    """Print the dataset scores of an evaluation; once the tables are checked, that of the results is removed whole."""

    from ndcg_spark import config
    from ndcg_spark.job import evaluate as job

    def remove(step: str) -> None:
        if step == "read" and Path(table).exists():
            shutil.rmtree(table)

    with logged.logged_steps(remove):
        outcome = job.evaluate(config.validate(settings, "test"))
    assert not Path(table).exists()
    print(json.dumps(outcome.dataset_scores, default=str))  # noqa: T201


def checked_without(library: str, settings: dict[str, Any]) -> None:
    """Print what is read where a library is not installed."""
    import checked

    from ndcg_spark.engine import open_engine

    sys.modules[library] = None
    with open_engine("embedded") as engine:
        print(json.dumps(checked.check(engine, settings)))  # noqa: T201


def checked_far(settings: list[dict[str, Any]]) -> None:
    """Print what is read of each, where only the engine sees the files, and reads tables of Delta by itself."""
    import checked

    from ndcg_spark.engine import open_engine

    with open_engine("embedded") as engine:
        far = dataclasses.replace(engine, kind="connect", sees_local_files=False)
        print(json.dumps([checked.check(far, each) for each in settings]))  # noqa: T201
