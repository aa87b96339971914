"""ranx on the data frames it reads itself. The convention is `ranx`. Writes nothing."""

from collections.abc import Mapping

import pandas as pd
from peer import main
from ranx import Qrels, Run, evaluate


def scores(judgments: str, results: str, _: str, cutoffs: list[int]) -> Mapping[int, float]:
    """Mean NDCG at every cutoff, of one run; queries without results count as 0, as make_comparable has it."""
    judged = pd.read_parquet(judgments, columns=["query_id", "doc_id", "relevance"])
    judged["relevance"] = judged["relevance"].astype(int)
    returned = pd.read_parquet(results, columns=["query_id", "doc_id", "score"])
    qrels = Qrels.from_df(judged, q_id_col="query_id", doc_id_col="doc_id", score_col="relevance")
    run = Run.from_df(returned, q_id_col="query_id", doc_id_col="doc_id", score_col="score")
    metrics = [f"ndcg@{k}" for k in cutoffs]
    found = evaluate(qrels, run, metrics, make_comparable=True)
    return {k: found[f"ndcg@{k}"] for k in cutoffs} if isinstance(found, dict) else {cutoffs[0]: found}


if __name__ == "__main__":
    main(scores)
