"""What shape the files of a table have: their format, what their columns are called, where the fields of a line are.

Names of files tell the format, and the first lines the rest: whether text has a header, whether JSON is one object of
all queries, and which of the names that other tools use there are.
"""

import dataclasses
from collections.abc import Iterable, Mapping

from ndcg_spark.config import TableConfig
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs import layouts
from ndcg_spark.inputs.aliases import is_known, resolved
from ndcg_spark.inputs.file_formats import BINARY
from ndcg_spark.inputs.files import File, of_each
from ndcg_spark.inputs.first_lines import head, whole_lines
from ndcg_spark.inputs.footers import footers
from ndcg_spark.inputs.json_shapes import depth_of, has_lists, keys_in
from ndcg_spark.inputs.layouts import Layout
from ndcg_spark.inputs.loading import lines, literal, loaded, paths_of
from ndcg_spark.inputs.separated import header_names

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_BLANKS = "\ufeff \t\r\f"
_LINES = 200


@dataclasses.dataclass(frozen=True)
class Shape:
    """How the files of one table are to be read."""

    #: trec, parquet, orc, csv, tsv, jsonl, json (one object of all queries), or lists (JSON lines with arrays).
    kind: str
    #: What the files call each of our columns; those that are absent have our own names.
    columns: Mapping[str, str]
    #: Where the fields of a line of text without header are, or which key of one JSON object is what; else None.
    layout: Layout | None = None
    #: Our columns that the files have, as far as their first lines or footers tell.
    has: frozenset[str] = frozenset()
    #: How deep the objects of JSON are nested: 2 for {query: {document: value}}, 3 with the runs around them.
    depth: int = 0

    def said(self, config: TableConfig) -> list[str]:
        """What was recognised and not configured, in sentences for people."""
        sentences = []
        if self.layout and self.layout.words not in (layouts.QRELS.words, layouts.RUN.words):
            what = "one JSON object" if self.kind == "json" else "lines without a header"
            sentences.append(f"{what}, read as: {self.layout.words}")
        renamed = [
            f"{n} is {c}" for n, c in self.columns.items() if c != n and n not in config.columns and n in self.has
        ]
        if renamed:
            sentences.append(", ".join(renamed))
        return sentences


def shape_of(
    engine: Engine, files: list[File], kind: str, config: TableConfig, names: Iterable[str], where: str
) -> Shape:
    """The shape of files of the format `kind`, of which the first that is not empty is looked into.

    `names` are the columns that the table may have, and `where` is its name.

    Raises
    ------
    InputError
        The file cannot be read, two of its columns may be the same one of ours, or lines may be read in two ways.
    ConfigurationError
        Columns are mapped in a format that has no names.
    """
    first = next((file for file in files if file.size), files[0])
    folders = [key for key, _ in first.partition]
    if first.snapshot or kind in BINARY:
        if first.snapshot:
            has = list(first.snapshot.types)
        elif engine.sees_local_files:
            has = list(footers([first], kind, where)[0].columns)
        else:
            has = loaded(engine, kind, literal(engine, paths_of([first])), where).columns
        return named(kind, [*has, *folders], config, names, f"{where}: {first.path}")
    text = _head(engine, first, where)
    some = whole_lines(text)
    if kind in ("trec", "jsonl", "json") and (config.format in (None, "json")) and text.lstrip().startswith("{"):
        kind = _kind_of_json(text, some, kind, names)
    if kind == "json":
        return _of_json(engine, text, config, names, f"{where}: {first.path}")
    place = f"{where}: {first.path}"
    if kind == "jsonl":
        shape = named(kind, [*keys_in(some), *folders], config, names, place)
        if has_lists(some, shape.columns.get("doc_id", "doc_id")):
            _refuse_unseen(engine, place, "JSON with arrays")
            return dataclasses.replace(shape, kind="lists")
        return shape
    if kind in _SEPARATORS:
        shape = _separated(kind, some, folders, config, names, where, place)
    else:
        shape = _of_text(some, folders, config, names, where, place)
    if shape.layout and not _numbered(config) and shape.layout is not layouts.USUAL[where]:
        _refuse_other_layouts(engine, [file for file in files if file is not first], shape.layout, where)
    return shape


def named(kind: str, has: Iterable[str], config: TableConfig, names: Iterable[str], place: str) -> Shape:
    """The shape of a table whose columns have names."""
    listed = list(has)
    columns = resolved(config.columns, names, listed, place)
    return Shape(kind, columns, has=frozenset(name for name, column in columns.items() if column in listed))


def _head(engine: Engine, file: File, where: str) -> str:
    """The beginning of a file; where this process does not see it, some of its lines."""
    if engine.sees_local_files:
        return head(file, where)
    text = loaded(engine, "text", literal(engine, paths_of([file])), where)
    return "\n".join(row["value"] for row in lines(text, _BLANKS).limit(_LINES).collect())


