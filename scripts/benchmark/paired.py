"""A night of seeded query scores, as it is published, and the scenario that compares its runs with one of them."""

import dataclasses
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.publish import Publication
from ndcg_spark.schemas import PARTITIONS, QUERY_SCORES
from scripts.benchmark.data import warm_up
from scripts.benchmark.programs import PEERS, PROJECT, Program, missing
from scripts.benchmark.setting import Scenario, Setting, Target

NIGHT = "dataset=default/evaluated_on=2026-11-20/evaluation_id=benchmark"
BASELINE = "run-00"
#: Of so many attributes each query has one of as many values: 20 slices.
ATTRIBUTES, VALUES = 4, 5
_ROWS = 200_000


@dataclasses.dataclass(frozen=True)
class PairedSize:
    """How many queries have a score in how many runs."""

    queries: int = 1_000_000
    runs: int = 20
    seed: int = 0


def compare(setting: Setting) -> Scenario:
    """A million queries, 20 runs against one, on all of them and on 20 slices, against ranx on the same scores."""
    size = PairedSize(setting.scaled(1_000_000, 5_000), seed=setting.size.seed)
    output, slices = make_paired(size, setting.cache)
    warm_up(output)
    skipped = missing(["ranx"])
    env = {"PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-m", "ndcg_spark", "compare", str(output), "--baseline", BASELINE, "--format", "json"]
    command += ["--correction", "none", "--engine", "embedded"]
    sliced = [*command, "--slices", str(slices)]
    programs = [Program("20 runs", command, env), Program("20 runs, 20 slices", sliced, env)]
    if not skipped:
        ranx = [sys.executable, str(PEERS / "ranx_compare.py"), str(output / "query_scores" / NIGHT), BASELINE]
        programs += [
            dataclasses.replace(Program("ranx", ranx, env, like="20 runs"), slow=True),
            dataclasses.replace(
                Program("ranx, 20 slices", [*ranx, str(slices)], env, like="20 runs, 20 slices"), slow=True
            ),
        ]
    targets = [
        Target("a million queries, 20 runs: seconds", "20 runs", 20.0),
        Target("20 slices against none", "20 runs, 20 slices", 3.0, "20 runs"),
        Target("against ranx, 20 slices", "20 runs, 20 slices", 0.5, "ranx, 20 slices"),
    ]
    return Scenario("Comparing runs", programs, targets, "20 runs", skipped)


def make_paired(size: PairedSize, cache: Path) -> tuple[Path, Path]:
    """The output that keeps the scores, and the file of the attributes; what is there is not made again."""
    folder = cache / f"paired-{size.queries}-{size.runs}-{size.seed}"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _write(size, folder)
        (folder / "done").touch()
    return folder / "output", folder / "slices.parquet"


def _write(size: PairedSize, folder: Path) -> None:
    chance = np.random.default_rng(size.seed)
    names = np.array([f"query-{at:07}" for at in range(size.queries)])
    baseline = chance.beta(4, 3, size.queries)
    output = folder / "output"
    staged = output / "_staging" / "benchmark"
    (staged / "query_scores" / NIGHT).mkdir(parents=True)
    (staged / "dataset_scores" / NIGHT).mkdir(parents=True)
    rows = []
    for number in range(size.runs):
        # So small that p values are of every size.
        apart = chance.normal(0.1 * (number - size.runs / 2) / size.queries**0.5 / 10, 0.1, size.queries)
        ndcg = baseline + apart if number else baseline
        run = f"run-{number:02}"
        for start in range(0, size.queries, _ROWS):
            part = slice(start, start + _ROWS)
            table = _query_scores(run, names[part], ndcg[part])
            pq.write_table(table, staged / "query_scores" / NIGHT / f"{run}-{start}.parquet")
        rows.append({"run": run, "cutoff": 10, "queries": size.queries, "ndcg": float(ndcg.mean())})
    pq.write_table(pa.Table.from_pylist(rows), staged / "dataset_scores" / NIGHT / "part.parquet")
    night = Publication(str(output), "benchmark")
    night.verify("query_scores", size.queries * size.runs)
    night.verify("dataset_scores", size.runs)
    convention = Convention()
    night.commit({"convention": "standard", "options": convention.options(), "configuration": {}, "inputs": {}})
    values = {
        f"attribute_{at}": [f"value-{value}" for value in chance.integers(0, VALUES, size.queries)]
        for at in range(ATTRIBUTES)
    }
    pq.write_table(pa.table({"query_id": names, **values}), folder / "slices.parquet")


def _query_scores(run: str, names: np.ndarray, ndcg: np.ndarray) -> pa.Table:
    """Rows of QUERY_SCORES as a night has them, the dataset and the date being their folders."""
    count = len(names)
    known = {
        "run": [run] * count,
        "query_id": names,
        "cutoff": np.full(count, 10, np.int32),
        "status": ["scored"] * count,
        "returned": np.full(count, 10),
        "judged": np.full(count, 10),
        "ndcg": ndcg,
        "dcg": ndcg * 10,
        "ideal_dcg": np.full(count, 10.0),
    }
    return pa.table({name: known[name] for name in QUERY_SCORES.names if name in known and name not in PARTITIONS})
