"""Reads judgments, results and tables about queries from storage, in every format.

Text, JSON, ORC and lakehouse tables become Parquet once, in this process. Engines see Parquet and
catalog tables. Columns have the schema's names. Columns that were stored with types keep them. In
text formats, numeric columns are parsed, and the columns INTERNAL of `schemas` say what is wrong
with a row.
"""

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.config import DocumentsConfig, JudgmentsConfig, ResultsConfig, TableConfig
from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError, about, within
from ndcg_spark.inputs import dataframes, row_documents, stored
from ndcg_spark.inputs.batches import WHOLE, Batch, NamedRuns, Runs, make_batches, name_runs
from ndcg_spark.inputs.column_names import doubtful_run
from ndcg_spark.inputs.dataframes import document_rows
from ndcg_spark.inputs.files import BINARY, TABLES, File, file_format, map_files
from ndcg_spark.inputs.grade_labels import Labels
from ndcg_spark.inputs.memory import holds_structs
from ndcg_spark.inputs.mixed_types import is_list
from ndcg_spark.inputs.parquet_copy import ParquetCopy, text_to_parquet
from ndcg_spark.inputs.reshape import in_order_of_names, ways_without_scores
from ndcg_spark.inputs.row_documents import RowNumbers, has_documents
from ndcg_spark.inputs.shapes import Shape, TableContext, text_shape
from ndcg_spark.inputs.storage import reading
from ndcg_spark.inputs.stored_rows import StoredRows, copied_rows
from ndcg_spark.parquet_files import read_in_order
from ndcg_spark.rules import constant_grade, missing_columns, named_by_user
from ndcg_spark.schemas import EXCLUDE, FAULT, INTERNAL, JUDGMENTS, LABEL, LINE, RESULTS
from ndcg_spark.steps import report_step
from ndcg_spark.text import refuse_alike
from ndcg_spark.voices import Give

