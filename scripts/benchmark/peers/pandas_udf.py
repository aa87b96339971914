"""A grouped pandas UDF on classic Spark, as most people would write it well. The convention is `standard`.

Writes nothing.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from peer import main
from pyspark.sql import functions as F
from session import classic


def scores(judgments: str, results: str, _: str, cutoffs: list[int]) -> Mapping[int, float]:
    """Mean NDCG at every cutoff, of one run."""
    depth = max(cutoffs)
    discounts = 1.0 / np.log2(np.arange(depth) + 2.0)

    def dcg(gains: np.ndarray) -> list[float]:
        discounted = gains[:depth] * discounts[: len(gains[:depth])]
        return [float(discounted[:k].sum()) for k in cutoffs]

    def of_query(documents: pd.DataFrame) -> pd.DataFrame:
        gains = np.exp2(documents["relevance"].to_numpy()) - 1.0
        scored, judged = documents["score"].to_numpy(), ~np.isnan(gains)
        returned = ~np.isnan(scored)
        ideal = dcg(-np.sort(-gains[judged]))
        order = np.lexsort((documents["doc_id"].to_numpy()[returned], scored[returned]))[::-1]
        found = dcg(np.nan_to_num(gains)[returned][order])
        # A query without judgments, and one without gain, has no NDCG.
        values = [part / whole if whole else None for part, whole in zip(found, ideal, strict=True)]
        return pd.DataFrame({"cutoff": cutoffs, "ndcg": pd.array(values, dtype="Float64")})

    with classic() as spark:
        judged = spark.read.parquet(judgments).select("query_id", "doc_id", "relevance")
        returned = spark.read.parquet(results).select("query_id", "doc_id", "score")
        both = returned.join(judged, ["query_id", "doc_id"], "full")
        per_query = both.groupBy("query_id").applyInPandas(of_query, "cutoff int, ndcg double")
        means = per_query.groupBy("cutoff").agg(F.avg("ndcg").alias("ndcg")).collect()
        return {row["cutoff"]: row["ndcg"] for row in means}


if __name__ == "__main__":
    main(scores)
