"""Turns rows of a different shape into rows of documents: cells with several ids, objects, and
ranks from the order of rows.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.mixed_types import is_list
from ndcg_spark.inputs.objects import Objects, flattened
from ndcg_spark.voices import IN_ORDER, Advice, Do, Either, SplitIds

#: The regular expressions for separators between a cell's ids, by name. Blanks around ids are
#: ignored.
SEPARATORS = {
    "blank": r"[ \t]+",
    "comma": r"[ \t]*,[ \t]*",
    "semicolon": r"[ \t]*;[ \t]*",
    "pipe": r"[ \t]*\|[ \t]*",
}
_BLANKS = " \t\r\n\f"
#: How many cells are checked for several ids.
_FIRST = 200
#: A list with several values, as Python writes it.
_LIST = re.compile(r"\[.*,.*\]")
_NUMBERS = re.compile(r"([0-9]+)")


def split_ids(cells: pa.ChunkedArray, separator: str) -> pa.ChunkedArray:
    """Return each cell's ids as a list; an empty cell has an empty list.

    Raise InputError for lists in brackets, as Python writes them.
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    texts = compute.utf8_trim(compute.fill_null(cells.cast(pa.string()), ""), _BLANKS)
    lists = texts.filter(compute.match_substring_regex(texts, r"^\[.*\]\z"))
    if len(lists):
        what = f"{len(lists):,} cell(s) with a list in brackets, e.g. {lists[0].as_py()[:80]!r}"
        raise InputError(f"{what}; write only the ids, or lists as JSON lines or Parquet")
    chunks = [_split(chunk, separator) for chunk in texts.chunks]
    return pa.chunked_array(chunks, pa.list_(pa.string()))


def _split(texts: pa.Array, separator: str) -> pa.Array:
    """Return the ids of each text as a list."""
    ids = compute.split_pattern_regex(texts, SEPARATORS[separator])
    lengths = compute.list_value_length(ids)
    # An empty text is split into one empty text, which is not an id.
    is_empty = compute.equal(texts, "")
    lengths = compute.if_else(is_empty, pa.scalar(0, lengths.type), lengths)
    ends = compute.cumulative_sum(lengths).cast(pa.int32())
    # A list's offset is where its elements begin; the last one is the number of elements.
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    values = compute.list_flatten(ids.filter(compute.invert(is_empty)))
    return pa.ListArray.from_arrays(offsets, values.cast(pa.string()))


def ways_without_scores(cells: pa.ChunkedArray) -> Advice:
    """Return advice on results without scores and ranks; `cells` has their first documents."""
    first = [str(cell) for cell in cells.slice(0, _FIRST).to_pylist() if cell is not None]
    if first and all(_LIST.fullmatch(cell.strip()) for cell in first):
        return Do(words=f"if {first[0][:80]!r} is a list, write it as JSON lines or Parquet")
    for name, pattern in SEPARATORS.items():
        several = [cell for cell in first if re.search(pattern, cell.strip())]
        # A cell with one id has no separator, so half of the cells are enough.
        if several and 2 * len(several) >= len(first):
            words = f"if {several[0][:80]!r} contains several ids, best first,"
            return Either((SplitIds(name, words=words), IN_ORDER), "; ")
    return IN_ORDER


def one_row_each(
    columns: Mapping[str, pa.ChunkedArray], separator: str
) -> dict[str, pa.ChunkedArray]:
    """Return columns, by our names, with one row for each document of a cell.

    The position in the cell is the rank.
    """
    lists = split_ids(columns["doc_id"], separator).combine_chunks()
    # Each document's cell, by its position among the cells.
    cells = compute.list_parent_indices(lists)
    rows = {name: column.take(cells) for name, column in columns.items()}
    rows["doc_id"] = pa.chunked_array([compute.list_flatten(lists)])
    first_documents = np.asarray(lists.offsets)[:-1]
    ranks = np.arange(len(cells)) - first_documents[np.asarray(cells)] + 1
    rows["rank"] = pa.chunked_array([pa.array(ranks, pa.int32())])
    return rows


