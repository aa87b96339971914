-- The nights of ndcg-spark in Snowflake: external tables over the published files, named
-- ndcg.*_files, and views of the valid rows: ndcg.nights, ndcg.query_scores and
-- ndcg.dataset_scores. Query the views, because the files also contain rows of evaluations that
-- were replaced or have not ended. Acceptances and acknowledgements, which are added later, are in
-- the copies that `ndcg-spark export` makes.
--
-- Replace s3://BUCKET/scores with the output, and INTEGRATION with a storage integration that may
-- read it. New nights appear after ALTER EXTERNAL TABLE ... REFRESH: run the last three statements
-- after every night. Snowflake skips files that it cannot read.

CREATE SCHEMA IF NOT EXISTS ndcg;

CREATE STAGE IF NOT EXISTS ndcg.output
    URL = 's3://BUCKET/scores/'
    STORAGE_INTEGRATION = INTEGRATION;

-- One row per run, query and cutoff, for every evaluation with files.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.query_scores_files (
    dataset VARCHAR AS (VALUE:dataset::VARCHAR),
    run VARCHAR AS (VALUE:run::VARCHAR),
    query_id VARCHAR AS (VALUE:query_id::VARCHAR),
    cutoff INTEGER AS (VALUE:cutoff::INTEGER),
    status VARCHAR AS (VALUE:status::VARCHAR),
    returned BIGINT AS (VALUE:returned::BIGINT),
    judged BIGINT AS (VALUE:judged::BIGINT),
    judged_discount_share DOUBLE AS (VALUE:judged_discount_share::DOUBLE),
    judgments_hash BIGINT AS (VALUE:judgments_hash::BIGINT),
    ndcg DOUBLE AS (VALUE:ndcg::DOUBLE),
    dcg DOUBLE AS (VALUE:dcg::DOUBLE),
    ideal_dcg DOUBLE AS (VALUE:ideal_dcg::DOUBLE),
    cg DOUBLE AS (VALUE:cg::DOUBLE),
    precision DOUBLE AS (VALUE:precision::DOUBLE),
    recall DOUBLE AS (VALUE:recall::DOUBLE),
    ap DOUBLE AS (VALUE:ap::DOUBLE),
    rr DOUBLE AS (VALUE:rr::DOUBLE),
    success DOUBLE AS (VALUE:success::DOUBLE),
    rbp DOUBLE AS (VALUE:rbp::DOUBLE),
    rbp_residual DOUBLE AS (VALUE:rbp_residual::DOUBLE),
    err DOUBLE AS (VALUE:err::DOUBLE),
    bpref DOUBLE AS (VALUE:bpref::DOUBLE),
    judged_share DOUBLE AS (VALUE:judged_share::DOUBLE),
    recall_cap DOUBLE AS (VALUE:recall_cap::DOUBLE),
    rprec DOUBLE AS (VALUE:rprec::DOUBLE),
    novelty DOUBLE AS (VALUE:novelty::DOUBLE),
    popularity DOUBLE AS (VALUE:popularity::DOUBLE),
    categories DOUBLE AS (VALUE:categories::DOUBLE),
    evaluated_on DATE AS (
        SPLIT_PART(SPLIT_PART(METADATA$FILENAME, 'evaluated_on=', 2), '/', 1)::DATE
    ),
    evaluation_id VARCHAR AS (
        SPLIT_PART(SPLIT_PART(METADATA$FILENAME, 'evaluation_id=', 2), '/', 1)
    )
)
PARTITION BY (evaluated_on, evaluation_id)
LOCATION = @ndcg.output/query_scores/
PATTERN = '.*[.]parquet'
AUTO_REFRESH = FALSE
FILE_FORMAT = (TYPE = PARQUET);

