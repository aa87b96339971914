"""Seeded judgments and results of any size, as Parquet, written in chunks of queries within little memory.

The same parameters give the same rows, whatever the chunks. In every run

* one query in 100 has no results (100 n + 7) and two more in 100 are returned but not judged (100 n + 11, 100 n + 57);
* one query in 100 has judgments but nothing relevant (100 n + 23);
* half of the judged documents are returned; the others, and most of what is returned, are unjudged or not returned;
* grades are 0 to 3, in the shares 0.4, 0.3, 0.2 and 0.1, and better ones tend to be returned earlier;
* no two scores of a list are equal, even as floats, and `rank` is their order from 1, so that all conventions agree.

Ids are text. A file has whole queries, each query's documents in random order: what a job wrote, not a sorted table.
"""

import dataclasses
import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

#: Documents there are, more than any list has: prime, so that the steps of a query's walk through them never meet.
DOCUMENTS = (1_000_003, 10_002_007)
#: The queries of the usual data: 9.6 million results.
QUERIES = 96_000
#: Files of a table.
FILES = 16
#: Results made at a time.
CHUNK_ROWS = 1_000_000

_TEXT = pa.string()
JUDGMENTS = pa.schema({"query_id": _TEXT, "doc_id": _TEXT, "relevance": pa.float64()})
RESULTS = pa.schema({"run": _TEXT, "query_id": _TEXT, "doc_id": _TEXT, "score": pa.float64(), "rank": pa.int32()})


class Files(NamedTuple):
    """What a program is given: a folder or file of judgments and one of results."""

    judgments: Path
    results: Path


@dataclasses.dataclass(frozen=True)
class Size:
    """How much data; what is cached goes by it."""

    queries: int = QUERIES
    results: int = 100
    judgments: int = 20
    runs: int = 1
    seed: int = 0
    #: Runs but the first answer one query in so many.
    thin: int = 1

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return next(number for number in DOCUMENTS if number >= self.results + self.judgments)


class Data(NamedTuple):
    """Judgments and results, and the same without ranks: only a sort can tell the order of a list."""

    ranked: Files
    unranked: Files


def cached(folder: Path, write: Callable[[Path], None]) -> Path:
    """The folder with what `write` puts there, unless it is there already from beginning to end."""
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write(folder)
        (folder / "done").touch()
    # Read once, so that no program is the one that pays for the disk.
    for path in filter(Path.is_file, folder.rglob("*")):
        path.read_bytes()
    return folder


def make(size: Size, cache: Path) -> Data:
    """The data of this size, made unless the cache has it."""
    name = "-".join(f"{name}{value}" for name, value in dataclasses.asdict(size).items())
    folder = cached(cache / name, functools.partial(_write, size))
    return Data(*(Files(folder / "judgments", folder / results) for results in ("results", "unranked")))


def in_folders(data: Data, runs: int) -> Data:
    """The results as those of so many runs, each a folder of links to the same files."""
    made = []
    for files in data:
        root = files.results.parents[1] / f"{files.results.parent.name}-of-{runs}" / files.results.name
        for number in range(runs):
            folder = root / f"run=run-{number:03d}"
            folder.mkdir(parents=True, exist_ok=True)
            for file in files.results.iterdir():
                (folder / file.name).unlink(missing_ok=True)
                (folder / file.name).symlink_to(file)
        made.append(files._replace(results=root))
    return Data(*made)


