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
    if "dataset" in query_key:
        pairs = runs.join(queries, on=["dataset"], how="inner")
    else:
        pairs = runs.crossJoin(queries)
    # After the join, because lists of unjudged queries are never refused.
    joined = pairs.join(scores, on=run_key, how="left")
    table = lists.refuse_returned_twice(joined, run_key, convention, cutoffs)
    if measures.beside_ndcg:
        table = _with_measures(table, run_key, convention, measures)
    kept = [*run_key, "judgments_hash"]
    answered = f"{lists.DISTINCT} is not null as answered"
    at_cutoffs = ", ".join(_at_cutoff(k, measures) for k in cutoffs)
    exploded = table.selectExpr(*kept, answered, f"explode(array({at_cutoffs})) as at")
    long = exploded.selectExpr(*kept, "answered", "at.*")
    columns = {
        "cutoff": "nullif(cutoff, 0)",
        "status": _status(convention),
        "ndcg": _ndcg(convention, [*run_key, "cutoff"]),
        "judged_discount_share": _null_if_nothing("judged_discount_share"),
    }
    for name in measures.columns:
        columns[name] = _null_if_nothing(name)
    return long.selectExpr(
        *kept, "returned", "judged", "dcg", "ideal_dcg", "cg", *sql.named(columns)
    )


def _null_if_nothing(name: str) -> str:
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
    return _by_policy(
        ndcg,
        convention,
        key,
        is_missing=_MISSING,
        is_without_gain=_has_no_gain(convention),
        value_without_gain=_without_gain(convention),
    )


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
    is_missing = "returned is null"
    is_without_gain = f"{beside_ndcg.RELEVANT} = 0"
    columns = {}
    for name, value, measure in beside_ndcg.measure_values(convention, measures):
        if measure.of == "list":
            # Null without a list, whatever the convention says about judgments.
            columns[name] = value
            continue
        computed = f"coalesce({value}, 0D)"
        score = _by_policy(
            computed,
            convention,
            key,
            is_missing=is_missing,
            is_without_gain=is_without_gain,
            value_without_gain=_without_gain(convention) if measure.is_ratio else computed,
        )
        if convention.missing_query == "zero":
            score = f"case when {is_missing} and not {is_without_gain} then 0D else {score} end"
        columns[name] = score
    return table.withColumns(sql.columns(columns))


def _without_gain(convention: Convention) -> str:
    """The score of a query without gain, if it is not left out."""
    score = _WITHOUT_GAIN.get(convention.no_relevant)
    return sql.null("double") if score is None else sql.number(score)


def _by_policy(
    value: str,
    convention: Convention,
    key: Sequence[str],
    *,
    is_missing: str,
    is_without_gain: str,
    value_without_gain: str,
) -> str:
    """A query's score by the convention's policies.

    `value_without_gain` applies if the policy neither leaves such a query out nor refuses it.
    """
    left_out = sql.null("double")
    if convention.no_relevant == "skip":
        value_without_gain = left_out
    elif convention.no_relevant == "error":
        value_without_gain = refusal_sql(NO_RELEVANT, key)
    score = f"case when {is_without_gain} then {value_without_gain} else {value} end"
    if convention.missing_query == "zero":
        return score
    unanswered = left_out
    if convention.missing_query != "skip":
        unanswered = refusal_sql(MISSING_QUERY, key)
    return f"case when {is_missing} then {unanswered} else {score} end"


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
        without_attributes = []
        for row in self.names.to_pylist():
            if row["value"] in (None, NO_VALUE):
                without_attributes.append(F.lit(row["slice"]))
        joined = self.table.join(table, on=query_key(self.table.columns), how="right")
        slices = F.coalesce("slices", F.array(*without_attributes))
        return joined.select(*table.columns, F.explode(slices).alias("slice"))

    def with_names(self, table: DataFrame) -> DataFrame:
        """The table with the columns attribute and value instead of slice."""
        if self.table is None or self.names is None:
            nothing = sql.null("string")
            return table.selectExpr("*", *sql.named({"attribute": nothing, "value": nothing}))
        names = F.broadcast(table.sparkSession.createDataFrame(self.names))
        return names.join(table, on=["slice"], how="inner").drop("slice")


def make_slices(rows: pa.Table, as_dataframe: Callable[[pa.Table], DataFrame]) -> Slices:
    """The slices of rows of QUERY_ATTRIBUTES."""
    if not rows.num_rows:
        return Slices()
    key = query_key(rows.column_names)
    queries = rows.group_by(key).aggregate([])
    names = _numbered_names(rows)
    complete = _with_no_values(rows, queries)
    numbered = complete.join(names, keys=["attribute", "value"], join_type="inner")
    in_all = queries.append_column("slice", pa.repeat(pa.scalar(_ALL, pa.int32()), len(queries)))
    pairs = pa.concat_tables([in_all, numbered.select([*key, "slice"])])
    slices = pairs.group_by(key).aggregate([("slice", "list")])
    return Slices(names, as_dataframe(slices.rename_columns([*key, "slices"])))


def _numbered_names(rows: pa.Table) -> pa.Table:
    """The attribute and the value of each slice, with its number."""
    known = set()
    for row in rows.group_by(["attribute", "value"]).aggregate([]).to_pylist():
        known.add((row["attribute"], row["value"]))
        # This slice exists even if no row lacks a value, because queries without a value may have
        # no row.
        known.add((row["attribute"], NO_VALUE))
    names = [{"slice": _ALL, "attribute": None, "value": None}]
    for number, (attribute, value) in enumerate(sorted(known), _ALL + 1):
        names.append({"slice": number, "attribute": attribute, "value": value})
    types = {"slice": pa.int32(), "attribute": pa.string(), "value": pa.string()}
    return pa.Table.from_pylist(names, pa.schema(types))


def _with_no_values(rows: pa.Table, queries: pa.Table) -> pa.Table:
    """The rows, and a row with NO_VALUE for each query that lacks an attribute."""
    key = queries.column_names
    parts = [rows]
    for attribute in rows["attribute"].unique().to_pylist():
        with_value = rows.filter(pc.equal(rows["attribute"], attribute)).select(key)
        lacking = queries.join(with_value, keys=key, join_type="left anti")
        lacking = lacking.append_column("attribute", pa.repeat(attribute, len(lacking)))
        parts.append(lacking.append_column("value", pa.repeat(NO_VALUE, len(lacking))))
    return pa.concat_tables(parts)


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
    return slices.with_names(rows.groupBy(*key).agg(*sql.aggregates(columns)))


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
    # If the scores were broadcast, their errors would be a Py4JJavaError in sessions without AQE.
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
