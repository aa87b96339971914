"""Returns files, copies of files, and users' tables as engine DataFrames, one row per document.

Engines differ in which folders add columns, and in which names they skip or treat as wildcards. So
files on this machine are read through a temporary folder of links with plain names, in one read for
any number of files. Files elsewhere are read by their paths.
"""

import contextlib
import itertools
import operator
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from ndcg_spark.engine import Engine, failure_reason, failures
from ndcg_spark.engine.sessions import is_classic, keep_rows, kept_in_block
from ndcg_spark.errors import InputError, NdcgSparkError, ReadError, within
from ndcg_spark.inputs.column_names import doubtful_run, resolve_columns
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.grade_labels import Labels
from ndcg_spark.inputs.memory import is_spark, run_name, to_arrow
from ndcg_spark.inputs.mixed_types import is_list
from ndcg_spark.inputs.objects import (
    DOCUMENT_COLUMNS,
    Kind,
    Kinds,
    ListOf,
    Objects,
    find_objects,
    plain_names,
)
from ndcg_spark.inputs.parquet_copy import ParquetCopy
from ndcg_spark.inputs.reshape import SEPARATORS, with_places
from ndcg_spark.inputs.storage import is_local, local, missing_input
from ndcg_spark.parquet_files import read_batches, write_table
from ndcg_spark.rules import (
    is_text,
    missing_columns,
    named_by_user,
    require_types,
    typed,
)
from ndcg_spark.schemas import BROKEN_LINE, FAULT, INTERNAL, LABEL, LINE, OWN
from ndcg_spark.sql import quoted
from ndcg_spark.text import BLANKS, refuse_alike
from ndcg_spark.voices import Convert

#: Characters that a folder's name cannot have, or that an engine treats in a special way.
_UNSAFE = re.compile(r"[%/\\:*?\"'#={}\[\]^\x00-\x1f\x7f]")
#: In the name of a link's folder, a value's prefix.
_VALUE = "v"
#: In the name of a link's folder, what stands for null.
_NULL = "n"
_BLANKS = " \t\r\n\f"
#: The largest Arrow table, in bytes, that is sent with a plan.
_MAX_SENT = 64 << 20
_IDS = ("dataset", "query_id", "doc_id")
#: How many characters of a cell are shown.
_SHOWN = 80


def frame(
    table: Any,
    schema: pa.Schema,
    session: SparkSession,
    separator: str | None = None,
    *,
    is_ordered: bool = False,
) -> DataFrame:
    """Return a user's table as a DataFrame of the session, with the schema's columns that it has.

    `separator` is the name of the separator between a cell's ids. With `is_ordered`, the order
    of the rows is the rank, and a Spark DataFrame raises InputError, because its rows have no
    order.
    """
    if is_ordered:
        return _ordered_frame(table, schema, session, separator)
    if isinstance(table, Mapping) and is_spark(table):
        runs = []
        for run, one in table.items():
            with within(f"run {run_name(run)!r}"):
                rows = _frame_of_run(one, schema, session, separator)
            runs.append(rows.withColumn("run", F.lit(run)))
        return union_all(_with_equal_types(runs, schema.names))
    if is_spark(table):
        return _documents_of_frame(table, schema, separator)
    names = schema.names
    if separator is not None:
        names = [name for name in names if name not in ("score", "rank")]
    return _documents_of_frame(session.createDataFrame(to_arrow(table, names)), schema, separator)


def _ordered_frame(
    table: Any, schema: pa.Schema, session: SparkSession, separator: str | None
) -> DataFrame:
    """Return a table as a DataFrame whose ranks are the positions of its rows or ids."""
    if is_spark(table):
        what = "the rows of a Spark DataFrame have no order that could be the rank"
        raise InputError(f"{what}; add a rank column, or pass a pandas DataFrame or a file")
    rows = to_arrow(table, [name for name in schema.names if name not in ("score", "rank")])
    # A table without a column of documents has lists of structs.
    has_lists = "doc_id" not in rows.column_names or is_list(rows["doc_id"].type)
    if separator is None and not has_lists:
        rows = with_places(rows)
    return _documents_of_frame(session.createDataFrame(rows), schema, separator)


