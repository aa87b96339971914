"""The format of a record: JSON with what readers rely on, and one row of the table EVALUATIONS with the same."""

import datetime
import io
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import parquet as pq
from pydantic import BaseModel, ValidationError
from pyspark.sql.pandas.types import to_arrow_schema

from ndcg_spark.convention.convention import Convention
from ndcg_spark.schemas import EVALUATIONS, PARTITIONS

#: The file of a night in the table `evaluations`.
EVALUATION_FILE = "evaluation.parquet"


class _File(BaseModel):
    rows: int
    #: None for the file that an acceptance replaces.
    bytes: int | None


class _Verdict(BaseModel):
    verdict: str
    reason: str
    findings: list[dict[str, Any]] = []
    baselines: list[dict[str, Any]] = []


class _Record(BaseModel):
    """What readers rely on in a record, which contains more."""

    convention: str
    options: dict[str, Any]
    configuration: dict[str, Any]
    inputs: dict[str, dict[str, Any]]
    files: dict[str, dict[str, _File]]
    datasets: list[str] = []
    verdict: _Verdict | None = None
    accepted: dict[str, str] | None = None
    notes: list[dict[str, str]] = []
    #: In an output of tables: by table, how many rows the night has, and at which version of the table.
    tables: dict[str, dict[str, int | None]] = {}


def read(content: bytes | str) -> Mapping[str, Any]:
    """The record in a file. ValueError or RecursionError, with the reason, unless it has what readers rely on."""
    record = json.loads(content)
    try:
        _Record.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc'])) or 'the record'}: {first['msg']}") from error
    unknown = sorted({*record["options"]} - {*Convention().options()})
    if unknown:
        raise ValueError(f"it has the option {unknown[0]!r}, which this version does not know")
    Convention(**record["options"])
    return dict(record)


def written(record: Mapping[str, Any]) -> bytes:
    """The record as the content of its file."""
    return (json.dumps(record, indent=2, ensure_ascii=False, default=str) + "\n").encode()


def remark(**words: str) -> dict[str, str]:
    """What somebody says of a night, a `reason` to accept it or the `text` of a note, with the time."""
    return {**words, "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")}


def evaluation_row(record: Mapping[str, Any]) -> bytes:
    """The row of EVALUATIONS of a night with this record, as a Parquet file."""
    schema = to_arrow_schema(EVALUATIONS)
    stored = pa.schema([field for field in schema if field.name not in PARTITIONS])
    content = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([evaluation_values(record)], stored), content)
    return content.getvalue()


def evaluation_values(record: Mapping[str, Any]) -> dict[str, Any]:
    """The values of EVALUATIONS of a night with this record, beside its key."""
    verdict, inputs = record.get("verdict") or {}, record.get("inputs", {})
    versions = {name: table["version"] for name, table in record.get("tables", {}).items()}
    return {
        "verdict": verdict.get("verdict"),
        "reason": verdict.get("reason"),
        "accepted": (record.get("accepted") or {}).get("reason"),
        **{name: record.get(name) for name in ("committed_at", "convention", "formula", "engine")},
        **{f"{table}_fingerprint": inputs.get(table, {}).get("fingerprint") for table in ("judgments", "results")},
        "counts": list(record.get("counts", {}).items()),
        "seconds": list(record.get("seconds", {}).items()),
        "record": json.dumps(record, ensure_ascii=False, default=str),
        "versions": [(name, version) for name, version in versions.items() if version is not None],
    }
