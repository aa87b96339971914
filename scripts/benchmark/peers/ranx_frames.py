"""ranx on the data frames it reads itself. The convention is `ranx`. Writes nothing."""

import pandas as pd
from ranx import Qrels, Run, evaluate


def scores(judgments: str, results: str, _: str, cutoff: int) -> float:
    """Mean NDCG of one run; queries without results count as 0, as make_comparable has it."""
    judged = pd.read_parquet(judgments, columns=["query_id", "doc_id", "relevance"])
    judged["relevance"] = judged["relevance"].astype(int)
    returned = pd.read_parquet(results, columns=["query_id", "doc_id", "score"])
    qrels = Qrels.from_df(judged, q_id_col="query_id", doc_id_col="doc_id", score_col="relevance")
    run = Run.from_df(returned, q_id_col="query_id", doc_id_col="doc_id", score_col="score")
    return float(evaluate(qrels, run, f"ndcg@{cutoff}", make_comparable=True))
