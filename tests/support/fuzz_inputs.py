"""Evaluates generated bad inputs on the embedded engine and prints how each ended.

Every input is made of its number alone. It ends in scores, which must account for every row that was written, or in an
InputError; anything else is printed as a failure.
"""

import contextlib
import csv
import gzip
import io
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet as pq

from ndcg_spark import config
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import EngineError, InputError
from ndcg_spark.job import evaluate as job
from ndcg_spark.job.progress import Clock
from ndcg_spark.job.record import Outcome

COLUMNS = {
    "judgments": ["query_id", "doc_id", "relevance"],
    "results": ["run", "query_id", "doc_id", "score", "rank"],
}
NUMBERS = [
    "",
    " ",
    "NaN",
    "inf",
    "-Infinity",
    "1e999",
    "high",
    "1d",
    "0x1p3",
    "1_0",
    "\u0661",
    "--1",
    "-3",
    "2000",
    "1e-400",
    "0",
]
IDS = [
    "",
    " ",
    "\t",
    "\u00a0",
    "\x00",
    "q\u0301",
    "a b",
    'a"b',
    "a,b",
    "%",
    "..",
    "a/b=c",
    "null",
    "x" * 10_000,
    "'",
    "\U0001f50e",
]
BYTES = [b"\xff", b"\x00", b'"', b"\n", b"\r", b",", b"\t", b" ", b"{", b"\xef\xbb\xbf", b"\xc3"]

Row = dict[str, Any]


def rows_of(table: str, rng: random.Random) -> list[Row]:
    """A small good table of distinct documents."""
    queries = [f"q{n}" for n in range(rng.randint(1, 4))]
    if table == "judgments":
        return [
            {"query_id": query, "doc_id": f"d{doc}", "relevance": str(rng.randint(0, 3))}
            for query in queries
            for doc in range(rng.randint(1, 4))
        ]
    return [
        {"run": run, "query_id": query, "doc_id": f"d{doc}", "score": f"{rng.random():.3f}", "rank": str(doc + 1)}
        for run in ("a", "b")[: rng.randint(1, 2)]
        for query in [*queries, "q9"]
        for doc in range(rng.randint(1, 5))
    ]


def spoil(rows: list[Row], rng: random.Random) -> None:
    """Make one row worse: a bad number, a bad id, a missing value, a copy, or another row's place."""
    at = rng.randrange(len(rows))
    row = rows[at]
    name = rng.choice(list(row))
    kind = rng.choice(["value", "value", "value", "null", "copy", "absent"])
    if kind == "value":
        row[name] = rng.choice(NUMBERS if name in ("relevance", "score", "rank") else IDS)
    elif kind == "null":
        row[name] = None
    elif kind == "copy":
        rows.insert(rng.randrange(len(rows) + 1), dict(row))
    else:
        del row[name]


def as_text(table: str, rows: list[Row], kind: str) -> str:
    """The rows as a file of text; what a row lacks is left out of its line."""
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    if kind == "trec":
        order = {
            "judgments": ["query_id", "0", "doc_id", "relevance"],
            "results": ["query_id", "Q0", "doc_id", "rank", "score", "run"],
        }
        fixed = {"0": "0", "Q0": "Q0"}
        return "".join(
            " ".join(str(row.get(name, fixed.get(name, ""))) for name in order[table] if name in row or name in fixed)
            + "\n"
            for row in rows
        )
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if kind == "csv" else "\t", lineterminator="\n")
    writer.writerow(COLUMNS[table])
    writer.writerows([row[name] for name in COLUMNS[table] if name in row] for row in rows)
    return text.getvalue()


def damage(content: bytes, rng: random.Random) -> bytes:
    """Bytes cut off, put in or taken out."""
    kind, at = rng.choice(["cut", "insert", "insert", "remove", "crlf", "blank", "header"]), rng.randrange(len(content))
    if kind == "cut":
        return content[:at]
    if kind == "insert":
        return content[:at] + rng.choice(BYTES) + content[at:]
    if kind == "remove":
        return content[:at] + content[at + rng.randint(1, 9) :]
    if kind == "crlf":
        return content.replace(b"\n", b"\r\n")
    if kind == "blank":
        return content.replace(b"\n", b"\n\n  \n", 1)
    return content.split(b"\n", 1)[0] + b"\n" + content


