"""Reads the rows of a table from Parquet in this process, without an engine.

They are read a second time to check what an engine has computed, so nothing here trusts an engine,
a filter of the Parquet reader, or the statistics of a footer. It is a separate reader on purpose:
an error in `parquet_files`, which reads the inputs, is not repeated here.
"""

import contextlib
import dataclasses
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from ndcg_spark.errors import about, within
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.grade_labels import Labels
from ndcg_spark.inputs.memory import holds_structs
from ndcg_spark.inputs.mixed_types import is_list
from ndcg_spark.inputs.objects import DOCUMENT_COLUMNS
from ndcg_spark.inputs.storage import reading
from ndcg_spark.schemas import FAULT, LINE

#: One row with the values as they are stored, by our names of the columns.
StoredRow = dict[str, Any]
#: Text columns whose values repeat, by our names: each distinct value is read once.
_REPEATED = ("dataset", "run", "query_id", "status")
#: The separator between run and query in a list's key; no name contains it.
_BETWEEN = "\0"
#: In a row, the prefix of the name of a column with lists of structs.
_STRUCTS = "structs: "


class Wanted(NamedTuple):
    """The rows to find: all rows of some queries, or only some of their lists."""

    queries: pa.Array
    #: The runs of the wanted lists; None if all lists of the queries are wanted.
    runs: Collection[str] | None = None
    #: The wanted lists, each as `run`, _BETWEEN and `query_id`; None if all are wanted.
    lists: pa.Array | None = None


