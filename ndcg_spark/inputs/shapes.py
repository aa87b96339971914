"""How the files of one table are to be read."""

import dataclasses
from collections.abc import Mapping, Sequence

from ndcg_spark.config import TableConfig
from ndcg_spark.inputs import trec_layouts
from ndcg_spark.inputs.column_names import resolve
from ndcg_spark.inputs.trec_layouts import Layout

_LINES = 200


@dataclasses.dataclass(frozen=True)
class Shape:
    """How the files of one table are to be read."""

    #: parquet, orc, delta, iceberg, csv, tsv, jsonl; trec: text without a header; json: one object of all queries.
    kind: str
    #: What the files call each of our columns; those that are absent have our own names.
    columns: Mapping[str, str]
    #: Where the fields of a line of text without header are, or which key of one JSON object is what; else None.
    layout: Layout | None = None
    #: Our columns that the files or their folders have, as far as first lines or footers show.
    has: frozenset[str] = frozenset()
    #: The names of the fields in the files themselves, in their order.
    fields: tuple[str, ...] = ()
    #: How deep the objects of JSON are nested: 2 for {query: {document: value}}, 3 with the runs around them.
    depth: int = 0
    #: The line that all files of CSV and TSV begin with.
    header: str = ""
    #: Whether lines of JSON hold lists of documents.
    has_lists: bool = False
    #: Whether the files are exports of Quepid, which have rows for what is not rated, or was not found.
    is_of_quepid: bool = False

    def notes(self, config: TableConfig) -> list[str]:
        """What was recognised and not configured, in sentences for people."""
        sentences = []
        if self.layout and self.layout.words not in (trec_layouts.QRELS.words, trec_layouts.RUN.words):
            what = "one JSON object" if self.kind == "json" else "lines without a header"
            sentences.append(f"{what}, read as: {self.layout.words}")
        renamed = [
            f"{n} is {c}" for n, c in self.columns.items() if c != n and n not in config.columns and n in self.has
        ]
        if renamed:
            sentences.append(", ".join(renamed))
        return sentences


@dataclasses.dataclass(frozen=True)
class TableContext:
    """What is known of a table whose shape is to be recognised."""

    name: str
    #: The table and its first file, for messages.
    place: str
    config: TableConfig
    #: The columns that the table may have.
    names: Sequence[str]
    #: The columns that folders give.
    folders: Sequence[str] = ()
    #: The columns that are also looked for where there are names, under those that other tools give them.
    optional: Sequence[str] = ()

    def shape(self, kind: str, fields: Sequence[str]) -> Shape:
        """The shape of files whose fields have these names."""
        known = [*fields, *self.folders]
        columns = resolve(self.config.columns, [*self.names, *self.optional], known, self.place)
        has = frozenset(name for name, column in columns.items() if column in known)
        return Shape(kind, columns, has=has, fields=tuple(fields))

    @property
    def numbers_of_fields(self) -> dict[str, str]:
        """The columns that are mapped, if they are mapped to numbers of fields."""
        numbers = all(field.isascii() and field.isdecimal() for field in self.config.columns.values())
        return dict(self.config.columns) if numbers else {}


def whole_lines(text: str) -> list[str]:
    """The first lines of a file's head that are not blank."""
    return [line for line in (line.strip("\ufeff \t\r\f") for line in text.split("\n")) if line][:_LINES]
