"""Ordinary data and one query more, whose list has as many results as you like: the skew that no partition divides."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scripts.benchmark.data import FILES, JUDGMENTS, RESULTS, Data, Size, make

#: The query with the long list, and how many of its documents are judged.
QUERY, JUDGED = "query-giant", 1_000


def make_giant(results: int, size: Size, cache: Path) -> Data:
    """The data of this size with a list of `results` documents beside it, made unless the cache has it."""
    data = Data(size, cache / f"{size.name}-giant{results}")
    done = data.folder / "made.json"
    if not done.exists():
        shutil.rmtree(data.folder, ignore_errors=True)
        ordinary = make(size, cache)
        for table in ("judgments", "few_judgments", "results"):
            shutil.copytree(ordinary.folder / table, data.folder / table)
        rank = np.random.default_rng(size.seed).permutation(results) + 1
        for number, ranks in enumerate(np.array_split(rank, FILES)):
            pq.write_table(_part(ranks, results), data.results / f"part-{FILES + number:05d}.parquet")
        pq.write_table(_judgments(results), data.judgments / f"part-{FILES:05d}.parquet")
        done.write_text(json.dumps({**dataclasses.asdict(size), "giant": results}), encoding="utf-8")
    return data


def _part(rank: np.ndarray, results: int) -> pa.Table:
    length = len(rank)
    columns = [
        pa.repeat("run-00", length),
        pa.repeat(QUERY, length),
        _documents(rank),
        pa.array(20.0 - rank * (19.0 / results)),
        pa.array(rank.astype(np.int32)),
    ]
    return pa.table(columns, schema=RESULTS)


def _judgments(results: int) -> pa.Table:
    """Every grade from 0 to 3 in turn, for documents from the top of the list to its end."""
    rank = np.unique(np.linspace(1, results, min(JUDGED, results)).astype(np.int64))
    grades = np.arange(len(rank)) % 4
    columns = [pa.repeat(QUERY, len(rank)), _documents(rank), pa.array(grades.astype(np.float64))]
    return pa.table(columns, schema=JUDGMENTS)


def _documents(rank: np.ndarray) -> pa.Array:
    return pa.array(np.char.add("doc-", rank.astype("U10")), pa.string())
