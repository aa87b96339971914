"""The documents that scores are made of, kept with a night where the configuration asks for them."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ndcg_spark.contract.checked import Checked
from ndcg_spark.job.preparing import results_to_score
from ndcg_spark.nights.publication import Publication
from ndcg_spark.schemas import QUERY_SCORES, query_key
from ndcg_spark.scoring.documents import ideal_sizes
from ndcg_spark.scoring.evaluation import Evaluation, ranked_documents
from ndcg_spark.scoring.judged import judged_documents


def stage_documents(publication: Publication, checked: Checked, evaluation: Evaluation, session: SparkSession) -> None:
    """Write the table RANKED_DOCUMENTS to staging, where the query scores are already, and verify its rows.

    There must be as many as the query scores say were returned, and as many as the ideal rankings are deep.
    """
    # A scan by ranks lets a document go that ties with the last one, if ranks break ties.
    whole = evaluation.convention.ties == "rank"
    results = results_to_score(checked, checked.results if whole else checked.pruned_results)
    publication.stage("ranked_documents", ranked_documents(checked.judgments, results, evaluation))
    depth = evaluation.deepest_finite
    at_depth = F.col("cutoff").isNull() if depth is None else F.col("cutoff") == depth
    scores = publication.read("query_scores", session, QUERY_SCORES).where(at_depth)
    rows = scores.agg(F.sum("returned")).collect()[0][0] or 0
    if evaluation.convention.ideal != "retrieved":
        key = query_key(checked.judgments.columns)
        sizes = ideal_sizes(judged_documents(checked.judgments, key, evaluation.convention), key, depth)
        rows += sizes.agg(F.sum("ranks")).collect()[0][0] or 0
    publication.verify("ranked_documents", rows)