def _documents_of_frame(rows: DataFrame, schema: pa.Schema, separator: str | None) -> DataFrame:
    """Return the schema's columns of a user's DataFrame, with one row per document."""
    columns = resolve_columns({}, schema.names, plain_columns(rows))
    column = doubtful_run(columns, {})
    if column is not None:
        # A job would be needed to look at its values.
        raise InputError(
            f"the column {column} may name the runs, or be a category of documents or "
            "queries; rename it to run, or drop it"
        )
    if separator is not None:
        rows = split_ids(rows, columns.get("doc_id", "doc_id"), separator)
    return document_rows(merge_local_partitions(rows), columns, schema)


def _frame_of_run(
    table: DataFrame, schema: pa.Schema, session: SparkSession, separator: str | None
) -> DataFrame:
    """Return the rows of a named run, with ids as text, and without a column that may name it."""
    doubtful = doubtful_run(resolve_columns({}, ["run"], table.columns), {})
    if doubtful is not None:
        table = table.drop(doubtful)
    rows = frame(table, schema, session, separator)
    if "run" in rows.columns:
        # A job would be needed to count its runs.
        raise InputError("its table has a run column, which may name several; drop that column")
    # Types are checked here, because a cast to text would hide a wrong type of an id.
    kinds = dict(rows.dtypes)
    require_types({name: kinds[name] for name in schema.names if name in kinds}, (*_IDS, "run"))
    # Engines treat ids differently if they are numbers in one table and text in another.
    ids = [name for name in _IDS if name in rows.columns]
    return rows.withColumns({name: F.col(name).cast("string") for name in ids})


def _with_equal_types(tables: Sequence[DataFrame], names: Iterable[str]) -> list[DataFrame]:
    """Return the tables with one type for each column, the schema's if their types differ.

    A union of different types would change some numbers.
    """
    kinds_of_tables = [dict(table.dtypes) for table in tables]
    differing = []
    for name in names:
        kinds = {kinds[name] for kinds in kinds_of_tables if name in kinds}
        if len(kinds) > 1:
            differing.append(name)
    changed = []
    for table, kinds_by_name in zip(tables, kinds_of_tables, strict=True):
        present = [name for name in differing if name in kinds_by_name]
        columns = {name: typed(name, kinds_by_name) for name in present}
        changed.append(table.withColumns(columns) if columns else table)
    return changed


def merge_local_partitions(table: DataFrame) -> DataFrame:
    """Return the table with one partition if the driver of classic Spark holds its rows.

    Such a table is small. With one partition, later steps need no shuffle, and Spark's optimizer
    does not copy the rows for every use.
    """
    if is_classic(table.sparkSession) and table.isLocal():
        return table.coalesce(1)
    return table


def dataframes_in(table: Any) -> list[DataFrame]:
    """Return the Spark DataFrames in a table: the table itself, or those in a dictionary by run."""
    tables = table.values() if isinstance(table, Mapping) else [table]
    return [one for one in tables if is_spark(one)]


