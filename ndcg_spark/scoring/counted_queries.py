"""Scores for every pair of a run and a judged query, and their means.

This module decides which queries count.

Means are computed over all queries and over slices. A slice contains the queries with one value of
an attribute, such as all queries in German. A query may be in several slices. Slices are numbered;
a query without a value of an attribute is in the attribute's slice `(none)`.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import NDCG_ONLY, Cutoff, MeasureSet, column_at
from ndcg_spark.convention.refused_queries import MISSING_QUERY, NO_RELEVANT, NOT_FINITE
from ndcg_spark.schemas import NO_VALUE, query_key
from ndcg_spark.scoring import lists
from ndcg_spark.scoring import measure_columns as beside_ndcg
from ndcg_spark.scoring.ranking import count_where, sum_where
from ndcg_spark.scoring.refusals import refusal_sql

#: Represents null in the structs of `_at_cutoff`, because on the embedded engine either all or none
#: of their fields may be nullable. No measure has this value. It is short because plans repeat it
#: for every measure and cutoff.
_NOTHING = "-1e9D"
#: The score of a query without gain, by the option `no_relevant`.
_WITHOUT_GAIN = {"zero": 0.0, "one": 1.0}
#: Whether the run has no results for the query.
_MISSING = "not answered"
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
    """The columns of QUERY_SCORES, except those of measures that are not computed.

    There is one row per run, judged query and cutoff, whether or not the run answered the query.
    """
    run_key = ["run", *query_key]
    pairs = (
        runs.join(queries, on=["dataset"], how="inner")
        if "dataset" in query_key
        else runs.crossJoin(queries)
    )
    # After the join, because lists of unjudged queries are never refused.
    joined = pairs.join(scores, on=run_key, how="left")
    table = lists.refuse_returned_twice(joined, run_key, convention, cutoffs)
    if measures.beside_ndcg:
        table = _with_measures(table, run_key, convention, measures)
    at = ", ".join(_at_cutoff(k, measures) for k in cutoffs)
    kept = [*run_key, "judgments_hash"]
    long = table.selectExpr(
        *kept,
        f"{lists.DISTINCT} is not null as answered",
        f"explode(array({at})) as at",
    ).selectExpr(*kept, "answered", "at.*")
    columns = {
        "cutoff": "nullif(cutoff, 0)",
        "status": _status(convention),
        "ndcg": _ndcg(convention, [*run_key, "cutoff"]),
        "judged_discount_share": _given("judged_discount_share"),
    }
    for name in measures.columns:
        columns[name] = _given(name)
    return long.selectExpr(
        *kept, "returned", "judged", "dcg", "ideal_dcg", "cg", *sql.named(columns)
    )


def _given(name: str) -> str:
    """A column of the structs of `_at_cutoff`, with _NOTHING replaced by null."""
    return f"nullif({name}, {_NOTHING})"


def _ndcg(convention: Convention, key: Sequence[str]) -> str:
    # The quotient of two finite numbers may be infinite.
    quotient = sql.ratio("dcg", "ideal_dcg")
    finite = [
        f"abs(dcg) + abs(ideal_dcg) < {sql.INFINITY}",
        f"coalesce({sql.is_finite(quotient)}, true)",
    ]
    refused = refusal_sql(NOT_FINITE, key)
    ndcg = f"case when {sql.conjunction(finite)} then {quotient} else {refused} end"
    nothing = _without_gain(convention)
    return _by_policy(ndcg, _has_no_gain(convention), nothing, _MISSING, convention, key)


def _has_no_gain(convention: Convention) -> str:
    # If negative grades are kept, an ideal DCG can be negative. CatBoost, which scores a query
    # without gain as 1, also scores such a query as 1. Tools that skip a query without gain, or
    # score it as 0, divide by the negative number.
    return "ideal_dcg <= 0" if convention.no_relevant == "one" else "ideal_dcg = 0"


def _status(convention: Convention) -> str:
    nothing_relevant = _has_no_gain(convention)
    if convention.ideal not in ("judged", "k_relevant"):
        # An ideal computed from the returned documents is 0 for a missing query, even if the query
        # has relevant documents.
        nothing_relevant = f"answered and {nothing_relevant}"
    cases = [
        f"when {_MISSING} then 'missing'",
        f"when {nothing_relevant} then 'no_relevant'",
    ]
    if convention.missing_query == "zero":
        cases.reverse()
    return f"case {' '.join(cases)} else 'scored' end"


def _with_measures(
    table: DataFrame, key: Sequence[str], convention: Convention, measures: MeasureSet
) -> DataFrame:
    """The table with every measure at every cutoff.

    If a query is left out, all its measures that need judgments are null.
    """
    # `returned` is null for a missing query, and raises for a list with a document twice.
    missing, without = "returned is null", f"{beside_ndcg.RELEVANT} = 0"
    columns = {}
    for name, value, measure in beside_ndcg.measure_values(convention, measures):
        if measure.of == "list":
            # Null without a list, whatever the convention says about judgments.
            columns[name] = value
            continue
        computed = f"coalesce({value}, 0D)"
        nothing = _without_gain(convention) if measure.is_ratio else computed
        score = _by_policy(computed, without, nothing, missing, convention, key)
        if convention.missing_query == "zero":
            score = f"case when {missing} and not {without} then 0D else {score} end"
        columns[name] = score
    return table.withColumns(sql.columns(columns))


def _without_gain(convention: Convention) -> str:
    """The score of a query without gain, if it is not left out."""
    score = _WITHOUT_GAIN.get(convention.no_relevant)
    return sql.null("double") if score is None else sql.number(score)


def _by_policy(
    value: str,
    without: str,
    nothing: str,
    missing: str,
    convention: Convention,
    key: Sequence[str],
) -> str:
    """A query's score by the convention's policies.

    `nothing` is the score of a query `without` relevant documents, unless the query is left out.
    """
    left_out = sql.null("double")
    if convention.no_relevant == "skip":
        nothing = left_out
    elif convention.no_relevant == "error":
        nothing = refusal_sql(NO_RELEVANT, key)
    score = f"case when {without} then {nothing} else {value} end"
    if convention.missing_query == "zero":
        return score
    unanswered = left_out
    if convention.missing_query != "skip":
        unanswered = refusal_sql(MISSING_QUERY, key)
    return f"case when {missing} then {unanswered} else {score} end"


def _at_cutoff(cutoff: Cutoff, measures: MeasureSet) -> str:
    """The scores at one cutoff, which is 0 for the whole ranking.

    The fields are the same at every cutoff, because an array requires it.
    """
    judged, dcg, ideal_dcg, cg = (
        column_at(score, cutoff) for score in ("judged", "dcg", "ideal_dcg", "cg")
    )
    known, weight = column_at("judged_discount", cutoff), column_at("discount", cutoff)
    values = {
        "cutoff": str(cutoff or 0),
        "returned": f"least(coalesce(returned, 0L), {cutoff or 2**62}L)",
        "judged": f"coalesce({judged}, 0L)",
        "dcg": f"coalesce({dcg}, 0D)",
        "ideal_dcg": f"coalesce({ideal_dcg}, 0D)",
        "cg": f"coalesce({cg}, 0D)",
        "judged_discount_share": f"coalesce({known} / nullif({weight}, 0D), {_NOTHING})",
    }
    for name, measure in measures.beside_ndcg.items():
        is_computed = cutoff in measures.cutoffs_for(name)
        for column in measure.values:
            score = f"coalesce({column_at(column, cutoff)}, {_NOTHING})"
            values[column] = score if is_computed else _NOTHING
    return f"struct({', '.join(sql.named(values))})"


@dataclasses.dataclass(frozen=True)
class Slices:
    """The slices of a QUERY_ATTRIBUTES table and their queries; only _ALL without such a table."""

    #: The attribute and the value of each slice; both are null for _ALL.
    names: pa.Table | None = None
    #: One row per query with an attribute; `slices` has the numbers of all its slices.
    table: DataFrame | None = None

    def cut(self, table: DataFrame) -> DataFrame:
        """The table with each row repeated for every slice of its query, in the column slice.

        Without slices, the table is unchanged.
        """
        if self.table is None or self.names is None:
            return table
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
        """The table with the columns attribute and value instead of slice."""
        if self.table is None or self.names is None:
            nothing = sql.null("string")
            return table.selectExpr("*", *sql.named({"attribute": nothing, "value": nothing}))
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
    # The slice `(none)` exists even if no row lacks a value, because queries without a value may
    # have no row.
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
    """One row per dataset, date, run, cutoff and slice, in no particular order.

    It has the columns of DATASET_SCORES, except those of measures that are not computed. `at`
    replaces the cutoff; it is 0 for the whole ranking.

    A slice has no row in a dataset without its queries. ndcg, dcg and ndcg_pooled are computed over
    the `queries` whose ndcg is not null, and judged_rate over all queries.
    """
    slices = slices or Slices()
    key = ["dataset", "evaluated_on", "run", "at"]
    if slices.table is not None:
        key.append("slice")
    rows = slices.cut(query_scores).withColumn("at", F.expr("coalesce(cutoff, 0)"))
    columns = {**_means_of_ndcg(), **_means_of_measures(measures)}
    return slices.named(rows.groupBy(*key).agg(*sql.aggregates(columns)))


def _means_of_ndcg() -> dict[str, str]:
    counted = "ndcg is not null"
    dcg, ideal_dcg = sum_where(counted, "dcg"), sum_where(counted, "ideal_dcg")
    # Negative gains can cause scores whose squares are not finite.
    finite = sql.is_finite("stddev_samp(ndcg)")
    deviation = f"case when {finite} then stddev_samp(ndcg) end"
    return {
        "queries": "count(ndcg)",
        "missing_queries": count_where("status = 'missing'"),
        "no_relevant_queries": count_where("status = 'no_relevant'"),
        "ndcg": "avg(ndcg)",
        "ndcg_pooled": sql.ratio(dcg, ideal_dcg),
        "ndcg_stddev": deviation,
        "ndcg_stderr": sql.ratio(deviation, "sqrt(count(ndcg))"),
        "dcg": f"avg(case when {counted} then dcg end)",
        "judged_rate": sql.ratio("sum(judged)", "sum(returned)"),
    }


def _means_of_measures(measures: MeasureSet) -> dict[str, str]:
    if not measures.beside_ndcg:
        return {}
    means = {}
    if measures.of_judgments:
        means["relevant_queries"] = _largest_count(measures, measures.of_judgments)
    of_lists = [name for name in measures.beside_ndcg if name not in measures.of_judgments]
    if of_lists:
        means["listed_queries"] = _largest_count(measures, of_lists)
    for name in measures.columns:
        means[name] = f"avg({name})"
    return means


def _largest_count(measures: MeasureSet, names: Iterable[str]) -> str:
    """How many queries have a value for these measures, which all leave out the same queries."""
    counts = [f"count({measures.beside_ndcg[name].column})" for name in names]
    largest = f"array_max(array({', '.join(counts)}))"
    return f"case when {_is_computed(measures, names)} then {largest} end"


def _is_computed(measures: MeasureSet, names: Iterable[str]) -> str:
    """Whether any of these measures is computed at a cutoff, in SQL."""
    cutoffs = [str(cutoff or 0) for cutoff in measures.cutoffs_for(*names)]
    return f"at in ({', '.join(cutoffs)})"


def with_every_run(
    scores: DataFrame, runs: DataFrame, cutoffs: list[int | None], measures: MeasureSet = NDCG_ONLY
) -> DataFrame:
    """The means with unjudged_queries and a row for every run and cutoff.

    A run without judged queries has rows with 0 queries.
    """
    # The cutoff of the whole ranking is null. Joins do not match nulls, so it is 0 here.
    at = ", ".join(str(cutoff or 0) for cutoff in cutoffs)
    expected = runs.withColumn("at", F.expr(f"explode(array({at}))"))
    joined = expected.join(scores, on=["dataset", "evaluated_on", "run", "at"], how="left")
    columns = {
        "cutoff": "nullif(at, 0)",
        "unjudged_queries": "case when attribute is null then unjudged_queries end",
    }
    for name in ("queries", "missing_queries", "no_relevant_queries"):
        columns[name] = f"coalesce({name}, 0L)"
    if measures.of_judgments:
        is_computed = _is_computed(measures, measures.of_judgments)
        columns["relevant_queries"] = (
            f"case when {is_computed} then coalesce(relevant_queries, 0L) end"
        )
    return joined.withColumns(sql.columns(columns))
