"""The means of query scores over the queries of a dataset, and over slices of them."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.measures import COLUMNS, NDCG_ONLY, MeasureSet
from ndcg_spark.slices import Slices

_KEY = ["dataset", "evaluated_on", "run", "cutoff"]
#: All queries, and no slice of them.
ALL_QUERIES = Slices()


def means(query_scores: DataFrame, measures: MeasureSet = NDCG_ONLY, slices: Slices = ALL_QUERIES) -> DataFrame:
    """One row per dataset, date, run, cutoff and slice, in no order: mean and pooled NDCG, and counts of the queries.

    A slice is an `attribute` and a `value`, null for all queries; it has no row in a dataset without such a query.
    `queries` counts the queries whose ndcg is not null. ndcg and dcg are means over these, ndcg_pooled is the sum of
    their dcg over the sum of their ideal_dcg, ndcg_stddev is the sample standard deviation and ndcg_stderr the standard
    error of ndcg (both null for one query); all are null without such queries. judged_rate is over all queries, null if
    nothing was returned. The measures besides NDCG are means over `relevant_queries` queries; these are null at cutoffs
    where none of them is computed.
    """
    counted = F.col("ndcg").isNotNull()
    ideal = F.sum(F.when(counted, F.col("ideal_dcg")))
    deviation = F.stddev_samp("ndcg")
    averaged = (
        slices.cut(query_scores)
        .groupBy(*_KEY, "slice")
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
            *_of_measures(measures),
        )
    )
    return slices.named(averaged)


def _of_measures(measures: MeasureSet) -> list[Column]:
    """The means of the measures besides NDCG, and how many queries they cover."""
    if not measures.beside_ndcg:
        nothing = [F.lit(None).cast("double").alias(name) for name in COLUMNS]
        return [F.lit(None).cast("bigint").alias("relevant_queries"), *nothing]
    # All computed measures leave out the same queries, so they have one count, the largest.
    counts = [F.count(measure.column) for measure in measures.beside_ndcg.values()]
    most = F.greatest(*counts) if len(counts) > 1 else counts[0]
    is_computed = _is_computed(measures, F.coalesce("cutoff", F.lit(0)))
    return [F.when(is_computed, most).alias("relevant_queries"), *(F.avg(name).alias(name) for name in COLUMNS)]


def _is_computed(measures: MeasureSet, at: Column) -> Column:
    """Whether a measure besides NDCG is computed at a cutoff, which is 0 for the whole ranking."""
    return at.isin(*(cutoff or 0 for cutoff in measures.cutoffs_of(*measures.beside_ndcg)))


def with_every_run(
    scores: DataFrame, runs: DataFrame, cutoffs: list[int | None], measures: MeasureSet = NDCG_ONLY
) -> DataFrame:
    """The scores with a row of all queries for every run of `runs` and every cutoff, and the column unjudged_queries.

    `runs` has the columns dataset, evaluated_on, run and unjudged_queries. If none of a run's queries is judged, its
    counts are 0 and its scores null. An unjudged query is in no slice, so that their count is null there.
    """
    # The cutoff of the whole ranking is null, which joins do not match, so it is 0 here.
    expected = runs.withColumn("at", F.explode(F.array(*(F.lit(cutoff or 0) for cutoff in cutoffs))))
    scored = scores.withColumn("at", F.coalesce("cutoff", F.lit(0))).drop("cutoff")
    joined = expected.join(scored, on=["dataset", "evaluated_on", "run", "at"], how="left")
    none = F.lit(0).cast("bigint")
    counts = {name: F.coalesce(name, none) for name in ("queries", "missing_queries", "no_relevant_queries")}
    if measures.beside_ndcg:
        counts["relevant_queries"] = F.when(_is_computed(measures, F.col("at")), F.coalesce("relevant_queries", none))
    counts["unjudged_queries"] = F.when(F.col("attribute").isNull(), F.col("unjudged_queries"))
    return joined.withColumns({"cutoff": F.nullif("at", F.lit(0)), **counts})


def _ratio(part: Column, whole: Column) -> Column:
    """The quotient, null if the divisor is 0."""
    return F.when(whole != 0, part / whole)
