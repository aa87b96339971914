"""DuckDB as in `duckdb_sql`, after it has counted in both tables what our check counts: what checks cost it.

Rows, rows that break a rule, a fingerprint that does not depend on the order of rows, documents judged twice, lists
whose scores are all the same, and queries that nobody judged.
"""

import duckdb
import duckdb_sql


def scores(judgments: str, results: str, output: str, cutoff: int) -> float:
    """As `duckdb_sql.scores`, for tables that keep the rules; ValueError for others."""
    db = duckdb.connect(config={"preserve_insertion_order": False})
    db.execute(
        f"""
        CREATE TEMP TABLE judged AS
        SELECT query_id, count(*) AS rows, count_if({_broken("relevance", "query_id", "doc_id")}) AS bad,
               max(relevance) AS best, sum(hash(doc_id, relevance) >> 24) AS hashes,
               len(list_distinct(list(doc_id))) < count(*) AS twice
        FROM read_parquet('{judgments}/**/*.parquet') GROUP BY query_id
        """
    )
    of_judgments = db.execute(
        "SELECT sum(bad) + count_if(twice), sum(rows), max(best), sum(hash(query_id, rows, hashes) >> 24) FROM judged"
    ).fetchall()
    of_runs = db.execute(
        f"""
        SELECT sum(lists.bad), run, sum(lists.rows), count_if(least = most), count_if(judged.rows IS NULL),
               sum(hash(lists.query_id, lists.rows, lists.hashes) >> 24)
        FROM (
            SELECT run, query_id, count(*) AS rows, count_if({_broken("score", "run", "query_id", "doc_id")}) AS bad,
                   min(score) AS least, max(score) AS most, sum(hash(doc_id, score) >> 24) AS hashes
            FROM read_parquet('{results}/**/*.parquet') GROUP BY run, query_id
        ) AS lists LEFT JOIN judged ON lists.query_id = judged.query_id GROUP BY run
        """
    ).fetchall()
    if any(row[0] for row in [*of_judgments, *of_runs]):
        raise ValueError("a row breaks a rule, or a document is judged twice")
    return duckdb_sql.scores(judgments, results, output, cutoff)


def _broken(number: str, *names: str) -> str:
    """Whether a row has no name where it must have one, or no finite number."""
    without = (f"{name} IS NULL OR {name} = ''" for name in names)
    return f"{' OR '.join(without)} OR NOT coalesce(isfinite({number}), false)"