def union_all(tables: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all tables.

    The unions form a tree, because a long chain of them overflows an engine's stack.
    """
    while len(tables) > 1:
        merged = []
        for at in range(0, len(tables), 2):
            pair = tables[at : at + 2]
            merged.append(reduce(partial(DataFrame.unionByName, allowMissingColumns=True), pair))
        tables = merged
    return tables[0]


def document_rows(table: DataFrame, columns: Mapping[str, str], schema: pa.Schema) -> DataFrame:
    """Return the schema's columns under the schema's names, with one row per document.

    `columns` has the table's name for each of our columns.
    """
    wanted = set(schema.names).union(columns.values())
    refuse_alike(name for name in table.columns if name.lower() in wanted)
    # A struct or a list of structs is unpacked, even if it has the name of one of our columns.
    kinds = _kinds(table.schema)
    packed = set(kinds).difference(plain_names(kinds))
    columns = {ours: theirs for ours, theirs in columns.items() if theirs not in packed}
    objects = find_objects(kinds, schema.names, columns)
    if objects is not None:
        table = _without_structs(table, objects)
        columns = {ours: theirs for ours, theirs in columns.items() if ours not in objects.paths}
    names = names_in(table.columns, columns, schema)
    names |= {name: name for name in (FAULT, LINE) if name in table.columns}
    renamed = []
    for ours, theirs in names.items():
        # SQL text cannot be used, because Spark replaces names such as ${env:HOME} in it.
        renamed.append(F.col(quoted(theirs)).alias(ours))
    return _one_row_per_document(table.select(*renamed), with_ranks="rank" in schema.names)


def with_grades(table: DataFrame, labels: Labels) -> DataFrame:
    """Return judgments with the grades of their labels, or null for a label without a grade.

    The column LABEL has the labels.
    """
    kind = dict(table.dtypes).get("relevance")
    if kind is None:
        return table
    column = F.col("relevance")
    texts = column.cast("string")
    if is_text(kind):
        grade = _grade_of(F.btrim(column, F.lit(BLANKS)), labels.grades)
    elif kind == "boolean":
        grade = _grade_of(texts, labels.grades)
    else:
        require_types({"relevance": kind}, ())
        grade = _grade_of(typed("relevance", {"relevance": kind}), labels.numbers)
    others = [quoted(name) for name in table.columns if name != "relevance"]
    return table.select(*others, grade.alias("relevance"), texts.alias(LABEL))


def _grade_of(value: Column, grades: Mapping[Any, float]) -> Column:
    """Return the grade of a label, or null if it has none."""
    # A chain of `when` needs a first branch, even if there are no grades.
    grade = F.when(F.lit(False), F.lit(0.0))
    for label, number in grades.items():
        grade = grade.when(value == F.lit(label), F.lit(float(number)))
    return grade


def names_in(
    has: Sequence[str],
    columns: Mapping[str, str],
    schema: pa.Schema,
    may_be_numbers: bool = False,
) -> dict[str, str]:
    """Return the name of each column of the schema in a table that `has` these columns.

    `columns` has the names that differ from ours, such as `{"doc_id": "docno"}`. Raise InputError
    if one of them or an id is missing. `may_be_numbers` is passed on to the advice.
    """
    present = {}
    missing = []
    for ours in schema.names:
        theirs = columns.get(ours, ours)
        if theirs in has:
            present[ours] = theirs
        elif ours in columns or ours in ("query_id", "doc_id"):
            missing.append(ours)
    if missing:
        raise missing_columns(missing, named_by_user(has), may_be_numbers)
    return present


def _kinds(schema: StructType) -> Kinds:
    """Return the kinds of a Spark DataFrame's columns."""
    return {column.name: _kind_of(column.dataType) for column in schema}


def _kind_of(kind: DataType) -> Any:
    """Return the kind of values of a Spark type: a struct has one kind for each of its fields."""
    if isinstance(kind, StructType):
        return _kinds(kind)
    if not isinstance(kind, ArrayType):
        return Kind.PLAIN
    if isinstance(kind.elementType, StructType):
        return ListOf(_kinds(kind.elementType))
    return Kind.LIST


def plain_columns(table: DataFrame) -> list[str]:
    """Return the names of the columns that are neither structs nor lists of structs."""
    return plain_names(_kinds(table.schema))


def split_ids(table: DataFrame, column: str, separator: str) -> DataFrame:
    """Return the table with the ids of each cell in the column as an array, empty for empty cells.

    A cell with a list in brackets, as Python writes it, is not split. Its row has a FAULT and no
    array.
    """
    if column not in table.columns:
        return table
    text = F.btrim(F.coalesce(F.col(quoted(column)).cast("string"), F.lit("")), F.lit(_BLANKS))
    no_ids = F.array().cast("array<string>")
    ids = F.when(text == "", no_ids).otherwise(F.split(text, SEPARATORS[separator]))
    is_list = text.rlike(r"(?s)^\[.*\]$")
    line = F.concat(F.lit("a list in brackets, "), F.substring(text, 1, _SHOWN))
    return table.withColumns(
        {
            column: F.when(~is_list, ids),
            FAULT: F.when(is_list, F.lit(BROKEN_LINE)),
            LINE: F.when(is_list, line),
        }
    )


def _without_structs(table: DataFrame, objects: Objects) -> DataFrame:
    """Return the table with these fields of its structs as columns under our names.

    The fields of documents become arrays. For example, `recommendForAllUsers` in Spark's ALS
    returns an array<struct<item, rating>> for each user.
    """
    structs = {path.partition(".")[0] for path in objects.paths.values()}
    replaced = structs.union(objects.paths)
    others = [quoted(name) for name in table.columns if name not in replaced]
    fields = []
    for ours, path in objects.paths.items():
        # The embedded engine would read getField on an array as a position in it.
        names = map(quoted, path.split("."))
        fields.append(F.col(".".join(names)).alias(ours))
    return table.select(*others, *fields)


def _one_row_per_document(table: DataFrame, *, with_ranks: bool) -> DataFrame:
    """Return one row per document, or the table itself if `doc_id` is not an array.

    With `with_ranks`, a document's position in its array, from 1, is its rank, unless the table has
    ranks. A row whose arrays differ in length remains one row, with a FAULT, and a LINE that shows
    it. A row without an array becomes one row without a document. A row with an empty array is
    dropped. Raise InputError if `doc_id` is an array and a score or rank is not.
    """
    kind_of_arrays = _arrays(table)
    if "doc_id" not in kind_of_arrays:
        return table
    sizes = _sizes(kind_of_arrays)
    faults = _with_earlier_faults(table, _length_faults(sizes))
    with_faults = table.withColumns(faults)
    others = [name for name in with_faults.columns if name not in kind_of_arrays]
    documents = _documents(kind_of_arrays, _is_unequal(sizes))
    position_and_document = F.posexplode(documents).alias("position", "document")
    exploded = with_faults.select(*others, position_and_document)
    columns = [F.col(name) for name in others]
    for name in kind_of_arrays:
        columns.append(F.col("document").getField(name).alias(name))
    if with_ranks and "rank" not in table.columns:
        columns.append((F.col("position") + 1).alias("rank"))
    return exploded.select(*columns)


def _arrays(table: DataFrame) -> dict[str, str]:
    """Return the Spark types of the DOCUMENT_COLUMNS that are arrays.

    Raise InputError if `doc_id` is an array and a score or rank is not.
    """
    kinds = dict(table.dtypes)
    arrays = {}
    for name in DOCUMENT_COLUMNS:
        if kinds.get(name, "").startswith("array<"):
            arrays[name] = kinds[name]
    for name in ("score", "rank"):
        if "doc_id" in arrays and name in kinds and name not in arrays:
            what = f"doc_id is {kinds['doc_id']}, but {name} is {kinds[name]}"
            raise InputError(f"{what}; write both as arrays")
    return arrays


def _with_earlier_faults(table: DataFrame, faults: Mapping[str, Column]) -> dict[str, Column]:
    """Return FAULT and LINE, with the faults that `split_ids` has found, if there are any."""
    merged = dict(faults)
    for name in faults:
        if name in table.columns:
            merged[name] = F.coalesce(F.col(name), faults[name])
    return merged


def _sizes(lists: Iterable[str]) -> dict[str, Column]:
    """Return the length of each array, by its name; -1 for null."""
    # Without `coalesce`, it would be -1 on some engines and null on others.
    return {name: F.coalesce(F.size(name), F.lit(-1)) for name in lists}


def _is_unequal(sizes: Mapping[str, Column]) -> Column:
    """Whether an array of a row differs in length from the array of its documents."""
    differences = [sizes["doc_id"] != size for size in sizes.values()]
    return reduce(operator.or_, differences)


def _length_faults(sizes: Mapping[str, Column]) -> dict[str, Column]:
    """Return FAULT and LINE for a row whose arrays differ in length, and null for other rows."""
    # For example: lists of different lengths, query_id=q1 doc_id: 3 score: 2
    words = [
        F.lit("lists of different lengths,"),
        F.concat(F.lit("query_id="), F.col("query_id").cast("string")),
    ]
    for name, size in sizes.items():
        words.append(F.concat(F.lit(f"{name}: "), F.greatest(size, F.lit(0))))
    is_unequal = _is_unequal(sizes)
    return {
        FAULT: F.when(is_unequal, F.lit(BROKEN_LINE)),
        LINE: F.when(is_unequal, F.concat_ws(" ", *words)),
    }


def _documents(kinds: Mapping[str, str], is_unequal: Column) -> Column:
    """Return an array of structs, one per document of a row, whose fields come from its arrays.

    `kinds` has the Spark types of the arrays, such as `{"doc_id": "array<string>"}`. A row without
    an array, or with arrays of different lengths, has a single document, which is null.
    """
    nulls = []
    for name, kind in kinds.items():
        element = kind.removeprefix("array<").removesuffix(">")
        nulls.append(F.lit(None).cast(element).alias(name))
    has_no_documents = is_unequal | F.col("doc_id").isNull()
    return F.when(has_no_documents, F.array(F.struct(*nulls))).otherwise(F.arrays_zip(*kinds))


def read_paths(engine: Engine, paths: list[str], **options: str) -> DataFrame:
    """Return the rows of the Parquet files at these paths.

    Raise InputError or ReadError if the engine cannot read them.
    """
    literal = [_literal_path(engine, path) for path in paths]
    try:
        table = engine.session.read.options(**engine.read_options, **options).parquet(*literal)
        _ = table.schema
    except failures() as error:
        kind: type[NdcgSparkError] = ReadError
        if isinstance(error, PySparkException):
            if error.getCondition() == "PATH_NOT_FOUND":
                parameters = error.getMessageParameters() or {}
                raise missing_input(parameters.get("path", paths[0])) from error
            kind = InputError
        what = f"{paths[0]} cannot be read by {engine.name}, {failure_reason(error)}"
        client = "the engine has a client for its storage, such as hadoop-aws for s3a://"
        raise kind(f"{what}; check its format, its permissions, and that {client}") from error
    return table


def _literal_path(engine: Engine, path: str) -> str:
    """Return a path in which the engine finds no wildcards."""
    if engine.kind != "embedded":
        return re.sub(r"([*?\[\]{}\\])", r"\\\1", path)
    if not is_local(path):
        # Sail reads %2F in a URI as a slash. If it then finds no file, it reads no rows.
        path = path.replace("%", "%25")
    return re.sub(r"([*?\[\]{}])", r"[\1]", path)


def read_files(engine: Engine, files: Sequence[File]) -> DataFrame:
    """Return the rows of the files, with the values of their folders as text columns.

    A folder's column replaces a column of the same name in the files.
    """
    local_files = [file for file in files if file.is_local]
    remote_files = [file for file in files if not file.is_local]
    tables = []
    if remote_files:
        tables.append(_read_by_paths(engine, remote_files))
    if local_files:
        tables.append(_read_by_links(engine, local_files))
    return union_all(tables)


def read_copy(engine: Engine, copy: ParquetCopy) -> DataFrame:
    """Return the rows that this process has written, without internal columns that have no value.

    If the engine does not see this machine's files, the rows are sent with the plan. In that case,
    raise InputError for more than 64 MB.
    """
    if engine.sees_local_files:
        table = read_paths(engine, [str(copy.folder)])
    else:
        table = engine.session.createDataFrame(_rows_to_send(engine, copy.folder))
    kept = []
    for name in table.columns:
        if name not in INTERNAL or name in copy.filled_columns:
            kept.append(name)
    return table.select(*kept)


def _rows_to_send(engine: Engine, folder: Path) -> pa.Table:
    """Return the rows of Parquet files. Raise InputError if they are too large to be sent."""
    parts = sorted(folder.iterdir())
    # Compressed files that are already too large are not opened.
    if sum(path.stat().st_size for path in parts) <= _MAX_SENT:
        rows = read_batches([str(path) for path in parts], fs.LocalFileSystem()).read_all()
        if rows.nbytes <= _MAX_SENT:
            return rows
    megabytes = _MAX_SENT >> 20
    what = (
        f"more than {megabytes} MB of rows on this machine, whose files {engine.name} cannot read"
    )
    raise InputError(what, Convert())


def read_arrow(engine: Engine, table: pa.Table) -> DataFrame:
    """Return an Arrow table as a DataFrame of the engine.

    Raise InputError for more than 64 MB if the engine does not see this machine's files.
    """
    folder = engine.scratch.folder()
    write_table(table, folder / "rows.parquet")
    return read_copy(engine, ParquetCopy(folder, len(table), set(table.column_names)))


@contextlib.contextmanager
def kept_rows(engine: Engine, table: DataFrame) -> Iterator[DataFrame]:
    """Yield a table that is computed once and may be read several times within the block."""
    if engine.kind != "embedded":
        with kept_in_block(table) as kept:
            yield kept
        return
    folder = engine.scratch.folder()
    try:
        _append(table, folder / "rows")
        # Sail writes no file for a table without rows.
        is_empty = not any(folder.rglob("*.parquet"))
        yield table if is_empty else read_paths(engine, [str(folder / "rows")])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _append(table: DataFrame, folder: Path) -> None:
    table.write.parquet(str(folder), mode="append", compression="lz4")


def materializer(engine: Engine) -> Callable[[Iterable[DataFrame]], DataFrame] | None:
    """Return a function that stores a table's batches, so that they can be read several times.

    Return None if that is expensive. See `Source.materialize`.
    """
    if engine.kind == "connect":
        return None

    def persist(batches: Iterable[DataFrame]) -> DataFrame:
        return keep_rows(reduce(DataFrame.unionByName, batches), engine.scratch)

    def materialize(batches: Iterable[DataFrame]) -> DataFrame:
        folder = engine.scratch.folder() / "rows"
        for batch in batches:
            _append(batch, folder)
        return read_paths(engine, [str(folder)])

    return materialize if engine.kind == "embedded" else persist


def _read_by_links(engine: Engine, files: Sequence[File]) -> DataFrame:
    """Return the rows of local files, read through a temporary folder of links."""
    root = _link_files(engine, files)
    table = read_paths(engine, [str(root)])
    for at, (key, _) in enumerate(files[0].partition):
        value = F.col(f"{OWN}folder_{at}")
        # Characters are counted from 1, and the first is the prefix.
        text = F.substring(value, 2, 1 << 20)
        table = table.withColumn(key, F.when(value != _NULL, text))
    return table.drop(*(name for name in table.columns if name.startswith(OWN)))


def _link_files(engine: Engine, files: Sequence[File]) -> Path:
    """Return a folder with links to the files, below folders with safe names for their columns."""
    try:
        root = engine.scratch.folder()
        for number, file in enumerate(files):
            folder = root
            for at, (_, value) in enumerate(file.partition):
                name = _NULL if value is None else _VALUE + _UNSAFE.sub(_hex, value)
                folder = folder / f"{OWN}folder_{at}={name}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number:07}.parquet").symlink_to(local(file.path))
    except OSError as error:
        to_do = "free disk space, or set TMPDIR to a different folder"
        raise ReadError(f"temporary files cannot be written, {error}; {to_do}") from error
    return root


