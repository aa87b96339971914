"""Explain one query from the inputs: the steps of an evaluation, for this query alone."""

import dataclasses

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import CheckedTables, check_tables
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.explain import Explained, explain_runs
from ndcg_spark.explanation.facts import ExplainRequest, facts_of
from ndcg_spark.job.scores import counted_refusals, report_rows_read, runs_table
from ndcg_spark.job.setup import Sources, context_of, engine_for, translated_failures
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.evaluation import Evaluation, query_scores
from ndcg_spark.scoring.ideal import judged_documents
from ndcg_spark.scoring.lists import returned_documents
from ndcg_spark.scoring.ranking import by_window


def explain_query(config: EvaluationConfig, request: ExplainRequest, sources: Sources | None = None) -> Explained:
    """The explanations of a query as this configuration would score it, from its inputs or from these tables.

    Both tables are validated first, so nothing is explained that would not be scored.
    """
    with engine_for(config) as engine:
        return explain_on(engine, config, request, sources)


def explain_on(
    engine: Engine, config: EvaluationConfig, request: ExplainRequest, sources: Sources | None = None
) -> Explained:
    """As `explain_query`, on an engine that is open and stays so."""
    context = context_of(engine, config, sources=sources)
    sources, config = context.sources, context.config
    cutoff = request.cutoff_or(config.measure_set.main_cutoff("ndcg", config.cutoffs))
    evaluation = dataclasses.replace(context.evaluation, cutoffs=(cutoff,), rank=by_window)
    with translated_failures(sources):
        checked = check_tables(*sources, config)
    report_rows_read(sources, checked)
    with counted_refusals(context, checked, evaluation):
        return _explained(engine, checked, evaluation, request)


def _explained(engine: Engine, checked: CheckedTables, evaluation: Evaluation, request: ExplainRequest) -> Explained:
    key = query_key(checked.judgments.columns)
    has_dataset = "dataset" in key
    known = [name for name in checked.judgment_counts.queries if name is not None] if has_dataset else []
    dataset = request.dataset_of(sorted(known) or [evaluation.dataset])

    def of_dataset(table: DataFrame) -> DataFrame:
        return table.where(F.col("dataset") == dataset) if has_dataset else table

    runs = request.runs([run.run for run in checked.result_counts.runs if run.dataset in (dataset, None)])
    is_query = F.col("query_id") == request.query
    judgments = of_dataset(checked.judgments).where(is_query)
    results = of_dataset(checked.results).where(is_query & F.col("run").isin(*runs))
    documents = judged_documents(judgments, key, evaluation.convention)
    judged = [row.asDict() for row in documents.select("doc_id", "relevance", "gain").collect()]
    if not judged:
        count, listed = (
            sum(checked.judgment_counts.queries.values()),
            "is in the results but " if results.take(1) else "",
        )
        raise ConfigurationError(f"query: {request.query!r} {listed}is not one of the {count:,} judged queries")
    table = of_dataset(runs_table(engine, checked)).where(F.col("run").isin(*runs))
    scores = query_scores(judgments, results, table, evaluation).collect()
    returned = [row.asDict() for row in returned_documents(results, documents, key, evaluation.convention).collect()]
    facts = {row["run"]: facts_of(row.asDict(), returned, judged, evaluation.convention) for row in scores}
    return explain_runs(facts, runs, request)
