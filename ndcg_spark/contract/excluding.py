"""Documents taken off the lists before these are ranked, such as what a recommender was trained on."""

import dataclasses

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import conforming, rules
from ndcg_spark.contract import counting, thresholds
from ndcg_spark.contract.checked import Checked
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import EXCLUDE


def without_excluded(checked: Checked, excluded: Source, judged_queries: DataFrame) -> Checked:
    """`checked` without the results whose query and document are in the table `excluded`; they are counted. An action.

    A run that has nothing left stays, and lacks all queries. InputError for a row without a query or a document.
    """
    _refuse_bad_rows(excluded)
    results = kept(checked.results, excluded)
    counted = checked.result_counts
    runs = counting.of_the_same_runs(counted.runs, counting.count_runs(results, judged_queries))
    gone = sum(run.rows for run in counted.runs) - sum(run.rows for run in runs)
    counts = dataclasses.replace(counted, runs=runs, excluded=gone)
    return dataclasses.replace(checked, results=results, result_counts=counts)


def kept(results: DataFrame, excluded: Source) -> DataFrame:
    """The results that are not in the table `excluded`."""
    table = conforming.conform(excluded.table, EXCLUDE, f"exclude ({excluded.place})")
    key = [name for name in EXCLUDE.names if name in table.columns and name in results.columns]
    return results.join(table.select(*key).distinct(), on=key, how="left_anti").select(*results.columns)


def _refuse_bad_rows(excluded: Source) -> None:
    conforming.conform(excluded.table, EXCLUDE, f"exclude ({excluded.place})")
    reason = rules.reason_of(rules.broken_names(dict(excluded.table.dtypes), EXCLUDE.names))
    rows = excluded.table.select(reason.alias("reason")).agg(F.count("*").alias("rows"), F.count("reason").alias("bad"))
    found = rows.collect()
    thresholds.refuse_lost_rows(excluded, found[0]["rows"])
    bad = found[0]["bad"]
    breaches = counting.breaches_of("exclude", excluded.table, reason) if bad else []
    thresholds.refuse_breaches("exclude", breaches, found[0]["rows"], excluded.place)
