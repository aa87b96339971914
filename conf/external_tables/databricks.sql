-- The nights of ndcg-spark in Databricks SQL: external tables over the published files, named
-- ndcg.*_files, and views of the valid rows: ndcg.nights, ndcg.query_scores and
-- ndcg.dataset_scores. Query the views, because the files also contain rows of evaluations that
-- were replaced or have not ended. Acceptances and acknowledgements, which are added later, are in
-- the copies that `ndcg-spark export` makes.
--
-- Replace s3://BUCKET/scores with the output, an external location. Unity Catalog finds new nights
-- by itself; in hive_metastore, or with partition metadata logging, run
-- MSCK REPAIR TABLE ... SYNC PARTITIONS for the three tables after every night, evaluations_files last.

CREATE SCHEMA IF NOT EXISTS ndcg;

-- One row per run, query and cutoff, for every evaluation with files.
CREATE TABLE IF NOT EXISTS ndcg.query_scores_files (
    dataset STRING, run STRING, query_id STRING, cutoff INT, status STRING, returned BIGINT,
    judged BIGINT, judged_discount_share DOUBLE, judgments_hash BIGINT, ndcg DOUBLE, dcg DOUBLE,
    ideal_dcg DOUBLE, cg DOUBLE, precision DOUBLE, recall DOUBLE, ap DOUBLE, rr DOUBLE,
    success DOUBLE, rbp DOUBLE, rbp_residual DOUBLE, err DOUBLE, bpref DOUBLE, judged_share DOUBLE,
    recall_cap DOUBLE, rprec DOUBLE,
    novelty DOUBLE, popularity DOUBLE, categories DOUBLE,
    evaluated_on DATE, evaluation_id STRING
)
USING PARQUET
PARTITIONED BY (evaluated_on, evaluation_id)
LOCATION 's3://BUCKET/scores/query_scores';

-- One row per run, cutoff and slice; attribute and value are null for all queries.
CREATE TABLE IF NOT EXISTS ndcg.dataset_scores_files (
    dataset STRING, run STRING, cutoff INT, attribute STRING, value STRING, queries BIGINT,
    missing_queries BIGINT, no_relevant_queries BIGINT, unjudged_queries BIGINT,
    relevant_queries BIGINT, convention STRING, formula STRING, ndcg DOUBLE, ndcg_pooled DOUBLE,
    ndcg_stddev DOUBLE, ndcg_stderr DOUBLE, dcg DOUBLE, judged_rate DOUBLE, precision DOUBLE,
    recall DOUBLE, ap DOUBLE, rr DOUBLE, success DOUBLE, rbp DOUBLE, rbp_residual DOUBLE,
    err DOUBLE, bpref DOUBLE, judged_share DOUBLE,
    recall_cap DOUBLE, rprec DOUBLE,
    novelty DOUBLE, popularity DOUBLE, categories DOUBLE,
    listed_queries BIGINT, lists BIGINT, unknown_items BIGINT,
    items DOUBLE, coverage DOUBLE, gini DOUBLE, personalization DOUBLE, evaluated_on DATE, evaluation_id STRING
)
USING PARQUET
PARTITIONED BY (evaluated_on, evaluation_id)
LOCATION 's3://BUCKET/scores/dataset_scores';

-- The log: one row per dataset of an evaluation, and another one whenever somebody revises it.
CREATE TABLE IF NOT EXISTS ndcg.evaluations_files (
    dataset STRING, evaluation_id STRING, status STRING, number BIGINT, revision BIGINT,
    committed_at STRING, revised_at STRING, exit_code BIGINT, verdict STRING, reason STRING,
    run STRING, accepted STRING, is_baseline BOOLEAN, note STRING, verified STRING,
    convention STRING, formula STRING, engine STRING, judgments_fingerprint STRING,
    results_fingerprint STRING, seconds DOUBLE, options STRING, configuration STRING, inputs STRING,
    datasets STRING, datasets_without_results STRING, versions STRING, counts STRING,
    rejected STRING, steps STRING, findings STRING, files STRING, means STRING, links STRING,
    accepted_runs STRING, acknowledged STRING, withdrawn STRING, evaluated_on DATE
)
USING PARQUET
PARTITIONED BY (evaluated_on)
LOCATION 's3://BUCKET/scores/evaluations';

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
