"""The library in one session, as a notebook calls it: evaluations of 30,000 results, and comparisons of two runs.

python library_warm.py ENGINE ROUNDS

Prints the seconds of every call; the first of each is the cold one.
"""

import collections
import json
import sys
import time

import numpy as np
import pyarrow as pa

from ndcg_spark import compare, evaluate, open_session

QUERIES, RESULTS, JUDGMENTS, COMPARED = 300, 100, 67, 1_000


def main(engine: str, rounds: str) -> None:
    """Print the seconds of so many rounds."""
    session, chance = open_session(engine), np.random.default_rng(0)
    grades = chance.integers(0, 4, QUERIES * JUDGMENTS)
    judgments = session.createDataFrame(_rows(chance, JUDGMENTS, "relevance", grades))
    results = session.createDataFrame(_rows(chance, RESULTS, "score", chance.random(QUERIES * RESULTS)))
    queries = [f"q{at}" for at in range(COMPARED)]
    runs, ndcg = np.repeat(["old", "new"], COMPARED), chance.random(2 * COMPARED)
    of_queries = session.createDataFrame(pa.table({"run": runs, "query_id": queries * 2, "ndcg": ndcg}))
    calls = {
        f"{engine}, evaluate": lambda: evaluate(judgments, results).dataset_scores,
        f"{engine}, compare": lambda: compare(of_queries, "old"),
    }
    inside: dict[str, list[float]] = collections.defaultdict(list)
    for _ in range(int(rounds)):
        for name, call in calls.items():
            start = time.perf_counter()
            call().collect()
            inside[name].append(time.perf_counter() - start)
    sys.stdout.write(json.dumps({"inside": inside}) + "\n")


def _rows(chance: np.random.Generator, of_each: int, name: str, values: np.ndarray) -> pa.Table:
    """So many documents of every query, each once, with a value."""
    documents = np.concatenate([chance.choice(1_000, of_each, replace=False) for _ in range(QUERIES)])
    queries = np.repeat(np.arange(QUERIES), of_each)
    return pa.table({"query_id": queries.astype(str), "doc_id": documents.astype(str), name: values})


if __name__ == "__main__":
    main(*sys.argv[1:])
