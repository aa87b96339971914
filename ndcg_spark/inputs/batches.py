"""The runs that files name, and the batches of runs that are checked and scored together.

A batch has about 50 million results. Each run is counted and scored independently of the others.
"""

import dataclasses
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.config import ResultsConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.shapes import Shape

#: The bytes of each run, by its dataset (None if the rows have the dataset) and its name.
Runs = Mapping[tuple[str | None, str], int]
#: The extensions of a file name that belong to the format, not to the name of the run.
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
        return self.first <= run and (self.end is None or run < self.end)

    def select(self, table: DataFrame) -> DataFrame:
        """Return the rows of these runs, filtered before engines group them.

        Rows without a run are in the first batch.
        """
        run = F.col("run")
        if self.end is not None:
            table = table.where(run < self.end if self.first else (run < self.end) | run.isNull())
        return table.where(run >= self.first) if self.first else table


WHOLE = (Batch(),)


def with_runs(
    files: list[File], shape: Shape, config: ResultsConfig
) -> tuple[list[File], list[str], Runs]:
    """Return the files, notes on how runs are named, and the runs that files or folders name.

    If files name the runs, each file has the name of its run.
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
    runs = Counter[tuple[str | None, str]]()
    for file in files:
        folders = dict(file.partition)
        if name := folders.get(column):
            runs[folders.get(dataset), name] += file.size
    return files, notes, runs


def named_by_file(files: list[File], column: str) -> list[File]:
    """Return the files, each in a partition `column`=NAME that is named after the file.

    A part file is named after its folder.
    """
    named = []
    units: dict[str, str] = {}
    for file in files:
        unit = PurePosixPath(file.path)
        if _PART.match(unit.name) and unit.parent.name:
            unit = unit.parent
            while "=" in unit.name and not unit.name.startswith("run="):
                unit = unit.parent
        # Drop .gz and the extension of the format.
        base = PurePosixPath(unit.name.removeprefix("table:").removesuffix(".gz"))
        name = base.stem if base.suffix.lower() in _SUFFIXES else base.name
        if unit.name.startswith("run="):
            name = urllib.parse.unquote(unit.name.removeprefix("run="))
        if units.setdefault(name, str(unit)) != str(unit):
            what = f"two files name the run {name}, {units[name]} and {unit}"
            raise InputError(f"{what}; rename one of them, or put each in a folder run=NAME")
        others = tuple(pair for pair in file.partition if pair[0] != column)
        named.append(dataclasses.replace(file, partition=(*others, (column, name))))
    return named


def files_by_table(files: Iterable[File]) -> list[list[File]]:
    """Group the files by table: the part files in one folder belong to one table."""
    tables: dict[str, list[File]] = {}
    for file in files:
        path = PurePosixPath(file.path)
        table = path.parent if _PART.match(path.name) else path
        tables.setdefault(str(table), []).append(file)
    return list(tables.values())


def make_batches(runs: Runs, rows: int) -> tuple[Batch, ...]:
    sizes = Counter[str]()
    for (_, name), size in runs.items():
        sizes[name] += size
    whole = max(sizes.total(), 1)
    before = 0
    firsts: dict[int, str] = {0: ""}
    for name in sorted(sizes):
        firsts.setdefault(before * rows // (whole * MAX_ROWS), name)
        before += sizes[name]
    names = list(firsts.values())
    ends = [*names[1:], None]
    return tuple(map(Batch, names, ends))
