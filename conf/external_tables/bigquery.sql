-- The nights of ndcg-spark in BigQuery: external tables over the published files, named
-- ndcg.*_files, and views of the valid rows: ndcg.nights, ndcg.query_scores and
-- ndcg.dataset_scores. Query the views, because the files also contain rows of evaluations that
-- were replaced or have not ended. Acceptances and acknowledgements, which are added later, are in
-- the copies that `ndcg-spark export` makes.
--
-- Replace gs://BUCKET/scores with the output; ndcg is a dataset in the location of the bucket. New
-- nights appear immediately.

CREATE SCHEMA IF NOT EXISTS ndcg;

-- One row per run, query and cutoff, for every evaluation with files.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.query_scores_files (
    dataset STRING, run STRING, query_id STRING, cutoff INT64, status STRING, returned INT64,
    judged INT64, judged_discount_share FLOAT64, judgments_hash INT64, ndcg FLOAT64, dcg FLOAT64,
    ideal_dcg FLOAT64, cg FLOAT64, precision FLOAT64, recall FLOAT64, ap FLOAT64, rr FLOAT64,
    success FLOAT64, rbp FLOAT64, rbp_residual FLOAT64, err FLOAT64, bpref FLOAT64,
    judged_share FLOAT64, recall_cap FLOAT64, rprec FLOAT64,
    novelty FLOAT64, popularity FLOAT64, categories FLOAT64
)
WITH PARTITION COLUMNS (evaluated_on DATE, evaluation_id STRING)
OPTIONS (
    format = 'PARQUET',
    uris = ['gs://BUCKET/scores/query_scores/*.parquet'],
    hive_partition_uri_prefix = 'gs://BUCKET/scores/query_scores'
);

-- One row per run, cutoff and slice; attribute and value are null for all queries.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.dataset_scores_files (
    dataset STRING, run STRING, cutoff INT64, attribute STRING, value STRING, queries INT64,
    missing_queries INT64, no_relevant_queries INT64, unjudged_queries INT64,
    relevant_queries INT64, convention STRING, formula STRING, ndcg FLOAT64, ndcg_pooled FLOAT64,
    ndcg_stddev FLOAT64, ndcg_stderr FLOAT64, dcg FLOAT64, judged_rate FLOAT64, precision FLOAT64,
    recall FLOAT64, ap FLOAT64, rr FLOAT64, success FLOAT64, rbp FLOAT64, rbp_residual FLOAT64,
    err FLOAT64, bpref FLOAT64, judged_share FLOAT64,
    recall_cap FLOAT64, rprec FLOAT64,
    novelty FLOAT64, popularity FLOAT64, categories FLOAT64,
    listed_queries INT64, lists INT64, unknown_items INT64,
    items FLOAT64, coverage FLOAT64, gini FLOAT64, personalization FLOAT64
)
WITH PARTITION COLUMNS (evaluated_on DATE, evaluation_id STRING)
OPTIONS (
    format = 'PARQUET',
    uris = ['gs://BUCKET/scores/dataset_scores/*.parquet'],
    hive_partition_uri_prefix = 'gs://BUCKET/scores/dataset_scores'
);

-- The log: one row per dataset of an evaluation, and another one whenever somebody revises it.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.evaluations_files (
    dataset STRING, evaluation_id STRING, status STRING, number INT64, revision INT64,
    committed_at STRING, revised_at STRING, exit_code INT64, verdict STRING, reason STRING,
    run STRING, accepted STRING, is_baseline BOOL, note STRING, verified STRING, convention STRING,
    formula STRING, engine STRING, judgments_fingerprint STRING, results_fingerprint STRING,
    seconds FLOAT64, options STRING, configuration STRING, inputs STRING, datasets STRING,
    datasets_without_results STRING, versions STRING, counts STRING, rejected STRING, steps STRING,
    findings STRING, files STRING, means STRING, links STRING, accepted_runs STRING,
    acknowledged STRING, withdrawn STRING
)
WITH PARTITION COLUMNS (evaluated_on DATE)
OPTIONS (
    format = 'PARQUET',
    uris = ['gs://BUCKET/scores/evaluations/*.parquet'],
    hive_partition_uri_prefix = 'gs://BUCKET/scores/evaluations'
);

-- The valid nights: of the published rows of a dataset and date, the one with the greatest
-- (number, evaluation_id, revision), ignoring rows that were added to an expired night.
CREATE OR REPLACE VIEW ndcg.nights AS
WITH published AS (
    SELECT
        *,
        min(revision) OVER (PARTITION BY dataset, evaluated_on, evaluation_id) AS first_revision
    FROM ndcg.evaluations_files
    WHERE status = 'published'
),
ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY dataset, evaluated_on
            ORDER BY number DESC, evaluation_id DESC, revision DESC
        ) AS place
    FROM published
    WHERE first_revision = 0
)
SELECT
    dataset, evaluated_on, evaluation_id, committed_at, verdict, reason, run, convention, formula
FROM ranked
WHERE place = 1;

CREATE OR REPLACE VIEW ndcg.query_scores AS
SELECT scores.*
FROM ndcg.query_scores_files AS scores
INNER JOIN ndcg.nights AS nights
    ON scores.dataset = nights.dataset
    AND scores.evaluated_on = nights.evaluated_on
    AND scores.evaluation_id = nights.evaluation_id;

CREATE OR REPLACE VIEW ndcg.dataset_scores AS
SELECT scores.*
FROM ndcg.dataset_scores_files AS scores
INNER JOIN ndcg.nights AS nights
    ON scores.dataset = nights.dataset
    AND scores.evaluated_on = nights.evaluated_on
    AND scores.evaluation_id = nights.evaluation_id;