-- One row per run, cutoff and slice; attribute and value are null for all queries. Here value
-- is called attribute_value, because every external table has a column VALUE with the whole row.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.dataset_scores_files (
    dataset VARCHAR AS (VALUE:dataset::VARCHAR),
    run VARCHAR AS (VALUE:run::VARCHAR),
    cutoff INTEGER AS (VALUE:cutoff::INTEGER),
    attribute VARCHAR AS (VALUE:attribute::VARCHAR),
    attribute_value VARCHAR AS (VALUE:value::VARCHAR),
    queries BIGINT AS (VALUE:queries::BIGINT),
    missing_queries BIGINT AS (VALUE:missing_queries::BIGINT),
    no_relevant_queries BIGINT AS (VALUE:no_relevant_queries::BIGINT),
    unjudged_queries BIGINT AS (VALUE:unjudged_queries::BIGINT),
    relevant_queries BIGINT AS (VALUE:relevant_queries::BIGINT),
    convention VARCHAR AS (VALUE:convention::VARCHAR),
    formula VARCHAR AS (VALUE:formula::VARCHAR),
    ndcg DOUBLE AS (VALUE:ndcg::DOUBLE),
    ndcg_pooled DOUBLE AS (VALUE:ndcg_pooled::DOUBLE),
    ndcg_stddev DOUBLE AS (VALUE:ndcg_stddev::DOUBLE),
    ndcg_stderr DOUBLE AS (VALUE:ndcg_stderr::DOUBLE),
    dcg DOUBLE AS (VALUE:dcg::DOUBLE),
    judged_rate DOUBLE AS (VALUE:judged_rate::DOUBLE),
    precision DOUBLE AS (VALUE:precision::DOUBLE),
    recall DOUBLE AS (VALUE:recall::DOUBLE),
    ap DOUBLE AS (VALUE:ap::DOUBLE),
    rr DOUBLE AS (VALUE:rr::DOUBLE),
    success DOUBLE AS (VALUE:success::DOUBLE),
    rbp DOUBLE AS (VALUE:rbp::DOUBLE),
    rbp_residual DOUBLE AS (VALUE:rbp_residual::DOUBLE),
    err DOUBLE AS (VALUE:err::DOUBLE),
    bpref DOUBLE AS (VALUE:bpref::DOUBLE),
    judged_share DOUBLE AS (VALUE:judged_share::DOUBLE),
    recall_cap DOUBLE AS (VALUE:recall_cap::DOUBLE),
    rprec DOUBLE AS (VALUE:rprec::DOUBLE),
    novelty DOUBLE AS (VALUE:novelty::DOUBLE),
    popularity DOUBLE AS (VALUE:popularity::DOUBLE),
    categories DOUBLE AS (VALUE:categories::DOUBLE),
    listed_queries BIGINT AS (VALUE:listed_queries::BIGINT),
    lists BIGINT AS (VALUE:lists::BIGINT),
    unknown_items BIGINT AS (VALUE:unknown_items::BIGINT),
    items DOUBLE AS (VALUE:items::DOUBLE),
    coverage DOUBLE AS (VALUE:coverage::DOUBLE),
    gini DOUBLE AS (VALUE:gini::DOUBLE),
    personalization DOUBLE AS (VALUE:personalization::DOUBLE),
    evaluated_on DATE AS (
        SPLIT_PART(SPLIT_PART(METADATA$FILENAME, 'evaluated_on=', 2), '/', 1)::DATE
    ),
    evaluation_id VARCHAR AS (
        SPLIT_PART(SPLIT_PART(METADATA$FILENAME, 'evaluation_id=', 2), '/', 1)
    )
)
PARTITION BY (evaluated_on, evaluation_id)
LOCATION = @ndcg.output/dataset_scores/
PATTERN = '.*[.]parquet'
AUTO_REFRESH = FALSE
FILE_FORMAT = (TYPE = PARQUET);

