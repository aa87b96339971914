"""Explain one query from the inputs: the steps of an evaluation, for this query alone."""

import dataclasses

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.explain import Explained, explain_runs
from ndcg_spark.explanation.facts import ExplainRequest, query_facts
from ndcg_spark.job.inputs import counted_refusals, engine_for, read_inputs, runs_table
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.evaluation import query_scores
from ndcg_spark.scoring.ideal import judged_documents
from ndcg_spark.scoring.lists import returned_documents
from ndcg_spark.scoring.ranking import by_window


def explain_query(config: EvaluationConfig, request: ExplainRequest) -> Explained:
    """The explanations of a query as this configuration would score it, from its inputs.

    Both tables are validated first, so nothing is explained that would not be scored.
    """
    with engine_for(config) as engine:
        return explain_on(engine, config, request)


def explain_on(engine: Engine, config: EvaluationConfig, request: ExplainRequest) -> Explained:
    """The explanations of a query, on an engine that stays open."""
    context = read_inputs(engine, config)
    checked, config = context.checked, context.config
    cutoff = request.cutoff_or(config.measure_set.main_cutoff("ndcg", config.cutoffs))
    evaluation = dataclasses.replace(context.evaluation, cutoffs=(cutoff,), rank=by_window)
    convention, queries = evaluation.convention, checked.judgment_counts.queries
    key = query_key(checked.judgments.columns)
    known = sorted(name for name in queries if name is not None and "dataset" in key)
    dataset = request.dataset_from(known or [evaluation.dataset])
    runs = request.runs([run.run for run in checked.result_counts.runs if run.dataset in (dataset, None)])

    def keep_dataset(table: DataFrame) -> DataFrame:
        return table.where(F.col("dataset") == dataset) if "dataset" in key else table

    is_query = F.col("query_id") == request.query
    judgments = keep_dataset(checked.judgments).where(is_query)
    results = keep_dataset(checked.results).where(is_query & F.col("run").isin(*runs))
    with counted_refusals(dataclasses.replace(context, evaluation=evaluation)):
        documents = judged_documents(judgments, key, convention)
        judged = [row.asDict() for row in documents.select("doc_id", "relevance", "gain").collect()]
        if not judged:
            listed = "is in the results but " if results.take(1) else ""
            count = sum(queries.values())
            raise ConfigurationError(f"query: {request.query!r} {listed}is not one of the {count:,} judged queries")
        table = keep_dataset(runs_table(context, checked)).where(F.col("run").isin(*runs))
        scores = query_scores(judgments, results, table, evaluation).collect()
        returned = [row.asDict() for row in returned_documents(results, documents, key, convention).collect()]
    facts = {row["run"]: query_facts(row.asDict(), returned, judged, convention) for row in scores}
    return explain_runs(facts, runs, request)
