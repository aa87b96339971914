"""Scores for the product of the runs and the judged queries, and their means: which queries count
is decided here.

Means are over all queries and over slices: the queries with one value of an attribute, such as
those in German. A query may be in several. Slices are numbered; a query without a value of an
attribute is in its slice `(none)`.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import COLUMNS, NDCG_ONLY, Cutoff, MeasureSet, column_at
from ndcg_spark.convention.refused_queries import MISSING_QUERY, NO_RELEVANT, NOT_FINITE
from ndcg_spark.schemas import NO_VALUE, query_key
from ndcg_spark.scoring import lists
from ndcg_spark.scoring import measure_columns as beside_ndcg
from ndcg_spark.scoring.refusals import refusal

#: Stands for null in the structs of `_at_cutoff`: on the embedded engine, either all or none of
#: their fields may be nullable. No measure has such a value, and it is short, because plans repeat
#: it for every measure and cutoff.
_NOTHING = "-1e9D"
#: The score of a query without gain, by the option `no_relevant`.
_WITHOUT_GAIN = {"zero": 0.0, "one": 1.0}
_ALL = 0


def scores_of_pairs(
    runs: DataFrame,
    queries: DataFrame,
    scores: DataFrame,
    query_key: list[str],
    convention: Convention,
    cutoffs: Sequence[Cutoff],
    measures: MeasureSet,
) -> DataFrame:
    """The columns of QUERY_SCORES, one row per run, judged query and cutoff, whether the run
    answered it or not.
    """
    run_key = ["run", *query_key]
    pairs = (
        runs.join(queries, on=["dataset"], how="inner")
        if "dataset" in query_key
        else runs.crossJoin(queries)
    )
    answered = scores.withColumn("answered", F.lit(True))
    # After the join, because the list of an unjudged query is never refused.
    joined = pairs.join(answered, on=run_key, how="left")
    table = lists.refuse_returned_twice(joined, run_key, convention, cutoffs)
    if measures.beside_ndcg:
        table = _with_measures(table, run_key, convention, measures)
    long = table.select(
        *run_key,
        "judgments_hash",
        F.coalesce("answered", F.lit(False)).alias("answered"),
        F.explode(F.array(*(_at_cutoff(k, measures) for k in cutoffs))).alias("at"),
    ).select(*run_key, "judgments_hash", "answered", "at.*")
    ndcg, status = _ndcg_and_status(convention, [*run_key, "cutoff"])
    absent = "nullif({}, " + _NOTHING + ")" if measures.columns else "cast(null as double)"
    beside = {name: F.expr(absent.format(name)) for name in COLUMNS}
    beside["judged_discount_share"] = F.expr(f"nullif(judged_discount_share, {_NOTHING})")
    return long.withColumns(
        {"cutoff": F.nullif("cutoff", F.lit(0)), "status": status, "ndcg": ndcg, **beside}
    )


def _ndcg_and_status(convention: Convention, key: Sequence[str]) -> tuple[Column, Column]:
    missing, ideal = ~F.col("answered"), F.col("ideal_dcg")
    # Negative grades that are kept can make an ideal DCG negative. CatBoost, which scores 1 for a
    # query without gain, scores 1 here too; tools that skip such a query, or score it 0, divide by
    # the negative number.
    no_gain = ideal <= 0 if convention.no_relevant == "one" else ideal == 0
    finite = F.abs(F.col("dcg")) + F.abs(F.col("ideal_dcg")) < F.lit(float("inf"))
    # The quotient of two finite numbers may not be finite.
    quotient = _ratio(F.col("dcg"), ideal)
    finite &= F.coalesce(_is_finite(quotient), F.lit(True))
    ndcg = F.when(finite, quotient).otherwise(refusal(NOT_FINITE, key))
    score = _by_policy(
        ndcg, no_gain, F.lit(_WITHOUT_GAIN.get(convention.no_relevant)), missing, convention, key
    )
    # An ideal of the returned documents is 0 for a missing query, even if it has relevant
    # documents.
    nothing_relevant = (
        no_gain if convention.ideal in ("judged", "k_relevant") else no_gain & ~missing
    )
    cases = [(missing, F.lit("missing")), (nothing_relevant, F.lit("no_relevant"))]
    (first, name), (second, other) = (
        reversed(cases) if convention.missing_query == "zero" else cases
    )
    return score, F.when(first, name).when(second, other).otherwise("scored")


def _with_measures(
    table: DataFrame, key: Sequence[str], convention: Convention, measures: MeasureSet
) -> DataFrame:
    """The table with every measure at every cutoff; all measures of a query that need judgments are
    left out, as null, together.
    """
    # `returned` is null for a missing query, and fails for a list with a document twice.
    missing, without, zero = (
        F.col("returned").isNull(),
        F.col(beside_ndcg.RELEVANT) == 0,
        F.lit(0.0),
    )
    columns = {}
    for name, value, measure in beside_ndcg.measure_values(convention, measures):
        if measure.of == "list":
            # It is null without a list, whatever the convention says of judgments.
            columns[name] = value
            continue
        computed = F.coalesce(value, zero)
        nothing = computed
        if measure.is_ratio:
            nothing = F.lit(_WITHOUT_GAIN.get(convention.no_relevant))
        score = _by_policy(computed, without, nothing, missing, convention, key)
        unanswered = missing & ~without & F.lit(convention.missing_query == "zero")
        columns[name] = F.when(unanswered, zero).otherwise(score)
    return table.withColumns(columns)


def _by_policy(
    value: Column,
    without: Column,
    nothing: Column,
    missing: Column,
    convention: Convention,
    key: Sequence[str],
) -> Column:
    """The score of a query; `nothing` is the score of a query `without` relevant documents, unless
    it is left out.
    """
    left_out = F.lit(None).cast("double")
    without_score = {"skip": left_out, "error": refusal(NO_RELEVANT, key)}.get(
        convention.no_relevant, nothing
    )
    score = F.when(without, without_score).otherwise(value)
    if convention.missing_query == "zero":
        return score
    unanswered = left_out if convention.missing_query == "skip" else refusal(MISSING_QUERY, key)
    return F.when(missing, unanswered).otherwise(score)


def _at_cutoff(cutoff: Cutoff, measures: MeasureSet) -> Column:
    """The scores at one cutoff, 0 for the whole ranking; the fields are the same at all, as
    `F.array` requires.
    """
    judged, dcg, ideal_dcg, cg = (
        column_at(score, cutoff) for score in ("judged", "dcg", "ideal_dcg", "cg")
    )
    computed = {name for name in measures.beside_ndcg if cutoff in measures.cutoffs_for(name)}
    columns = {column for name in computed for column in measures.beside_ndcg[name].values}
    values = {
        name: f"coalesce({column_at(name, cutoff)}, {_NOTHING})" if name in columns else _NOTHING
        for name in COLUMNS
    }
    beside = (
        "".join(f", {value} as {name}" for name, value in values.items())
        if measures.columns
        else ""
    )
    known, weight = column_at("judged_discount", cutoff), column_at("discount", cutoff)
    share = f"coalesce({known} / nullif({weight}, 0D), {_NOTHING})"
    return F.expr(
        f"struct({cutoff or 0} as cutoff, "
        f"least(coalesce(returned, 0L), {cutoff or 2**62}L) as returned, "
        f"coalesce({judged}, 0L) as judged, coalesce({dcg}, 0D) as dcg, "
        f"coalesce({ideal_dcg}, 0D) as ideal_dcg, "
        f"coalesce({cg}, 0D) as cg, {share} as judged_discount_share{beside})"
    )


@dataclasses.dataclass(frozen=True)
class Slices:
    """The slices of a table QUERY_ATTRIBUTES, and which queries are in them; only _ALL without such
    a table.
    """

    #: The attribute and the value of each slice; those of _ALL are null.
    names: pa.Table | None = None
    #: One row per query with an attribute: slices, the numbers of all that it is in.
    table: DataFrame | None = None

    def cut(self, table: DataFrame) -> DataFrame:
        """Each row of the table once for every slice of its query, with the column slice."""
        if self.table is None or self.names is None:
            return table.withColumn("slice", F.lit(_ALL))
        nothing = F.array(
            *(
                F.lit(row["slice"])
                for row in self.names.to_pylist()
                if row["value"] in (None, NO_VALUE)
            )
        )
        joined = self.table.join(table, on=query_key(self.table.columns), how="right")
        return joined.select(
            *table.columns, F.explode(F.coalesce("slices", nothing)).alias("slice")
        )

    def named(self, table: DataFrame) -> DataFrame:
        if self.names is None:
            nothing = F.lit(None).cast("string")
            return table.withColumns({"attribute": nothing, "value": nothing}).drop("slice")
        names = F.broadcast(table.sparkSession.createDataFrame(self.names))
        return names.join(table, on=["slice"], how="inner").drop("slice")


def make_slices(rows: pa.Table, as_dataframe: Callable[[pa.Table], DataFrame]) -> Slices:
    key, attributes = query_key(rows.column_names), rows["attribute"].unique().to_pylist()
    if not attributes:
        return Slices()
    queries = rows.group_by(key).aggregate([])
    for name in attributes:
        has = rows.filter(pc.equal(rows["attribute"], name)).select(key)
        lacking = queries.join(has, keys=key, join_type="left anti")
        nothing = {"attribute": name, "value": NO_VALUE}
        for column, value in nothing.items():
            lacking = lacking.append_column(column, pa.repeat(value, len(lacking)))
        rows = pa.concat_tables([rows, lacking])
    pairs = rows.group_by(["attribute", "value"]).aggregate([]).to_pylist()
    # The slice exists even if no row lacks a value, because queries without a value may have no row
    # at all.
    known = {(row["attribute"], row["value"]) for row in pairs} | {
        (name, NO_VALUE) for name in attributes
    }
    columns = dict(
        zip(("attribute", "value"), zip((None, None), *sorted(known), strict=True), strict=True)
    )
    names = pa.table({"slice": pa.array(range(_ALL, _ALL + 1 + len(known)), pa.int32()), **columns})
    numbered = rows.join(names, keys=["attribute", "value"], join_type="inner").select(
        [*key, "slice"]
    )
    everything = queries.append_column(
        "slice", pa.repeat(pa.scalar(_ALL, pa.int32()), len(queries))
    )
    numbers = pa.concat_tables([everything, numbered]).group_by(key).aggregate([("slice", "list")])
    return Slices(names, as_dataframe(numbers.rename_columns([*key, "slices"])))


def means(
    query_scores: DataFrame, measures: MeasureSet = NDCG_ONLY, slices: Slices | None = None
) -> DataFrame:
    """One row per dataset, date, run, cutoff and slice, in no order, with the columns of
    DATASET_SCORES.

    A slice has no row in a dataset without such a query. ndcg, dcg and ndcg_pooled are of the
    `queries` whose ndcg is not null, judged_rate is of all.
    """
    slices = slices or Slices()
    counted = F.col("ndcg").isNotNull()
    ideal = F.sum(F.when(counted, F.col("ideal_dcg")))
    deviation = F.stddev_samp("ndcg")
    # Negative gains can make scores whose squares are not finite.
    deviation = F.when(_is_finite(deviation), deviation)
    averaged = (
        slices.cut(query_scores)
        .groupBy("dataset", "evaluated_on", "run", "cutoff", "slice")
        .agg(
            F.count("ndcg").alias("queries"),
            F.count_if(F.col("status") == "missing").alias("missing_queries"),
            F.count_if(F.col("status") == "no_relevant").alias("no_relevant_queries"),
            F.avg("ndcg").alias("ndcg"),
            _ratio(F.sum(F.when(counted, F.col("dcg"))), ideal).alias("ndcg_pooled"),
            deviation.alias("ndcg_stddev"),
            _ratio(deviation, F.sqrt(F.count("ndcg"))).alias("ndcg_stderr"),
            F.avg(F.when(counted, F.col("dcg"))).alias("dcg"),
            _ratio(F.sum("judged"), F.sum("returned")).alias("judged_rate"),
            *_means_of_measures(measures),
        )
    )
    return slices.named(averaged)


def _means_of_measures(measures: MeasureSet) -> list[Column]:
    if not measures.beside_ndcg:
        null = F.lit(None)
        return [
            null.cast("bigint").alias("relevant_queries"),
            null.cast("bigint").alias("listed_queries"),
            *(null.cast("double").alias(name) for name in COLUMNS),
        ]
    of_catalog = [name for name in measures.beside_ndcg if name not in measures.of_judgments]
    return [
        _largest_count(measures, list(measures.of_judgments)).alias("relevant_queries"),
        _largest_count(measures, of_catalog).alias("listed_queries"),
        *(F.avg(name).alias(name) for name in COLUMNS),
    ]


def _largest_count(measures: MeasureSet, names: list[str]) -> Column:
    """How many queries have one of these measures, which leave out the same ones; else null."""
    counts = [F.count(measures.beside_ndcg[name].column) for name in names]
    if not counts:
        return F.lit(None).cast("bigint")
    largest = F.greatest(*counts) if len(counts) > 1 else counts[0]
    is_computed = _is_computed(measures, names, F.coalesce("cutoff", F.lit(0)))
    return F.when(is_computed, largest)


def _is_computed(measures: MeasureSet, names: Iterable[str], at: Column) -> Column:
    """Whether one of these measures is computed at a cutoff, which is 0 for the whole ranking."""
    return at.isin(*(cutoff or 0 for cutoff in measures.cutoffs_for(*names)))


def with_every_run(
    scores: DataFrame, runs: DataFrame, cutoffs: list[int | None], measures: MeasureSet = NDCG_ONLY
) -> DataFrame:
    """The scores with a row for every run and cutoff, of 0 queries where none is judged, and
    unjudged_queries.
    """
    # The cutoff of the whole ranking is null, which joins do not match, so it is 0 here.
    expected = runs.withColumn(
        "at", F.explode(F.array(*(F.lit(cutoff or 0) for cutoff in cutoffs)))
    )
    scored = scores.withColumn("at", F.coalesce("cutoff", F.lit(0))).drop("cutoff")
    joined = expected.join(scored, on=["dataset", "evaluated_on", "run", "at"], how="left")
    none = F.lit(0).cast("bigint")
    counts = {
        name: F.coalesce(name, none)
        for name in ("queries", "missing_queries", "no_relevant_queries")
    }
    if measures.of_judgments:
        is_computed = _is_computed(measures, measures.of_judgments, F.col("at"))
        counts["relevant_queries"] = F.when(is_computed, F.coalesce("relevant_queries", none))
    counts["unjudged_queries"] = F.when(F.col("attribute").isNull(), F.col("unjudged_queries"))
    return joined.withColumns({"cutoff": F.nullif("at", F.lit(0)), **counts})


def _is_finite(number: Column) -> Column:
    return F.abs(number) < F.lit(float("inf"))


def _ratio(dividend: Column, divisor: Column) -> Column:
    """The quotient, null if the divisor is 0."""
    return F.when(divisor != 0, dividend / divisor)
