-- The nights of ndcg-spark in Athena: external tables over the published files, named
-- ndcg.*_files, and views of the valid rows: ndcg.nights, ndcg.query_scores and
-- ndcg.dataset_scores. Query the views, because the files also contain rows of evaluations that
-- were replaced or have not ended. Acceptances and acknowledgements, which are added later, are in
-- the copies that `ndcg-spark export` makes.
--
-- Replace s3://BUCKET/scores with the output. Athena runs one statement at a time. New nights
-- appear after MSCK REPAIR TABLE: run the last three statements after every night. Trino can use
-- the same views.

CREATE DATABASE IF NOT EXISTS ndcg;

-- One row per run, query and cutoff, for every evaluation with files.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.query_scores_files (
    dataset string, run string, query_id string, cutoff int, status string, returned bigint,
    judged bigint, judged_discount_share double, judgments_hash bigint, ndcg double, dcg double,
    ideal_dcg double, cg double, `precision` double, recall double, ap double, rr double,
    success double, rbp double, rbp_residual double, err double, bpref double, judged_share double,
    recall_cap double, rprec double,
    novelty double, popularity double, categories double
)
PARTITIONED BY (evaluated_on date, evaluation_id string)
STORED AS PARQUET
LOCATION 's3://BUCKET/scores/query_scores/';

-- One row per run, cutoff and slice; attribute and value are null for all queries.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.dataset_scores_files (
    dataset string, run string, cutoff int, attribute string, value string, queries bigint,
    missing_queries bigint, no_relevant_queries bigint, unjudged_queries bigint,
    relevant_queries bigint, convention string, formula string, ndcg double, ndcg_pooled double,
    ndcg_stddev double, ndcg_stderr double, dcg double, judged_rate double, `precision` double,
    recall double, ap double, rr double, success double, rbp double, rbp_residual double,
    err double, bpref double, judged_share double,
    recall_cap double, rprec double,
    novelty double, popularity double, categories double,
    listed_queries bigint, lists bigint, unknown_items bigint,
    items double, coverage double, gini double, personalization double
)
PARTITIONED BY (evaluated_on date, evaluation_id string)
STORED AS PARQUET
LOCATION 's3://BUCKET/scores/dataset_scores/';

-- The log: one row per dataset of an evaluation, and another one whenever somebody revises it.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.evaluations_files (
    dataset string, evaluation_id string, status string, number bigint, revision bigint,
    committed_at string, revised_at string, exit_code bigint, verdict string, reason string,
    run string, accepted string, is_baseline boolean, note string, verified string,
    convention string, formula string, engine string, judgments_fingerprint string,
    results_fingerprint string, seconds double, options string, configuration string, inputs string,
    datasets string, datasets_without_results string, versions string, counts string,
    rejected string, steps string, findings string, files string, means string, links string,
    accepted_runs string, acknowledged string, withdrawn string
)
PARTITIONED BY (evaluated_on date)
STORED AS PARQUET
LOCATION 's3://BUCKET/scores/evaluations/';

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

MSCK REPAIR TABLE ndcg.query_scores_files;
MSCK REPAIR TABLE ndcg.dataset_scores_files;
MSCK REPAIR TABLE ndcg.evaluations_files;
