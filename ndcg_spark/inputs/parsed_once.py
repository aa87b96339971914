"""Text is parsed once: its typed rows are kept in a temporary place, from which every plan of an evaluation reads them.

Without that, each plan parses every line again, which takes longer than all the rest of an evaluation.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.engine import Engine
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.layouts import Layout
from ndcg_spark.inputs.loading import literal, loaded, written
from ndcg_spark.inputs.plain_files import write_plain
from ndcg_spark.inputs.plain_rows import PlainRows
from ndcg_spark.inputs.storage import is_local

#: Text of fewer bytes than this, as it is stored, is parsed again by each plan: that is quicker than another plan.
LEAST_BYTES = 1_500_000
#: Files that are smaller than this in the mean are all read by the engine: opening each takes longer than parsing it.
LEAST_MEAN = 20_000

#: Makes of a table as it was read the same rows, typed.
Typed = Callable[[DataFrame], DataFrame]


@dataclasses.dataclass(frozen=True)
class Odd:
    """The rows of those files that only the engine can read. Nearly all bad rows are in such files."""

    #: As they were read, so every plan parses them again.
    as_read: DataFrame
    #: Returns the same rows, typed, as they are kept.
    kept: Callable[[], DataFrame]


@dataclasses.dataclass(frozen=True)
class Kept:
    """All rows of files of text, typed, and those of the odd files; None if all files are alike."""

    rows: DataFrame
    odd: Odd | None = None


@dataclasses.dataclass(frozen=True)
class Text:
    """Files of text, of which every plan would parse each line."""

    engine: Engine
    #: The table's name, for messages.
    name: str
    files: list[File]
    #: The number of each file's unit, by path.
    units: Mapping[str, int]
    #: Reads some of the files.
    read: Callable[[list[File]], DataFrame]
    #: Which field is which column, of text without a header.
    layout: Layout | None = None
    #: The columns that have one value in all rows, whatever the files say.
    constants: Mapping[str, str | float] = dataclasses.field(default_factory=dict)

    @property
    def is_worth_keeping(self) -> bool:
        """Whether the rows are kept. Never on a server, where nobody may be left to remove them."""
        return self.engine.kind != "connect" and sum(file.size for file in self.files) >= LEAST_BYTES

    def with_constant(self, name: str, value: str | float) -> "Text":
        """The same with this value in a column of every row."""
        return dataclasses.replace(self, constants={**self.constants, name: value})

    def kept(self, table: DataFrame, typed: Typed) -> Kept:
        """All rows of the `table` as `typed` makes them, computed only once and removed when the engine's work is done.

        The embedded engine writes them to a temporary folder at once, so this is an action there. Classic Spark keeps
        them on its executors' disks when the first plan computes them. Raises whatever the engine raises.
        """
        rows = typed(table)
        if self.engine.kind == "spark":
            self.engine.scratch.later(rows.persist(StorageLevel.DISK_ONLY).unpersist)
            return Kept(rows)
        folders, others = self._plain(dict(rows.dtypes))
        if not folders:
            return Kept(self._stored([written(self.engine, rows)]))
        odd = None
        if others:
            as_read = self._read_again(others)
            folders.append(written(self.engine, typed(as_read)))
            odd = Odd(as_read, partial(self._stored, folders[-1:]))
        return Kept(self._stored(folders), odd)

    def _stored(self, folders: list[str]) -> DataFrame:
        return loaded(self.engine, "parquet", literal(self.engine, folders), self.name)

    def _plain(self, types: Mapping[str, str]) -> tuple[list[str], list[File]]:
        """The folder with the rows of the plain files, if there are any, and the files that the engine has to read."""
        near = [file for file in self.files if is_local(file.path)]
        if self.layout is None or not near or sum(file.size for file in near) < LEAST_MEAN * len(near):
            return [], self.files
        rows = PlainRows(self.layout, types, self.constants, self.units)
        if not rows.can_be_told(near[0]):
            return [], self.files
        folder, others = write_plain(near, rows, self.engine.scratch)
        if others == near:
            return [], self.files
        # Files without a byte have no columns to the engine, if they are all that it reads.
        others = [file for file in others if file.size]
        return [str(folder)], [*others, *(file for file in self.files if not is_local(file.path))]

    def _read_again(self, files: list[File]) -> DataFrame:
        table = self.read(files)
        constants = {name: F.lit(value) for name, value in self.constants.items()}
        return table.withColumns(constants) if constants else table
