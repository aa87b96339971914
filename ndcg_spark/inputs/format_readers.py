"""Which reader makes a table of files, by their format and by what the engine can read."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NullType, StructType

from ndcg_spark.conforming import refuse_alike, refuse_own
from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.copying import write_parquet
from ndcg_spark.inputs.file_formats import BINARY
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.first_lines import beginning, common_header
from ndcg_spark.inputs.footers import Footer, footers, refuse_different_types, signatures
from ndcg_spark.inputs.gathering import Copy, folder, gathered, united
from ndcg_spark.inputs.json_lines import json_lines
from ndcg_spark.inputs.json_lists import list_batches
from ndcg_spark.inputs.json_object import json_columns, object_batches
from ndcg_spark.inputs.known_schema import known_schema
from ndcg_spark.inputs.loading import carried, lines, literal, loaded, paths_of
from ndcg_spark.inputs.orc import orc_batches
from ndcg_spark.inputs.plain_parquet import must_be_copied, plain_batches
from ndcg_spark.inputs.run_files import UNIT
from ndcg_spark.inputs.separated import header_names, separated
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.inputs.snapshots import TABLES
from ndcg_spark.inputs.table_copies import snapshot_batches
from ndcg_spark.inputs.trec import trec

_SEPARATORS = {"csv": ",", "tsv": "\t"}
#: The formats that the engine parses line by line.
_OF_LINES = ("trec", "csv", "tsv", "jsonl")
#: The characters around a line that do not count; in CSV and TSV blanks do.
_BLANKS, _LINE_END = "\ufeff \t\r\f", "\ufeff\r"


@dataclasses.dataclass(frozen=True)
class Reader:
    """Reads the files of one table."""

    engine: Engine
    kind: str
    #: The wanted columns, by their names in the files.
    columns: list[str]
    #: What the first lines have told: the layout of text without a header, and the depth of one JSON object.
    shape: Shape
    #: The table's name, with which messages begin.
    where: str
    _footers: dict[str, Footer] = dataclasses.field(default_factory=dict, init=False, repr=False)

    def check(self, files: list[File]) -> int | None:
        """The number of rows according to the footers; None for text, and where this process does not see the files.

        InputError if folders give different columns, a file is damaged, or the types of a wanted column differ.
        """
        keys = {tuple(dict(file.partition)): file.path for file in files}
        if len(keys) > 1:
            (first, *_, last) = keys.values()
            raise InputError(
                f"{self.where}: folders that give different columns, e.g. {first} and {last}; "
                "name them alike, column=value"
            )
        for given, path in keys.items():
            refuse_alike(given, f"{self.where}: the folders of {path}")
        tables = [Footer(file.snapshot.types, 0) for file in files if file.snapshot]
        if tables:
            refuse_different_types(files, tables, self.columns, self.where)
        found = self._footers_of(files)
        if not found:
            return None
        refuse_different_types(files, found, self.columns, self.where)
        return sum(footer.rows for footer in found)

    def table(self, files: list[File], units: Mapping[str, int]) -> DataFrame:
        """The columns of the files and of their folders, BROKEN_LINE for text, and UNIT if there are units.

        Columns of Parquet and ORC keep their types; all others are text. A file whose folder gives a column of the same
        name has the folder's value.
        """
        table = self._text(files, units) if self.kind in _OF_LINES else self._binary(files, units)
        given = {key: F.col(folder(number)) for number, (key, _) in enumerate(files[0].partition)}
        whole = table.withColumns(given) if given else table
        return whole.drop(*(name for name in carried(whole) if name != UNIT))

    def _binary(self, files: list[File], units: Mapping[str, int]) -> DataFrame:
        groups: dict[object, list[File]] = {}
        # The embedded engine reads files together only if all their columns, wanted or not, have the same types.
        found = self._footers_of(files)
        kinds = signatures(found) if found else [()] * len(files)
        for file, kind in zip(files, kinds, strict=True):
            groups.setdefault(kind, []).append(file)
        copy = self._copy(found)
        tables = [
            gathered(self.engine, self.kind, group, units, self.where, copy, self._schema_of(group))
            for group in groups.values()
        ]
        if len(tables) > 1:
            tables = [
                table.select(*(n for n in table.columns if n in self.columns), *carried(table)) for table in tables
            ]
        typed = {f.name: f.dataType for table in tables for f in table.schema if not isinstance(f.dataType, NullType)}
        for at, table in enumerate(tables):
            # A column without any value has no type; it takes the type that other files give it.
            untyped = [f.name for f in table.schema if isinstance(f.dataType, NullType) and f.name in self.columns]
            nulls = {name: F.lit(None).cast(typed.get(name, "string")) for name in untyped}
            tables[at] = table.withColumns(nulls) if nulls else table
        return united(tables)

    def _footers_of(self, files: list[File]) -> list[Footer]:
        """The footers, each read once; none for text, and where this process does not see the files."""
        if self.kind not in BINARY or not self.engine.sees_local_files:
            return []
        new = [file for file in files if file.path not in self._footers]
        self._footers.update(zip((file.path for file in new), footers(new, self.kind, self.where), strict=True))
        return [self._footers[file.path] for file in files]

    def _schema_of(self, files: list[File]) -> StructType | None:
        """The schema of files that classic Spark need not look into, as their footers tell it; None for others."""
        if self.kind != "parquet" or self.engine.kind != "spark":
            return None
        return known_schema(self._footers_of(files))

    def _copy(self, found: list[Footer]) -> Copy | None:
        """How to copy files that the engine cannot read as they are; None if it can read them."""
        if self.kind == "json":
            layout, depth = self.shape.layout, self.shape.depth
            names = json_columns(self.columns, depth) if layout is None else layout.names
            return partial(write_parquet, partial(object_batches, names, depth))
        if self.kind == "lists":
            present = {name: column for name, column in self.shape.columns.items() if name in self.shape.has}
            return partial(write_parquet, partial(list_batches, present))
        if self.kind in TABLES:
            return partial(write_parquet, partial(snapshot_batches, self.columns))
        if self.kind == "orc":
            needed, batches = self.engine.kind == "embedded", orc_batches
        else:
            needed = must_be_copied((footer.columns for footer in found), self.columns, self.engine.kind)
            batches = plain_batches
        return partial(write_parquet, partial(batches, self.columns)) if needed else None

    def _text(self, files: list[File], units: Mapping[str, int]) -> DataFrame:
        # The embedded engine cannot read compressed and other files together, and finds no line in empty files only.
        written = [file for file in files if file.size] or files[:1]
        parse, around = self._parser(written)
        groups = [[file for file in written if file.compressed is packed] for packed in (False, True)]
        read = [gathered(self.engine, "text", group, units, self.where) for group in groups if group]
        return parse(lines(united(read), around))

    def _parser(self, files: list[File]) -> tuple[Callable[[DataFrame], DataFrame], str]:
        """The function that makes columns of lines, and the characters around a line that do not count."""
        on_java = self.engine.kind != "embedded"
        if self.kind == "trec":
            layout = self.shape.layout
            if layout is None:
                raise ValueError("text without a header has a layout")
            return (lambda text: trec(text, layout, on_java)), _BLANKS
        if self.kind == "jsonl":
            first = beginning(files[0], self.where) if self.engine.sees_local_files else None
            return (lambda text: json_lines(text, self.columns, self.where, files[0].path, first)), _BLANKS
        separator = _SEPARATORS[self.kind]
        header = self._header(files, separator)
        return (lambda text: separated(text, header, separator, on_java=on_java)), _LINE_END

    def _header(self, files: list[File], separator: str) -> str:
        """The line that all CSV or TSV files begin with; InputError if they differ, or it is not a header."""
        if self.engine.sees_local_files:
            line = common_header(files, self.where)
        else:
            text = loaded(self.engine, "text", literal(self.engine, paths_of(files[:1])), self.where)
            first = lines(text, _LINE_END).first()
            line = first["value"] if first else ""
        try:
            names = header_names(line, separator)
        except ValueError as error:
            raise InputError(f"{self.where}: {files[0].path}, {error}; write it again, or name its format") from error
        refuse_alike(names, f"{self.where}: {files[0].path}")
        refuse_own(names, f"{self.where}: {files[0].path}")
        return line
