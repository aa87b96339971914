"""Programs that give the same NDCG as ours: the functions of PEERS, each the mean NDCG of judgments and results.

python -m scripts.benchmark.peers NAME JUDGMENTS RESULTS OUTPUT CUTOFF prints it as JSON.
"""

import collections
import gzip
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

#: Query to document to score or grade.
Nested = dict[str, dict[str, float]]


def duckdb(judgments: str, results: str, output: str, k: int) -> float:
    """One SQL statement for the query scores, and both tables written. The convention is `standard`.

    The best documents of a list are an aggregate, `max(..., depth)`: a window took twice as long and twice the memory.
    """
    import duckdb

    db = duckdb.connect(config={"preserve_insertion_order": False})
    db.execute(
        f"""
        CREATE TEMP TABLE query_scores AS
        WITH judged AS (
            SELECT query_id, doc_id, pow(2, relevance) - 1 AS gain FROM read_parquet('{judgments}/**/*.parquet')
        ), ideal AS (
            SELECT query_id, sum(gain / log2(place + 1)) FILTER (place <= {k}) AS ideal_dcg
            FROM (SELECT query_id, gain, row_number() OVER (PARTITION BY query_id ORDER BY gain DESC) AS place
                  FROM judged)
            GROUP BY query_id
        ), top AS (
            SELECT run, query_id, unnest(best).doc_id AS doc_id, generate_subscripts(best, 1) AS place
            FROM (SELECT run, query_id, max({{'score': score, 'doc_id': doc_id}}, {k}) AS best
                  FROM read_parquet('{results}/**/*.parquet') SEMI JOIN ideal USING (query_id)
                  GROUP BY run, query_id)
        ), found AS (
            SELECT run, query_id, count(*) AS returned, count(gain) AS judged, sum(gain / log2(place + 1)) AS dcg,
                   sum(gain) AS cg
            FROM top LEFT JOIN judged USING (query_id, doc_id)
            GROUP BY run, query_id
        ), pairs AS (
            SELECT run, ideal.query_id, found.query_id IS NULL AS missing, coalesce(returned, 0) AS returned,
                   coalesce(judged, 0) AS judged, coalesce(dcg, 0) AS dcg, ideal_dcg, coalesce(cg, 0) AS cg
            FROM (SELECT DISTINCT run FROM found) CROSS JOIN ideal LEFT JOIN found USING (run, query_id)
        )
        SELECT run, query_id, {k} AS cutoff,
               CASE WHEN ideal_dcg = 0 THEN 'no_relevant' WHEN missing THEN 'missing' ELSE 'scored' END AS status,
               returned, judged, CASE WHEN ideal_dcg > 0 THEN dcg / ideal_dcg END AS ndcg, dcg, ideal_dcg, cg,
               'duckdb' AS evaluation_id
        FROM pairs
        """
    )
    db.execute(
        f"""
        CREATE TEMP TABLE dataset_scores AS
        SELECT run, cutoff, count(ndcg) AS queries, count_if(status = 'missing') AS missing_queries,
               count_if(status = 'no_relevant') AS no_relevant_queries, unjudged_queries,
               'standard' AS convention, 'gain 2^relevance - 1' AS formula, 'duckdb' AS evaluation_id,
               avg(ndcg) AS ndcg, sum(dcg) FILTER (ndcg IS NOT NULL) / sum(ideal_dcg) AS ndcg_pooled,
               stddev_samp(ndcg) AS ndcg_stddev, ndcg_stddev / sqrt(count(ndcg)) AS ndcg_stderr,
               avg(dcg) FILTER (ndcg IS NOT NULL) AS dcg, sum(judged) / sum(returned) AS judged_rate
        FROM query_scores JOIN (
            SELECT run, count_if(query_id NOT IN (SELECT query_id FROM query_scores)) AS unjudged_queries
            FROM (SELECT DISTINCT run, query_id FROM read_parquet('{results}/**/*.parquet')) GROUP BY run
        ) USING (run)
        GROUP BY run, cutoff, unjudged_queries
        """
    )
    for table in ("query_scores", "dataset_scores"):
        db.execute(f"COPY {table} TO '{output}/{table}.parquet' (FORMAT parquet)")
    return float(db.sql("SELECT avg(ndcg) FROM dataset_scores").fetchall()[0][0])