def _read_by_paths(engine: Engine, files: Sequence[File]) -> DataFrame:
    """Return the rows of remote files.

    All files below a root are read at once if Spark finds the same folder columns as we do.
    Otherwise there is one read for each combination of folder values.
    """
    tables = []
    for root, group in itertools.groupby(files, key=_root):
        below = list(group)
        table = _read_below(engine, below, root)
        if table is not None:
            tables.append(table)
        else:
            tables.extend(_read_folders(engine, below))
    return union_all(tables)


def _read_folders(engine: Engine, files: Sequence[File]) -> Iterable[DataFrame]:
    """Yield the rows of each folder's files, with the columns that we have found in its path."""
    for partition, in_folder in itertools.groupby(files, key=lambda file: file.partition):
        table = read_paths(engine, [file.path for file in in_folder])
        for key, value in partition:
            table = table.withColumn(key, F.lit(value).cast("string"))
        yield table


def _read_below(engine: Engine, files: Sequence[File], root: str) -> DataFrame | None:
    """Return the rows of the files below a root, with the columns that Spark takes from folders.

    Return None if these columns are not the ones that we have found, or are not text.
    """
    if root and not engine.has_text_folders:
        # Spark would read the run 007 as the number 7.
        return None
    options = {}
    if root:
        options["basePath"] = root
    table = read_paths(engine, [file.path for file in files], **options)
    if not engine.has_text_folders and files[0].storage is None:
        _refuse_typed_folders(engine, table, files[0].path)
    for key, _ in files[0].partition:
        if key not in table.columns:
            return None
        table = table.withColumn(key, F.col(quoted(key)).cast("string"))
    return table


