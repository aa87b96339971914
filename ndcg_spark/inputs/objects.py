"""Objects within a row: which of their fields are columns of ours.

Tools of retrieval write a query as a row with a list of objects, one for each document, and some of
them the query as an object, too. What the row has is told by its `Kinds`, of JSON, Arrow or Spark,
so that files and DataFrames of the same shape are read by the same rules.
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
#: Those that may be in an object of the row.
_ROW_COLUMNS = ("dataset", "run", "query_id")
#: What objects call their own id.
_ID = ("id", "_id", "id_")
#: Deeper objects are texts and metadata.
_DEPTH = 3


class Kind(Enum):
    """What a value without fields is."""

    PLAIN = 0
    LIST = 1


@dataclass(frozen=True)
class ListOf:
    """A list of objects with these fields."""

    fields: "Kinds"


#: What each value of a row is, by its name: an object is a mapping of its own fields.
Kinds = Mapping[str, Any]


@dataclass(frozen=True)
class Objects:
    """The fields that are columns of ours: by our names, their paths, with a dot between names."""

    #: Those that are within an object of the row.
    row: Mapping[str, str]
    #: The list whose objects are documents, and what is within each of them; empty if there is
    #: none.
    column: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether all are fields of the objects of a list, which every reader unpacks."""
        if self.row:
            return False
        return "." not in "".join(self.documents.values())

    @property
    def paths(self) -> dict[str, str]:
        """By our names, the whole paths of the columns."""
        documents = {ours: f"{self.column}.{path}" for ours, path in self.documents.items()}
        return {**self.row, **documents}


def find_objects(
    kinds: Kinds,
    names: Sequence[str],
    mapped: Mapping[str, str],
) -> Objects | None:
    """Where the columns `names` are within objects; None if none is. `mapped` says what some are
    called, by a whole path or by the name of a field.

    InputError if several lists or objects may be meant.
    """
    plain = plain_names(kinds)
    if len(plain) == len(kinds):
        return None
    at_top = dict[str, str]()
    elsewhere = dict[str, str]()
    for ours, theirs in mapped.items():
        place = at_top if theirs in plain else elsewhere
        place[ours] = theirs
    called = resolve_columns(at_top, names, plain)
    row = dict[str, str]()
    for name in _ROW_COLUMNS:
        # What else an object calls run or dataset may be about something else.
        is_looked_for = name == "query_id" or name in mapped
        if name in names and name not in called and is_looked_for:
            row.update(_of_row(kinds, name, elsewhere))
    column = ""
    documents = dict[str, str]()
    if "doc_id" in names and "doc_id" not in called:
        wanted = [name for name in DOCUMENT_COLUMNS if name in names]
        column, documents = _of_documents(kinds, wanted, elsewhere)
    found = Objects(row, column, documents)
    return found if found.paths else None


def plain_names(kinds: Kinds) -> list[str]:
    """The columns that are neither objects nor lists of them."""
    names = []
    for name, kind in kinds.items():
        if isinstance(kind, Kind):
            names.append(name)
    return names


def _of_row(kinds: Kinds, name: str, mapped: Mapping[str, str]) -> dict[str, str]:
    """The path of a column of the row, by its name, if one of the objects has it."""
    paths = []
    for column, kind in kinds.items():
        if not isinstance(kind, Mapping):
            continue
        fields = _leaves(kind)
        if name in mapped:
            own = _field_as_mapped(column, fields, mapped[name])
        else:
            own = _field_of_row(name, column, fields)
        if own:
            paths.append(f"{column}.{own}")
    if len(paths) > 1:
        what = f"{len(paths)} fields may be the {name}, {' and '.join(paths)}"
        raise InputError(what, ChooseColumn(name, paths[0]))
    return dict.fromkeys([name], paths[0]) if paths else {}


def _field_of_row(name: str, column: str, fields: Sequence[str]) -> str:
    """The field of an object that is this column of ours; empty if none is."""
    direct = _without_objects(fields)
    with within(column):
        called = resolve_columns({}, [name], direct)
    theirs = called.get(name, "")
    # The text of a query is no id where it is an object.
    if theirs and not is_second_choice(name, theirs):
        return theirs
    # The id of a query's object, or a user's.
    is_own = is_alias(name, f"{column}_id")
    return _only_id(direct) if is_own else ""


def _without_objects(fields: Sequence[str]) -> list[str]:
    """The fields that are in no object of their own."""
    return [path for path in fields if "." not in path]


def _only_id(paths: Iterable[str]) -> str:
    """The path that ends in the name of an id, if exactly one does."""
    own = []
    for path in paths:
        if path.rpartition(".")[2] in _ID:
            own.append(path)
    return own[0] if len(own) == 1 else ""


def _field_as_mapped(column: str, fields: Sequence[str], theirs: str) -> str:
    path = theirs.removeprefix(f"{column}.")
    return path if path in fields else ""


