"""Published nights of dataset scores, written without an engine: what trends and lists of nights are made of."""

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from publish_and_die import record

from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.records import CommittedNight
from ndcg_spark.schemas import DATASET_SCORES, PARTITIONS

FIRST = datetime.date(2026, 1, 1)
_KINDS = {"string": pa.string(), "double": pa.float64(), "bigint": pa.int64(), "int": pa.int32()}
_SCHEMA = pa.schema(
    [(field.name, _KINDS[field.dataType.simpleString()]) for field in DATASET_SCORES if field.name not in PARTITIONS]
)


def date(number: int) -> str:
    """The date of a night, which are numbered from 0."""
    return (FIRST + datetime.timedelta(days=number)).isoformat()


def night(
    output: Path,
    number: int,
    scores: Mapping[str, float | None],
    *,
    dataset: str = "web",
    judgments: str = "j1",
    cutoff: int | None = 10,
    options: Mapping[str, Any] | None = None,
    verdict: str | None = None,
    without: Sequence[str] = (),
) -> None:
    """A night with the ndcg of these runs; `without` are columns that an earlier version did not write."""
    night = f"dataset={dataset}/evaluated_on={date(number)}"
    folder = output / "dataset_scores" / night / f"evaluation_id=e{number}"
    counts = {"queries": 50, "missing_queries": 0, "no_relevant_queries": 0, "unjudged_queries": 0}
    rows = [
        {
            "run": run,
            "cutoff": cutoff,
            "convention": "standard",
            "formula": "f",
            **counts,
        }
        | {"ndcg": ndcg, "judged_rate": 1.0}
        for run, ndcg in scores.items()
    ]
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, _SCHEMA).drop_columns([*without]), folder / "part.parquet")
    size = (folder / "part.parquet").stat().st_size
    own = record(
        evaluation_id=f"e{number}",
        options={**Convention().options(), "gain": "exp2", **(options or {})},
        inputs={"judgments": {"fingerprint": judgments}},
        files={"dataset_scores": {"part.parquet": {"rows": len(rows), "bytes": size}}},
        verdict=verdict and {"verdict": verdict, "reason": "r"},
    )
    (output / "_evaluations" / night).mkdir(parents=True)
    (output / "_evaluations" / night / f"000001-e{number}.json").write_text(json.dumps(own), encoding="utf-8")


def committed_night(dataset: str, date: str, record: Mapping[str, Any]) -> CommittedNight:
    """A night that is nowhere, with a record of which only this is known."""
    night = CommittedNight(dataset, date, 1, "e", None)
    night.__dict__["_record"] = record
    return night
