"""The scores of two tables as rows, for tests that look at a few numbers of one query.

They come from lazy DataFrames, or from the job, which reads files and publishes.
"""

import dataclasses
import functools
import itertools
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import sessions
import tables
from pyarrow import csv, parquet
from pyarrow import dataset as folders
from pyspark.sql import SparkSession
from tables import Row

from ndcg_spark import Convention, config, evaluate
from ndcg_spark.convention.convention import parse_label
from ndcg_spark.convention.measures import DEFAULT_CUTOFFS
from ndcg_spark.inputs.memory import RUN, to_arrow
from ndcg_spark.job import evaluate_inputs as job
from ndcg_spark.schemas import EXCLUDE, JUDGMENTS, RESULTS

#: The roads to scores: of lazy DataFrames, and of the job from files of Parquet and of text.
ROADS = ("lazy", "parquet", "text")
_Case = TypeVar("_Case")


def in_turn(cases: Iterable[_Case]) -> list[tuple[_Case, str]]:
    """Each case with one of the roads."""
    return list(zip(cases, itertools.cycle(ROADS), strict=False))


@dataclasses.dataclass
class Scored:
    scores: Any

    @functools.cached_property
    def query_scores(self) -> list[Row]:
        return [row.asDict() for row in self.scores.query_scores.collect()]

    @functools.cached_property
    def dataset_scores(self) -> list[Row]:
        return [row.asDict() for row in self.scores.dataset_scores.collect()]

    def of(self, query: str, cutoff: int | None) -> Row:
        (row,) = [
            row for row in self.query_scores if (row["query_id"], row["cutoff"]) == (query, cutoff)
        ]
        return row

    def mean(self, cutoff: int | None) -> Row:
        (row,) = [row for row in self.dataset_scores if row["cutoff"] == cutoff]
        return row

    def ndcg(self, cutoff: int | None) -> dict[str, float | None]:
        return {
            row["query_id"]: row["ndcg"] for row in self.query_scores if row["cutoff"] == cutoff
        }


class Published(Scored):
    """The scores that a job has published in a folder."""

    def __init__(self, folder: Path) -> None:
        self.query_scores = _rows(folder / "query_scores")
        self.dataset_scores = _rows(folder / "dataset_scores")


def _rows(folder: Path) -> list[Row]:
    rows: list[Row] = folders.dataset(folder, partitioning="hive").to_table().to_pylist()
    return rows


def scored(
    session: SparkSession,
    judged: Any,
    returned: Any,
    cutoffs: Any = DEFAULT_CUTOFFS,
    convention: Convention | str = "standard",
    *,
    road: str = "lazy",
    measures: Any = (),
    exclude: Any = None,
    relevance: float | None = None,
    dataset: str = "default",
    items: pa.Table | None = None,
    items_users: int | None = None,
    is_dealt: bool = False,
) -> Scored:
    """The scores of tables as `evaluate` takes them, or of rows of the builders of `tables`.

    `is_dealt` deals the rows to several partitions, or files.
    """
    if road == "lazy":
        if _are_rows(judged):
            judged = tables.judgments(session, judged)
        if _are_rows(returned):
            returned = tables.results(session, returned)
        if is_dealt:
            judged, returned = judged.repartition(2), returned.repartition(3)
        given = judged, returned, cutoffs, convention
        options = {"exclude": exclude, "relevance": relevance, "dataset": dataset}
        options |= {"items": items, "items_users": items_users}
        return Scored(evaluate(*given, measures=measures, session=session, **options))
    rows = {
        "judgments": _arrow(judged, tables.JUDGMENTS, JUDGMENTS, "judgments"),
        "results": _arrow(returned, tables.RESULTS, RESULTS, "results"),
    }
    if exclude is not None:
        rows["exclude"] = to_arrow(exclude, EXCLUDE.names)
    settings = {"convention": _options(convention)}
    if cutoffs is not DEFAULT_CUTOFFS:
        settings["cutoffs"] = cutoffs
    if measures != ():
        settings["measures"] = measures
    if dataset != "default":
        settings["dataset"] = dataset
    if items is not None:
        rows["items"] = items
    files = {"judgments": 2, "results": 3} if is_dealt else {}
    return _published(rows, files, road, settings, relevance, items_users)


def _published(
    rows: Mapping[str, pa.Table],
    files: Mapping[str, int],
    kind: str,
    settings: Mapping[str, Any],
    relevance: float | None,
    items_users: int | None,
) -> Published:
    """The scores of a job that reads the tables from so many files of a kind, by default one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths: dict[str, Any] = {}
        for table, content in rows.items():
            paths[table] = {"path": _written(content, folder / table, kind, files.get(table, 1))}
        if "run" not in rows["results"].column_names:
            paths["results"]["run"] = RUN
        paths["judgments"]["relevance"] = relevance
        if items_users is not None:
            paths["items"]["users"] = items_users
        given = {**settings, **paths, "date": "2026-11-20", "output": str(folder / "out")}
        job.evaluate(config.validate(given, "test"), engine=sessions.engine())
        return Published(folder / "out")


def _arrow(given: Any, columns: str, schema: pa.Schema, where: str) -> pa.Table:
    if _are_rows(given):
        return tables.arrow(given, columns)
    return to_arrow(given, schema.names)


def _are_rows(given: Any) -> bool:
    return isinstance(given, list) and isinstance(given[0], dict)


def _options(convention: Convention | str) -> dict[str, Any]:
    """The convention as a configuration has it; ranks cannot contradict an order that is named."""
    label = convention if isinstance(convention, str) else convention.label
    return {"order": Convention.parse(label).order, **parse_label(label)}


def _written(table: pa.Table, folder: Path, kind: str, files: int) -> str:
    """The rows dealt to some files in a new folder: parts of Parquet, or text with a header."""
    folder.mkdir()
    for number in range(files):
        rows = table.take(pa.array(range(number, len(table), files), pa.int64()))
        if kind == "parquet":
            parquet.write_table(rows, folder / f"part-{number}.parquet")
        elif len(rows):
            csv.write_csv(rows, folder / f"{number}.csv")
    return str(folder)
