"""Polars: lazy frames on the streaming engine, both tables written. The convention is `standard`."""

import polars as pl
from peer import night

KEY = ["run", "query_id"]


def scores(judgments: str, results: str, output: str, k: int) -> float:
    """Mean NDCG at cutoff k; query_scores and dataset_scores are written."""
    judged = pl.scan_parquet(f"{judgments}/*.parquet")
    judged = judged.select("query_id", "doc_id", gain=2.0 ** pl.col("relevance") - 1.0)
    returned = pl.scan_parquet(f"{results}/*.parquet").select(*KEY, "doc_id", "score")
    # Collected once and written, as a sink alone would compute it again for the dataset scores.
    query_scores = _query_scores(returned, judged, k).collect(engine="streaming")
    query_scores.write_parquet(night(output, "query_scores"))
    answered = returned.select(KEY).unique().join(judged, on="query_id", how="anti")
    unjudged = answered.group_by("run").agg(unjudged_queries=pl.len()).collect(engine="streaming")
    dataset_scores = _dataset_scores(query_scores).join(unjudged, on="run", how="left")
    dataset_scores.write_parquet(night(output, "dataset_scores"))
    return float(dataset_scores["ndcg"].mean())


def _query_scores(returned: pl.LazyFrame, judged: pl.LazyFrame, k: int) -> pl.LazyFrame:
    best = pl.col("gain").sort(descending=True).head(k)
    discounts = pl.int_range(2, pl.min_horizontal(pl.len(), k) + 2).log(2)
    ideal = judged.group_by("query_id").agg(ideal_dcg=(best / discounts).sum())
    top = returned.join(judged.select("query_id").unique(), on="query_id", how="semi").group_by(KEY)
    documents = pl.struct("score", "doc_id").sort(descending=True).head(k).struct.field("doc_id")
    ranked = top.agg(documents, place=pl.int_range(1, pl.min_horizontal(pl.len(), k) + 1)).explode("doc_id", "place")
    gains = ranked.join(judged, on=["query_id", "doc_id"], how="left")
    found = gains.group_by(KEY).agg(
        returned=pl.len(),
        judged=pl.col("gain").count(),
        dcg=(pl.col("gain") / (pl.col("place") + 1).log(2)).sum(),
        cg=pl.col("gain").sum(),
    )
    pairs = ideal.join(found.select("run").unique(), how="cross").join(found, on=KEY, how="left", maintain_order="none")
    ideal_dcg, dcg = pl.col("ideal_dcg"), pl.col("dcg").fill_null(0.0)
    status = pl.when(ideal_dcg == 0).then(pl.lit("no_relevant")).when(pl.col("returned").is_null())
    return pairs.select(
        *KEY,
        "ideal_dcg",
        cutoff=pl.lit(k),
        status=status.then(pl.lit("missing")).otherwise(pl.lit("scored")),
        returned=pl.col("returned").fill_null(0),
        judged=pl.col("judged").fill_null(0),
        ndcg=pl.when(ideal_dcg > 0).then(dcg / ideal_dcg),
        dcg=dcg,
        cg=pl.col("cg").fill_null(0.0),
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
        ndcg_stderr=pl.col("ndcg").std() / pl.col("ndcg").count().sqrt(),
        dcg=dcg.mean(),
        judged_rate=pl.col("judged").sum() / pl.col("returned").sum(),
    )
