"""Finds our columns among the fields of objects within a row.

Retrieval tools write a query as a row with a list of objects, one for each document, and some also
write the query as an object. `Kinds` describes a row from JSON, Arrow or Spark, so that the same
rules apply to files and DataFrames of the same shape.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pyarrow as pa
from pyarrow import compute

from ndcg_spark.errors import InputError, within
from ndcg_spark.inputs.column_names import is_alias, is_second_choice, resolve_columns
from ndcg_spark.inputs.mixed_types import is_list
from ndcg_spark.voices import ChooseColumn

#: The columns that have a value for each document of a list.
DOCUMENT_COLUMNS = ("doc_id", "relevance", "score", "rank")
#: The columns that may be in an object of the row.
_ROW_COLUMNS = ("dataset", "run", "query_id")
#: The names that objects use for their own id.
_ID = ("id", "_id", "id_")
#: Deeper objects are texts and metadata.
_DEPTH = 3


class Kind(Enum):
    """The kind of a value without fields."""

    PLAIN = 0
    LIST = 1


@dataclass(frozen=True)
class ListOf:
    """A list of objects with these fields."""

    fields: "Kinds"


#: The kind of each value in a row, by its name. An object is a mapping of its own fields.
Kinds = Mapping[str, Any]


@dataclass(frozen=True)
class Objects:
    """The paths of the fields that are our columns, by our names, with dots between names."""

    #: The fields that are within an object of the row.
    row: Mapping[str, str]
    #: The list whose objects are documents, and the fields within each of them; empty if there is
    #: no such list.
    column: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether all fields are direct fields of objects in a list, which every reader unpacks."""
        if self.row:
            return False
        return "." not in "".join(self.documents.values())

    @property
    def paths(self) -> dict[str, str]:
        """The full paths of the columns, by our names."""
        documents = {ours: f"{self.column}.{path}" for ours, path in self.documents.items()}
        return {**self.row, **documents}


def find_objects(
    kinds: Kinds,
    names: Sequence[str],
    mapped: Mapping[str, str],
) -> Objects | None:
    """Return where the columns `names` are within objects, or None if none of them is.

    `mapped` has the user's names for some of them: a full path or the name of a field. Raise
    InputError if several lists or objects may be meant.
    """
    plain = plain_names(kinds)
    if len(plain) == len(kinds):
        return None
    mapped_columns = {ours: theirs for ours, theirs in mapped.items() if theirs in plain}
    mapped_fields = {ours: theirs for ours, theirs in mapped.items() if theirs not in plain}
    called = resolve_columns(mapped_columns, names, plain)
    row = dict[str, str]()
    for name in _ROW_COLUMNS:
        # A run or a dataset within an object may mean something else.
        is_looked_for = name == "query_id" or name in mapped
        if name in names and name not in called and is_looked_for:
            row.update(_path_in_row(kinds, name, mapped_fields))
    column = ""
    documents = dict[str, str]()
    if "doc_id" in names and "doc_id" not in called:
        wanted = [name for name in DOCUMENT_COLUMNS if name in names]
        column, documents = _list_of_documents(kinds, wanted, mapped_fields)
    found = Objects(row, column, documents)
    return found if found.paths else None


def plain_names(kinds: Kinds) -> list[str]:
    """Return the names of the columns that are neither objects nor lists of objects."""
    names = []
    for name, kind in kinds.items():
        if isinstance(kind, Kind):
            names.append(name)
    return names


def _path_in_row(kinds: Kinds, name: str, mapped: Mapping[str, str]) -> dict[str, str]:
    """Return where one of a row's objects has our column, {"query_id": "query.id"}, or {}."""
    paths = []
    for column, kind in kinds.items():
        if not isinstance(kind, Mapping):
            continue
        fields = _leaves(kind)
        if name in mapped:
            found = _field_as_mapped(column, fields, mapped[name])
        else:
            found = _field_of_row(name, column, fields)
        if found:
            paths.append(f"{column}.{found}")
    if len(paths) > 1:
        what = f"{len(paths)} fields may be the {name}, {' and '.join(paths)}"
        raise InputError(what, ChooseColumn(name, paths[0]))
    return {name: paths[0]} if paths else {}


