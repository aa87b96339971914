"""Which files may share a query of one run, and the refusal of those that may not.

The tag `Anserini` is in every run that Anserini wrote: two systems with one tag would silently be one run. So a query
of one run must stand in one unit. A unit is a file, except that the files of one parallel write are one, as its writer
cuts wherever it likes: names such as part-00000-<id>.parquet are one unit for each id (Spark), names without an id
(part-00000, part.0.parquet, data_0.parquet, 000000000000.csv) one for each folder. That holds for every format.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.schemas import OWN

#: The column that tells the unit of a row, where there are several that may share a run.
UNIT = f"{OWN}unit"
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
#: The files of a parallel write, by their names: Spark and Hadoop, Dask; DuckDB; BigQuery and Polars; pysail.
_PART = r"(part[-_.]([rm]-)?\d|data_\d+\.|0\d{5,}[._]|[A-Za-z0-9]{16}_\d+\.)[^/]*"
_PYSAIL = r"^[A-Za-z0-9]{16}(?=_\d+\.)"


@dataclasses.dataclass(frozen=True)
class SplitRun:
    """A run of which a query stands in two units: how many such queries, and the first of them with both units."""

    run: str
    queries: int
    query: str
    first: int | str
    last: int | str


def unit_of(path: str) -> str:
    """What a file is a part of: itself, or a parallel write."""
    folder, _, name = path.rpartition("/")
    if not re.match(_PART, f"{name}."):
        return path
    written = re.search(_ID, name) or re.search(_PYSAIL, name)
    return written.group() if written else folder


def units_of(files: list[File], run_column: str | None) -> dict[str, int]:
    """The number of each file's unit, by path; nothing where no two units can share a run.

    `run_column` is what folders call the run; None where every row has the run that was given.
    """
    numbers: dict[str, int] = {}
    units = {file.path: numbers.setdefault(unit_of(file.path), len(numbers)) for file in files}
    by_run: dict[str | None, set[int]] = {}
    for file in files:
        by_run.setdefault(dict(file.partition).get(run_column or ""), set()).add(units[file.path])
    return units if any(len(found) > 1 for found in by_run.values()) else {}


def unit_column() -> Column:
    """The unit of a row, of the file that Spark read it from."""
    path = F.input_file_name()
    name = F.substring_index(path, "/", -1)
    written = F.regexp_extract(name, f"({_ID}|{_PYSAIL})", 1)
    part = F.when(written != "", written).otherwise(F.regexp_replace(path, "/[^/]*$", ""))
    return F.when(F.concat(name, F.lit(".")).rlike(f"^{_PART}"), part).otherwise(path)


def refuse_split_runs(found: Sequence[SplitRun], units: Mapping[str, int], where: str) -> None:
    """InputError (run_in_two_files) if there is one, whatever a convention says of duplicates."""
    if not found:
        return
    first = min(found, key=lambda split: split.run)
    examples: dict[int | str, str] = {unit: path for path, unit in sorted(units.items(), reverse=True)}
    both = " and ".join(str(examples.get(unit, unit)) for unit in (first.first, first.last))
    raise InputError(
        f"{where}: run_in_two_files, {len(found)} run(s) with queries in two files, e.g. {first.queries} of "
        f"{first.run}: {first.query} is in {both}; they are read as one run, so give each file a run name of its own: "
        "evaluate them one by one with --run, or change the tags"
    )