-- The log: one row per dataset of an evaluation, and another one whenever somebody revises it.
CREATE EXTERNAL TABLE IF NOT EXISTS ndcg.evaluations_files (
    dataset VARCHAR AS (VALUE:dataset::VARCHAR),
    evaluation_id VARCHAR AS (VALUE:evaluation_id::VARCHAR),
    status VARCHAR AS (VALUE:status::VARCHAR),
    number BIGINT AS (VALUE:number::BIGINT),
    revision BIGINT AS (VALUE:revision::BIGINT),
    committed_at VARCHAR AS (VALUE:committed_at::VARCHAR),
    revised_at VARCHAR AS (VALUE:revised_at::VARCHAR),
    exit_code BIGINT AS (VALUE:exit_code::BIGINT),
    verdict VARCHAR AS (VALUE:verdict::VARCHAR),
    reason VARCHAR AS (VALUE:reason::VARCHAR),
    run VARCHAR AS (VALUE:run::VARCHAR),
    accepted VARCHAR AS (VALUE:accepted::VARCHAR),
    is_baseline BOOLEAN AS (VALUE:is_baseline::BOOLEAN),
    note VARCHAR AS (VALUE:note::VARCHAR),
    verified VARCHAR AS (VALUE:verified::VARCHAR),
    convention VARCHAR AS (VALUE:convention::VARCHAR),
    formula VARCHAR AS (VALUE:formula::VARCHAR),
    engine VARCHAR AS (VALUE:engine::VARCHAR),
    judgments_fingerprint VARCHAR AS (VALUE:judgments_fingerprint::VARCHAR),
    results_fingerprint VARCHAR AS (VALUE:results_fingerprint::VARCHAR),
    seconds DOUBLE AS (VALUE:seconds::DOUBLE),
    options VARCHAR AS (VALUE:options::VARCHAR),
    configuration VARCHAR AS (VALUE:configuration::VARCHAR),
    inputs VARCHAR AS (VALUE:inputs::VARCHAR),
    datasets VARCHAR AS (VALUE:datasets::VARCHAR),
    datasets_without_results VARCHAR AS (VALUE:datasets_without_results::VARCHAR),
    versions VARCHAR AS (VALUE:versions::VARCHAR),
    counts VARCHAR AS (VALUE:counts::VARCHAR),
    rejected VARCHAR AS (VALUE:rejected::VARCHAR),
    steps VARCHAR AS (VALUE:steps::VARCHAR),
    findings VARCHAR AS (VALUE:findings::VARCHAR),
    files VARCHAR AS (VALUE:files::VARCHAR),
    means VARCHAR AS (VALUE:means::VARCHAR),
    links VARCHAR AS (VALUE:links::VARCHAR),
    accepted_runs VARCHAR AS (VALUE:accepted_runs::VARCHAR),
    acknowledged VARCHAR AS (VALUE:acknowledged::VARCHAR),
    withdrawn VARCHAR AS (VALUE:withdrawn::VARCHAR),
    evaluated_on DATE AS (
        SPLIT_PART(SPLIT_PART(METADATA$FILENAME, 'evaluated_on=', 2), '/', 1)::DATE
    )
)
PARTITION BY (evaluated_on)
LOCATION = @ndcg.output/evaluations/
PATTERN = '.*[.]parquet'
AUTO_REFRESH = FALSE
FILE_FORMAT = (TYPE = PARQUET);

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
SELECT scores.* EXCLUDE (VALUE)
FROM ndcg.query_scores_files AS scores
INNER JOIN ndcg.nights AS nights
    ON scores.dataset = nights.dataset
    AND scores.evaluated_on = nights.evaluated_on
    AND scores.evaluation_id = nights.evaluation_id;

CREATE OR REPLACE VIEW ndcg.dataset_scores AS
SELECT scores.* EXCLUDE (VALUE, attribute_value), scores.attribute_value AS value
FROM ndcg.dataset_scores_files AS scores
INNER JOIN ndcg.nights AS nights
    ON scores.dataset = nights.dataset
    AND scores.evaluated_on = nights.evaluated_on
    AND scores.evaluation_id = nights.evaluation_id;

ALTER EXTERNAL TABLE ndcg.query_scores_files REFRESH;
ALTER EXTERNAL TABLE ndcg.dataset_scores_files REFRESH;
ALTER EXTERNAL TABLE ndcg.evaluations_files REFRESH;
