"""Reads ranker tables: one table with grades and scores, without a document column.

Each row is a document. Its row number is its name, and also its rank if ties are broken by rank.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from ndcg_spark.config import JudgmentsConfig, TableConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.voices import NameInOneTable

NOTE = "each row is a document, identified by its number"
#: Our columns that such a table may have.
COLUMNS = ("dataset", "run", "query_id", "relevance", "score", "rank")
#: Names are padded to this many digits, so that they sort in the order of the rows.
_DIGITS = 10


class RowNumbers:
    """Numbers the rows of consecutive tables, from 1."""

    def __init__(self, has_ranks: bool) -> None:
        #: Whether the tables have ranks, under any name.
        self._has_ranks = has_ranks
        self._rows = 0

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of a table with row numbers."""
        return self.add(schema.empty_table()).schema

    def add(self, table: pa.Table) -> pa.Table:
        """Return the table with documents named by row number, and with ranks if it has none."""
        numbers = pa.array(np.arange(self._rows + 1, self._rows + len(table) + 1), pa.int64())
        self._rows += len(table)
        names = compute.utf8_lpad(numbers.cast(pa.string()), _DIGITS, "0")
        table = table.append_column("doc_id", names)
        return table if self._has_ranks else table.append_column("rank", numbers.cast(pa.int32()))


def has_documents(shape: Shape) -> bool:
    """Whether a table has a document column, or the user names one."""
    return shape.has_lists or "doc_id" in shape.has or "doc_id" in shape.columns


def is_unnamed(shape: Shape, config: TableConfig) -> bool:
    """Whether lines have three fields that are named neither by a header nor by the user."""
    return shape.kind == "trec" and len(shape.fields) == 3 and not config.columns


def refuse_unclear(shape: Shape, files: Sequence[File], needed: Collection[str]) -> None:
    """Raise InputError for a table whose rows cannot be documents.

    `needed` are our columns that it must have.
    """
    if shape.kind == "trec" and not {"query_id", "relevance", "score"} <= shape.has:
        what = f"{len(shape.fields)} fields in a line, and no column names"
        columns = ("query_id", "relevance", "score")
        raise InputError(what, NameInOneTable(columns, are_numbers=True))
    _refuse_missing(shape, needed)
    refuse_one_column(shape.columns, shape.fields)
    if "run" in shape.has:
        column = shape.columns.get("run", "run")
        what = f"each row is a document, but the column {column} may name several runs"
        to_do = "evaluate each run separately, in a table without that column"
        raise InputError(
            f"{what}, each with its own rows; {to_do}, or name the documents in a column doc_id"
        )
    if any(file.snapshot is not None or file.storage is None for file in files):
        what = (
            "each row is a document, identified by its number, but this table's rows have no order"
        )
        raise InputError(f"{what}; write it as files, or name the documents in a column doc_id")


def _refuse_missing(shape: Shape, needed: Collection[str]) -> None:
    """Raise InputError if the table lacks one of the columns `needed`."""
    missing = [name for name in needed if name not in shape.has]
    if "score" in missing and "rank" in shape.has:
        # Ranks are enough to order the documents.
        missing.remove("score")
    if not missing:
        return
    what = f"{len(missing)} column(s) missing, {', '.join(missing)}; it has "
    why = "in one table without documents, each row needs a query, a grade and a score"
    then = ""
    if shape.kind in ("csv", "tsv"):
        then = "(the number of a field, if the first line has no names)"
    advice = NameInOneTable(tuple(missing), then=then)
    raise InputError(f"{what}{', '.join(shape.fields)}; {why}", advice)


def refuse_one_column(columns: Mapping[str, str], has: Iterable[str]) -> None:
    """Raise InputError if grades and scores are the same column: every list would be perfect."""
    column = columns.get("relevance")
    if column is not None and column == columns.get("score"):
        known = ", ".join(has)
        what = f"the column {column} has both the grades and the scores; the table has {known}"
        raise InputError(what, NameInOneTable(("relevance", "score")))


def refuse_several_runs(runs: Collection[Any]) -> None:
    """Raise InputError if the files of the table name several runs."""
    if len(runs) > 1:
        names = [name for _, name in runs]
        what = f"each row is a document, but {len(names)} files are runs, e.g. {names[0]}"
        to_do = "evaluate each file separately, as judgments and as results"
        raise InputError(f"{what} and {names[1]}; {to_do}, or name the run if they are one run")


def needed(*configs: TableConfig) -> list[str]:
    """Return our columns that the table of these configurations needs."""
    for config in configs:
        if isinstance(config, JudgmentsConfig) and config.relevance is not None:
            # The user gives all rows the same grade.
            return ["query_id", "score"]
    return ["query_id", "relevance", "score"]


def labels(*configs: TableConfig) -> Collection[str]:
    """Return the labels that stand for grades in any of the configurations, or an empty list."""
    found: list[str] = []
    for config in configs:
        if isinstance(config, JudgmentsConfig):
            found.extend(config.grades or ())
    return found


def merged_columns(config: TableConfig, other: TableConfig) -> TableConfig:
    """Return the first configuration with the columns of both configurations."""
    return config.model_copy(update={"columns": {**other.columns, **config.columns}})
