"""A night of seeded query scores, as it is published, and the scenario that compares its runs with one of them."""

import functools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.publication import Publication
from scripts.benchmark.data import cached
from scripts.benchmark.programs import module, script
from scripts.benchmark.setting import Scenario, Setting, Target

NIGHT = "dataset=default/evaluated_on=2026-11-20/evaluation_id=benchmark"
BASELINE, RUNS = "run-00", 20
#: Of so many attributes each query has one of as many values: 20 slices.
ATTRIBUTES, VALUES = 4, 5


def compare(setting: Setting) -> Scenario:
    """A million queries, 20 runs against one, on all of them and on 20 slices, against ranx on the same scores."""
    queries = setting.scaled(1_000_000, 5_000)
    write = functools.partial(_write, queries, setting.seed)
    folder = cached(setting.cache / f"paired-{queries}-{RUNS}-{setting.seed}", write)
    command = ["compare", str(folder / "output"), "--baseline", BASELINE, "--format", "json", "--correction", "none"]
    command += ["--engine", "embedded"]
    ranx = ["ranx_compare.py", str(folder / "output" / "query_scores" / NIGHT), BASELINE]
    slices = str(folder / "slices.parquet")
    programs = [
        module("20 runs", "ndcg_spark", *command),
        module("20 runs, 20 slices", "ndcg_spark", *command, "--slices", slices),
        script("ranx", *ranx, like="20 runs", needs="ranx"),
        script("ranx, 20 slices", *ranx, slices, like="20 runs, 20 slices", needs="ranx"),
    ]
    targets = [
        Target("20 runs", 20.0),
        Target("20 runs, 20 slices", 3.0, "20 runs"),
        Target("20 runs, 20 slices", 0.5, "ranx, 20 slices"),
    ]
    return Scenario("Comparing runs", programs, targets)


def _write(queries: int, seed: int, folder: Path) -> None:
    chance = np.random.default_rng(seed)
    names = np.array([f"query-{at:07}" for at in range(queries)])
    baseline = chance.beta(4, 3, queries)
    staged = folder / "output" / "_staging" / "benchmark"
    for table in ("query_scores", "dataset_scores"):
        (staged / table / NIGHT).mkdir(parents=True)
    rows = []
    for number in range(RUNS):
        # So small that p values are of every size.
        apart = chance.normal(0.1 * (number - RUNS / 2) / queries**0.5 / 10, 0.1, queries)
        run, ndcg = f"run-{number:02}", baseline + apart if number else baseline
        pq.write_table(_query_scores(run, names, ndcg), staged / "query_scores" / NIGHT / f"{run}.parquet")
        rows.append({"run": run, "cutoff": 10, "queries": queries, "ndcg": float(ndcg.mean())})
    pq.write_table(pa.Table.from_pylist(rows), staged / "dataset_scores" / NIGHT / "part.parquet")
    night = Publication(str(folder / "output"), "benchmark")
    night.verify("query_scores", queries * RUNS)
    night.verify("dataset_scores", RUNS)
    options = Convention().options()
    night.commit({"convention": "standard", "options": options, "configuration": {}, "inputs": {}})
    drawn = {f"attribute_{at}": chance.integers(0, VALUES, queries) for at in range(ATTRIBUTES)}
    values = {name: [f"value-{value}" for value in of] for name, of in drawn.items()}
    pq.write_table(pa.table({"query_id": names, **values}), folder / "slices.parquet")


def _query_scores(run: str, names: np.ndarray, ndcg: np.ndarray) -> pa.Table:
    """Rows as a night has them, the dataset and the date being their folders."""
    count = len(names)
    ten, gain = pa.repeat(pa.scalar(10, pa.int64()), count), pa.repeat(10.0, count)
    texts = {"run": pa.repeat(run, count), "query_id": names, "cutoff": ten.cast(pa.int32())}
    counts = {"status": pa.repeat("scored", count), "returned": ten, "judged": ten}
    return pa.table({**texts, **counts, "ndcg": ndcg, "dcg": ndcg * 10, "ideal_dcg": gain})
