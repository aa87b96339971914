"""Ours on classic Spark in one session, and in turn MLlib's RankingMetrics and the mere sort of the same results.

python classic_warm.py JUDGMENTS RESULTS RESULTS_WITHOUT_RANKS ROUNDS

Prints the seconds of every evaluation (ours with its output, and the same less its check) and of every sort; the first
of each is the cold one.
"""

import collections
import itertools
import json
import sys
import tempfile
import time

import mllib

from ndcg_spark.config import validate
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.job.evaluate import evaluate_on
from ndcg_spark.job.progress import Clock


def main(judgments: str, ranked: str, unranked: str, rounds: str) -> None:
    """Print the seconds of so many rounds."""
    inside: dict[str, list[float]] = collections.defaultdict(list)
    with open_engine("spark") as engine, tempfile.TemporaryDirectory() as output:
        programs = {
            "evaluation": lambda to: _evaluate(engine, judgments, ranked, to),
            "evaluation, no ranks": lambda to: _evaluate(engine, judgments, unranked, to),
            "mllib": lambda _: _mllib(engine, judgments, unranked),
            "sort": lambda _: _sort(engine, unranked),
        }
        for number, (name, program) in itertools.product(range(int(rounds)), programs.items()):
            start = time.perf_counter()
            checking = program(f"{output}/{name}/{number}")
            inside[name].append(time.perf_counter() - start)
            if checking is not None:
                inside[f"{name}, unchecked"].append(inside[name][-1] - checking)
    sys.stdout.write(json.dumps({"inside": inside}) + "\n")


def _evaluate(engine: Engine, judgments: str, results: str, output: str) -> float:
    """The seconds that the check took, which MLlib has none of."""
    settings = {"judgments": {"path": judgments}, "results": {"path": results}, "cutoffs": "10", "output": output}
    outcome = evaluate_on(engine, validate(settings, "arguments"), lambda step, sentence: None, Clock())
    return outcome.seconds["check"]


def _mllib(engine: Engine, judgments: str, results: str) -> None:
    mllib.scores_in(engine.session, judgments, results, 10)


def _sort(engine: Engine, results: str) -> None:
    # The columns that a ranking needs, and no others: what any plan that sorts has to move.
    table = engine.session.read.parquet(results).select("run", "query_id", "doc_id", "score")
    ordered = table.repartition("query_id").sortWithinPartitions("query_id", table["score"].desc())
    ordered.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    main(*sys.argv[1:])
