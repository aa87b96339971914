"""Scores paired with those of a baseline: a full outer join by query, which loses nothing.

The tables here have columns of their own. `night` is a date (NO_NIGHT if there is none), `cutoff` is 0 for the whole
ranking, `status` a number of STATUSES, `place` a number of what is compared, and the measures are numbered: `score_0`,
`baseline_0`, `score_1`, ... Using text instead would double the time of a comparison.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType, LongType, StringType

from ndcg_spark.casting import as_type
from ndcg_spark.comparison.places import NO_NIGHT, Place, Scored
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.text import did_you_mean

#: The name of the dataset for tables that name none.
DATASET = "default"
#: The status, on both sides, of a query that is left out because its judgments differ.
REJUDGED = "other_judgments"
#: The statuses of a query by their numbers; 4 stands for any other status in a table.
STATUSES = {1: "scored", 2: "no_relevant", 3: "missing", 4: "other", 5: REJUDGED}
_OWN_NAMES = {"evaluated_on": "night", "judgments_hash": "judgments"}
_NUMBERS = ("double", "float", "decimal", "tinyint", "smallint", "int", "bigint", "void")


def numbered(name: str, measures: Sequence[str]) -> list[str]:
    """The columns of these measures."""
    return [f"{name}_{number}" for number in range(len(measures))]


def scores(table: DataFrame, measures: Sequence[str], where: str) -> DataFrame:
    """The compared part of a table QUERY_SCORES: the columns of Scored, query_id, status, evaluation_id, score_0...

    The column judgments is added: the hash of the query's judgments, null if the table has none.

    Columns other than run, query_id and the measures may be absent; without a status, a query with a score is `scored`
    and one without is `missing`. Numbers that are not finite become null.

    Raises
    ------
    ConfigurationError
        A measure is not a column of numbers.
    InputError
        There is no run or no query_id.
    """
    has = dict(table.dtypes)
    absent = [name for name in ("run", "query_id") if name not in has]
    if absent:
        raise InputError(f"{where}: no column {absent[0]}; it has {', '.join(has)}; give a table of query scores")
    _refuse_unknown(measures, has, where)
    values = [_finite(as_type(F.col(name), DoubleType(), has[name])) for name in measures]
    optional = {
        "dataset": F.coalesce(F.col("dataset").cast("string"), F.lit(DATASET)),
        "evaluated_on": F.coalesce(F.col("evaluated_on").try_cast("date"), F.lit(NO_NIGHT)),
        "cutoff": F.coalesce(as_type(F.col("cutoff"), IntegerType(), has.get("cutoff", "int")), F.lit(0)),
        "evaluation_id": F.col("evaluation_id").cast("string"),
        "status": _status_number(F.col("status")),
        "judgments_hash": as_type(F.col("judgments_hash"), LongType(), has.get("judgments_hash", "bigint")),
    }
    otherwise = {
        "dataset": F.lit(DATASET),
        "evaluated_on": F.lit(NO_NIGHT),
        "cutoff": F.lit(0),
        "evaluation_id": F.lit(None).cast("string"),
        "status": F.when(values[0].isNull(), 3).otherwise(1),
        "judgments_hash": F.lit(None).cast("bigint"),
    }
    found = {name: column if name in has else otherwise[name] for name, column in optional.items()}
    return table.select(
        *(column.alias(_OWN_NAMES.get(name, name)) for name, column in found.items()),
        *(as_type(F.col(name), StringType(), has[name]).alias(name) for name in ("run", "query_id")),
        *(value.alias(name) for value, name in zip(values, numbered("score", measures), strict=True)),
    )


def paired(
    own: DataFrame, baseline: DataFrame | None, places: Sequence[Place], measures: Sequence[str], leave_out: bool
) -> DataFrame:
    """One row per place and query of either side, in no order: place, query_id, and the columns of both sides.

    Columns: status, score_0..., baseline_status, baseline_0..., null where that side does not have the query; times and
    baseline_times, how many rows each side had; rejudged, whether the judgments of the query differ. With `leave_out`,
    a rejudged query has no scores. Within one night (no `baseline`), judgments do not differ.

    The full outer join is a grouped union: it takes no longer than a left join, and it counts duplicates.
    """
    of_run = {"status": "int", **dict.fromkeys(numbered("score", measures), "double")}
    if baseline is not None:
        of_run["judgments"] = "bigint"
    of_baseline = {f"baseline_{name.removeprefix('score_')}": kind for name, kind in of_run.items()}
    absent = {name: F.lit(None).cast(kind).alias(name) for name, kind in (of_run | of_baseline).items()}
    ours = _at_places(own, enumerate(place.own for place in places)).select(
        "place", "query_id", *of_run, *(absent[name] for name in of_baseline)
    )
    of_places = ((number, place.baseline) for number, place in enumerate(places) if place.baseline)
    theirs = _at_places(own if baseline is None else baseline, of_places).select(
        "place",
        "query_id",
        *(absent[name] for name in of_run),
        *(F.col(name).alias(other) for name, other in zip(of_run, of_baseline, strict=True)),
    )
    both = (
        ours.union(theirs)
        .groupBy("place", "query_id")
        .agg(
            *(F.max(name).alias(name) for name in absent),
            F.count("status").alias("times"),
            F.count("baseline_status").alias("baseline_times"),
        )
    )
    if baseline is None:
        return both.withColumn("rejudged", F.lit(False))
    rejudged = F.coalesce(F.col("judgments") != F.col("baseline_judgments"), F.lit(False))
    both = both.withColumn("rejudged", rejudged).drop("judgments", "baseline_judgments")
    if not leave_out:
        return both
    statuses = {name: F.when(F.col("rejudged"), 5).otherwise(F.col(name)) for name in ("status", "baseline_status")}
    values = [*numbered("score", measures), *numbered("baseline", measures)]
    return both.withColumns(statuses | {name: F.when(~F.col("rejudged"), F.col(name)) for name in values})


def with_dataset(table: DataFrame, places: Sequence[Place]) -> DataFrame:
    """The table with the dataset of each row's place."""
    columns = {"place": pa.array(range(len(places)), pa.int32()), "dataset": [each.own.dataset for each in places]}
    return table.join(F.broadcast(table.sparkSession.createDataFrame(pa.table(columns))), on=["place"], how="inner")


