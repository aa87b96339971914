"""The library in one session, as a notebook calls it: evaluations of 30,000 results, and comparisons of two runs.

python -m scripts.benchmark.library ENGINE ROUNDS prints the seconds of every call; the first call of each is the cold one.
"""

import json
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa

from ndcg_spark import compare, evaluate, open_session

if __name__ == "__main__":
    session, chance = open_session(sys.argv[1]), np.random.default_rng(0)
    names = [np.arange(number).astype(str) for number in (300, 100, 1_000)]
    results = pd.MultiIndex.from_product(names[:2], names=["query_id", "doc_id"]).to_frame(
        index=False
    )
    judgments = results.sample(20_000, random_state=0).assign(
        relevance=chance.integers(0, 4, 20_000)
    )
    pairs = pd.MultiIndex.from_product(
        [["old", "new"], names[2]], names=["run", "query_id"]
    ).to_frame(index=False)
    tables = (
        judgments,
        results.assign(score=chance.random(30_000)),
        pairs.assign(ndcg=chance.random(2_000)),
    )
    judgments, results, query_scores = (
        session.createDataFrame(pa.Table.from_pandas(table, preserve_index=False))
        for table in tables
    )
    calls = {
        "evaluate": lambda: evaluate(judgments, results).to_pandas(),
        "compare": lambda: compare(query_scores, "old"),
    }
    inside: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(int(sys.argv[2])):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            inside[name].append(time.perf_counter() - start)
    sys.stdout.write(json.dumps({"inside": inside}) + "\n")
