"""Seeded judgments and results of any size, as Parquet, written in chunks of queries within little memory.

The same parameters give the same rows, whatever the chunks. In every run

* one query in 100 has no results (100 n + 7) and two more in 100 are returned but not judged (100 n + 11, 100 n + 57);
* one query in 100 has judgments but nothing relevant (100 n + 23);
* half of the judged documents are returned; the others, and most of what is returned, are unjudged or not returned;
* grades are 0 to 3, in the shares 0.4, 0.3, 0.2 and 0.1, or evenly from 0 to another `best` one, and better ones tend
  to be returned earlier;
* no two scores of a list are equal, even as floats, and `rank` is their order from 1, so that all conventions agree;
  `broken` says in how many lists it is not.

Ids are text. A file has whole queries, each query's documents in random order: what a job wrote, not a sorted table.
"""

import dataclasses
import functools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Documents there are: prime, so that the steps of a query's walk through them never meet.
DOCUMENTS = 1_000_003
#: Files of a table.
FILES = 16
#: Results made at a time.
CHUNK_ROWS = 1_000_000

RESULTS = pa.schema(
    [
        ("run", pa.string()),
        ("query_id", pa.string()),
        ("doc_id", pa.string()),
        ("score", pa.float64()),
        ("rank", pa.int32()),
    ]
)
JUDGMENTS = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("relevance", pa.float64())])


@dataclasses.dataclass(frozen=True)
class Size:
    """How much data; what is cached goes by it."""

    queries: int = 96_000
    results: int = 100
    judgments: int = 20
    runs: int = 1
    seed: int = 0
    #: The best grade; the others are from 0 up to it.
    best: int = 3
    #: In so many lists of 100 the ranks are the order of the scores from worst to best.
    broken: int = 0
    #: Runs but the first answer one query in so many.
    thin: int = 1

    @property
    def name(self) -> str:
        """The folder's name."""
        base = f"q{self.queries}-r{self.results}-j{self.judgments}-n{self.runs}-s{self.seed}"
        more = {"g": (self.best, 3), "b": (self.broken, 0), "t": (self.thin, 1)}
        return base + "".join(f"-{letter}{value}" for letter, (value, usual) in more.items() if value != usual)


@dataclasses.dataclass(frozen=True)
class Data:
    """Where the tables are."""

    size: Size
    folder: Path

    @property
    def judgments(self) -> Path:
        """The judgments of all judged queries."""
        return self.folder / "judgments"

    @property
    def few_judgments(self) -> Path:
        """The judgments of one query in 100."""
        return self.folder / "few_judgments"

    @property
    def results(self) -> Path:
        """The results of every run."""
        return self.folder / "results"

    @property
    def unranked(self) -> Path:
        """The same without the column rank, if `make_unranked` has made them."""
        return self.folder / "unranked"


def make(size: Size, cache: Path) -> Data:
    """The data of this size, made unless the cache has it."""
    data = Data(size, cache / size.name)
    done = data.folder / "made.json"
    if not done.exists():
        shutil.rmtree(data.folder, ignore_errors=True)
        for folder in (data.judgments, data.few_judgments, data.results):
            folder.mkdir(parents=True)
        for file in range(FILES):
            _write_file(data, file, _document_ids())
        done.write_text(json.dumps(dataclasses.asdict(size)), encoding="utf-8")
    return data


def make_unranked(data: Data) -> None:
    """Results whose order only a sort can tell."""
    if not data.unranked.exists():
        half = data.folder / "unranked-half"
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir()
        for path in sorted(data.results.glob("*.parquet")):
            pq.write_table(pq.read_table(path).drop_columns("rank"), half / path.name)
        half.rename(data.unranked)


