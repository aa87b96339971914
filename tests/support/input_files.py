"""Input files, as they are written, found and read."""

import gzip
from pathlib import Path

from ndcg_spark.config import JudgmentsConfig, ResultsConfig
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.read import read_judgments, read_results
from ndcg_spark.schemas import INTERNAL


def file(path: Path, content: bytes | str = b"x") -> File:
    """A file written with this content, as `list_files` finds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return File(str(path), path.stat().st_size)


def gzipped(text: bytes) -> bytes:
    # mtime=0: workers of pytest-xdist must collect the same tests in whatever second they do.
    return gzip.compress(text, mtime=0)


def written(file, text):
    """The file with the text, gzipped if its name says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(gzipped(content) if file.suffix == ".gz" else content)
    return file


def judged(engine, *paths, **config):
    names = [str(path) for path in paths]
    return read_judgments(engine, JudgmentsConfig(path=names, **config), names)


def returned(engine, *paths, **config):
    names = [str(path) for path in paths]
    return read_results(engine, ResultsConfig(path=names, **config), names)


def documents(source):
    return sorted(row["doc_id"] for row in source.table.select("doc_id").collect())


def rows(source, *names):
    """The rows as tuples of these columns, or of all that are not ours; sorted, as files are read in no order."""
    names = names or [name for name in source.table.columns if name not in INTERNAL]
    return sorted((tuple(row[name] for name in names) for row in source.table.collect()), key=repr)
