"""ir_measures on its documented data frames. The convention is `ir_measures`. Writes nothing."""

from collections.abc import Mapping

import ir_measures
import pandas as pd
from ir_measures import nDCG
from peer import main


def scores(judgments: str, results: str, _: str, cutoffs: list[int]) -> Mapping[int, float]:
    """Mean NDCG at every cutoff, of one run."""
    qrels = pd.read_parquet(judgments, columns=["query_id", "doc_id", "relevance"])
    qrels["relevance"] = qrels["relevance"].astype(int)
    run = pd.read_parquet(results, columns=["query_id", "doc_id", "score"])
    found = ir_measures.calc_aggregate([nDCG @ k for k in cutoffs], qrels, run)
    return {measure.params["cutoff"]: value for measure, value in found.items()}


if __name__ == "__main__":
    main(scores)
