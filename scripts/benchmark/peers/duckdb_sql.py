"""DuckDB: one SQL statement for the query scores, both tables written. The convention is `standard`.

The best documents of a list are an aggregate, `max(..., depth)`: a window took twice as long and twice the memory.
"""

import os

import duckdb
from peer import night


def scores(judgments: str, results: str, output: str, k: int) -> float:
    """Mean NDCG at cutoff k; query_scores and dataset_scores are written."""
    db = duckdb.connect(config={"threads": os.cpu_count() or 1, "preserve_insertion_order": False})
    db.execute(
        f"""
        CREATE TEMP TABLE query_scores AS
        WITH judged AS (
            SELECT query_id, doc_id, pow(2, relevance) - 1 AS gain FROM read_parquet('{judgments}/**/*.parquet')
        ), ideal AS (
            SELECT query_id, sum(gain / log2(place + 1)) FILTER (place <= {k}) AS ideal_dcg
            FROM (SELECT query_id, gain, row_number() OVER (PARTITION BY query_id ORDER BY gain DESC) AS place
                  FROM judged)
            GROUP BY query_id
        ), top AS (
            SELECT run, query_id, unnest(best).doc_id AS doc_id, generate_subscripts(best, 1) AS place
            FROM (SELECT run, query_id, max({{'score': score, 'doc_id': doc_id}}, {k}) AS best
                  FROM read_parquet('{results}/**/*.parquet') SEMI JOIN ideal USING (query_id)
                  GROUP BY run, query_id)
        ), found AS (
            SELECT run, query_id, count(*) AS returned, count(gain) AS judged, sum(gain / log2(place + 1)) AS dcg,
                   sum(gain) AS cg
            FROM top LEFT JOIN judged USING (query_id, doc_id)
            GROUP BY run, query_id
        ), pairs AS (
            SELECT run, ideal.query_id, found.query_id IS NULL AS missing, coalesce(returned, 0) AS returned,
                   coalesce(judged, 0) AS judged, coalesce(dcg, 0) AS dcg, ideal_dcg, coalesce(cg, 0) AS cg
            FROM (SELECT DISTINCT run FROM found) CROSS JOIN ideal LEFT JOIN found USING (run, query_id)
        )
        SELECT run, query_id, {k} AS cutoff,
               CASE WHEN ideal_dcg = 0 THEN 'no_relevant' WHEN missing THEN 'missing' ELSE 'scored' END AS status,
               returned, judged, CASE WHEN ideal_dcg > 0 THEN dcg / ideal_dcg END AS ndcg, dcg, ideal_dcg, cg,
               'duckdb' AS evaluation_id
        FROM pairs
        """
    )
    db.execute(f"COPY query_scores TO '{night(output, 'query_scores')}' (FORMAT parquet)")
    db.execute(
        f"""
        CREATE TEMP TABLE dataset_scores AS
        SELECT run, cutoff, count(ndcg) AS queries, count_if(status = 'missing') AS missing_queries,
               count_if(status = 'no_relevant') AS no_relevant_queries, unjudged_queries,
               'standard' AS convention, 'gain 2^relevance - 1' AS formula, 'duckdb' AS evaluation_id,
               avg(ndcg) AS ndcg, sum(dcg) FILTER (ndcg IS NOT NULL) / sum(ideal_dcg) AS ndcg_pooled,
               stddev_samp(ndcg) AS ndcg_stddev, ndcg_stddev / sqrt(count(ndcg)) AS ndcg_stderr,
               avg(dcg) FILTER (ndcg IS NOT NULL) AS dcg,
               sum(judged) / sum(returned) AS judged_rate
        FROM query_scores JOIN (
            SELECT run, count_if(query_id NOT IN (SELECT query_id FROM query_scores)) AS unjudged_queries
            FROM (SELECT DISTINCT run, query_id FROM read_parquet('{results}/**/*.parquet')) GROUP BY run
        ) USING (run)
        GROUP BY run, cutoff, unjudged_queries
        """
    )
    db.execute(f"COPY dataset_scores TO '{night(output, 'dataset_scores')}' (FORMAT parquet)")
    return float(db.sql("SELECT avg(ndcg) FROM dataset_scores").fetchall()[0][0])
