"""ir_measures on its documented data frames. The convention is `ir_measures`. Writes nothing."""

import ir_measures
import pandas as pd
from ir_measures import nDCG


def scores(judgments: str, results: str, _: str, cutoff: int) -> float:
    """Mean NDCG of one run."""
    qrels = pd.read_parquet(judgments, columns=["query_id", "doc_id", "relevance"])
    qrels["relevance"] = qrels["relevance"].astype(int)
    run = pd.read_parquet(results, columns=["query_id", "doc_id", "score"])
    return float(ir_measures.calc_aggregate([nDCG @ cutoff], qrels, run)[nDCG @ cutoff])
