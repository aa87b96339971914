"""Files with types, and tables of lakehouses: as they are where every engine can read them, else a plain copy."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ndcg_spark.config import TableConfig
from ndcg_spark.engine import Engine
from ndcg_spark.inputs import columnar, engine_files, footers, staging
from ndcg_spark.inputs.column_names import names_in, renamed
from ndcg_spark.inputs.file_formats import BINARY
from ndcg_spark.inputs.files import TABLES, File
from ndcg_spark.inputs.footers import Footer
from ndcg_spark.inputs.lists import unlisted
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.inputs.storage import is_local
from ndcg_spark.schemas import FAULT, RESULTS


def read_typed(
    engine: Engine,
    files: list[File],
    shape: Shape,
    config: TableConfig,
    schema: StructType,
    known: Sequence[Footer],
    name: str,
) -> tuple[DataFrame, int | None]:
    """The rows of files with types, as they are where every engine can read them, else a plain copy; and their number.

    The number is None where rows have lists, or nobody has counted.
    """
    place = f"{name}: {files[0].path}"
    columns = [shape.columns.get(field, field) for field in schema.names]
    if len(known) == len(files):
        footers.refuse_different_types(files, known, columns, name)
    rows: int | None
    if _is_copied(engine, files[0], shape.kind, known, columns):
        if not any(map(columnar.holds_structs, known[0].columns.values())):
            names_in([*shape.fields, *(key for key, _ in files[0].partition)], shape, config, schema, place)
        copy = columnar.columns_to_parquet(shape.kind, files, known, columns, engine.scratch, name)
        table, rows = staging.given(engine, copy, name), copy.rows
    else:
        table = engine_files.gathered(engine, shape.kind, files, name)
        rows = sum(footer.rows for footer in known) if len(known) == len(files) and files[0].found else None
    listed = unlisted(renamed(table, shape, config, schema, place), schema is RESULTS, place)
    return listed, None if FAULT in listed.columns else rows


def footers_of(engine: Engine, files: list[File], kind: str, where: str) -> list[Footer]:
    """What the files say of their columns; of files on a storage that others read, what the first one says.

    InputError if one is damaged.
    """
    if kind in TABLES:
        return [
            Footer({field.name: field.type for field in file.snapshot.schema}, 0) for file in files if file.snapshot
        ]
    if kind not in BINARY:
        return []
    if not files[0].found:
        table = engine_files.gathered(engine, kind, files[:1], where)
        return [Footer({name: pa.null() for name in table.columns}, 0)]
    is_near = engine.sees_local_files or is_local(files[0].path)
    return footers.footers(files if is_near else files[:1], kind, where)


def _is_copied(engine: Engine, file: File, kind: str, known: Sequence[Footer], columns: Sequence[str]) -> bool:
    """Whether files with types are written again: all files together must be what every engine reads."""
    is_out_of_reach = (
        engine.kind == "connect" and not engine.sees_local_files and bool(file.found) and is_local(file.path)
    )
    if kind in TABLES or (kind == "orc" and engine.kind == "embedded") or is_out_of_reach:
        return True
    is_uniform = len(set(footers.signatures(known))) < 2
    return not (is_uniform and columnar.is_readable((found.columns for found in known), columns))
