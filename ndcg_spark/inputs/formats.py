"""From files of a format to a table of their columns: what is read how."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NullType

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import checks
from ndcg_spark.inputs.checks import Footer
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.gathering import Copy, folder, gathered, united
from ndcg_spark.inputs.json_lines import json_lines
from ndcg_spark.inputs.loading import carried, lines, loaded, paths_of
from ndcg_spark.inputs.orc import write_parquet
from ndcg_spark.inputs.plain_parquet import must_be_copied, write_plain
from ndcg_spark.inputs.run_files import UNIT
from ndcg_spark.inputs.separated import header_names, separated
from ndcg_spark.inputs.trec import trec
from ndcg_spark.schemas import refuse_alike, refuse_own

_BINARY = ("parquet", "orc")
_SEPARATORS = {"csv": ",", "tsv": "\t"}
#: The characters around a line that do not count.
_AROUND = "\ufeff \t\r\f"


@dataclasses.dataclass(frozen=True)
class Reader:
    """What reads the files of one table."""

    engine: Engine
    kind: str
    #: The columns that are wanted, as the files call them.
    columns: list[str]
    #: Where they stand in a line of TREC text.
    positions: dict[str, int]
    where: str

    def check(self, files: list[File]) -> int | None:
        """How many rows the footers say, if there are such.

        InputError where folders give different columns, a file is damaged, or the types of a wanted column differ.
        """
        keys = {tuple(dict(file.partition)): file.path for file in files}
        if len(keys) > 1:
            (first, *_, last) = keys.values()
            raise InputError(
                f"{self.where}: folders that give different columns, e.g. {first} and {last}; "
                "name them alike, column=value"
            )
        if self.kind not in _BINARY or not self.engine.sees_local_files:
            return None
        found = checks.footers(files, self.kind, self.where)
        checks.refuse_different_types(files, found, self.columns, self.where)
        return sum(footer.rows for footer in found)

    def table(self, files: list[File], units: Mapping[str, int]) -> DataFrame:
        """The files' columns as they are stored or as text, those of their folders, broken_line, and the unit."""
        table = self._binary(files, units) if self.kind in _BINARY else self._text(files, units)
        given = {key: F.col(folder(number)) for number, (key, _) in enumerate(files[0].partition)}
        whole = table.withColumns(given) if given else table
        return whole.drop(*(name for name in carried(whole) if name != UNIT))

    def _binary(self, files: list[File], units: Mapping[str, int]) -> DataFrame:
        groups: dict[object, list[File]] = {}
        # The embedded engine reads files together only if all their columns, wanted or not, have one type.
        found = checks.footers(files, self.kind, self.where) if self.engine.sees_local_files else []
        kinds = checks.signatures(found) if found else [()] * len(files)
        for file, kind in zip(files, kinds, strict=True):
            groups.setdefault(kind, []).append(file)
        copy = self._copy(found)
        tables = [gathered(self.engine, self.kind, group, units, self.where, copy) for group in groups.values()]
        if len(tables) > 1:
            tables = [
                table.select(*(n for n in table.columns if n in self.columns), *carried(table)) for table in tables
            ]
        typed = {f.name: f.dataType for table in tables for f in table.schema if not isinstance(f.dataType, NullType)}
        for at, table in enumerate(tables):
            # A column without any value has no type; it takes that of the other files.
            untyped = [f.name for f in table.schema if isinstance(f.dataType, NullType) and f.name in self.columns]
            nulls = {name: F.lit(None).cast(typed.get(name, "string")) for name in untyped}
            tables[at] = table.withColumns(nulls) if nulls else table
        return united(tables)

    def _copy(self, found: list[Footer]) -> Copy | None:
        """What makes Parquet with plain types of a file that the engine cannot read as it is; None where it can."""
        if self.kind == "orc":
            return partial(write_parquet, self.columns) if self.engine.kind == "embedded" else None
        needed = must_be_copied((footer.columns for footer in found), self.columns, self.engine.kind)
        return partial(write_plain, self.columns) if needed else None

    def _text(self, files: list[File], units: Mapping[str, int]) -> DataFrame:
        parse, around = self._parser(files)
        # The embedded engine reads one compression at a time.
        groups = [[file for file in files if file.compressed is packed] for packed in (False, True)]
        read = [gathered(self.engine, "text", group, units, self.where) for group in groups if group]
        return parse(lines(united(read), around))

    def _parser(self, files: list[File]) -> tuple[Callable[[DataFrame], DataFrame], str]:
        """What makes columns of lines, and the characters around a line that do not count."""
        if self.kind == "trec":
            return self._trec, _AROUND
        if self.kind == "jsonl":
            first = checks.beginning(files[0], self.where) if self.engine.sees_local_files else None
            return (lambda text: json_lines(text, self.columns, self.where, files[0].path, first)), _AROUND
        separator = _SEPARATORS[self.kind]
        header = self._header(files, separator)
        on_java = self.engine.kind != "embedded"
        return (lambda text: separated(text, header, separator, on_java=on_java)), "\ufeff\r"

    def _trec(self, text: DataFrame) -> DataFrame:
        return trec(text, self.positions)

    def _header(self, files: list[File], separator: str) -> str:
        """The line that all of the CSV or TSV files must begin with."""
        if self.engine.sees_local_files:
            line = checks.check_headers(files, self.where)
        else:
            first = lines(loaded(self.engine, "text", paths_of(files[:1]), self.where), "\ufeff\r").first()
            line = first["value"] if first else ""
        try:
            names = header_names(line, separator)
        except ValueError as error:
            raise InputError(f"{self.where}: {files[0].path}, {error}; write it again, or name its format") from error
        refuse_alike(names, f"{self.where}: {files[0].path}")
        refuse_own(names, f"{self.where}: {files[0].path}")
        return line