def _kind_of_json(text: str, some: list[str], kind: str, names: Iterable[str]) -> str:
    """Which kind of JSON a file is that begins with an object."""
    keys = keys_in(some[:1])
    if any(is_known(name, key) for name in names for key in keys):
        return "jsonl"
    return "json" if kind == "json" or depth_of(text) > 1 else "jsonl"


def _refuse_other_layouts(engine: Engine, files: list[File], layout: Layout, where: str) -> None:
    """InputError if a file begins in another way than the one that told the layout of all."""
    if not engine.sees_local_files:
        return
    written = [file for file in files if file.size]
    heads = of_each(written, lambda file: whole_lines(head(file, where)))
    for file, some in zip(written, heads, strict=True):
        refusal = layouts.contradiction(some, layout, where, f"{where}: {file.path}")
        if refusal:
            raise refusal


def _of_json(engine: Engine, text: str, config: TableConfig, names: Iterable[str], place: str) -> Shape:
    numbered = _numbered(config)
    if config.columns and not numbered:
        raise ConfigurationError(
            f"{place}: columns are mapped, and one JSON object has no names; leave columns out, or give the number of "
            "each: 1 for the outermost key"
        )
    _refuse_unseen(engine, place, "one JSON object")
    depth = depth_of(text)
    most = 3 if "run" in names else 2
    if not 2 <= depth <= most:
        runs = ", or {run: {query: {document: score}}}" if most == 3 else ""
        raise InputError(
            f"{place} is one JSON object of depth {depth}, and {{query: {{document: number}}}}{runs} is read; write it "
            "so, or as JSON lines"
        )
    if numbered:
        layout = layouts.given(numbered, [" ".join("?" * (depth + 1))], place)
        if len(layout.positions) <= depth:
            raise ConfigurationError(
                f"{place}: {len(numbered)} columns are mapped of {depth + 1}; give the number of each"
            )
        return Shape("json", {}, layout, frozenset(layout.positions), depth)
    has = {"query_id", "doc_id", "relevance" if "relevance" in names else "score", *(["run"] if depth == 3 else [])}
    return Shape("json", {}, has=frozenset(has & set(names)), depth=depth)


def _refuse_unseen(engine: Engine, place: str, what: str) -> None:
    if not engine.sees_local_files:
        raise InputError(
            f"{place} is {what}, which only a process that sees the files can read; write Parquet or one row a line"
        )


def _separated(
    kind: str, some: list[str], folders: list[str], config: TableConfig, names: Iterable[str], where: str, place: str
) -> Shape:
    """CSV or TSV; text without a header, if the first line names no column of ours and all lines have one layout."""
    header = _names(some[0], _SEPARATORS[kind]) if some else []
    numbered = _numbered(config)
    if numbered and config.format is None:
        return _of_layout(layouts.given(numbered, some, place), folders)
    shape = named(kind, [*header, *folders], config, names, place)
    if kind == "csv" or config.format or shape.has - set(folders) or config.columns or not some:
        return shape
    layout = layouts.recognised(some, where, "relevance" in names)
    if layout:
        return _of_layout(layout, folders)
    refusal = layouts.ambiguous(some, where, place)
    # A header of other names has no number in it.
    if refusal and any(layouts.is_number(field) for field in some[0].split()):
        raise refusal
    return shape


def _of_text(
    some: list[str], folders: list[str], config: TableConfig, names: Iterable[str], where: str, place: str
) -> Shape:
    """Lines of fields between blanks; CSV or TSV, if the first line names both a query and a document."""
    numbered = _numbered(config)
    if numbered:
        return _of_layout(layouts.given(numbered, some, place), folders)
    for kind, separator in _SEPARATORS.items() if config.format is None and some else ():
        has = [*_names(some[0], separator), *folders]
        shape = named(kind, has, config, names, place)
        if {"query_id", "doc_id"} <= shape.has:
            return shape
    if config.columns:
        raise ConfigurationError(
            f"{where}: columns are mapped, and TREC text has no names; leave columns out, or give the number of each "
            "field, from 1"
        )
    usual = layouts.USUAL[where]
    rows = [line.split() for line in some]
    # Bad lines are the contract's to count, so one good line is enough.
    if usual is not layouts.QRELS and any(
        len(row) == usual.fields or (usual.open and len(row) > usual.fields) for row in rows
    ):
        return _of_layout(usual, folders)
    layout = layouts.recognised(some, where, "relevance" in names)
    if layout is None:
        refusal = layouts.ambiguous(some, where, place)
        if refusal:
            raise refusal
    return _of_layout(layout or usual, folders)


def _numbered(config: TableConfig) -> dict[str, str]:
    """The columns that are mapped, if they are mapped to numbers of fields."""
    numbers = all(field.isascii() and field.isdecimal() for field in config.columns.values())
    return dict(config.columns) if numbers else {}


def _of_layout(layout: Layout, folders: list[str]) -> Shape:
    return Shape("trec", {}, layout, frozenset({*layout.positions, *folders}))


def _names(line: str, separator: str) -> list[str]:
    try:
        return header_names(line, separator)
    except ValueError:
        return []
