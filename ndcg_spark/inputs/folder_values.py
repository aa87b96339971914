"""Columns that both a file and a folder named column=value give: they must agree, or one would be lost silently."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import compute

from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File, of_each
from ndcg_spark.inputs.footers import Footer
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.inputs.values import constant
from ndcg_spark.schemas import WRITTEN


def of_folders(shape: Shape, files: Sequence[File], names: Sequence[str], config: TableConfig) -> dict[str, str]:
    """What folders call those of our columns `names` that they give, unless the configuration gives one to all rows."""
    folders = dict(files[0].partition)
    given = {name for name in ("run", "relevance") if getattr(config, name, None) is not None}
    given |= {"run"} if getattr(config, "run_from", None) == "file" else set()
    called = {name: shape.columns.get(name, name) for name in names if name not in given}
    return {ours: theirs for ours, theirs in called.items() if theirs in folders}


def with_folders(table: pa.Table, columns: Mapping[str, str], file: File, where: str) -> pa.Table:
    """The table of a part of a file, with the value of its folder in these `columns`, where it has no other.

    InputError if it has another.
    """
    folders = dict(file.partition)
    for ours, theirs in columns.items():
        value, at, column = folders[theirs], table.column_names.index(ours), table.column(ours)
        given, kind = constant(value, column.type, len(table)), column.type if ours in WRITTEN else pa.string()
        own = column.cast(kind)
        other = own.filter(compute.not_equal(own, given.cast(kind)))
        if len(other):
            raise _contradiction(file, theirs, value, other[0].as_py(), where)
        table = table.set_column(at, table.field(at), given)
    return table


def refuse_others(
    files: Sequence[File], known: Sequence[Footer], columns: Mapping[str, str], kind: str, where: str
) -> None:
    """InputError if a file with types has another value than its folder in one of these `columns`.

    Statistics in its footer spare most of the reading. A type that cannot be compared is refused for itself later.
    """
    from pyarrow import dataset

    footers = known if len(known) == len(files) else [known[0]] * len(files)
    of_file = {file.path: footer.columns for file, footer in zip(files, footers, strict=True)}

    def look(file: File) -> None:
        for ours, theirs in columns.items():
            value, stored = dict(file.partition)[theirs], of_file[file.path].get(theirs)
            if value is None or stored is None or not file.found:
                continue
            is_number = ours in WRITTEN
            plain = pa.float64() if is_number else pa.string()
            own = compute.field(theirs) if stored == plain else compute.field(theirs).cast(plain)
            system, place = file.found
            try:
                rows = dataset.dataset(place, filesystem=system, format=kind)
                other = rows.head(1, columns=[theirs], filter=own != constant(value, plain, 1)[0])
            except pa.ArrowException:
                continue
            if len(other):
                raise _contradiction(file, theirs, value, other.column(0)[0].as_py(), where)

    of_each(list(files), look)


def _contradiction(file: File, column: str, value: str | None, other: object, where: str) -> InputError:
    return InputError(
        f"{where}: {file.path} has rows with {column}={other}, and its folder is {column}={value}; correct one, "
        "or give that folder itself as the path, so that its name does not count"
    )
