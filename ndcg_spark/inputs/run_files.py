"""Which files may hold results of the same query and run, and the refusal of those that may not.

Every run that Anserini wrote has the tag `Anserini`, so two systems could silently become one run. So all results of a
query and run must be in one unit. A unit is a file, or all files of one parallel write, which splits its rows
anywhere: files such as part-00000-<id>.parquet with the same id (Spark), and files without an id (part-00000,
part.0.parquet, data_0.parquet, 000000000000.csv) in the same folder. This holds for every format.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.schemas import OWN

#: The column with the unit of a row. A table only has it if several of its units may share a run.
UNIT = f"{OWN}unit"
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
#: The names of the files of parallel writes, by Spark, Hadoop and Dask; DuckDB; BigQuery and Polars; pysail.
_PART = r"(part[-_.]([rm]-)?\d|data_\d+\.|0\d{5,}[._]|[A-Za-z0-9]{16}_\d+\.)[^/]*"
_PYSAIL = r"^[A-Za-z0-9]{16}(?=_\d+\.)"


@dataclasses.dataclass(frozen=True)
class SplitRun:
    """A run with queries in two units: the number of such queries, and the first of them with both units."""

    run: str
    queries: int
    query: str
    first: int | str
    last: int | str


def unit_of(path: str) -> str:
    """The unit of a file: its path, or for a file of a parallel write the id of the write or its folder."""
    folder, _, name = path.rpartition("/")
    if not re.match(_PART, f"{name}."):
        return path
    written = re.search(_ID, name) or re.search(_PYSAIL, name)
    return written.group() if written else folder


def units_of(files: list[File], run_column: str | None) -> dict[str, int]:
    """The number of each file's unit, by path; empty if no two units can share a run.

    `run_column` is the name that folders give the run; None if the run of every row was given.
    """
    numbers: dict[str, int] = {}
    units = {file.path: numbers.setdefault(unit_of(file.path), len(numbers)) for file in files}
    by_run: dict[str | None, set[int]] = {}
    for file in files:
        by_run.setdefault(dict(file.partition).get(run_column or ""), set()).add(units[file.path])
    return units if any(len(found) > 1 for found in by_run.values()) else {}


def unit_column() -> Column:
    """The unit of each row, from the path of the file that Spark read it from."""
    path = F.input_file_name()
    name = F.substring_index(path, "/", -1)
    written = F.regexp_extract(name, f"({_ID}|{_PYSAIL})", 1)
    part = F.when(written != "", written).otherwise(F.regexp_replace(path, "/[^/]*$", ""))
    return F.when(F.concat(name, F.lit(".")).rlike(f"^{_PART}"), part).otherwise(path)


def refuse_split_runs(found: Sequence[SplitRun], units: Mapping[str, int], where: str) -> None:
    """InputError (run_in_two_files) if any run is split, whatever the convention does with duplicates."""
    if not found:
        return
    first = min(found, key=lambda split: split.run)
    examples: dict[int | str, str] = {unit: path for path, unit in sorted(units.items(), reverse=True)}
    both = " and ".join(str(examples.get(unit, unit)) for unit in (first.first, first.last))
    raise InputError(
        f"{where}: run_in_two_files, {len(found)} run(s) with queries in two files, e.g. {first.queries} of "
        f"{first.run}: {first.query} is in {both}; they are read as one run, so give each file a run name of its own: "
        "with --run-from file, or change the tags"
    )