def _at_places(table: DataFrame, numbers: Iterable[tuple[int, Scored]]) -> DataFrame:
    """The rows of these scores, each with the number of its place; a baseline's rows once for every place."""
    rows = [{"place": number, **dataclasses.asdict(scored)} for number, scored in numbers]
    kinds = [("place", pa.int32()), ("dataset", pa.string()), ("night", pa.date32()), ("run", pa.string())]
    numbered = pa.Table.from_pylist(rows, pa.schema([*kinds, ("cutoff", pa.int32())]))
    wanted = F.broadcast(table.sparkSession.createDataFrame(numbered))
    return table.join(wanted, on=["dataset", "night", "run", "cutoff"], how="inner")


def _status_number(status: Column) -> Column:
    known = [F.when(status == name, number) for number, name in STATUSES.items()]
    return F.coalesce(*known, F.lit(4))


def _finite(value: Column) -> Column:
    return F.when(F.abs(value) < F.lit(float("inf")), value)


def _refuse_unknown(measures: Sequence[str], has: Mapping[str, str], where: str) -> None:
    known = [name for name, kind in has.items() if kind in ("double", "float")]
    for name in measures:
        if name not in has:
            near = did_you_mean(name, known)
            others = f"it has {', '.join(known)}" if known else "name the column of the scores, measure=NAME"
            raise ConfigurationError(f"measure: no column {name!r} in {where}{near}; {others}")
        if not has[name].startswith(_NUMBERS):
            others = f"name one of {', '.join(known)}" if known else "give numbers"
            raise ConfigurationError(f"measure: {name} is {has[name]} in {where}; {others}")
