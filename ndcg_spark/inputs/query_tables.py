"""Tables about queries: the attributes that make slices, and weights. Files of any format but text without a header."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import file_formats, finding, log_tables
from ndcg_spark.inputs.aliases import resolved
from ndcg_spark.inputs.file_formats import BINARY
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.first_lines import head, whole_lines
from ndcg_spark.inputs.footers import footers
from ndcg_spark.inputs.json_shapes import keys_in
from ndcg_spark.inputs.loading import literal, loaded, paths_of
from ndcg_spark.inputs.reading import read_query_table
from ndcg_spark.inputs.separated import header_names
from ndcg_spark.schemas import BROKEN_LINE, INTERNAL, QUERY_ATTRIBUTES, QUERY_WEIGHTS
from ndcg_spark.table_config import AttributesConfig, TableConfig, WeightsConfig

ATTRIBUTES, WEIGHTS = "query_attributes", "query_weights"
_SEPARATORS = {"csv": ",", "tsv": "\t"}


def read_attributes(engine: Engine, paths: list[str], config: TableConfig | None = None) -> DataFrame:
    """QUERY_ATTRIBUTES, or query_id and a column for each attribute, as the files have them. Acts on text.

    `config` may map columns and name the format. InputError if the files cannot be read, or a line is broken.
    """
    config = config or AttributesConfig.model_validate({"path": paths})
    found, kind = _files(engine, paths, config, ATTRIBUTES)
    return _read(engine, config, paths, ATTRIBUTES, _schema(_columns(engine, found, kind), config))


def read_weights(engine: Engine, paths: list[str], config: TableConfig | None = None) -> DataFrame:
    """QUERY_WEIGHTS as the files have it. Acts on text. As `read_attributes`."""
    config = config or WeightsConfig.model_validate({"path": paths})
    _files(engine, paths, config, WEIGHTS)
    return _read(engine, config, paths, WEIGHTS, QUERY_WEIGHTS)


def _read(engine: Engine, config: TableConfig, paths: list[str], where: str, schema: StructType) -> DataFrame:
    source = read_query_table(engine, where, config, paths, schema)
    table = source.table
    if BROKEN_LINE in table.columns:
        table = table if source.text is None else source.text.kept(table, lambda rows: rows).rows
        counted = table.where(F.col(BROKEN_LINE).isNotNull())
        broken = counted.agg(F.count("*").alias("lines"), F.min(BROKEN_LINE).alias("example")).first()
        if broken is not None and broken["lines"]:
            raise InputError(
                f"{where}: {broken['lines']:,} line(s) of {source.place} that are not rows, e.g. "
                f"{broken['example'][:100]!r}; correct them"
            )
    return table.select(*(name for name in table.columns if name not in INTERNAL))


def _files(engine: Engine, paths: list[str], config: TableConfig, where: str) -> tuple[list[File], str]:
    """The files and their format; InputError where that is text without the names of its columns."""
    found, _ = finding.without_backups(log_tables.find(engine, config, paths, where), paths, where)
    if found[0].snapshot:
        return found, "table"
    kind = config.format or file_formats.format_of(found, where)
    if kind == "trec":
        raise InputError(
            f"{where}: {found[0].path} has no ending that tells its format; end it in .csv, .tsv, .jsonl, .parquet or "
            ".orc, with the names of the columns in it"
        )
    file_formats.refuse_unreadable(found, kind, where)
    return found, kind


def _columns(engine: Engine, found: list[File], kind: str) -> list[str]:
    """The columns of the files, and those that their folders give."""
    if snapshot := found[0].snapshot:
        return list(snapshot.types) if snapshot.table is None else snapshot.table.columns
    folders = [key for key, _ in found[0].partition]
    if not engine.sees_local_files:
        options = {"header": "true", "sep": _SEPARATORS[kind]} if kind in _SEPARATORS else {}
        reader = {"tsv": "csv", "jsonl": "json"}.get(kind, kind)
        return [*loaded(engine, reader, literal(engine, paths_of(found[:1])), ATTRIBUTES, options).columns, *folders]
    if kind in BINARY:
        return [*footers(found[:1], kind, ATTRIBUTES)[0].columns, *folders]
    lines = whole_lines(head(found[0], ATTRIBUTES))
    if kind in _SEPARATORS:
        return [*header_names(lines[0], _SEPARATORS[kind]), *folders]
    return [*keys_in(lines), *folders]


def _schema(has: Sequence[str], config: TableConfig) -> StructType:
    """What is read of a table with these columns: all of them as text, the query under our own name."""
    if {"attribute", "value"} & {*has, *config.columns}:
        return QUERY_ATTRIBUTES
    key = resolved(config.columns, ["dataset", "query_id"], has, ATTRIBUTES)
    names = [*key, *(name for name in has if name not in key.values())]
    return StructType([StructField(name, StringType()) for name in names])