@dataclasses.dataclass(frozen=True)
class StoredRows:
    """Parquet files with a table's rows."""

    files: Sequence[File]
    #: The names of our columns in the files and their folders if they differ.
    columns: Mapping[str, str]
    #: Our columns that are wanted.
    names: Sequence[str]
    #: The name of the table in messages.
    table: str
    #: The path of the rows in messages.
    origin: str = ""
    #: The values that every row has, which replace the values in the files.
    constants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: The grades of labels, if labels are stored instead of grades.
    labels: Labels | None = None

    def with_labels(self, labels: Labels) -> "StoredRows":
        """Return the same rows with the grades of their labels."""
        return dataclasses.replace(self, labels=labels)

    def with_constant(self, name: str, value: Any) -> "StoredRows":
        """Return the same rows, all with this value in the column `name`."""
        return dataclasses.replace(self, constants={**self.constants, name: value})

    def of_queries(self, queries: Iterable[str]) -> list[StoredRow]:
        """Return the rows of these queries from all files, with one row per document."""
        return self._find(Wanted(pa.array(sorted(queries), pa.string())))

    def of_lists(self, lists: Iterable[tuple[str, str]]) -> list[StoredRow]:
        """Return the rows of these lists, each a run and a query, with one row per document."""
        pairs = sorted(set(lists))
        queries = pa.array(sorted({query for _, query in pairs}), pa.string())
        keys = pa.array([f"{run}{_BETWEEN}{query}" for run, query in pairs], pa.string())
        return self._find(Wanted(queries, {run for run, _ in pairs}, keys))

    def _find(self, wanted: "Wanted") -> list[StoredRow]:
        """Return the wanted rows of all files."""
        rows: list[StoredRow] = []
        for file in self.files:
            with self._open(file, self._repeated) as parquet:
                for number in range(parquet.metadata.num_row_groups):
                    rows += self._rows_of_group(file, parquet, number, wanted)
        return rows

    def stretches(self, chance: random.Random, files: int, rows: int) -> list["Stretch"]:
        """Return the first `rows` of a random row group in each of up to `files` files.

        The files are chosen at random, with their sizes as weights.
        """
        largest_first = sorted(self.files, key=lambda file: (file.size, file.path), reverse=True)
        weights = [max(file.size, 1) for file in largest_first]
        chosen = set(chance.choices(range(len(weights)), weights, k=files))
        stretches = []
        for at in sorted(chosen):
            file = largest_first[at]
            with self._open(file) as parquet:
                groups = parquet.metadata.num_row_groups
                if not groups:
                    continue
                stretch = self._first_rows(file, parquet, chance.randrange(groups), rows)
            if stretch is not None:
                stretches.append(stretch)
        return stretches

    def tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield these columns of each file, with the file's own names and types."""
        for file in self.files:
            with self._open(file, self._repeated) as parquet:
                yield parquet.read(columns=list(columns)).unify_dictionaries()

    def values(self, name: str) -> Iterator[Any]:
        """Yield the values of one of our columns in all files, as they are stored."""
        if name in self.constants:
            yield self.constants[name]
            return
        for file in self.files:
            with self._open(file) as parquet:
                source = self._sources(file, parquet.schema_arrow).get(name)
                columns = [] if source is None else [source]
                table = parquet.read(columns=columns)
            for column in table.columns:
                flat = pc.list_flatten(column) if is_list(column.type) else column
                values = pc.unique(flat).to_pylist()
                yield from self._grades(values) if name == "relevance" else values

    def _grades(self, values: Iterable[Any]) -> Iterable[Any]:
        """Return the values of the grade column, or their grades if they are labels."""
        return values if self.labels is None else map(self.labels.grade_of, values)

    @contextlib.contextmanager
    def _about_table(self) -> Iterator[None]:
        """Add the name of the table to errors within the block."""
        with about(self.table), within(self.origin):
            yield

    @contextlib.contextmanager
    def _open(self, file: File, dictionaries: Sequence[str] = ()) -> Iterator[Any]:
        """Open a file for reading; see `_parquet`. Errors name the table."""
        with self._about_table(), _parquet(file, dictionaries) as parquet:
            yield parquet

    def _rows_of_group(
        self, file: File, parquet: Any, number: int, wanted: "Wanted"
    ) -> list[StoredRow]:
        """Return the wanted rows of a row group."""
        sources = self._sources(file, parquet.schema_arrow)
        given = self._constant_values(file)
        if wanted.runs is not None and "run" in given and given["run"] not in wanted.runs:
            return []
        query_column = sources.get("query_id")
        if query_column is None:
            # All rows of the file belong to the same query.
            if given.get("query_id") not in wanted.queries.to_pylist():
                return []
            table = parquet.read_row_group(number, columns=_unique(sources.values()))
            return self._rows(table, file, sources)
        # The other columns are read only if there is something to find.
        queries = parquet.read_row_group(number, columns=[query_column])[query_column]
        is_wanted = _is_among(queries, wanted.queries)
        if not pc.any(is_wanted).as_py():
            return []
        table = parquet.read_row_group(number, columns=_unique(sources.values()))
        table = table.filter(is_wanted)
        if wanted.lists is not None and "run" in sources:
            texts = [_as_text(table[sources[name]]) for name in ("run", "query_id")]
            keys = pc.binary_join_element_wise(*texts, _BETWEEN)
            table = table.filter(pc.is_in(keys, value_set=wanted.lists))
        return self._rows(table, file, sources)

    def _first_rows(self, file: File, parquet: Any, number: int, rows: int) -> "Stretch | None":
        """Return the first `rows` of a row group, or None if it is empty."""
        sources = self._sources(file, parquet.schema_arrow)
        batches = parquet.iter_batches(
            batch_size=rows, row_groups=[number], columns=_unique(sources.values())
        )
        first = next(batches, None)
        if first is None or not len(first):
            return None
        return Stretch(self, file, pa.Table.from_batches([first]), sources)

    @property
    def _repeated(self) -> list[str]:
        """The columns whose values repeat, by the table's names."""
        return [self._column_of(name) for name in _REPEATED]

    def _column_of(self, name: str) -> str:
        """Return the table's name of our column."""
        return self.columns.get(name, name)

    def _sources(self, file: File, schema: pa.Schema) -> dict[str, str]:
        """Return the file's column for each of ours, and its columns with lists of structs.

        For example, {"query_id": "qid", "structs: hits": "hits"}.
        """
        folders = dict(file.partition)
        structs = [field.name for field in schema if holds_structs(field.type)]
        sources = {}
        for name in self.names:
            column = self._column_of(name)
            is_elsewhere = column in folders or name in self.constants
            if column in schema.names and not is_elsewhere and column not in structs:
                sources[name] = column
        for name in (FAULT, LINE):
            if name in schema.names:
                sources[name] = name
        if "doc_id" not in sources:
            for name in structs:
                sources[f"{_STRUCTS}{name}"] = name
        return sources

    def _rows(self, table: pa.Table, file: File, sources: Mapping[str, str]) -> list[StoredRow]:
        """Return the rows of a table from the file, with one row per document."""
        lists = [name for name, source in sources.items() if is_list(table[source].type)]
        if not lists:
            return self._with_grades(list(self._stored_rows(table, file, sources)))
        rows = []
        for row in self._stored_rows(table, file, sources):
            rows += self._documents(row, lists)
        return self._with_grades(rows)

    def _with_grades(self, rows: list[StoredRow]) -> list[StoredRow]:
        """Return the rows, with grades instead of labels."""
        if self.labels is None:
            return rows
        for row in rows:
            row["relevance"] = self.labels.grade_of(row.get("relevance"))
        return rows

    def _stored_rows(
        self, table: pa.Table, file: File, sources: Mapping[str, str]
    ) -> Iterator[StoredRow]:
        """Yield the rows as stored, by our names, with the values of folders and constants."""
        given = self._constant_values(file)
        stored = [name for name in sources if name not in given]
        columns = [table[sources[name]].to_pylist() for name in stored]
        for values in zip(*columns, strict=True):
            yield {**dict(zip(stored, values, strict=True)), **given}

    def _constant_values(self, file: File) -> dict[str, Any]:
        """Return the values that folders and constants give to every row of a file."""
        folders = dict(file.partition)
        given = {}
        for name in self.names:
            column = self._column_of(name)
            if column in folders:
                given[name] = folders[column]
        return {**given, **self.constants}

    def _documents(self, row: StoredRow, columns: Sequence[str]) -> list[StoredRow]:
        """Return one row per document if the row has a list of documents, or only the row itself.

        `columns` are the columns with lists. A single number applies to each document.
        """
        row = self._without_structs(row)
        documents = row.get("doc_id")
        if not isinstance(documents, list):
            return [row]
        lists = {name: row[name] for name in DOCUMENT_COLUMNS if isinstance(row.get(name), list)}
        # A list may be null in this row.
        null_lists = [name for name in columns if name in DOCUMENT_COLUMNS and name not in lists]
        if null_lists or any(len(values) != len(documents) for values in lists.values()):
            return [{**row, **dict.fromkeys(DOCUMENT_COLUMNS), FAULT: "lists differ in length"}]
        exploded = []
        for at in range(len(documents)):
            document = {name: values[at] for name, values in lists.items()}
            if "rank" in self.names:
                document.setdefault("rank", at + 1)
            exploded.append({**row, **document, **self.constants})
        return exploded

    def _without_structs(self, row: StoredRow) -> StoredRow:
        """Return a row with lists of documents, ids and numbers instead of a list of structs."""
        unpacked = {name: value for name, value in row.items() if not name.startswith(_STRUCTS)}
        for name in DOCUMENT_COLUMNS:
            # It is hits.docid if the documents are in the column hits.
            column, _, theirs = self._column_of(name).rpartition(".")
            structs = row.get(f"{_STRUCTS}{column}")
            if name in self.names and structs is not None:
                unpacked[name] = [None if struct is None else struct[theirs] for struct in structs]
        return unpacked


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Some consecutive rows of one file."""

    stored: StoredRows
    file: File
    table: pa.Table
    sources: Mapping[str, str]

    def drawn(self, chance: random.Random, count: int) -> list[StoredRow]:
        """Return some of its rows at random, as they are stored.

        A row with a list of documents is one row.
        """
        places = chance.sample(range(len(self.table)), min(count, len(self.table)))
        some = self.table.take(pa.array(places, pa.int64()))
        return list(self.stored._stored_rows(some, self.file, self.sources))

    def of_queries(self, queries: Iterable[str]) -> list[StoredRow]:
        """Return its rows of these queries, with one row per document."""
        rows = self.table
        if "query_id" in self.sources:
            wanted = pa.array(sorted(queries), pa.string())
            rows = rows.filter(_is_among(rows[self.sources["query_id"]], wanted))
        return self.stored._rows(rows, self.file, self.sources)


def copied_rows(
    folder: Path,
    columns: Mapping[str, str],
    names: Sequence[str],
    table: str,
    origin: str = "",
) -> StoredRows:
    """Return the rows of the Parquet files that this process has written into a folder."""
    system = fs.LocalFileSystem()
    paths = sorted(folder.iterdir())
    files = [File(str(path), path.stat().st_size, storage=(system, str(path))) for path in paths]
    return StoredRows(files, columns, names, table, origin)


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as text that is not dictionary-encoded."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string())


def _is_among(column: pa.ChunkedArray, wanted: pa.Array) -> pa.ChunkedArray:
    """Return whether each id is wanted. Ids that are stored as numbers are compared as text."""
    if not pa.types.is_dictionary(column.type):
        return pc.is_in(column.cast(pa.string()), value_set=wanted)
    masks = []
    for part in column.chunks:
        known = pc.is_in(part.dictionary.cast(pa.string()), value_set=wanted)
        masks.append(pc.fill_null(known.take(part.indices), False))
    return pa.chunked_array(masks, pa.bool_())


@contextlib.contextmanager
def _parquet(file: File, dictionaries: Sequence[str]) -> Iterator[Any]:
    """Open a Parquet file, and read each distinct value of these text columns once."""
    from pyarrow import parquet

    system, path = file.location
    with reading(file.path), system.open_input_file(path) as stream:
        metadata = parquet.read_metadata(stream)
        has = metadata.schema.to_arrow_schema().names
        known = [name for name in dictionaries if name in has]
        yield parquet.ParquetFile(stream, metadata=metadata, read_dictionary=known)
