"""DuckDB: one SQL statement for the query scores, both tables written. The convention is `standard`.

The best documents of a list are an aggregate, `max(..., depth)`: a window took twice as long and twice the memory.
"""

import os
from collections.abc import Mapping

import duckdb
from peer import main, night

#: The gains, in SQL.
GAINS = {"exp2": "pow(2, relevance) - 1", "linear": "relevance"}


def scores(judgments: str, results: str, output: str, cutoffs: list[int], gain: str = "exp2") -> Mapping[int, float]:
    """Mean NDCG at every cutoff; query_scores and dataset_scores are written."""
    db = duckdb.connect(config={"threads": os.cpu_count() or 1, "preserve_insertion_order": False})
    depth = max(cutoffs)
    db.execute(
        f"""
        CREATE TEMP TABLE query_scores AS
        WITH judged AS (
            SELECT query_id, doc_id, {GAINS[gain]} AS gain FROM read_parquet('{judgments}/*.parquet')
        ), ideal AS (
            SELECT query_id, {_each("sum(gain / log2(place + 1)) FILTER (place <= {k}) AS ideal_dcg_{k}", cutoffs)}
            FROM (SELECT query_id, gain, row_number() OVER (PARTITION BY query_id ORDER BY gain DESC) AS place
                  FROM judged)
            GROUP BY query_id
        ), top AS (
            SELECT run, query_id, unnest(best).doc_id AS doc_id, generate_subscripts(best, 1) AS place
            FROM (SELECT run, query_id, max({{'score': score, 'doc_id': doc_id}}, {depth}) AS best
                  FROM read_parquet('{results}/*.parquet') SEMI JOIN ideal USING (query_id)
                  GROUP BY run, query_id)
        ), found AS (
            SELECT run, query_id, count(*) AS returned, {
            _each(
                "sum(gain / log2(place + 1)) FILTER (place <= {k}) AS dcg_{k}, "
                "sum(gain) FILTER (place <= {k}) AS cg_{k}, count(gain) FILTER (place <= {k}) AS judged_{k}",
                cutoffs,
            )
        }
            FROM top LEFT JOIN judged USING (query_id, doc_id)
            GROUP BY run, query_id
        ), pairs AS (
            SELECT run, ideal.query_id, found.query_id IS NULL AS missing, ideal.* EXCLUDE (query_id),
                   found.* EXCLUDE (run, query_id)
            FROM (SELECT DISTINCT run FROM found) CROSS JOIN ideal LEFT JOIN found USING (run, query_id)
        ), long AS ({" UNION ALL ".join(_at_cutoff(k) for k in cutoffs)})
        SELECT run, query_id, cutoff,
               CASE WHEN ideal_dcg = 0 THEN 'no_relevant' WHEN missing THEN 'missing' ELSE 'scored' END AS status,
               returned, judged, CASE WHEN ideal_dcg > 0 THEN dcg / ideal_dcg END AS ndcg, dcg, ideal_dcg, cg,
               'duckdb' AS evaluation_id
        FROM long
        """
    )
    db.execute(f"COPY query_scores TO '{night(output, 'query_scores')}' (FORMAT parquet)")
    db.execute(
        f"""
        CREATE TEMP TABLE dataset_scores AS
        SELECT run, cutoff, count(ndcg) AS queries, count_if(status = 'missing') AS missing_queries,
               count_if(status = 'no_relevant') AS no_relevant_queries, unjudged_queries,
               'standard' AS convention, 'gain {GAINS[gain]}' AS formula, 'duckdb' AS evaluation_id,
               avg(ndcg) AS ndcg, sum(dcg) FILTER (ndcg IS NOT NULL) / sum(ideal_dcg) AS ndcg_pooled,
               stddev_samp(ndcg) AS ndcg_stddev, avg(dcg) FILTER (ndcg IS NOT NULL) AS dcg,
               sum(judged) / sum(returned) AS judged_rate
        FROM query_scores JOIN (
            SELECT run, count_if(query_id NOT IN (SELECT query_id FROM query_scores)) AS unjudged_queries
            FROM (SELECT DISTINCT run, query_id FROM read_parquet('{results}/*.parquet')) GROUP BY run
        ) USING (run)
        GROUP BY run, cutoff, unjudged_queries
        """
    )
    db.execute(f"COPY dataset_scores TO '{night(output, 'dataset_scores')}' (FORMAT parquet)")
    return dict(db.sql("SELECT cutoff, avg(ndcg) FROM dataset_scores GROUP BY cutoff").fetchall())


def _each(template: str, cutoffs: list[int]) -> str:
    return ", ".join(template.format(k=cutoff) for cutoff in cutoffs)


def _at_cutoff(k: int) -> str:
    return (
        f"SELECT run, query_id, {k} AS cutoff, missing, least(coalesce(returned, 0), {k}) AS returned, "
        f"coalesce(judged_{k}, 0) AS judged, coalesce(dcg_{k}, 0) AS dcg, ideal_dcg_{k} AS ideal_dcg, "
        f"coalesce(cg_{k}, 0) AS cg FROM pairs"
    )


if __name__ == "__main__":
    main(scores)
