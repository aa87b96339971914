"""The documents that scores are made of, kept with a night where the configuration asks for them."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.job.preparing import results_to_score
from ndcg_spark.nights.publish import Publication
from ndcg_spark.schemas import QUERY_SCORES, RANKED_DOCUMENTS, query_key
from ndcg_spark.scoring.documents import ideal_sizes
from ndcg_spark.scoring.evaluation import Evaluation, ranked_documents
from ndcg_spark.scoring.ideal import judged_documents

#: How many queries of each run keep their documents where only the queries that lost most do.
MOST_LOST = 50


def queries_table(lists: Sequence[tuple[str, str, str]], session: SparkSession) -> DataFrame:
    """One row per list: dataset, run, query_id."""
    columns = zip(*lists, strict=True)
    named = zip(("dataset", "run", "query_id"), columns, strict=True)
    return session.createDataFrame(pa.table({name: pa.array(values, pa.string()) for name, values in named}))


def stage_documents(
    publication: Publication,
    checked: CheckedTables,
    evaluation: Evaluation,
    session: SparkSession,
    only: DataFrame | None = None,
) -> None:
    """Write the table RANKED_DOCUMENTS to staging, where the query scores are already, and verify its rows.

    `only` has the lists that are kept, by dataset, run and query_id, each with the ideal ranking of its query; by
    default all are. There must be as many rows as the query scores say were returned, and as many as the ideal rankings
    are deep.
    """
    key = query_key(checked.judgments.columns)
    # A scan by ranks lets a document go that ties with the last one, if ranks break ties.
    whole = evaluation.convention.ties == "rank"
    results = results_to_score(checked, checked.results if whole else checked.pruned_results)
    judgments = checked.judgments
    if only is not None:
        queries = only.select(*key).distinct()
        judgments = judgments.join(queries, on=key, how="left_semi")
        results = results.join(queries, on=key, how="left_semi")
    documents = ranked_documents(judgments, results, evaluation)
    publication.stage("ranked_documents", documents if only is None else _of_lists(documents, only))
    depth = evaluation.deepest_finite
    at_depth = F.col("cutoff").isNull() if depth is None else F.col("cutoff") == depth
    scores = publication.read("query_scores", session, QUERY_SCORES).where(at_depth)
    if only is not None:
        scores = scores.join(only, on=["dataset", "run", "query_id"], how="left_semi")
    rows = scores.agg(F.sum("returned")).collect()[0][0] or 0
    if evaluation.convention.ideal != "retrieved":
        sizes = ideal_sizes(judged_documents(judgments, key, evaluation.convention), key, depth)
        rows += sizes.agg(F.sum("ranks")).collect()[0][0] or 0
    publication.verify("ranked_documents", rows)


def _of_lists(documents: DataFrame, lists: DataFrame) -> DataFrame:
    """The documents of these lists, and those of no run, which are of the ideal rankings."""
    kept = lists.withColumn("kept", F.lit(True))
    marked = documents.join(kept, on=["dataset", "run", "query_id"], how="left")
    return marked.where(F.col("run").isNull() | F.col("kept").isNotNull()).select(*RANKED_DOCUMENTS.names)
