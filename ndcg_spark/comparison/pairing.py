"""Scores paired with those of a baseline: a full outer join by query, from which nothing is lost.

The tables here have columns of their own. `night` is a date (NO_NIGHT if there is none), `cutoff` is 0 for the whole
ranking, `status` a number of STATUSES, `place` a number of what is compared, and the measures are numbered: `score_0`,
`baseline_0`, `score_1`, ... Text in their place doubles the time of a comparison.
"""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, IntegerType, StringType

from ndcg_spark.conforming import as_type
from ndcg_spark.convention.cutoffs import Cutoff, order_of
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.plain import did_you_mean
from ndcg_spark.sheets.sheet import at

#: The name of the dataset of tables that name none.
DATASET = "default"
#: The night of scores without a date. Earlier years have other days in Java.
NO_NIGHT = datetime.date(1900, 1, 1)
#: The statuses of a query by their numbers; 4 is whatever else a table has.
STATUSES = {1: "scored", 2: "no_relevant", 3: "missing", 4: "other"}
_NUMBERS = ("double", "float", "decimal", "tinyint", "smallint", "int", "bigint", "void")


@dataclasses.dataclass(frozen=True)
class Scored:
    """The scores of one run at one cutoff; 0 is the whole ranking."""

    dataset: str
    night: datetime.date
    run: str
    cutoff: int


@dataclasses.dataclass(frozen=True)
class Place:
    """What is compared: a run at a cutoff, and the scores of the baseline, None where it has none there."""

    own: Scored
    baseline: Scored | None
    #: The date of another night that the run is compared with; None for the same night.
    baseline_night: datetime.date | None
    #: Of the run's scores.
    evaluation_id: str | None

    @property
    def cutoff(self) -> Cutoff:
        """The cutoff; None for the whole ranking."""
        return self.own.cutoff or None

    @property
    def night(self) -> datetime.date | None:
        """The date of the run's scores; None for scores without a date."""
        return date_of(self.own.night)


def date_of(night: datetime.date) -> datetime.date | None:
    """The date of a night; None for scores without a date."""
    return None if night == NO_NIGHT else night


def numbered(name: str, measures: Sequence[str]) -> list[str]:
    """The columns of as many measures."""
    return [f"{name}_{number}" for number in range(len(measures))]


def scores(table: DataFrame, measures: Sequence[str], where: str) -> DataFrame:
    """What of a table QUERY_SCORES is compared: the columns of Scored, query_id, status, evaluation_id, score_0...

    Columns other than run, query_id and the measures may be absent; a score then is `scored` and no score `missing`.
    Numbers that are not finite become null.

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


def places(
    own: DataFrame,
    baseline: DataFrame | None,
    baseline_run: str | None,
    runs: Collection[str] | None,
    cutoffs: Collection[Cutoff] | None,
) -> list[Place]:
    """Everything that is compared, sorted by dataset, night, run and cutoff. Runs a job.

    `own` and `baseline` are as of `scores`; without `baseline` the baseline is a run of the same night. A run has a
    place wherever the baseline has scores, also if it has none there.

    Raises
    ------
    ConfigurationError
        The baseline or a cutoff has no scores.
    InputError
        The baseline has scores of several nights.
    """
    ids, of_baseline = _inventory(own, baseline)
    chosen = [
        each
        for each in ids
        if each.run in (runs if runs is not None else {each.run}) and (baseline is not None or each.run != baseline_run)
    ]
    if baseline_run is not None:
        theirs = [each for each in of_baseline if each.run == baseline_run]
    else:
        theirs = [each for each in of_baseline if runs is None or each.run in runs]
    known_cutoffs = {each.cutoff or None for each in (*chosen, *theirs)}
    if cutoffs is not None:
        chosen, theirs = ([each for each in side if (each.cutoff or None) in cutoffs] for side in (chosen, theirs))
    if not theirs:
        _refuse_baseline(baseline_run, {each.run for each in of_baseline})
    _refuse_cutoffs(cutoffs or (), known_cutoffs)
    if baseline is not None:
        _refuse_nights(theirs)
    pairs: dict[Scored, Scored | None] = dict.fromkeys(chosen)
    every = {each.run for each in chosen}
    for other in theirs:
        same = {each.night for each in chosen if each.dataset == other.dataset}
        for night in [other.night] if baseline is None else same or [NO_NIGHT]:
            there = {each.run for each in chosen if (each.dataset, each.night) == (other.dataset, night)} or every
            for run in {other.run} if baseline_run is None else there:
                pairs[Scored(other.dataset, night, run, other.cutoff)] = other
            # A run that neither side has is known from the request alone.
            for run in set(runs or ()) - every - {other.run}:
                pairs.setdefault(Scored(other.dataset, night, run, other.cutoff), other if baseline_run else None)
    order = sorted(pairs, key=lambda each: (each.dataset, each.night, each.run, order_of(each.cutoff or None)))
    nights = {each: date_of(each.night) if baseline is not None else None for each in theirs}
    return [Place(each, pairs[each], nights.get(pairs[each]), ids.get(each)) for each in order]  # type: ignore[arg-type]


def paired(own: DataFrame, baseline: DataFrame, places: Sequence[Place], measures: Sequence[str]) -> DataFrame:
    """One row per place and query that a side has, in no order: place, query_id, and the columns of both sides.

    Columns: status, score_0..., baseline_status, baseline_0..., null where that side does not have the query; times and
    baseline_times, how many rows each side had.

    A full outer join as a union that is grouped: it takes no longer than a left join, and counts duplicates.
    """
    of_run = {"status": "int", **dict.fromkeys(numbered("score", measures), "double")}
    of_baseline = {f"baseline_{name.removeprefix('score_')}": kind for name, kind in of_run.items()}
    absent = {name: F.lit(None).cast(kind).alias(name) for name, kind in (of_run | of_baseline).items()}
    ours = _at_places(own, enumerate(place.own for place in places)).select(
        "place", "query_id", *of_run, *(absent[name] for name in of_baseline)
    )
    theirs = _at_places(baseline, ((n, place.baseline) for n, place in enumerate(places) if place.baseline)).select(
        "place",
        "query_id",
        *(absent[name] for name in of_run),
        *(F.col(name).alias(other) for name, other in zip(of_run, of_baseline, strict=True)),
    )
    return (
        ours.union(theirs)
        .groupBy("place", "query_id")
        .agg(
            *(F.max(name).alias(name) for name in absent),
            F.count("status").alias("times"),
            F.count("baseline_status").alias("baseline_times"),
        )
    )


def with_dataset(table: DataFrame, places: Sequence[Place]) -> DataFrame:
    """The table with the dataset of each row's place."""
    columns = {"place": pa.array(range(len(places)), pa.int32()), "dataset": [each.own.dataset for each in places]}
    return table.join(F.broadcast(table.sparkSession.createDataFrame(pa.table(columns))), on=["place"], how="inner")


