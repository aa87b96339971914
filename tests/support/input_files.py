"""Input files, as they are written, listed and read."""

import gzip
from pathlib import Path

import pyarrow as pa
from pyarrow import orc, parquet

from ndcg_spark.config import JudgmentsConfig, ResultsConfig
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.source_tables import read_judgments, read_results
from ndcg_spark.schemas import INTERNAL


def gzipped(text: bytes) -> bytes:
    # mtime=0: workers of pytest-xdist must collect the same tests in whatever second they do.
    return gzip.compress(text, mtime=0)


def written(path: Path, content: str | bytes | dict) -> Path:
    """A file with text, gzipped if its name says so, bytes as they are, or columns as Parquet or ORC."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        (orc if path.suffix == ".orc" else parquet).write_table(pa.table(content), path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_bytes(gzipped(content.encode()) if path.suffix == ".gz" else content.encode())
    return path


def file(path: Path, content: bytes | str = b"x") -> File:
    """A file written with this content, as `list_files` finds it."""
    return File(str(written(path, content)), path.stat().st_size)


def judged(engine, *paths, **config):
    names = [str(path) for path in paths]
    return read_judgments(engine, JudgmentsConfig(path=names, **config))


def returned(engine, *paths, **config):
    names = [str(path) for path in paths]
    return read_results(engine, ResultsConfig(path=names, **config))


def documents(source):
    return sorted(row["doc_id"] for row in source.table.select("doc_id").collect())


def rows(source, *names):
    """The rows as tuples of these columns, or of all that are not ours; sorted, as files are read in no particular order."""
    names = names or [name for name in source.table.columns if name not in INTERNAL]
    return sorted((tuple(row[name] for name in names) for row in source.table.collect()), key=repr)
