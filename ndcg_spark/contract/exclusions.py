"""Documents that are removed from the lists before these are ranked, such as what a recommender was trained on."""

import dataclasses

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import casting, rules
from ndcg_spark.contract import limits, scan
from ndcg_spark.contract.checked_tables import CheckedTables
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import EXCLUDE


def without_excluded(tables: CheckedTables, exclude: Source) -> CheckedTables:
    """The tables without the results whose query and document are in the table `exclude`; they are counted.

    Runs two Spark jobs. InputError for a row without a query or a document, or if no result of a judged query is left.
    """
    refuse_bad_rows(exclude)
    results = remove_excluded(tables.results, exclude)
    runs = scan.count_runs(results, tables.judged_queries, tables.batches)
    remaining = dataclasses.replace(tables, results=results).with_runs(runs)
    rows = [sum(run.rows for run in each.result_counts.runs) for each in (tables, remaining)]
    if not any(run.judged_queries for run in runs):
        raise InputError(
            f"exclude: no result of a judged query is left, {rows[0] - rows[1]:,} of {rows[0]:,} results are excluded, "
            f"e.g. of run={tables.result_counts.runs[0].run}; check what {exclude.place} contains"
        )
    counts = dataclasses.replace(remaining.result_counts, excluded=rows[0] - rows[1])
    return dataclasses.replace(remaining, result_counts=counts)


def remove_excluded(results: DataFrame, exclude: Source) -> DataFrame:
    """The results that are not in the table `exclude`."""
    table = _typed(exclude)
    key = [name for name in EXCLUDE.names if name in table.columns and name in results.columns]
    return results.join(table.select(*key).distinct(), on=key, how="left_anti").select(*results.columns)


def _typed(exclude: Source) -> DataFrame:
    return casting.conform(exclude.table, EXCLUDE, f"exclude ({exclude.place})")


def refuse_bad_rows(exclude: Source) -> None:
    """InputError for a row without a query or a document."""
    _typed(exclude)
    reason = rules.reason_of(rules.broken_names(dict(exclude.table.dtypes), EXCLUDE.names))
    reasons = exclude.table.select(reason.alias("reason"))
    ((rows, bad),) = reasons.agg(F.count("*"), F.count("reason")).collect()
    limits.refuse_lost_rows(exclude, rows)
    breaches = scan.breaches_of("exclude", exclude.table, reason) if bad else []
    limits.refuse_breaches("exclude", breaches, rows, exclude.place)
