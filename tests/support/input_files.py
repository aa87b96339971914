"""Input files, as they are written, found and read."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark.config import JudgmentsConfig, ResultsConfig
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.read import read_judgments, read_results


def file(path: Path, content: bytes | str = b"x") -> File:
    """A file written with this content, as `find` gives it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return File(str(path), path.stat().st_size)


def parquet(path: Path, **columns: list) -> File:
    pq.write_table(pa.table(columns), path)
    return File(str(path), path.stat().st_size)


def spoilt(whole: File, content: bytes) -> File:
    """The same file with other content."""
    return file(Path(whole.path), content)


def content(whole: File) -> bytes:
    return Path(whole.path).read_bytes()


def names(found: list[File]) -> list[str]:
    return [Path(each.path).name for each in found]


def written(file, text):
    """The file with the text, gzipped if its name says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    return file


def judged(engine, *paths, **config):
    names = [str(path) for path in paths]
    return read_judgments(engine, JudgmentsConfig(path=names, **config), names)


def returned(engine, *paths, **config):
    names = [str(path) for path in paths]
    return read_results(engine, ResultsConfig(path=names, **config), names)


def documents(source):
    return sorted(row["doc_id"] for row in source.table.select("doc_id").collect())