def _field_of_row(name: str, column: str, fields: Sequence[str]) -> str:
    """Return the field of an object that is this column, or "" if there is none."""
    direct = _without_objects(fields)
    with within(column):
        called = resolve_columns({}, [name], direct)
    theirs = called.get(name, "")
    # If the query is an object, its text is not its id.
    if theirs and not is_second_choice(name, theirs):
        return theirs
    # The object may be a query or a user, whose field `id` is its id.
    if is_alias(name, f"{column}_id"):
        return _only_id(direct)
    return ""


def _without_objects(fields: Sequence[str]) -> list[str]:
    """Return the fields that are not within a nested object."""
    return [path for path in fields if "." not in path]


def _only_id(paths: Iterable[str]) -> str:
    """Return the only path that ends in the name of an id, or "" if there are none or several."""
    found = [path for path in paths if path.rpartition(".")[2] in _ID]
    return found[0] if len(found) == 1 else ""


def _field_as_mapped(column: str, fields: Sequence[str], theirs: str) -> str:
    """Return the field of an object that the user's name means, or "" if there is none."""
    path = theirs.removeprefix(f"{column}.")
    return path if path in fields else ""


def _list_of_documents(
    kinds: Kinds,
    names: Sequence[str],
    mapped: Mapping[str, str],
) -> tuple[str, dict[str, str]]:
    """Return the list whose objects are documents, and the fields that are our columns.

    For example, ("hits", {"doc_id": "docid", "score": "score"}). Return ("", {}) if there is no
    such list.
    """
    lists = {}
    for column, kind in kinds.items():
        if isinstance(kind, ListOf):
            lists[column] = _leaves(kind.fields)
    fields_of_lists = dict[str, dict[str, str]]()
    for column, fields in lists.items():
        found = _fields(column, fields, names, mapped)
        if "doc_id" in found:
            fields_of_lists[column] = found
    if not fields_of_lists and "doc_id" not in mapped:
        fields_of_lists = _fields_of_lists_with_ids(lists, names, mapped)
    if len(fields_of_lists) > 1:
        first, found = next(iter(fields_of_lists.items()))
        what = f"{len(fields_of_lists)} columns have lists of documents"
        example = f"{first}.{found['doc_id']}"
        raise InputError(f"{what}, {', '.join(fields_of_lists)}", ChooseColumn("doc_id", example))
    return next(iter(fields_of_lists.items()), ("", {}))


def _fields_of_lists_with_ids(
    lists: Mapping[str, Sequence[str]],
    names: Sequence[str],
    mapped: Mapping[str, str],
) -> dict[str, dict[str, str]]:
    """Return the `_fields` of each list whose objects have an id, which is the document's id.

    The id may be within a nested object, such as a node with a score next to it.
    """
    found = dict[str, dict[str, str]]()
    others = [name for name in names if name != "doc_id"]
    for column, fields in lists.items():
        document = _only_id(_without_objects(fields)) or _only_id(fields)
        if document:
            found[column] = {"doc_id": document, **_fields(column, fields, others, mapped)}
    return found


def _fields(
    column: str,
    fields: Sequence[str],
    names: Sequence[str],
    mapped: Mapping[str, str],
) -> dict[str, str]:
    """Return the fields of a list's objects that are our columns `names`."""
    given = dict[str, str]()
    for name in names:
        path = _field_as_mapped(column, fields, mapped.get(name, ""))
        if path:
            given[name] = path
    free = [name for name in names if name not in mapped]
    direct = [path for path in _without_objects(fields) if path not in given.values()]
    with within(column):
        called = resolve_columns({}, free, direct)
    return {**called, **given}