def _write(size: Size, folder: Path) -> None:
    for table in ("judgments", "results", "unranked"):
        (folder / table).mkdir()
    for file in range(FILES):
        name = f"part-{file:05d}.parquet"
        judgments, results = folder / "judgments" / name, folder / "results" / name
        with pq.ParquetWriter(judgments, JUDGMENTS) as of_judgments, pq.ParquetWriter(results, RESULTS) as of_results:
            mine = np.arange(file, size.queries, FILES)
            length = max(1, CHUNK_ROWS // (size.results * size.runs))
            for start in range(0, len(mine), length):
                queries = mine[start : start + length]
                of_judgments.write_table(_judgments(size, queries[~np.isin(queries % 100, (11, 57))]))
                # Runs share a row group, as they would in any file that is meant to be read.
                of_results.write_table(pa.concat_tables(_results(size, run, queries) for run in range(size.runs)))
        pq.write_table(pq.read_table(results).drop_columns("rank"), folder / "unranked" / name)


def _noise(size: Size, queries: np.ndarray, columns: int, stream: int) -> np.ndarray:
    """Numbers from 0 up to 1, which depend on the seed, the query and the column alone: splitmix64 of all three."""
    wide = np.uint64(2**32)
    with np.errstate(over="ignore"):
        number = queries.astype(np.uint64)[:, None] * wide + np.arange(columns, dtype=np.uint64)[None, :]
        number += np.uint64((size.seed * 1_000_003 + stream) * 0x9E3779B97F4A7C15 % 2**64)
        number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        number ^= number >> np.uint64(31)
    return (number >> np.uint64(11)).astype(np.float64) / 2**53


def _grades(size: Size, queries: np.ndarray) -> np.ndarray:
    """A grade for every document a query is judged with, the returned ones first; unjudged queries have some too."""
    grades = np.searchsorted([0.4, 0.7, 0.9], _noise(size, queries, size.judgments, 0), side="right")
    return np.where((queries % 100 == 23)[:, None], 0, grades)


@functools.cache
def _document_ids(number: int) -> pa.Array:
    return pc.binary_join_element_wise("doc-", pa.array(np.arange(number)).cast(pa.string()), "")


def _documents(size: Size, queries: np.ndarray, places: np.ndarray) -> pa.Array:
    """The document at each place of each query's walk."""
    start, step = queries * 7919 % size.documents, 1 + queries * 104_729 % (size.documents - 1)
    walk = (start[:, None] + step[:, None] * places) % size.documents
    return _document_ids(size.documents).take(pa.array(walk.ravel()))


def _query_ids(queries: np.ndarray, times: int) -> pa.Array:
    ids = pa.array([f"query-{number:07d}" for number in queries], pa.string())
    return ids.take(pa.array(np.repeat(np.arange(len(queries)), times)))


def _judgments(size: Size, queries: np.ndarray) -> pa.Table:
    returned = min(size.judgments // 2, size.results)
    places = np.concatenate([np.arange(returned), size.results + np.arange(size.judgments - returned)])
    grades = _grades(size, queries)
    columns = [
        _query_ids(queries, size.judgments),
        _documents(size, queries, np.broadcast_to(places, grades.shape)),
        pa.array(grades.ravel().astype(np.float64)),
    ]
    return pa.table(columns, schema=JUDGMENTS)


def _results(size: Size, run: int, queries: np.ndarray) -> pa.Table:
    queries = queries[(queries % 100 != 7) & ((queries % size.thin == 0) if run else True)]
    noise = _noise(size, queries, size.results, 2 * run + 1)
    judged, merit = min(size.judgments // 2, size.results), noise.copy()
    merit[:, :judged] += 0.2 * _grades(size, queries)[:, :judged]
    rank = np.argsort(np.argsort(-merit, axis=1), axis=1) + 1
    # Shuffled within a query, so that no program finds the lists sorted.
    places = np.argsort(_noise(size, queries, size.results, 2 * run + 2), axis=1)
    rank = np.take_along_axis(rank, places, axis=1)
    columns = [
        pa.repeat(f"run-{run:02d}", rank.size),
        _query_ids(queries, size.results),
        _documents(size, queries, places),
        pa.array((20.0 - (rank - noise / 2) * (19.0 / size.results)).ravel()),
        pa.array(rank.ravel().astype(np.int32)),
    ]
    return pa.table(columns, schema=RESULTS)
