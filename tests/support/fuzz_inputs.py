"""Evaluates generated bad inputs on the embedded engine and prints how each ended.

Every input is made of its number alone: odd files of text and JSON (odd_files), or Parquet with odd values and types.
It ends in scores, which must account for every row that was written, or in an InputError; anything else is a failure.
"""

import contextlib
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import odd_files
import pyarrow as pa
from pyarrow import parquet as pq

from ndcg_spark import config
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import EngineError, InputError
from ndcg_spark.job import evaluate as job
from ndcg_spark.job.outcome import EvaluationOutcome
from ndcg_spark.job.clock import Clock
from ndcg_spark.text import message

COLUMNS = {
    "judgments": ["query_id", "doc_id", "relevance"],
    "results": ["run", "query_id", "doc_id", "score", "rank"],
}
NUMBERS = ("relevance", "score", "rank")


def text(folder: Path, rng: random.Random) -> tuple[dict[str, Any], dict[str, int | None]]:
    """Two tables of text or JSON, and how many rows the definition finds in each."""
    at = rng.randrange(len(odd_files.FORMATS["results"]))
    seed = rng.randrange(10**9)
    ((judgments, results),) = odd_files.tables(seed, regular=20, some=slice(at, at + 1)).values()
    order = {"order": "score" if results.has_scores else "rank", "negative": "error"}
    ties = {"ties": "rank"} if results.has_scores and results.has_ranks else {}
    settings = {"convention": {**order, **ties}}
    rows: dict[str, int | None] = {}
    for table in (judgments, results):
        settings[table.name] = table.written(folder / table.name)
        rows[table.name] = len(table.found.accepted) + len(table.found.rejected)
    return settings, rows


def parquet(folder: Path, rng: random.Random) -> tuple[dict[str, Any], dict[str, int | None]]:
    """Two files of Parquet, and how many rows are in each; None where that is for the engine's decoder to say."""
    settings: dict[str, Any] = {}
    rows: dict[str, int | None] = {}
    for table, names in COLUMNS.items():
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for number in range(rng.randint(1, 30)):
            for name in names:
                good = str(rng.randint(1, 3)) if name in NUMBERS else f"{name}{number if name == 'doc_id' else 1}"
                odd = rng.choice([None, *(odd_files.NUMBERS if name in NUMBERS else odd_files.IDS)])
                columns[name].append(odd if rng.random() < 0.02 else good)
        for name in NUMBERS:
            with contextlib.suppress(ValueError, KeyError):
                columns[name] = [None if value is None else float(value) for value in columns[name]]
        if rng.random() < 0.1:
            del columns[rng.choice(names)]
        elif rng.random() < 0.1:
            columns[rng.choice(names)] = [rng.choice([True, None]) for _ in columns["query_id"]]
        path = folder / f"{table}.parquet"
        pq.write_table(pa.table(columns), path)
        settings[table], rows[table] = {"path": str(path)}, len(next(iter(columns.values())))
        if rng.random() < 0.1:
            content, at = path.read_bytes(), rng.randrange(path.stat().st_size)
            path.write_bytes(content[:at] + rng.choice(odd_files.PIECES) + content[at + rng.randint(0, 9) :])
            rows[table] = None
    return settings, rows


def ending(engine: Engine, number: int, folder: Path) -> str:
    """How an input ended: scored, refused, or what is wrong."""
    rng = random.Random(number)  # noqa: S311  # it makes test data
    folder.mkdir()
    given, rows = (parquet if rng.random() < 0.3 else text)(folder, rng)
    keep = rng.random() < 0.2
    more = {"cutoffs": "all", "max_rejected_fraction": rng.choice([0, 0.3, 1, 1])}
    output = {"output": str(folder / "out")} if keep else {}
    settings = config.validate({**given, **more, **output}, "fuzz")
    try:
        outcome = job.evaluate_on(engine, settings, lambda *_: None, Clock())
    except (InputError, EngineError) as error:
        if isinstance(error, EngineError) and "or a file is damaged, " not in str(error):
            raise
        reason = message(str(error))
        return "refused" if len(reason) < 2000 else f"refused at length: {reason[:3000]!r}"
    counts = outcome.counts
    for name, expected in rows.items():
        if expected is not None and counts[name] != expected:
            return f"{counts[name]} of {expected} rows of {name} were counted"
    listed = sum(row["returned"] for row in scored_rows(outcome, folder)) if keep else None
    scored = counts["results"] - counts["rejected_results"] - counts["results_of_unjudged_queries"]
    if listed is not None and listed != scored:
        return f"{listed} results are in the scores and {scored} are neither rejected nor of unjudged queries"
    kept = pq.read_table(folder / "out" / "rejected_rows").num_rows if keep and outcome.rejected else 0
    if keep and kept != sum(row["rows"] for row in outcome.rejected):
        return f"{kept} rejected rows are kept of {outcome.rejected}"
    return "scored with rejects" if outcome.rejected else "scored"


def scored_rows(outcome: EvaluationOutcome, folder: Path) -> list[dict[str, Any]]:
    """The query scores that were published."""
    found = pq.read_table(folder / "out" / "query_scores").to_pylist()
    return [row for row in found if row["evaluation_id"] == outcome.evaluation_id]


def main(first: int, last: int) -> None:
    """Print one JSON object: how often each ending came, and the numbers of what failed."""
    endings: Counter[str] = Counter()
    failures: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder, open_engine("embedded") as engine:
        for number in range(first, last):
            try:
                found = ending(engine, number, Path(folder) / str(number))
            except Exception as error:  # noqa: BLE001  # what it is, the test tells
                found = f"{type(error).__name__}: {str(error)[:300]}"
            if found in ("scored", "scored with rejects", "refused"):
                endings[found] += 1
            else:
                failures[number] = found
    sys.stdout.write(json.dumps({"endings": endings, "failures": failures}))