def _leaves(fields: Kinds, depth: int = _DEPTH) -> list[str]:
    """Return the paths of the plain values within an object, such as ["id", "node.text"]."""
    paths = []
    for name, kind in fields.items():
        if kind is Kind.PLAIN:
            paths.append(name)
        if isinstance(kind, Mapping) and depth > 1:
            below = _leaves(kind, depth - 1)
            paths.extend(f"{name}.{path}" for path in below)
    return paths


def kinds_of_schema(schema: Iterable[pa.Field]) -> Kinds:
    """Return the kinds of Arrow columns."""
    return {column.name: _kind_of_type(column.type) for column in schema}


def _kind_of_type(kind: pa.DataType) -> Any:
    """Return the kind of values of an Arrow type."""
    if pa.types.is_struct(kind):
        return kinds_of_schema(kind)
    if not is_list(kind):
        return Kind.PLAIN
    if pa.types.is_struct(kind.value_type):
        return ListOf(kinds_of_schema(kind.value_type))
    return Kind.LIST


def kinds_of_json(rows: Iterable[Mapping[str, Any]]) -> Kinds:
    """Return the kinds of JSON values: for each name, the most common kind of its values."""
    values = dict[str, list[Any]]()
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    kinds = dict[str, Any]()
    for name, found in values.items():
        kinds[name] = _kind_of_values(found)
    return kinds


def _kind_of_values(values: Iterable[Any]) -> Any:
    """Return the most common kind of the values that are not null or empty; the first in a tie."""
    counts = Counter[str]()
    objects = list[Mapping[str, Any]]()
    objects_in_lists = list[Mapping[str, Any]]()
    has_empty_list = False
    for value in values:
        if isinstance(value, Mapping):
            counts["object"] += 1
            objects.append(value)
        elif value == []:
            has_empty_list = True
        elif isinstance(value, list):
            in_list = [item for item in value if isinstance(item, Mapping)]
            counts["list of objects" if in_list else "list"] += 1
            objects_in_lists.extend(in_list)
        elif value is not None:
            counts["plain"] += 1
    if not counts:
        return Kind.LIST if has_empty_list else Kind.PLAIN
    ((most_common, _),) = counts.most_common(1)
    if most_common == "object":
        return kinds_of_json(objects)
    if most_common == "list of objects":
        return ListOf(kinds_of_json(objects_in_lists))
    return Kind.LIST if most_common == "list" else Kind.PLAIN


def flattened(table: pa.Table, objects: Objects) -> pa.Table:
    """Return the table with each of these fields as a column under our name.

    The fields of documents become lists.
    """
    # A column outside the objects that has our name is not the one that is meant.
    left_out = {*objects.paths}
    for path in objects.paths.values():
        left_out.add(path.partition(".")[0])
    columns = {}
    for name in table.column_names:
        if name not in left_out:
            columns[name] = table[name]
    for ours, path in objects.row.items():
        chunks = [_field(chunk, path) for chunk in _chunks(table, path)]
        columns[ours] = pa.chunked_array(chunks)
    for ours, path in objects.documents.items():
        chunks = [_lists_of_field(chunk, path) for chunk in _chunks(table, objects.column)]
        columns[ours] = pa.chunked_array(chunks)
    return pa.table(columns)


def _chunks(table: pa.Table, path: str) -> list[pa.Array]:
    """Return the chunks, at least one, of the column with which a path begins."""
    column = table[path.partition(".")[0]]
    return column.chunks or [pa.array([], column.type)]


def _field(values: pa.Array, path: str) -> pa.Array:
    """Return one field of an array of structs; the first part of `path` names the column."""
    for name in path.split(".")[1:]:
        values = compute.struct_field(values, name)
    return values


def _lists_of_field(values: pa.Array, path: str) -> pa.Array:
    """Return lists of structs as lists of one of their fields."""
    lengths = compute.fill_null(compute.list_value_length(values), 0)
    ends = compute.cumulative_sum(lengths.cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())])
    elements = _field(compute.list_flatten(values), f".{path}")
    return pa.ListArray.from_arrays(offsets, elements, mask=values.is_null())
