"""Scores paired with those of a baseline: a full outer join on dataset, query and cutoff, from which nothing is lost.

The tables here have columns of their own. `night` is a date (NO_NIGHT if there is none), `cutoff` is 0 for the whole
ranking, `status` a number of STATUSES, and the measures are numbered: `score_0`, `baseline_0`, `score_1`, ... Text in
their place doubles the time of a comparison.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType, StringType

from ndcg_spark.conforming import as_type
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.text import did_you_mean

#: What pairs a row with one of the baseline, beside the night and the run.
KEY = ("dataset", "query_id", "cutoff")
#: The name of the dataset of tables that name none.
DATASET = "default"

#: The night of scores without a date. Earlier years have other days in Java.
NO_NIGHT = datetime.date(1900, 1, 1)
#: The statuses of a query by their numbers; whatever else a table has.
STATUSES = {1: "scored", 2: "no_relevant", 3: "missing", 4: "other"}
_NUMBERS = ("double", "float", "decimal", "tinyint", "smallint", "int", "bigint", "void")


def numbered(name: str, measures: Sequence[str]) -> list[str]:
    """The columns of so many measures."""
    return [f"{name}_{at}" for at in range(len(measures))]


def scores(table: DataFrame, measures: Sequence[str], where: str) -> DataFrame:
    """A table QUERY_SCORES as it is compared: night, dataset, run, query_id, cutoff, status, evaluation_id, score_0...

    Columns other than run, query_id and the measures may be absent; a score then is `scored` and no score `missing`.
    What is no finite number is null.

    Raises
    ------
    ConfigurationError
        A measure is no column of numbers.
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
        "status": _numbered(F.col("status")),
    }
    otherwise = {
        "dataset": F.lit(DATASET),
        "evaluated_on": F.lit(NO_NIGHT),
        "cutoff": F.lit(0),
        "evaluation_id": F.lit(None).cast("string"),
        "status": F.when(values[0].isNull(), 3).otherwise(1),
    }
    found = {name: column if name in has else otherwise[name] for name, column in optional.items()}
    return table.select(
        *(column.alias("night" if name == "evaluated_on" else name) for name, column in found.items()),
        *(as_type(F.col(name), StringType(), has[name]).alias(name) for name in ("run", "query_id")),
        *(value.alias(name) for value, name in zip(values, numbered("score", measures), strict=True)),
    )


def only(table: DataFrame, runs: Iterable[str] | None, cutoffs: Iterable[int | None] | None) -> DataFrame:
    """The rows of these runs at these cutoffs; all of them where None is given."""
    wanted = table if runs is None else table.where(F.col("run").isin(*runs))
    return wanted if cutoffs is None else wanted.where(F.col("cutoff").isin(*(cutoff or 0 for cutoff in cutoffs)))


def paired(runs: DataFrame, baseline: DataFrame, key: Sequence[str], measures: Sequence[str]) -> DataFrame:
    """Every row of the runs beside that of the baseline, and every row of the baseline once more, `alone`.

    `key` is what pairs them, KEY and perhaps night and run; in both tables it must be that of their rows. Columns:
    alone, night, run, KEY, status, score_0..., baseline_night, baseline_status, baseline_0...; null
    where that side has no such row (of rows that are alone, all but the key and the baseline's own). No order.

    What a run lacks are the rows that are alone but for those that it pairs with. That is how a full outer join needs
    no row for each run and each query that the run lacks.
    """
    both = list(zip(numbered("score", measures), numbered("baseline", measures), strict=True))
    theirs = baseline.select(
        *key,
        F.col("night").alias("baseline_night"),
        F.col("status").alias("baseline_status"),
        *(F.col(score).alias(name) for score, name in both),
    )
    ours = ("night", "run", *KEY, "status", *(score for score, _ in both))
    own = ("baseline_night", "baseline_status", *(name for _, name in both))
    together = runs.join(theirs, on=list(key), how="left")
    lone = [F.col(name) if name in key else _null(name).alias(name) for name in ours]
    return together.select(F.lit(False).alias("alone"), *ours, *own).union(
        theirs.select(F.lit(True).alias("alone"), *lone, *own)
    )


def _null(name: str) -> Column:
    kind = {"night": "date", "run": "string", "status": "int"}.get(name, "double")
    return F.lit(None).cast(kind)


def _numbered(status: Column) -> Column:
    numbers = {name: number for number, name in STATUSES.items()}
    known = [F.when(status == name, number) for name, number in numbers.items()]
    return F.coalesce(*known, F.lit(numbers["other"]))


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