def warm_up(folder: Path) -> None:
    """Read every file of a folder once, so that no program is the one that pays for the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.read_bytes()


@functools.cache
def _document_ids() -> pa.Array:
    return pa.array(np.char.add("doc-", np.arange(DOCUMENTS).astype(f"U{len(str(DOCUMENTS))}")), pa.string())


def _write_file(data: Data, file: int, documents: pa.Array) -> None:
    name = f"part-{file:05d}.parquet"
    mine = np.arange(file, data.size.queries, FILES)
    with (
        pq.ParquetWriter(data.judgments / name, JUDGMENTS) as judgments,
        pq.ParquetWriter(data.few_judgments / name, JUDGMENTS) as few,
        pq.ParquetWriter(data.results / name, RESULTS) as results,
    ):
        for queries in _chunks(mine, max(1, CHUNK_ROWS // max(data.size.results, 1))):
            grades = _grades(data.size, queries)
            for writer, kept in ((judgments, ~_unjudged(queries)), (few, queries % 100 == 0)):
                writer.write_table(_judgments(data.size, queries[kept], grades[kept], documents))
            held: list[pa.Table] = []
            for run in range(data.size.runs):
                answered = (queries % 100 != 7) & ((queries % data.size.thin == 0) if run else True)
                held.append(_results(data.size, run, queries[answered], grades[answered], documents))
                # Small runs share a row group, as they would in any file that is meant to be read.
                if sum(table.num_rows for table in held) >= CHUNK_ROWS or run == data.size.runs - 1:
                    results.write_table(pa.concat_tables(held))
                    held.clear()


def _chunks(queries: np.ndarray, length: int) -> Iterator[np.ndarray]:
    for start in range(0, len(queries), length):
        yield queries[start : start + length]


def _unjudged(queries: np.ndarray) -> np.ndarray:
    return np.isin(queries % 100, (11, 57))


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
    noise = _noise(size, queries, size.judgments, 0)
    grades = np.searchsorted([0.4, 0.7, 0.9], noise, side="right")
    if size.best != 3:
        grades = np.floor(noise * (size.best + 1)).astype(np.int64)
    return np.where((queries % 100 == 23)[:, None], 0, grades)


def _documents(size: Size, queries: np.ndarray, places: np.ndarray, documents: pa.Array) -> pa.Array:
    """The document at each place of each query's walk."""
    start, step = queries * 7919 % DOCUMENTS, 1 + queries * 104_729 % (DOCUMENTS - 1)
    return documents.take(pa.array(((start[:, None] + step[:, None] * places) % DOCUMENTS).ravel()))


def _query_ids(queries: np.ndarray, times: int) -> pa.Array:
    ids = pa.array([f"query-{number:07d}" for number in queries], pa.string())
    return ids.take(pa.array(np.repeat(np.arange(len(queries)), times)))


def _judgments(size: Size, queries: np.ndarray, grades: np.ndarray, documents: pa.Array) -> pa.Table:
    returned = min(size.judgments // 2, size.results)
    places = np.concatenate([np.arange(returned), size.results + np.arange(size.judgments - returned)])
    columns = [
        _query_ids(queries, size.judgments),
        _documents(size, queries, np.broadcast_to(places, grades.shape), documents),
        pa.array(grades.ravel().astype(np.float64)),
    ]
    return pa.table(columns, schema=JUDGMENTS)


def _results(size: Size, run: int, queries: np.ndarray, grades: np.ndarray, documents: pa.Array) -> pa.Table:
    shape = (len(queries), size.results)
    merit = _noise(size, queries, size.results, 2 * run + 1)
    judged = min(size.judgments // 2, size.results)
    merit[:, :judged] += 0.2 * 3 / size.best * grades[:, :judged]
    rank = np.argsort(np.argsort(-merit, axis=1), axis=1) + 1
    # Shuffled within a query, so that no program finds the lists sorted.
    places = np.argsort(_noise(size, queries, size.results, 2 * run + 2), axis=1)
    rank = np.take_along_axis(rank, places, axis=1)
    noise = _noise(size, queries, size.results, 2 * run + 1)
    score = 20.0 - (rank - noise / 2) * (19.0 / size.results)
    broken = (queries * 31 + run * 17) % 100 < size.broken
    rank = np.where(broken[:, None], size.results + 1 - rank, rank)
    columns = [
        pa.repeat(f"run-{run:02d}", shape[0] * shape[1]),
        _query_ids(queries, size.results),
        _documents(size, queries, places, documents),
        pa.array(score.ravel()),
        pa.array(rank.ravel().astype(np.int32)),
    ]
    return pa.table(columns, schema=RESULTS)