def _refuse_typed_folders(engine: Engine, table: DataFrame, path: str) -> None:
    """Raise InputError if a path that only Spark can open has folders that add columns."""
    own = path.rstrip("/")
    if is_local(path):
        own = local(path)
    found: set[str] = set()
    for file in table.inputFiles():
        # If Spark writes the path differently, all of its folders are checked.
        below = file.rpartition(f"{own}/")[2]
        for folder in below.split("/")[:-1]:
            if "=" in folder:
                found.add(folder)
    if not found:
        return
    what = f"{path} has {len(found)} folder(s) that add a column, such as {min(found)}"
    why = f"{engine.name} cannot keep their values as text, so 007 would become 7"
    raise InputError(f"{what}, but {why}; make it a catalog table, and give table:NAME")


def _root(file: File) -> str:
    """Return the folder above those that add columns, or an empty string if there are none.

    It is /data for /data/dataset=web/run=bm25/part.parquet.
    """
    if not file.partition:
        return ""
    first_column, _ = file.partition[0]
    folder = file.path.rpartition("/")[0]
    return folder.rpartition(f"/{first_column}=")[0]


def _hex(match: re.Match[str]) -> str:
    """Return the code of a character, such as %2F for a slash."""
    return f"%{ord(match.group()):02X}"