def _inventory(own: DataFrame, baseline: DataFrame | None) -> tuple[dict[Scored, str | None], list[Scored]]:
    """What each side has scores of: that of the runs, with its evaluation_id, and that of the baseline."""
    sides = [each.withColumn("side", F.lit(side)) for side, each in enumerate((own, baseline)) if each is not None]
    key = ("side", "dataset", "night", "run", "cutoff")
    found: tuple[dict[Scored, str | None], dict[Scored, str | None]] = {}, {}
    for table in sides:
        for row in table.groupBy(*key).agg(F.max("evaluation_id").alias("evaluation_id")).collect():
            scored = Scored(row["dataset"], row["night"], row["run"], row["cutoff"])
            found[row["side"]][scored] = row["evaluation_id"]
    return found[0], list(found[0] if baseline is None else found[1])


def _at_places(table: DataFrame, numbers: Iterable[tuple[int, Scored]]) -> DataFrame:
    """The rows of these scores, each beside the number of its place; a baseline's once for every place."""
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


def _refuse_baseline(baseline_run: str | None, known: Collection[str]) -> None:
    if baseline_run is not None and known and baseline_run not in known:
        near = did_you_mean(baseline_run, known)
        raise ConfigurationError(
            f"baseline: no run is called {baseline_run!r}{near}; there are {', '.join(sorted(known))}"
        )
    raise ConfigurationError("baseline: it has no scores to compare with; check the night, the runs and the cutoffs")


def _refuse_cutoffs(cutoffs: Iterable[Cutoff], known: Collection[Cutoff]) -> None:
    absent = [at(cutoff) for cutoff in cutoffs if cutoff not in known]
    if absent:
        there = ", ".join(at(cutoff) for cutoff in sorted(known, key=order_of))
        raise ConfigurationError(f"cutoffs: no scores at {', '.join(absent)}; there are scores at {there}")


def _refuse_nights(theirs: Iterable[Scored]) -> None:
    nights: dict[str, set[datetime.date]] = {}
    for each in theirs:
        nights.setdefault(each.dataset, set()).add(each.night)
    for dates in nights.values():
        if len(dates) > 1:
            raise InputError(
                f"baseline: scores of {len(dates)} nights, e.g. {min(dates)} and {max(dates)}; give those of one"
            )
