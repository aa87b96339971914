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
    judgments = _with_refusals(tables.judgments, checks.judgments, JUDGMENTS)
    results = raise_in_results(tables.results, tables.exclude, checks.results)
    return RaisingTables(judgments, results, checks.results.may_have_two_runs)


def raise_in_results(
    results: UserTable, exclude: UserTable | None, checks: ListChecks
) -> DataFrame:
    """The results without the documents to remove, with a plan that raises if a row breaks a rule.

    Duplicate documents are found later, when the lists are ranked.
    """
    rows = _with_refusals(results, checks.tests, RESULTS)
    if exclude is None:
        return rows
    excluded = _with_refusals(exclude, checks.exclude_tests, EXCLUDE)
    return rows_without_keys(rows, excluded, checks.exclude_key)


def _with_refusals(table: UserTable, tests: Sequence[RowTest], schema: pa.Schema) -> DataFrame:
    """The table in the schema's types. Rows are tested first, so that messages show
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
        queries = _queries_of_single_runs(results, key)
    # Without a column of its own, Spark reuses the queries that `keep_judged_queries` joins.
    judged = judgments.selectExpr(*key).distinct().alias("judged")
    is_judged = " and ".join(f"judged.{name} = listed.{name}" for name in key)
    joined = judged.join(queries.alias("listed"), on=F.expr(is_judged), how="right")
    unjudged = {"unjudged_queries": count_where("judged.query_id is null")}
    by_run = [F.col(f"listed.{name}") for name in ("run", *key[:-1])]
    return joined.groupBy(*by_run).agg(*sql.aggregates(unjudged))


def _queries_of_single_runs(results: DataFrame, key: list[str]) -> DataFrame:
    """One row per run and query. The run raises if two results of rank 1 have different scores."""
    refused = refusal_sql(MERGED, ["run", *key], "string")
    run = f"case when is_merged then {refused} else run end as run"
    return _lists(results, key).selectExpr(run, *key)


def count_merged_lists(results: DataFrame) -> DataFrame:
    """One row per run: how many `lists` have several results, how many `merged_lists` have two
    results of rank 1 with different scores, and the `merged_query` of one of these.
    """
    key = query_key(results.columns)
    counts = {
        "lists": count_where("rows > 1"),
        "merged_lists": count_where("is_merged"),
        "merged_query": "min(case when is_merged then query_id end)",
    }
    return _lists(results, key).groupBy("run", *key[:-1]).agg(*sql.aggregates(counts))


def _lists(results: DataFrame, key: list[str]) -> DataFrame:
    """One row per run and query: its number of `rows`, and whether it is probably made of the
    lists of two runs (`is_merged`), because two results of rank 1 have different scores.
    """
    first_score = "case when rank = 1 then score end"
    counts = {
        "lowest": f"min({first_score})",
        "highest": f"max({first_score})",
        "firsts": f"count({first_score})",
        "rows": "count(*)",
    }
    lists = results.groupBy("run", *key).agg(*sql.aggregates(counts))
    # Ranks that are all 1 are not ranks.
    is_merged = "coalesce(lowest < highest, false) and firsts < rows as is_merged"
    return lists.selectExpr("run", *key, "rows", is_merged)