def write_parquet(path: Path, table: str, rows: list[Row], rng: random.Random) -> None:
    """The rows as Parquet: numbers where all are such, else text; at times another type, or without a column."""
    columns: dict[str, Any] = {}
    for name in COLUMNS[table]:
        values = [row.get(name) for row in rows]
        if name in ("relevance", "score", "rank") and rng.random() < 0.7:
            with contextlib.suppress(ValueError):
                values = [None if value is None else float(value) for value in values]
        columns[name] = values
    if rng.random() < 0.1:
        del columns[rng.choice(list(columns))]
    if rng.random() < 0.1:
        columns[rng.choice(list(columns))] = [rng.choice([True, None]) for _ in rows]
    pq.write_table(pa.table(columns), path)


def written(folder: Path, table: str, rng: random.Random) -> tuple[Path, int | None]:
    """A table's file, and how many rows are in it; None where that is for the engine's decoder to say."""
    rows, kind = rows_of(table, rng), rng.choice(["trec", "csv", "tsv", "jsonl", "parquet"])
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        spoil(rows, rng)
    path = folder / f"{table}.{kind}"
    if kind == "parquet":
        write_parquet(path, table, rows, rng)
        if rng.random() < 0.1:
            path.write_bytes(damage(path.read_bytes(), rng))
            return path, None
        return path, len(rows)
    content = as_text(table, rows, kind).encode()
    for _ in range(rng.choice([0, 0, 1, 2])):
        content = damage(content, rng) or b"\n"
    if rng.random() < 0.1:
        packed = gzip.compress(content, mtime=0)
        path = folder / f"{table}.{kind}.gz"
        path.write_bytes(packed if rng.random() < 0.5 else packed[: rng.randrange(len(packed))])
    else:
        path.write_bytes(content)
    return path, lines_of(content, kind)


def lines_of(content: bytes, kind: str) -> int | None:
    """How many rows a file of text has: lines that are not blank, without the header and its copies."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\r" in text.replace("\r\n", ""):
        return None
    if kind in ("csv", "tsv"):
        lines = [line.strip("\ufeff\r") for line in text.split("\n")]
        lines = [line for line in lines if line.strip(" ")]
        return sum(line != lines[0] for line in lines) if lines else 0
    return sum(bool(line.strip("\ufeff \t\r\f")) for line in text.split("\n"))


def ending(engine: Engine, number: int, folder: Path) -> str:
    """How an input ended: scored, refused, or what is wrong."""
    rng = random.Random(number)  # noqa: S311  # it makes test data
    folder.mkdir()
    (judgments, judged), (results, returned) = (written(folder, table, rng) for table in COLUMNS)
    keep = rng.random() < 0.2
    settings = config.validate(
        {
            "judgments": {"path": str(judgments)},
            "results": {"path": str(results)},
            "cutoffs": "all",
            "max_rejected_fraction": rng.choice([0, 0.3, 1, 1]),
            **({"output": str(folder / "out")} if keep else {}),
        },
        "fuzz",
    )
    try:
        outcome = job.run_on(engine, settings, lambda *_: None, Clock())
    except (InputError, EngineError) as error:
        if isinstance(error, EngineError) and "or a file is damaged, " not in str(error):
            raise
        reason = str(error)
        return "refused" if "\n" not in reason and len(reason) < 2000 else f"refused at length: {reason[:3000]!r}"
    counts = outcome.counts
    for name, rows in (("judgments", judged), ("results", returned)):
        if rows is not None and counts[name] != rows:
            return f"{counts[name]} of {rows} rows of {name} were counted"
    listed = sum(row["returned"] for row in scored_rows(outcome, folder)) if keep else None
    scored = counts["results"] - counts["rejected_results"] - counts["results_of_unjudged_queries"]
    if listed is not None and listed != scored:
        return f"{listed} results are in the scores and {scored} are neither rejected nor of unjudged queries"
    kept = pq.read_table(folder / "out" / "rejected_rows").num_rows if keep and outcome.rejected else 0
    if keep and kept != sum(row["rows"] for row in outcome.rejected):
        return f"{kept} rejected rows are kept of {outcome.rejected}"
    return "scored with rejects" if outcome.rejected else "scored"


def scored_rows(outcome: Outcome, folder: Path) -> list[Row]:
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