def _of_documents(
    kinds: Kinds,
    names: Sequence[str],
    mapped: Mapping[str, str],
) -> tuple[str, dict[str, str]]:
    """The list that has documents, and the fields of its objects; empty if none has."""
    lists = {}
    for column, kind in kinds.items():
        if isinstance(kind, ListOf):
            lists[column] = _leaves(kind.fields)
    packed = dict[str, dict[str, str]]()
    for column, fields in lists.items():
        found = _fields(column, fields, names, mapped)
        if "doc_id" in found:
            packed[column] = found
    if not packed and "doc_id" not in mapped:
        packed = _by_own_ids(lists, names, mapped)
    if len(packed) > 1:
        first, found = next(iter(packed.items()))
        what = f"{len(packed)} columns have lists of documents, {', '.join(packed)}"
        raise InputError(what, ChooseColumn("doc_id", f"{first}.{found['doc_id']}"))
    return next(iter(packed.items()), ("", {}))


def _by_own_ids(
    lists: Mapping[str, Sequence[str]],
    names: Sequence[str],
    mapped: Mapping[str, str],
) -> dict[str, dict[str, str]]:
    """As `_fields` of each list, of objects whose own id is that of a document.

    It may be in an object of its own, as that of a node beside its score.
    """
    packed = dict[str, dict[str, str]]()
    for column, fields in lists.items():
        own = _only_id(_without_objects(fields)) or _only_id(fields)
        if own:
            others = [name for name in names if name != "doc_id"]
            packed[column] = {"doc_id": own, **_fields(column, fields, others, mapped)}
    return packed


def _fields(
    column: str,
    fields: Sequence[str],
    names: Sequence[str],
    mapped: Mapping[str, str],
) -> dict[str, str]:
    """What the fields of a list's objects call our columns `names`."""
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
    """The paths of the plain values within an object."""
    paths = []
    for name, kind in fields.items():
        if kind is Kind.PLAIN:
            paths.append(name)
        if isinstance(kind, Mapping) and depth > 1:
            below = _leaves(kind, depth - 1)
            paths.extend(f"{name}.{path}" for path in below)
    return paths


def kinds_of_schema(schema: Iterable[pa.Field]) -> Kinds:
    """The kinds of the columns of Arrow."""
    return {column.name: _kind_of_type(column.type) for column in schema}


def _kind_of_type(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        return kinds_of_schema(kind)
    if not is_list(kind):
        return Kind.PLAIN
    if pa.types.is_struct(kind.value_type):
        return ListOf(kinds_of_schema(kind.value_type))
    return Kind.LIST


def kinds_of_json(rows: Iterable[Mapping[str, Any]]) -> Kinds:
    """The kinds of the values of JSON: of each name, what most of its values are."""
    values = dict[str, list[Any]]()
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    kinds = dict[str, Any]()
    for name, found in values.items():
        kinds[name] = _kind_of_values(found)
    return kinds


def _kind_of_values(values: Iterable[Any]) -> Any:
    """What most of the values are that say something; of as many, what comes first."""
    counts = Counter[type]()
    objects = list[Mapping[str, Any]]()
    items = list[Mapping[str, Any]]()
    for value in values:
        if isinstance(value, Mapping):
            counts[Mapping] += 1
            objects.append(value)
        elif isinstance(value, list):
            # An empty list may be of anything.
            within_list = [item for item in value if isinstance(item, Mapping)]
            counts[ListOf if within_list else list] += bool(value)
            items += within_list
        else:
            counts[str] += value is not None
    ((most, count),) = counts.most_common(1) or [(str, 0)]
    if most is Mapping:
        return kinds_of_json(objects)
    if most is ListOf:
        return ListOf(kinds_of_json(items))
    is_empty_list = not count and list in counts
    return Kind.LIST if most is list or is_empty_list else Kind.PLAIN


def flattened(table: pa.Table, objects: Objects) -> pa.Table:
    """The table with each of those fields as a column, by our names: of documents, as lists."""
    # A column of ours that is beside the objects is not the one that is meant.
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
        chunks = [_lists(chunk, path) for chunk in _chunks(table, objects.column)]
        columns[ours] = pa.chunked_array(chunks)
    return pa.table(columns)


def _chunks(table: pa.Table, path: str) -> list[pa.Array]:
    column = table[path.partition(".")[0]]
    return column.chunks or [pa.array([], column.type)]


def _field(values: pa.Array, path: str) -> pa.Array:
    """A field of structs, below the name of their column."""
    for name in path.split(".")[1:]:
        values = compute.struct_field(values, name)
    return values


def _lists(values: pa.Array, path: str) -> pa.Array:
    """Lists of structs as lists of one of their fields."""
    lengths = compute.fill_null(compute.list_value_length(values), 0)
    ends = compute.cumulative_sum(lengths.cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())])
    elements = _field(compute.list_flatten(values), f".{path}")
    return pa.ListArray.from_arrays(offsets, elements, mask=values.is_null())
