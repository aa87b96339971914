"""Every program that is measured: ours on each engine and the peers, each a whole process that prints its NDCG."""

import dataclasses
import importlib.util
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.benchmark.data import Data

PROJECT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).parent / "peers"

#: Each peer: the module it needs, its file, and the preset of ours that is the same NDCG.
PEER_PROGRAMS: Mapping[str, tuple[str, str, str]] = {
    "duckdb": ("duckdb", "duckdb_sql.py", "standard"),
    "polars": ("polars", "polars_lazy.py", "standard"),
    "ir_measures": ("ir_measures", "ir_measures_frames.py", "ir_measures"),
    "pytrec_eval": ("pytrec_eval", "pytrec_eval_dicts.py", "pytrec_eval"),
    "ranx": ("ranx", "ranx_frames.py", "ranx"),
    "mllib": ("pyspark", "mllib.py", "mllib_binary"),
    "pandas_udf": ("pyspark", "pandas_udf.py", "standard"),
}
NEEDS_JAVA = frozenset({"mllib", "pandas_udf"})


@dataclasses.dataclass(frozen=True)
class Program:
    """A command to measure; OUTPUT in it stands for a new folder."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: The program whose NDCG it must give.
    like: str | None = None


def ours(name: str, engine: str, data: Data, cutoffs: str, options: Sequence[str] = (), **changes: Any) -> Program:
    """`ndcg-spark evaluate` with its output kept. `changes`: judgments and results, folders; env; like, a program."""
    judgments = changes.get("judgments", data.judgments)
    command = [sys.executable, "-m", "ndcg_spark", "evaluate", "--judgments", str(judgments)]
    command += [
        "--results",
        str(changes.get("results", data.results)),
        "--cutoffs",
        cutoffs,
        "--engine",
        engine,
        "--output",
        "OUTPUT",
    ]
    env = {"PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable, **changes.get("env", {})}
    return Program(name, [*command, "--json", *options], env, changes.get("like"))


def peer(name: str, data: Data, cutoffs: str, like: str | None) -> Program:
    """A peer on the same files."""
    command = [sys.executable, str(PEERS / PEER_PROGRAMS[name][1]), str(data.judgments), str(data.results)]
    env = {"PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable}
    return Program(name, [*command, "OUTPUT", cutoffs], env, like)


def warm(name: str, data: Data, cutoffs: str, rounds: int) -> Program:
    """Evaluations, with ranks in the results and without, and sorts in one session of classic Spark."""
    command = [sys.executable, str(PEERS / "classic_warm.py"), str(data.judgments), str(data.results)]
    command += [str(data.unranked)]
    env = {"PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable}
    return Program(name, [*command, cutoffs, str(rounds)], env)


def example() -> Program:
    """The example, as scripts/run-example.sh runs it once it is installed."""
    command = [sys.executable, "-m", "ndcg_spark", "evaluate", "--config", str(PROJECT / "conf" / "example.toml")]
    return Program("example", [*command, "--engine", "embedded"], {"PYTHONPATH": str(PROJECT)})


def missing(peers: Sequence[str]) -> dict[str, str]:
    """The peers that cannot run here, each with what to do."""
    absent = {}
    for name in peers:
        if importlib.util.find_spec(PEER_PROGRAMS[name][0]) is None:
            absent[name] = "not installed; pip install --group bench"
        elif name in NEEDS_JAVA and not has_java():
            absent[name] = "needs Java 17; apt-get install openjdk-17-jre-headless"
    return absent


def has_java() -> bool:
    """Whether classic Spark can start here."""
    return shutil.which("java") is not None


def ndcg(printed: Mapping[str, Any]) -> dict[str, float]:
    """The NDCG at every cutoff that a program has printed, of its runs the mean; empty if it printed none."""
    if "dataset_scores" not in printed:
        return dict(printed.get("ndcg", {}))
    by_cutoff: dict[str, list[float]] = {}
    for row in printed["dataset_scores"]:
        by_cutoff.setdefault(str(row["cutoff"]), []).append(row["ndcg"])
    return {cutoff: sum(values) / len(values) for cutoff, values in by_cutoff.items()}
