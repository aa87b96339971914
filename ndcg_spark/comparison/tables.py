"""Tables that people give to `compare`: as pyarrow has them, under our names and in our types."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.comparison.compare import Source
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.errors import ConfigurationError, InputError, first_line
from ndcg_spark.inputs.column_names import of_attributes, resolve
from ndcg_spark.inputs.memory import arrow_of, by_id, is_of_runs
from ndcg_spark.text import did_you_mean

#: The name of the dataset of tables that name none.
DATASET = "default"
#: The columns of QUERY_SCORES that are used besides the measures.
KEY = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "evaluation_id", "judgments_hash")
_LEAVE_ONE = "drop or rename all but one"


def arrow(table: Any, wanted: Sequence[str] | None, where: str) -> pa.Table:
    """The table with those `wanted` columns that it has under any name, or with all. Runs a job for one of Spark.

    Raises InputError where it is not a table, or two columns may be the same one.
    """
    if wanted is not None and is_of_runs(table, wanted):
        runs = [(run, arrow(one, wanted, f"{where}: run {run!r}")) for run, one in by_id(table, where)]
        parts = [_of_run(run, part, f"{where}: run {run!r}") for run, part in runs]
        return pa.concat_tables(parts, promote_options="permissive")
    if type(table).__module__.startswith("pyspark."):
        has = table.columns
        names = _names(has, wanted, where)
        found = table.select(*names.values()).toArrow()
    else:
        found, has = arrow_of(table, wanted, where)
        if not found.num_rows:
            raise InputError(f"{where}: the table is empty; check what should have filled it, or leave it out")
        names = _names(found.column_names, wanted, where)
        found = found.select(list(names.values()))
    return found.rename_columns(list(names))


def _of_run(run: str | None, table: pa.Table, where: str) -> pa.Table:
    if "run" in table.column_names:
        if len(table.column("run").unique()) > 1:
            raise InputError(f"{where}: its table has several runs; give the table of one")
        table = table.drop_columns(["run"])
    return table.append_column("run", pa.array([run] * table.num_rows, pa.string()))


def _names(has: Iterable[str], wanted: Sequence[str] | None, where: str) -> dict[str, str]:
    """Our columns, by what the table calls them."""
    columns = list(has)
    if wanted is None:
        known = of_attributes({}, columns, where, _LEAVE_ONE)
        return {**known, **{name: name for name in columns if name not in known.values()}}
    found = resolve({}, wanted, columns, where, _LEAVE_ONE)
    return {name: found.get(name, name) for name in wanted if name in found or name in columns}


def ids(table: pa.Table, name: str, where: str) -> pa.ChunkedArray:
    """A column of ids as text. InputError unless it has text or whole numbers."""
    column = table.column(name)
    kind = column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    if not (is_text or pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)):
        raise InputError(f"{where}: {name} is {kind}; ids are text or whole numbers")
    return column.cast(pa.string())


def numbers(table: pa.Table, name: str, where: str) -> pa.ChunkedArray:
    """A column of numbers. InputError where a value is none."""
    try:
        return table.column(name).cast(pa.float64())
    except pa.ArrowException as error:
        raise InputError(f"{where}: {name} has values that are not numbers, {first_line(error)}") from None


def sources(table: pa.Table, measures: Sequence[str], where: str) -> list[Source]:
    """The scores of every dataset and night of a table with some columns of KEY and these measures.

    Raises
    ------
    ConfigurationError
        A measure is not a column of numbers.
    InputError
        There is no run or no query_id, or a column has another type.
    """
    has = table.column_names
    absent = [name for name in ("run", "query_id") if name not in has]
    if absent:
        raise InputError(f"{where}: no column {absent[0]}; it has {', '.join(has)}; give a table of query scores")
    _refuse_unknown(measures, table.schema, where)
    columns = {name: ids(table, name, where) for name in ("run", "query_id")}
    columns |= {name: numbers(table, name, where) for name in measures}
    columns["cutoff"] = _whole(table, "cutoff", pa.int32(), where)
    if "judgments_hash" in has:
        columns["judgments_hash"] = _whole(table, "judgments_hash", pa.int64(), where)
    rows = pa.table(columns)
    nights = {
        "dataset": pc.fill_null(ids(table, "dataset", where), DATASET) if "dataset" in has else None,
        "evaluated_on": _dates(table, where) if "evaluated_on" in has else None,
        "evaluation_id": table.column("evaluation_id").cast(pa.string()) if "evaluation_id" in has else None,
    }
    filled = {name: pa.nulls(len(rows), pa.string()) if column is None else column for name, column in nights.items()}
    if nights["dataset"] is None:
        filled["dataset"] = pa.array([DATASET] * len(rows), pa.string())
    grouped = pa.table(filled).group_by(["dataset", "evaluated_on"]).aggregate([("evaluation_id", "max")]).to_pylist()
    return [_source(rows, filled, group, len(grouped) > 1, measures, where) for group in grouped]


def _source(
    rows: pa.Table,
    columns: Mapping[str, Any],
    group: Mapping[str, Any],
    is_part: bool,
    measures: Sequence[str],
    where: str,
) -> Source:
    dataset, night = group["dataset"], group["evaluated_on"]
    if is_part:
        dates = columns["evaluated_on"]
        same = pc.is_null(dates) if night is None else pc.fill_null(pc.equal(dates, night), False)
        rows = rows.filter(pc.and_(pc.equal(columns["dataset"], dataset), same))
    cutoffs = rows.column("cutoff").unique().to_pylist()
    there = [(measure, cutoff) for cutoff in cutoffs for measure in measures if _has_values(rows, measure, cutoff)]
    # A measure without any value is compared wherever there are rows, and says so.
    for measure in {*measures}.difference(name for name, _ in there):
        there += [(measure, cutoff) for cutoff in cutoffs]
    known = [name for name in rows.column("run").unique().to_pylist() if name is not None]

    def batches(names: Sequence[str], runs: Sequence[str], cutoffs: Sequence[Cutoff]) -> Iterable[pa.RecordBatch]:
        yield from rows.select([name for name in names if name in rows.column_names]).to_batches()

    id_ = group["evaluation_id_max"]
    return Source(dataset, night, id_, sorted(known), there, cutoffs, len(rows) // max(1, len(cutoffs)), batches, where)


def _has_values(rows: pa.Table, measure: str, cutoff: Cutoff) -> bool:
    at = pc.is_null(rows.column("cutoff")) if cutoff is None else pc.equal(rows.column("cutoff"), cutoff)
    values = rows.column(measure).filter(at)
    return bool(pc.any(pc.is_valid(values)).as_py() and not pc.all(pc.is_nan(values)).as_py())


def _whole(table: pa.Table, name: str, kind: pa.DataType, where: str) -> Any:
    if name not in table.column_names:
        return pa.nulls(table.num_rows, kind)
    column = table.column(name)
    try:
        if pa.types.is_floating(column.type):
            # pandas has them as floats where some are missing.
            column = pa.chunked_array(
                [pa.array(part.to_numpy(zero_copy_only=False), from_pandas=True) for part in column.chunks]
            )
        return column.cast(kind)
    except pa.ArrowException as error:
        raise InputError(f"{where}: {name} has values that are not whole numbers, {first_line(error)}") from None


def _dates(table: pa.Table, where: str) -> pa.ChunkedArray:
    column = table.column("evaluated_on")
    try:
        # Times of pandas, of which the day counts.
        return column.cast(pa.date32(), safe=False) if pa.types.is_timestamp(column.type) else column.cast(pa.date32())
    except pa.ArrowException as error:
        raise InputError(f"{where}: evaluated_on has values that are not dates, {first_line(error)}") from None


def _refuse_unknown(measures: Sequence[str], schema: pa.Schema, where: str) -> None:
    known = [field.name for field in schema if pa.types.is_floating(field.type)]
    for name in measures:
        if name not in schema.names:
            near = did_you_mean(name, known)
            others = f"it has {', '.join(known)}" if known else "name the column of the scores, measure=NAME"
            raise ConfigurationError(f"measure: no column {name!r} in {where}{near}; {others}")
        kind = schema.field(name).type
        is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
        if not (is_number or pa.types.is_null(kind)):
            others = f"name one of {', '.join(known)}" if known else "give numbers"
            raise ConfigurationError(f"measure: {name} is {kind} in {where}; {others}")


def attributes_of(table: pa.Table) -> Attributes:
    """The slices of QUERY_ATTRIBUTES, or of a table with a column for each attribute, in which a null has no row.

    Raises InputError where it breaks its contract.
    """
    where, has = "query_attributes", table.column_names
    names = [name for name in has if name not in ("dataset", "query_id", "evaluated_on", "evaluation_id")]
    key = [name for name in ("dataset", "query_id") if name in has]
    if "query_id" not in has or not names:
        raise InputError(
            f"{where}: no query_id, or no other column, in {', '.join(has)}; give query_id, attribute and value, or "
            "query_id and one column for each attribute"
        )
    if len({"attribute", "value"}.intersection(names)) == 1:
        raise InputError(
            f"{where}: only one of the columns attribute and value, of {', '.join(has)}; give both, or one column for "
            "each attribute, named after it"
        )
    columns = {name: ids(table, name, where) for name in key}
    if "attribute" in names:
        columns |= {name: table.column(name).cast(pa.string()) for name in ("attribute", "value")}
        return Attributes(pa.table(columns))
    parts = []
    for name in names:
        values = table.column(name).cast(pa.string())
        of_name = pa.array([name] * len(values), pa.string())
        part = pa.table({**columns, "attribute": of_name, "value": values})
        parts.append(part.filter(pc.is_valid(values)))
    return Attributes(pa.concat_tables(parts))


def weights_of(table: pa.Table) -> Weights:
    """The weights of QUERY_WEIGHTS. Raises InputError where it breaks its contract."""
    where, has = "query_weights", table.column_names
    missing = [name for name in ("query_id", "weight") if name not in has]
    if missing:
        raise InputError(
            f"{where}: {len(missing)} column(s) missing, {', '.join(missing)}; it has {', '.join(has)}; name its "
            "columns query_id and weight, or map them in a configuration, query_weights.columns"
        )
    key = [name for name in ("dataset", "query_id") if name in has]
    return Weights(
        pa.table({name: ids(table, name, where) for name in key} | {"weight": numbers(table, "weight", where)})
    )


def night_of(sources: Sequence[Source]) -> dict[str, Source]:
    """The night of each dataset of a baseline; InputError if there are several."""
    found: dict[str, Source] = {}
    for source in sources:
        if source.dataset in found:
            dates: list[datetime.date] = [
                each.evaluated_on for each in sources if each.dataset == source.dataset and each.evaluated_on
            ]
            raise InputError(
                f"baseline: scores of {len(dates)} nights, e.g. {min(dates)} and {max(dates)}; give those of one"
            )
        found[source.dataset] = source
    return found