def duckdb_checked(judgments: str, results: str, output: str, k: int) -> float:
    """The same after it has counted in both tables what our check counts, which shows the cost of checks.

    Rows, rows that break a rule, a fingerprint that does not depend on the order of rows, documents judged twice, lists
    whose scores are all the same, and queries that nobody judged.
    """
    import duckdb as module

    db = module.connect(config={"preserve_insertion_order": False})
    db.execute(
        f"""
        CREATE TEMP TABLE judged AS
        SELECT query_id, count(*) AS rows, max(relevance) AS best,
               count_if(NOT coalesce(query_id > '' AND doc_id > '' AND isfinite(relevance), false)) AS bad,
               sum(hash(doc_id, relevance) >> 24) AS hashes, len(list_distinct(list(doc_id))) < count(*) AS twice
        FROM read_parquet('{judgments}/**/*.parquet') GROUP BY query_id
        """
    )
    of_judgments = db.execute(
        "SELECT sum(bad) + count_if(twice), sum(rows), max(best), sum(hash(query_id, rows, hashes) >> 24) FROM judged"
    ).fetchall()
    of_runs = db.execute(
        f"""
        SELECT sum(lists.bad), run, sum(lists.rows), count_if(least = most), count_if(judged.rows IS NULL),
               sum(hash(lists.query_id, lists.rows, lists.hashes) >> 24)
        FROM (
            SELECT run, query_id, count(*) AS rows,
                   count_if(NOT coalesce(run > '' AND query_id > '' AND doc_id > '' AND isfinite(score), false)) AS bad,
                   min(score) AS least, max(score) AS most, sum(hash(doc_id, score) >> 24) AS hashes
            FROM read_parquet('{results}/**/*.parquet') GROUP BY run, query_id
        ) AS lists LEFT JOIN judged ON lists.query_id = judged.query_id GROUP BY run
        """
    ).fetchall()
    if any(row[0] for row in [*of_judgments, *of_runs]):
        raise ValueError("a row breaks a rule, or a document is judged twice")
    return duckdb(judgments, results, output, k)


def pytrec_eval(judgments: str, results: str, _: str, k: int) -> float:
    """The mean over the runs, from dictionaries, the only input that it accepts. The convention is `pytrec_eval`."""
    import pytrec_eval

    is_text = Path(judgments).is_file()
    qrels = (
        _from_text(Path(judgments), 3, int)
        if is_text
        else _from_parquet(judgments, "relevance", "int64")
    )
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{k}"})
    files = sorted(Path(results).iterdir())
    runs = (
        (_from_text(path, 4, float) for path in files)
        if is_text
        else [_from_parquet(results, "score", "double")]
    )
    found = (evaluator.evaluate(run).values() for run in runs)
    return statistics.fmean(
        statistics.fmean(values[f"ndcg_cut_{k}"] for values in run) for run in found
    )


def _from_text(path: Path, column: int, number: Callable[[str], float]) -> Nested:
    """Read TREC lines in plain Python, the fastest way tried: 0.75 of the time of pytrec_eval.parse_run."""
    nested: Nested = collections.defaultdict(dict)
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in text.decode().splitlines():
        fields = line.split()
        nested[fields[0]][fields[2]] = number(fields[column])
    return dict(nested)


def _from_parquet(path: str, value: str, number: str) -> Nested:
    import pyarrow.parquet as pq

    nested: Nested = collections.defaultdict(dict)
    for batch in pq.read_table(path, columns=["query_id", "doc_id", value]).to_batches():
        columns = (*batch.columns[:2], batch.column(2).cast(number))
        for query, document, of in zip(*(column.to_pylist() for column in columns), strict=True):
            nested[query][document] = of
    return dict(nested)


def mllib(judgments: str, results: str, _: str, k: int) -> float:
    """RankingMetrics in the session that our own `--engine spark` makes. The convention is `mllib_binary`.

    The lists are made by DataFrames and passed to the JVM directly: the documented Python constructor would take
    every document through Python first, and is several times slower.
    """
    from pyspark.mllib.common import callMLlibFunc
    from pyspark.sql import functions as F

    from ndcg_spark.engine import open_engine

    with open_engine("spark") as engine:
        judged, returned = (
            engine.session.read.parquet(judgments),
            engine.session.read.parquet(results),
        )
        # Null is not collected: a query without a relevant document has an empty list.
        relevant = F.collect_list(F.when(F.col("relevance") > 0, F.col("doc_id")))
        best = F.slice(F.sort_array(F.collect_list(F.struct("score", "doc_id")), asc=False), 1, k)
        labels = judged.groupBy("query_id").agg(relevant.alias("labels"))
        lists = returned.groupBy("query_id").agg(best.getField("doc_id").alias("documents"))
        both = labels.join(lists, on="query_id", how="left")
        both = both.select(
            F.coalesce("documents", F.array().cast("array<string>")).alias("documents"), "labels"
        )
        return float(callMLlibFunc("newRankingMetrics", both._jdf).ndcgAt(k))


PEERS = {peer.__name__: peer for peer in (duckdb, duckdb_checked, pytrec_eval, mllib)}

if __name__ == "__main__":
    name, *paths, cutoff = sys.argv[1:]
    sys.stdout.write(json.dumps({"ndcg": PEERS[name](*paths, int(cutoff))}) + "\n")
