"""Polars: lazy frames on the streaming engine, both tables written. The convention is `standard`."""

from collections.abc import Mapping

import polars as pl
from peer import main, night

KEY = ["run", "query_id"]


def scores(judgments: str, results: str, output: str, cutoffs: list[int]) -> Mapping[int, float]:
    """Mean NDCG at every cutoff; query_scores and dataset_scores are written."""
    judged = pl.scan_parquet(f"{judgments}/*.parquet")
    judged = judged.select("query_id", "doc_id", gain=2.0 ** pl.col("relevance") - 1.0)
    returned = pl.scan_parquet(f"{results}/*.parquet").select(*KEY, "doc_id", "score")
    ideal = judged.group_by("query_id").agg(_ideal(k) for k in cutoffs)
    found = _found(returned, judged, cutoffs)
    pairs = ideal.join(found.select("run").unique(), how="cross").join(found, on=KEY, how="left", maintain_order="none")
    per_query = pl.concat([_at_cutoff(pairs, k) for k in cutoffs])
    # Collected once and written, as a sink alone would compute it again for the dataset scores.
    query_scores = per_query.collect(engine="streaming")
    query_scores.write_parquet(night(output, "query_scores"))
    answered = returned.select(KEY).unique().join(judged, on="query_id", how="anti")
    unjudged = answered.group_by("run").agg(unjudged_queries=pl.len()).collect(engine="streaming")
    dataset_scores = _dataset_scores(query_scores).join(unjudged, on="run", how="left")
    dataset_scores.write_parquet(night(output, "dataset_scores"))
    return dict(dataset_scores.group_by("cutoff").agg(pl.col("ndcg").mean()).iter_rows())


def _found(returned: pl.LazyFrame, judged: pl.LazyFrame, cutoffs: list[int]) -> pl.LazyFrame:
    """DCG and counts of every run and query with results."""
    depth = max(cutoffs)
    best = pl.struct("score", "doc_id").sort(descending=True).head(depth)
    top = returned.join(judged.select("query_id").unique(), on="query_id", how="semi").group_by(KEY)
    ranked = top.agg(best.struct.field("doc_id"), place=pl.int_range(1, pl.min_horizontal(pl.len(), depth) + 1))
    gains = ranked.explode("doc_id", "place").join(judged, on=["query_id", "doc_id"], how="left")
    gains = gains.with_columns(discounted=pl.col("gain") / (pl.col("place") + 1).log(2))
    sums = [pl.len().alias("returned")]
    for k in cutoffs:
        within = pl.col("place") <= k
        sums.append(pl.col("discounted").filter(within).sum().alias(f"dcg_{k}"))
        sums.append(pl.col("gain").filter(within).sum().alias(f"cg_{k}"))
        sums.append(pl.col("gain").filter(within).count().alias(f"judged_{k}"))
    return gains.group_by(KEY).agg(sums)


def _ideal(k: int) -> pl.Expr:
    best = pl.col("gain").sort(descending=True).head(k)
    return (best / (pl.int_range(2, pl.min_horizontal(pl.len(), k) + 2)).log(2)).sum().alias(f"ideal_dcg_{k}")


def _at_cutoff(pairs: pl.LazyFrame, k: int) -> pl.LazyFrame:
    ideal, missing = pl.col(f"ideal_dcg_{k}"), pl.col("returned").is_null()
    status = pl.when(ideal == 0).then(pl.lit("no_relevant")).when(missing).then(pl.lit("missing"))
    dcg = pl.col(f"dcg_{k}").fill_null(0.0)
    return pairs.select(
        *KEY,
        cutoff=pl.lit(k),
        status=status.otherwise(pl.lit("scored")),
        returned=pl.min_horizontal(pl.col("returned").fill_null(0), k),
        judged=pl.col(f"judged_{k}").fill_null(0),
        ndcg=pl.when(ideal > 0).then(dcg / ideal),
        dcg=dcg,
        ideal_dcg=ideal,
        cg=pl.col(f"cg_{k}").fill_null(0.0),
        evaluation_id=pl.lit("polars"),
    )


def _dataset_scores(query_scores: pl.DataFrame) -> pl.DataFrame:
    counted, status = pl.col("ndcg").is_not_null(), pl.col("status")
    dcg = pl.col("dcg").filter(counted)
    return query_scores.group_by("run", "cutoff").agg(
        queries=pl.col("ndcg").count(),
        missing_queries=(status == "missing").sum(),
        no_relevant_queries=(status == "no_relevant").sum(),
        convention=pl.lit("standard"),
        formula=pl.lit("gain 2^relevance - 1"),
        evaluation_id=pl.lit("polars"),
        ndcg=pl.col("ndcg").mean(),
        ndcg_pooled=dcg.sum() / pl.col("ideal_dcg").sum(),
        ndcg_stddev=pl.col("ndcg").std(),
        dcg=dcg.mean(),
        judged_rate=pl.col("judged").sum() / pl.col("returned").sum(),
    )


if __name__ == "__main__":
    main(scores)
