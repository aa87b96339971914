"""Ours on classic Spark in one session, and in turn MLlib's RankingMetrics and the mere sort of the same results.

python classic_warm.py JUDGMENTS RESULTS RESULTS_WITHOUT_RANKS CUTOFFS ROUNDS

Prints the seconds of every evaluation (ours with its output) and of every sort; the first of each is the cold one.
"""

import json
import sys
import tempfile
import time

import mllib

from ndcg_spark.config import validate
from ndcg_spark.engine import open_engine
from ndcg_spark.job.clock import Clock
from ndcg_spark.job.evaluating import run_on


def seconds(judgments: str, ranked: str, unranked: str, cutoffs: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of `rounds` evaluations of each kind and as many sorts, in turn."""
    found: dict[str, list[float]] = {"evaluation": [], "evaluation, no ranks": [], "mllib": [], "sort": []}
    with open_engine("spark") as engine, tempfile.TemporaryDirectory() as output:
        for number in range(rounds):
            for name, results in (("evaluation", ranked), ("evaluation, no ranks", unranked)):
                settings = {
                    "judgments": {"path": judgments},
                    "results": {"path": results},
                    "cutoffs": cutoffs,
                    "output": f"{output}/{name}/{number}",
                }
                start = time.perf_counter()
                run_on(engine, validate(settings, "arguments"), lambda step, sentence: None, Clock())
                found[name].append(time.perf_counter() - start)
            start = time.perf_counter()
            mllib.means(engine.session, judgments, unranked, [int(cutoff) for cutoff in cutoffs.split(",")])
            found["mllib"].append(time.perf_counter() - start)
            start = time.perf_counter()
            # The columns that a ranking needs, and no others: what any plan that sorts has to move.
            table = engine.session.read.parquet(unranked).select("run", "query_id", "doc_id", "score")
            ordered = table.repartition("query_id").sortWithinPartitions("query_id", table["score"].desc())
            ordered.write.format("noop").mode("overwrite").save()
            found["sort"].append(time.perf_counter() - start)
    return found


if __name__ == "__main__":
    *given, number_of_rounds = sys.argv[1:]
    sys.stdout.write(json.dumps({"seconds": seconds(*given, int(number_of_rounds))}) + "\n")