def in_order_of_names(files: Iterable[File]) -> list[File]:
    """Return the files sorted by path, which is the order in which their rows are numbered."""
    return sorted(files, key=lambda file: file.path)


@dataclass
class Positions:
    """The positions of rows within their lists, counted while the rows are read.

    They are counted over all files of a list, in the order of the file names.
    """

    #: The table's names for the columns that identify a list.
    keys: Sequence[str]
    #: The number of rows of each list so far.
    _counts: dict[Any, int] = field(default_factory=dict)
    #: The file of each list's last row.
    _last_file: dict[Any, str] = field(default_factory=dict)
    #: The first two files of each list that has rows in several files.
    _split_lists: dict[Any, tuple[str, str]] = field(default_factory=dict)

    def ranks(self, table: pa.Table, file: File) -> pa.Array:
        """Return each row's rank, in the order of the rows."""
        texts = {}
        for name in self.keys:
            column = table[name]
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            texts[name] = column.cast(pa.string()).to_pandas()
        # Imported here, because most inputs have ranks or scores.
        import pandas as pd

        rows = pd.DataFrame(texts)
        lists = rows.groupby([*self.keys], sort=False, dropna=False)
        ranks_in_table = lists.cumcount().to_numpy() + 1
        # The number of rows of each list in earlier tables, in the order of the list's number.
        rows_before = [self._count(key, size, file.path) for key, size in lists.size().items()]
        if not rows_before:
            return pa.array(ranks_in_table, pa.int64())
        number_of_list = lists.ngroup().to_numpy()
        return pa.array(ranks_in_table + np.array(rows_before)[number_of_list], pa.int64())

    def _count(self, key: Any, rows: int, path: str) -> int:
        """Return the number of earlier rows of a list, and add these rows to it."""
        before = self._counts.get(key, 0)
        self._counts[key] = before + rows
        last = self._last_file.setdefault(key, path)
        if last != path:
            self._split_lists.setdefault(key, (last, path))
            self._last_file[key] = path
        return before

    def notes(self, files: Sequence[File]) -> list[str]:
        """Return where the ranks come from, as notes for the user.

        Raise InputError for lists over several files whose names do not give a clear order.
        """
        if not self._split_lists:
            return ["the order of the rows is the rank"]
        first, second = next(iter(self._split_lists.values()))
        lists = f"{len(self._split_lists):,} list(s) with rows in several files"
        paths = [file.path for file in files]
        if sorted(paths) != sorted(paths, key=_numeric_order):
            raise InputError(
                f"{lists}, e.g. {first} and {second}, whose order is unclear, because 10 comes "
                "after 9 but before it as text; pad the numbers in the names to the same length, "
                "or write one file"
            )
        where = f"in the order of their names, e.g. {first} and {second}"
        return [f"the order of the rows is the rank; {lists}, {where}"]


def with_places(table: pa.Table) -> pa.Table:
    """Return a table of results by our names, with the position of each row in its list as rank."""
    keys = [name for name in ("dataset", "run", "query_id") if name in table.column_names]
    ranks = Positions(keys).ranks(table, File("", 0))
    if "rank" in table.column_names:
        table = table.drop_columns(["rank"])
    return table.append_column("rank", ranks)


def _numeric_order(path: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers in names as numbers."""
    parts = _NUMBERS.split(path)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


@dataclass(frozen=True)
class Reshape:
    """The changes to tables from files with types before they are written."""

    #: The fields of objects that become columns.
    objects: Objects | None
    #: The column of documents.
    document: str
    #: The separator if a cell has several ids.
    separator: str | None
    #: Counts the rows if their order is the rank.
    positions: Positions | None

    def table(self, rows: pa.Table, file: File) -> pa.Table:
        """Return a file's changed rows."""
        if self.objects is not None:
            rows = flattened(rows, self.objects)
        if self.separator is not None:
            at = rows.schema.get_field_index(self.document)
            lists = split_ids(rows[self.document], self.separator)
            rows = rows.set_column(at, self.document, lists)
        if self.positions is not None and not is_list(rows.schema.field(self.document).type):
            rows = rows.append_column("rank", self.positions.ranks(rows, file))
        return rows
