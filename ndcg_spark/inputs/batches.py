"""Finds the runs that files name, and divides runs into batches that are scored together.

A batch has about 50 million results. Each run is counted and scored independently of the others.
"""

import dataclasses
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.config import ResultsConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.shapes import Shape

#: Each run's bytes, by its dataset (None if the rows have the dataset) and its name.
Runs = Mapping[tuple[str | None, str], int]
#: The extensions of a file name that belong to the format, not to the run's name.
_SUFFIXES = {
    ".csv",
    ".tsv",
    ".json",
    ".jsonl",
    ".ndjson",
    ".parquet",
    ".orc",
    ".run",
    ".trec",
    ".txt",
    ".res",
}
#: The names that parallel writers (Spark, Hadoop and Dask) give to the files of one table.
_PART = re.compile(r"part[-_.]([rm]-)?\d")

#: A batch ends once it has about this many results. Measured with 960 million results in 100 runs
#: on the embedded engine: 1.4 GB of memory instead of 15.9 GB.
MAX_ROWS = 50_000_000


@dataclasses.dataclass(frozen=True)
class Batch:
    """The runs whose names are at least `first` and before `end`, if there is one.

    `Batch()` has every run.
    """

    first: str = ""
    end: str | None = None

    def has(self, run: str) -> bool:
        """Whether a run belongs to this batch."""
        return self.first <= run and (self.end is None or run < self.end)

    def select(self, table: DataFrame) -> DataFrame:
        """Return the rows of these runs, filtered before engines group them.

        Rows without a run are in the first batch.
        """
        run = F.col("run")
        if self.end is not None:
            is_wanted = run < self.end
            if not self.first:
                is_wanted |= run.isNull()
            table = table.where(is_wanted)
        if self.first:
            table = table.where(run >= self.first)
        return table


WHOLE = (Batch(),)


class NamedRuns(NamedTuple):
    """The files of a table, and the runs that files or folders name."""

    files: list[File]
    #: How runs are named, if files name them.
    notes: Sequence[str]
    runs: Runs


def name_runs(files: list[File], shape: Shape, config: ResultsConfig) -> NamedRuns:
    """Return the runs that files or folders name, and the files.

    If files name the runs, the partition of each file has the name of its run.
    """
    column = shape.columns.get("run", "run")
    dataset = shape.columns.get("dataset", "dataset")
    notes = []
    if config.run_from == "column" and "run" not in shape.has:
        raise InputError(f"run_from is column, but {files[0].path} has no column {column}; map it")
    if config.run_from == "file" or "run" not in shape.has:
        files = named_by_file(files, column)
        runs_of_files = [dict(file.partition)[column] for file in files]
        names = list(dict.fromkeys(runs_of_files))
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        notes = [f"runs are named after their files: {names[0]}{more}"]
    bytes_of_runs = Counter[tuple[str | None, str]]()
    for file in files:
        folders = dict(file.partition)
        run = folders.get(column)
        if run:
            bytes_of_runs[folders.get(dataset), run] += file.size
    return NamedRuns(files, notes, bytes_of_runs)


def named_by_file(files: list[File], column: str) -> list[File]:
    """Return the files, each in a partition `column`=NAME that is named after the file.

    A part file is named after its folder. Raise InputError if two files or folders give the same
    name.
    """
    named = []
    path_by_run: dict[str, str] = {}
    for file in files:
        path = _path_of_run(file)
        run = _run_of_path(path)
        known = path_by_run.setdefault(run, str(path))
        if known != str(path):
            what = f"two files name the run {run}, {known} and {path}"
            raise InputError(f"{what}; rename one of them, or put each in a folder run=NAME")
        others = tuple(pair for pair in file.partition if pair[0] != column)
        named.append(dataclasses.replace(file, partition=(*others, (column, run))))
    return named


def _path_of_run(file: File) -> PurePosixPath:
    """Return the path that names a file's run: the file, or the folder of a part file.

    It is /runs/bm25 for /runs/bm25/dataset=web/part-0.parquet.
    """
    path = PurePosixPath(file.path)
    if not _PART.match(path.name) or not path.parent.name:
        return path
    folder = path.parent
    while "=" in folder.name and not folder.name.startswith("run="):
        folder = folder.parent
    return folder


def _run_of_path(path: PurePosixPath) -> str:
    """Return a run's name: bm25 for bm25.run.gz, and for a folder run=bm25."""
    if path.name.startswith("run="):
        return urllib.parse.unquote(path.name.removeprefix("run="))
    base = PurePosixPath(path.name.removeprefix("table:").removesuffix(".gz"))
    return base.stem if base.suffix.lower() in _SUFFIXES else base.name


def files_by_table(files: Iterable[File]) -> list[list[File]]:
    """Group the files by table: the part files in one folder belong to one table."""
    tables: dict[str, list[File]] = {}
    for file in files:
        path = PurePosixPath(file.path)
        table = path.parent if _PART.match(path.name) else path
        tables.setdefault(str(table), []).append(file)
    return list(tables.values())


def make_batches(runs: Runs, rows: int) -> tuple[Batch, ...]:
    """Return batches of about MAX_ROWS rows for runs that together have `rows` rows.

    A run's rows are estimated from its bytes.
    """
    sizes = Counter[str]()
    for (_, name), size in runs.items():
        sizes[name] += size
    total_bytes = max(sizes.total(), 1)
    bytes_before = 0
    # Each batch's first run, by the number of the batch.
    firsts: dict[int, str] = {0: ""}
    for name in sorted(sizes):
        batch = bytes_before * rows // (total_bytes * MAX_ROWS)
        firsts.setdefault(batch, name)
        bytes_before += sizes[name]
    names = list(firsts.values())
    ends = [*names[1:], None]
    return tuple(map(Batch, names, ends))