_Reader = TypeVar("_Reader", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class Source:
    """A table that was found and can be read, and what is known about its files."""

    table: DataFrame
    #: judgments, results or exclude.
    name: str
    #: The format of the files, such as csv; for a catalog table, the path that was given.
    format: str
    files: list[File]
    #: The number of rows, from footers or from what was written; None if it is not known.
    expected_rows: int | None = None
    #: Writes the batches of a table to a temporary place, one after the other, and reads all of
    #: them from there; None if the engine cannot do that cheaply.
    materialize: Callable[[Iterable[DataFrame]], DataFrame] | None = None
    #: The documents that are removed from the lists of this table before they are ranked.
    without: "Source | None" = None
    #: What was recognised without being configured, such as "doc_id is docno".
    notes: tuple[str, ...] = ()
    #: The runs that files or folders name, whether or not they have rows.
    runs: Runs = dataclasses.field(default_factory=dict)
    #: The column that was read as the run but may mean something else; see
    #: `limits.refuse_category`.
    doubtful_run: str | None = None
    #: The grade column if the program has recognised it; None if it has our name, or the user named
    #: it.
    recognised_grades: str | None = None
    #: The run that the user gives for all rows; None if the rows, files or folders name runs.
    run: str | None = None
    #: The runs that are checked and scored together.
    batches: tuple[Batch, ...] = WHOLE
    #: Reads only some of the files; None if the engine reads the table as a whole.
    part: Callable[[list[File]], DataFrame] | None = None
    #: The rows as this process reads them without the engine; None if it cannot open them.
    stored: StoredRows | None = None
    #: Reads some of the files when a filter leaves few rows; None if that is not faster.
    lookup: Callable[[list[File]], DataFrame] | None = None
    #: Whether its documents and ranks are its row numbers.
    rows_are_documents: bool = False

    def with_constant(self, name: str, value: Any) -> "Source":
        """Return the same rows, all with this value in the column."""
        stored = self.stored and self.stored.with_constant(name, value)
        table = self.table.withColumn(name, F.lit(value))
        # `lookup` would return rows without the column.
        return dataclasses.replace(self, table=table, stored=stored, lookup=None)

    def with_labels(self, labels: Labels) -> "Source":
        """Return the same rows with the grades of their labels."""
        return dataclasses.replace(
            self,
            table=dataframes.with_grades(self.table, labels),
            stored=self.stored and self.stored.with_labels(labels),
            lookup=None if self.lookup is None else _with_grades(self.lookup, labels),
            notes=(*self.notes, labels.note),
        )

    @property
    def sources(self) -> tuple["Source", ...]:
        """The table itself, and the table of the documents that are removed from it, if any."""
        return (self,) if self.without is None else (self, self.without)

    @property
    def has_stamps(self) -> bool:
        """Whether a change of its files can be seen. A version of a table never changes."""
        if not self.files:
            return False
        return all(file.storage is not None or file.snapshot is not None for file in self.files)

    @property
    def origin(self) -> str:
        """The source of the rows, for messages: the only file, or the first of several."""
        if not self.files:
            return self.format
        first = self.files[0].path
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"


def _with_grades(
    read: Callable[[list[File]], DataFrame], labels: Labels
) -> Callable[[list[File]], DataFrame]:
    """Return a function that reads files like `read`, with the grades of their labels."""

    def read_graded(files: list[File]) -> DataFrame:
        return dataframes.with_grades(read(files), labels)

    return read_graded


def read_judgments(
    engine: Engine,
    config: JudgmentsConfig,
    *,
    needs_grades: bool = True,
    shared_with: ResultsConfig | None = None,
) -> Source:
    """Return the judgments (qrels) with the columns that are stored.

    These are some of dataset, query_id, doc_id and relevance. `config.grades` has the grades of
    labels. If `config.relevance` is given, it is every row's grade, and grades in the files
    are ignored. A table without grades has grade 1 in every row, unless `needs_grades`.
    `shared_with` is the configuration of the results if they are in the same files.
    """
    has_grades = config.relevance is None
    names = list(JUDGMENTS.names)
    if not has_grades:
        names.remove("relevance")
    source = _read(
        engine,
        "judgments",
        config,
        JUDGMENTS,
        names,
        graded=needs_grades and has_grades,
        shared_with=shared_with,
    )
    if config.grades is not None:
        source = source.with_labels(Labels(config.grades))
    grade = constant_grade(config.relevance, needs_grades, source.table.columns)
    if grade is None:
        return source
    notes = (*source.notes, f"every judgment has the grade {grade:g}")
    return dataclasses.replace(source.with_constant("relevance", grade), notes=notes)


def read_results(
    engine: Engine,
    config: ResultsConfig,
    *,
    is_ordered: bool = False,
    shared_with: JudgmentsConfig | None = None,
) -> Source:
    """Return the results (runs) with the columns that are stored.

    These are some of dataset, run, query_id, doc_id, score and rank. With `is_ordered`, the order
    of the rows is the rank, and stored ranks and scores are not read. `shared_with` is the
    configuration of the judgments if they are in the same files.
    """
    schema = RESULTS
    if is_ordered:
        schema = pa.schema([field for field in RESULTS if field.name not in ("score", "rank")])
    source = _read(
        engine,
        "results",
        config,
        schema,
        schema.names,
        is_ordered=is_ordered,
        shared_with=shared_with,
    )
    if config.run is None:
        return source
    constant = source.with_constant("run", config.run)
    return dataclasses.replace(constant, run=config.run, doubtful_run=None)


def read_excluded(engine: Engine, config: DocumentsConfig) -> Source:
    return _read(engine, "exclude", config, EXCLUDE)


def refuse_changed_files(sources: Iterable[Source]) -> None:
    """Raise InputError if a file of one of the tables has changed since it was listed."""
    for table in sources:
        for source in table.sources:
            _refuse_changes(source)


def _refuse_changes(source: Source) -> None:
    """Raise InputError if a file of this table has changed since it was listed."""
    with about(source.name), reading(source.origin):
        has_changed = map_files(source.files, lambda file: file.has_changed)
    changed = [file.path for file in itertools.compress(source.files, has_changed)]
    if changed:
        raise InputError(
            f"{source.name}: {len(changed)} file(s) changed during the evaluation, "
            f"e.g. {changed[0]}; nothing was published, so run again when they are complete"
        )


@dataclasses.dataclass(frozen=True)
class _Request:
    """A table that is to be read, and the files that were found for it."""

    engine: Engine
    name: str
    config: DocumentsConfig
    schema: pa.Schema
    files: list[File]
    context: TableContext
    #: Whether every row needs a grade.
    graded: bool
    #: Whether the order of the rows is the rank.
    is_ordered: bool = False
    #: The configuration of the other table if judgments and results are the same files.
    shared_with: TableConfig | None = None

    @property
    def folders(self) -> Sequence[str]:
        """The columns that folders add."""
        return self.context.folders

    @property
    def labels(self) -> Collection[str]:
        """The labels that stand for grades; empty if grades are numbers."""
        grades = self.config.grades if isinstance(self.config, JudgmentsConfig) else None
        return tuple(grades or ())

    @property
    def is_run_given(self) -> bool:
        """Whether runs are named by something other than a column, which is then ignored."""
        if not isinstance(self.config, ResultsConfig):
            return False
        return self.config.run is not None or self.config.run_from == "file"


def _read(
    engine: Engine,
    name: str,
    config: DocumentsConfig,
    schema: pa.Schema,
    names: Sequence[str] = (),
    *,
    graded: bool = False,
    is_ordered: bool = False,
    shared_with: TableConfig | None = None,
) -> Source:
    """Return the table `name` with the columns `names`, by default all that it may have."""
    files = stored.find(engine, config, name)
    if is_ordered:
        files = in_order_of_names(files)
    folders = [key for key, _ in files[0].partition]
    context = TableContext(name, files[0].path, config, names or config.names, folders, is_ordered)
    request = _Request(
        engine, name, config, schema, files, context, graded, is_ordered, shared_with
    )
    with about(name):
        if is_ordered:
            _refuse_unordered(request)
        source = _source_of_request(request)
    notes = []
    for file in files:
        if file.snapshot is not None and file.snapshot.version is not None:
            notes.append(f"{file.path} is read at version {file.snapshot.version}")
    return dataclasses.replace(source, notes=(*notes, *source.notes))


def _refuse_unordered(request: _Request) -> None:
    """Raise InputError for a table without an order, or with an order that is not visible here."""
    for file in request.files:
        if file.snapshot is not None or file.storage is None:
            what = f"the rows of {file.path} have no order that could be the rank"
            if file.snapshot is None:
                what = f"{file.path} is read by {request.engine.name}, which keeps no row order"
            raise InputError(f"{what}; write text or Parquet files, or add a rank column")


def _source_of_request(request: _Request) -> Source:
    """Return the table, which is read by the engine or from files with or without types."""
    snapshot = request.files[0].snapshot
    if snapshot and snapshot.table is not None:
        return _engine_table(request, snapshot.table, snapshot.format)
    kind = file_format(request.files, request.config.format)
    with within(f"the folders of {request.context.origin}"):
        refuse_alike(request.folders)
    footers = stored.read_footers(request.engine, request.files, kind)
    if footers:
        return _typed_files(request, kind, footers)
    return _text_files(request, kind)


def _engine_table(request: _Request, rows: DataFrame, kind: str) -> Source:
    """Return a catalog table, which the engine reads."""
    context, config = request.context, request.config
    shape = context.shape("table", dataframes.plain_columns(rows))
    has_lists = any(kind.startswith("array<") for _, kind in rows.dtypes)
    if request.shared_with is not None and not has_lists and not has_documents(shape):
        with within(context.origin):
            row_documents.refuse_unclear(shape, request.files, ["query_id"])
    if config.split_ids is not None:
        rows = dataframes.split_ids(rows, shape.columns.get("doc_id", "doc_id"), config.split_ids)
    with within(context.origin):
        table = document_rows(rows, shape.columns, request.schema)
    doubtful = doubtful_run(shape.columns, config.columns)
    notes = tuple(shape.notes(config))
    return Source(table, request.name, kind, [], notes=notes, doubtful_run=doubtful)


def _typed_files(request: _Request, kind: str, footers: Sequence[stored.Footer]) -> Source:
    """Return files with column types, or a table with a log. The engine reads some in place."""
    engine, schema, context = request.engine, request.schema, request.context
    kinds = footers[0].columns
    has_lists = any(map(is_list, kinds.values()))
    if request.shared_with is not None and not has_lists:
        both = _context_of_both(request, request.shared_with).typed_shape(kind, pa.schema(kinds))
        if not has_documents(both):
            return _rows_as_documents(request, request.shared_with, both, footers)
        row_documents.refuse_one_column(both.columns, kinds)
    shape = _with_options(request, context.typed_shape(kind, pa.schema(kinds)))
    notes = shape.notes(request.config)
    with within(context.origin):
        _refuse_alike_columns(request, shape)
        # Names within lists are checked when the lists are exploded.
        if not any(map(holds_structs, kinds.values())):
            _refuse_absent(request, shape, has_lists=has_lists)
        document = kinds.get(shape.columns.get("doc_id", "doc_id"), pa.null())
        documents_are_lists = shape.objects is not None or is_list(document)
        _refuse_split_lists(request, shape, has_lists=documents_are_lists)
    in_both = _in_both(request, shape)
    if in_both and not request.files[0].storage:
        # This process cannot compare the values of the two.
        notes.append(f"the folders give {', '.join(in_both.values())}, not the files in them")
    else:
        shape = dataclasses.replace(shape, in_both=in_both)
    named = _name_runs(request, shape)

    def read(some: list[File]) -> stored.StoredTable:
        return stored.read_typed(engine, some, shape, schema, footers, request.name)

    @about(request.name)
    def part(some: list[File]) -> DataFrame:
        return read(some).table

    whole = read(named.files)
    return _make_source(request, shape, named, whole, part, [*notes, *named.notes, *whole.notes])


def _text_files(request: _Request, kind: str) -> Source:
    """Return text files. This process parses them once, and the engine reads its copy."""
    engine, schema, context = request.engine, request.schema, request.context
    if request.shared_with is not None:
        context_of_both = _context_of_both(request, request.shared_with)
        both = text_shape(request.files, kind, context_of_both)
        if not has_documents(both) or row_documents.is_unnamed(both, context_of_both.config):
            return _rows_as_documents(request, request.shared_with, both)
        row_documents.refuse_one_column(both.columns, both.fields)
    shape = _with_options(request, text_shape(request.files, kind, context))
    notes = shape.notes(request.config)
    with within(context.origin):
        _refuse_alike_columns(request, shape)
        # A first line with none of our column names may be a row.
        may_be_numbers = kind in ("csv", "tsv")
        _refuse_absent(request, shape, has_lists=shape.has_lists, may_be_numbers=may_be_numbers)
        _refuse_split_lists(request, shape, has_lists=shape.has_lists)
    shape = dataclasses.replace(shape, in_both=_in_both(request, shape))
    named = _name_runs(request, shape)

    def copied(some: list[File]) -> ParquetCopy:
        return text_to_parquet(shape, some, schema.names, engine.scratch, request.labels)

    @about(request.name)
    def part(some: list[File]) -> DataFrame:
        return dataframes.read_copy(engine, copied(some))

    copy = copied(named.files)
    names = list(schema.names)
    if shape.has_places and "rank" not in names:
        names.append("rank")
    rows = copied_rows(copy.folder, {}, names, request.name, context.origin)
    table = dataframes.read_copy(engine, copy)
    _warn_of_text(copy, request.name, has_named_runs=bool(named.runs))
    notes += _notes_on_lines(copy)
    whole = stored.StoredTable(table, copy.rows, rows)
    return _make_source(request, shape, named, whole, part, [*notes, *named.notes, *copy.notes])


def _context_of_both(request: _Request, shared_with: TableConfig) -> TableContext:
    """Return the context of one table of judgments and results, with the columns of both."""
    config = row_documents.merged_columns(request.config, shared_with)
    names = [*row_documents.COLUMNS, "doc_id"]
    if "relevance" not in row_documents.needed(request.config, shared_with):
        # If all rows have the same grade, two grade columns are not ambiguous.
        names.remove("relevance")
    return dataclasses.replace(request.context, config=config, names=names)


def _rows_as_documents(
    request: _Request,
    shared_with: TableConfig,
    shape: Shape,
    footers: Sequence[stored.Footer] = (),
) -> Source:
    """Return a table with grades and scores in which each row is a document.

    Judgments and results are read in the same way, so that a row has the same number in both.
    """
    engine, schema, config = request.engine, request.schema, request.config
    with within(request.context.origin):
        _refuse_alike_columns(request, shape)
        needed = row_documents.needed(config, shared_with)
        row_documents.refuse_unclear(shape, request.files, needed)
    named = _name_runs(request, shape)
    row_documents.refuse_several_runs(named.runs)
    if footers:
        whole = stored.read_numbered(engine, named.files, shape, schema, footers, request.name)
    else:
        labels = row_documents.labels(config, shared_with)
        whole = _numbered_text(request, shape, named.files, labels)
    config_of_both = _context_of_both(request, shared_with).config
    notes = [*shape.notes(config_of_both), *named.notes, row_documents.NOTE]
    source = _make_source(request, shape, named, whole, None, notes)
    return dataclasses.replace(source, rows_are_documents=True)


def _numbered_text(
    request: _Request, shape: Shape, files: list[File], labels: Collection[str]
) -> stored.StoredTable:
    """Return the rows of text, each of which is a document."""
    engine, schema, names = request.engine, request.schema, row_documents.COLUMNS
    numbers = RowNumbers("rank" in shape.has)
    copy = text_to_parquet(shape, files, names, engine.scratch, labels, numbers)
    _warn_of_text(copy, request.name, has_named_runs=False)
    rows = copied_rows(copy.folder, {}, schema.names, request.name, request.context.origin)
    table = dataframes.read_copy(engine, copy)
    internal = INTERNAL if request.name == "judgments" else (FAULT, LINE)
    kept = [name for name in table.columns if name in (*schema.names, *internal)]
    return stored.StoredTable(table.select(*kept), copy.rows, rows)


def _make_source(
    request: _Request,
    shape: Shape,
    named: NamedRuns,
    whole: stored.StoredTable,
    part: Callable[[list[File]], DataFrame] | None,
    notes: Sequence[str],
) -> Source:
    """Return the source of the table `whole`; `part` reads only some of its files."""
    engine, mapped = request.engine, request.config.columns
    doubtful = None
    if not request.is_run_given:
        doubtful = doubtful_run(_columns_by_our_names(request, shape), mapped)
    # An engine that spills needs no batches.
    needs_batches = engine.kind == "embedded"
    batches = make_batches(named.runs, whole.rows or 0) if needs_batches else WHOLE
    return Source(
        whole.table,
        request.name,
        shape.kind,
        named.files,
        expected_rows=whole.rows,
        materialize=_with_table_name(request.name, dataframes.materializer(engine)),
        notes=tuple(notes),
        runs=named.runs,
        doubtful_run=doubtful,
        recognised_grades=None if "relevance" in mapped else shape.columns.get("relevance"),
        batches=batches,
        # In a part of the files, the rows have different positions.
        part=None if request.is_ordered else part,
        stored=whole.stored,
        lookup=_with_table_name(request.name, whole.lookup),
    )


def _with_table_name(name: str, read: _Reader | None) -> _Reader | None:
    """Return the function with the table's name in its errors, or None if `read` is None."""
    if read is None:
        return None
    named: _Reader = about(name)(read)
    return named


def _columns_by_our_names(request: _Request, shape: Shape) -> dict[str, str]:
    """Return the table's name for each of our columns, without the run column if it is ignored."""
    columns = {name: shape.columns.get(name, name) for name in request.schema.names}
    if request.is_run_given:
        columns.pop("run", None)
    return columns


def _all_columns(request: _Request, shape: Shape) -> list[str]:
    """Return the columns of the files and their folders."""
    return list(dict.fromkeys([*shape.fields, *request.folders]))


def _refuse_alike_columns(request: _Request, shape: Shape) -> None:
    """Raise InputError if two columns, one of which is ours, differ only in case."""
    ours = {shape.columns.get(field, field).lower() for field in request.schema.names}
    refuse_alike(name for name in _all_columns(request, shape) if name.lower() in ours)


def _refuse_absent(
    request: _Request,
    shape: Shape,
    *,
    has_lists: bool,
    may_be_numbers: bool = False,
) -> None:
    """Raise MissingColumnError if a column that every row needs is missing.

    With `has_lists`, positions in lists are the ranks.
    """
    if not shape.fields:
        return
    has = _all_columns(request, shape)
    needed = {"relevance": "relevance"} if request.graded else {}
    dataframes.names_in(has, needed | {**shape.columns}, request.schema, may_be_numbers)
    has_order = has_lists or shape.has_places or not shape.has.isdisjoint(("score", "rank"))
    if request.name == "results" and not has_order:
        ways = ways_without_scores(_first_documents(request, shape))
        raise missing_columns(["score or rank"], has, may_be_numbers, ways)


def _first_documents(request: _Request, shape: Shape) -> pa.ChunkedArray:
    """Return some ids of documents, or none if this process cannot read them quickly."""
    file = request.files[0]
    column = shape.columns.get("doc_id", "doc_id")
    nothing = pa.chunked_array([pa.array([], pa.string())])
    with contextlib.suppress(InputError, OSError, pa.ArrowException):
        if shape.kind in BINARY and file.storage is not None:
            system, path = file.storage
            batch = next(iter(read_in_order(path, system, [column], shape.kind)), None)
            return nothing if batch is None else pa.chunked_array([batch.column(0)])
        if shape.kind not in (*BINARY, *TABLES):
            reader: Any = shape.reader(["doc_id"])
            part = next(iter(reader.parts(file)), None)
            return nothing if part is None else reader.read(part).columns["doc_id"]
    return nothing


def _in_both(request: _Request, shape: Shape) -> dict[str, str]:
    """Return the columns that both folders and the files in them have, by our names."""
    both = {*request.folders} & {*shape.fields}
    columns = _columns_by_our_names(request, shape)
    return {ours: theirs for ours, theirs in columns.items() if theirs in both}


def _name_runs(request: _Request, shape: Shape) -> NamedRuns:
    """Return the files with the runs that files or folders name."""
    config = request.config
    if not isinstance(config, ResultsConfig) or config.run is not None:
        return NamedRuns(request.files, [], {})
    return name_runs(request.files, shape, config)


def _warn_of_text(copy: ParquetCopy, name: str, *, has_named_runs: bool) -> None:
    """Warn about files of the table `name` that may be cut off, or are empty.

    Empty files that name runs are not mentioned, because their runs are counted.
    """
    if copy.empty and not has_named_runs and copy.rows:
        report_step(
            "warning",
            f"{name}: {len(copy.empty):,} file(s) without rows, e.g. {copy.empty[0]}, and nothing "
            "says what they should contain; check the job that writes them, or remove them",
        )
    if copy.unended:
        path, line = next(iter(sorted(copy.unended.items())))
        report_step(
            "warning",
            f"{name}: {len(copy.unended):,} file(s) whose last line has no line end, e.g. {path} "
            f"with {line[-100:]!r}; if a file was cut off there, its last value is "
            "incomplete; check it, or add a line end",
        )


def _notes_on_lines(copy: ParquetCopy) -> list[str]:
    """Return a note on the lines of text that were left out, or nothing if there are none."""
    counts = {"comment": copy.comments, "header block": copy.block_lines}
    found = []
    for name, count in counts.items():
        if count:
            found.append(f"{count:,} {name} line{'s' if count > 1 else ''}")
    return [f"{' and '.join(found)} left out"] if found else []


def _with_options(request: _Request, shape: Shape) -> Shape:
    """Return the shape with the user's options for the rows."""
    config = request.config
    is_run_read = isinstance(config, ResultsConfig) and config.run is None
    key = ("dataset", "run", "query_id") if is_run_read else ("dataset", "query_id")
    return dataclasses.replace(
        shape,
        separator_of_ids=config.split_ids,
        is_ordered=request.is_ordered,
        list_key=key,
    )


def _refuse_split_lists(request: _Request, shape: Shape, *, has_lists: bool) -> None:
    """Raise InputError if cells with several ids are lists, or have only one number for all ids."""
    if request.config.split_ids is None:
        return
    if has_lists:
        advice = Give("split_ids", table=request.name, words="leave out")
        raise InputError("the documents of a row are a list, which needs no separator", advice)
    numbers = sorted({"score", "rank"} & shape.has)
    if numbers and request.name == "results":
        column = shape.columns.get(numbers[0], numbers[0])
        what = f"a cell has several ids, best first, but {column} has one {numbers[0]} for all"
        raise InputError(f"{what}; drop that column, or write lists as JSON lines or Parquet")


def without_broken(source: Source) -> DataFrame:
    """Return the columns that are not internal. Raise InputError if a line of text is broken.

    This runs a job if a line may be broken.
    """
    table = source.table
    if LINE in table.columns:
        lines, example = _count_and_first(table.where(F.col(LINE).isNotNull()), LINE)
        if lines:
            to_do = "save the file as UTF-8" if "\ufffd" in example else "correct them"
            raise InputError(
                f"{source.name}: {lines:,} line(s) of {source.origin} that are not rows, or have "
                f"a numeric field that is not a number, e.g. {example[:100]!r}; {to_do}"
            )
    if LABEL in table.columns:
        labels, example = _count_and_first(table.where(F.col("relevance").isNull()), LABEL)
        if labels:
            what = f"{source.name}: {labels:,} label(s) without a grade, e.g. {example}"
            raise InputError(f"{what}; add them to the grades, or correct them")
    return table.select(*named_by_user(table.columns))


def _count_and_first(rows: DataFrame, column: str) -> tuple[int, str]:
    """Return the number of rows, and the first value of the column in alphabetical order."""
    counted = rows.agg(F.count("*").alias("rows"), F.min(column).alias("example")).first()
    if counted is None:
        return 0, ""
    return counted["rows"], counted["example"]
