"""The guard for lazy tables: a plan raises when it computes a row or a list that breaks a rule."""

import dataclasses
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import rules, sql
from ndcg_spark.convention.refused_queries import MERGED
from ndcg_spark.errors import about
from ndcg_spark.rules import RowTest
from ndcg_spark.schemas import EXCLUDE, JUDGMENTS, RESULTS, query_key
from ndcg_spark.scoring.lists import keep_judged_queries, rows_without_keys
from ndcg_spark.scoring.prepare import Checks, ListChecks, ListsToScore, Tables, UserTable
from ndcg_spark.scoring.ranking import Ranker, count_where
from ndcg_spark.scoring.refusals import refusal_sql, refuse_rows


@dataclasses.dataclass(frozen=True)
class RaisingTables:
    """Lazy tables whose plan raises at invalid rows."""

    judgments: DataFrame
    results: DataFrame
    #: Whether a list with two results of rank 1 is refused.
    may_have_two_runs: bool
    #: Unknown until the scores are computed.
    highest_grade: None = None

    def to_score(self, _rank: Ranker) -> list[ListsToScore]:
        runs = count_unjudged_queries(self.judgments, self.results, self.may_have_two_runs)
        return [ListsToScore(keep_judged_queries(self.results, self.judgments), runs)]


def raise_in_plan(tables: Tables, checks: Checks) -> RaisingTables:
    """The tables, with a plan that raises if a row breaks a rule."""
    judgments = _refused(tables.judgments, checks.judgments, JUDGMENTS)
    results = _good_results(tables.results, tables.exclude, checks.results)
    return RaisingTables(judgments, results, checks.results.may_have_two_runs)


def raise_in_lists(results: UserTable, exclude: UserTable | None, checks: ListChecks) -> DataFrame:
    """Results without judgments, with a plan that raises if a row breaks a rule.

    The plan also raises for a list with two results of rank 1 if the check is on, because a lazy
    table cannot warn. Duplicate documents are found when the lists are ranked.
    """
    rows = _good_results(results, exclude, checks)
    list_key = ["run", *query_key(rows.columns)]
    if not checks.may_have_two_runs:
        return rows
    top = "case when rank = 1 then score end"
    values = (f"min({top})", f"max({top})", f"count({top})", "count(1)")
    lowest, highest, tops, all_rows = (sql.over(value, list_key) for value in values)
    is_merged = f"{lowest} < {highest} and {tops} < {all_rows}"
    refused = refusal_sql(MERGED, list_key, "string")
    return rows.withColumn("run", F.expr(f"case when {is_merged} then {refused} else run end"))


def _good_results(results: UserTable, exclude: UserTable | None, checks: ListChecks) -> DataFrame:
    """The results without the documents to remove."""
    rows = _refused(results, checks.tests, RESULTS)
    if exclude is None:
        return rows
    excluded = _refused(exclude, checks.exclude_tests, EXCLUDE)
    return rows_without_keys(rows, excluded, checks.exclude_key)


def _refused(table: UserTable, tests: Sequence[RowTest], schema: pa.Schema) -> DataFrame:
    """The table in the types of the schema. Rows are tested first, so that messages show
    them raw.
    """
    with about(table.name):
        return rules.conform(refuse_rows(table.table, tests, table.name), schema)


def count_unjudged_queries(
    judgments: DataFrame,
    results: DataFrame,
    may_have_two_runs: bool = False,
) -> DataFrame:
    """One row per run: unjudged_queries, and its dataset if the tables name datasets.

    With `may_have_two_runs`, the plan raises if a list has two results of rank 1 and different
    scores, because a lazy table cannot warn.
    """
    key = query_key(judgments.columns)
    queries = results.selectExpr("run", *key).distinct()
    if may_have_two_runs:
        queries = _single_runs(results, key)
    judged = judgments.selectExpr(*key).distinct().selectExpr("*", "true as judged")
    unjudged = {"unjudged_queries": count_where("judged is null")}
    joined = judged.join(queries, on=key, how="right")
    return joined.groupBy("run", *key[:-1]).agg(*sql.aggregates(unjudged))


def _single_runs(results: DataFrame, key: list[str]) -> DataFrame:
    """One row per run and query. The run raises if two results of rank 1 have different scores."""
    top = "case when rank = 1 then score end"
    counts = {
        "lowest": f"min({top})",
        "highest": f"max({top})",
        "tops": f"count({top})",
        "rows": "count(*)",
    }
    lists = results.groupBy("run", *key).agg(*sql.aggregates(counts))
    # Ranks that are all 1 are not ranks.
    is_merged = "lowest < highest and tops < rows"
    refused = refusal_sql(MERGED, ["run", *key], "string")
    return lists.selectExpr(f"case when {is_merged} then {refused} else run end as run", *key)
