"""Lists of documents of random queries in the shapes in which tools write them, and their NDCG by `reference`."""

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import oracle
import pyarrow as pa
import sessions
from evaluations import evaluated
from input_files import written
from pyarrow import orc, parquet
from pyspark.sql import DataFrame

from ndcg_spark import Convention, config, evaluate

_CHANCE = random.Random(11)  # noqa: S311  # it makes test data
DOCUMENTS = [f"0{at:02}" for at in range(30)]
GRADES = {
    f"q{at}": {d: _CHANCE.randint(0, 3) for d in _CHANCE.sample(DOCUMENTS, 12)} for at in range(6)
}
#: Documents of each query, best first.
LISTS = {query: _CHANCE.sample(DOCUMENTS, 9) for query in GRADES}
CUTOFF = 5

Rows = list[dict[str, Any]]


def score_at(place: int) -> float:
    """The score of the document at a place, from 0; those of a list fall."""
    return 4 - place / 2


def expected(lists: Mapping[str, Iterable[str]] = LISTS) -> float:
    """The mean NDCG of these lists, by the definition in plain Python."""
    total = 0.0
    for query, grades in GRADES.items():
        scores = {document: -float(place) for place, document in enumerate(lists.get(query, ()))}
        total += oracle.ndcg(grades, scores, CUTOFF, Convention()) or 0.0
    return total / len(GRADES)


def settings(judgments: Path, results: Path, **more: Any) -> dict[str, Any]:
    return {
        "judgments": {"path": str(judgments)},
        "results": {"path": str(results), **more},
        "cutoffs": [CUTOFF],
    }


def qrels(folder: Path) -> Path:
    lines = [
        f"{query} 0 {d} {grade}\n"
        for query, grades in GRADES.items()
        for d, grade in grades.items()
    ]
    return written(folder / "qrels.txt", "".join(lines))


def ndcg_of_file(
    results: Path, convention: str | dict[str, str] = "standard", **more: Any
) -> float:
    """The NDCG of a file of results by a job on the engine of the tests."""
    given = settings(qrels(results.parent), results, **more)
    (row,) = evaluated(config.validate({**given, "convention": convention}, "test"))[
        0
    ].dataset_scores
    value: float = row["ndcg"]
    return value


def ndcg_of(table: Any, **options: Any) -> float:
    """The NDCG of a table in Python; one of Spark is scored by its session."""
    scores = evaluate(GRADES, table, CUTOFF, **options)
    scores = scores.to_pandas() if isinstance(table, DataFrame) else scores
    value: float = scores.table()[f"ndcg@{CUTOFF}"].item()
    return value


def to_spark(table: pa.Table) -> DataFrame:
    return sessions.engine().session.createDataFrame(table)


def write(path: Path, rows: Rows) -> Path:
    """The rows as a file, as its name says: an object a line, a list, Parquet or ORC."""
    if path.suffix in (".parquet", ".orc"):
        kind = orc if path.suffix == ".orc" else parquet
        kind.write_table(pa.Table.from_pylist(rows), path)
        return path
    if ".json" in path.suffixes:
        return written(path, json.dumps(rows, indent=2))
    return written(path, "".join(f"{json.dumps(row)}\n" for row in rows))
