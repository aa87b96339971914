"""Every program that is measured: ours on each engine and the peers, each a whole process that prints its NDCG."""

import dataclasses
import importlib.util
import json
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.benchmark.data import Data
from scripts.benchmark.trec_text import Text

PROJECT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).parent / "peers"

#: Each peer: the module it needs, its file, and the preset of ours that is the same NDCG.
PEER_PROGRAMS: Mapping[str, tuple[str, str, str]] = {
    "duckdb": ("duckdb", "duckdb_sql.py", "standard"),
    "duckdb, checked": ("duckdb", "duckdb_checked.py", "standard"),
    "polars": ("polars", "polars_lazy.py", "standard"),
    "ir_measures": ("ir_measures", "ir_measures_frames.py", "ir_measures"),
    "pytrec_eval": ("pytrec_eval", "pytrec_eval_dicts.py", "pytrec_eval"),
    "ranx": ("ranx", "ranx_frames.py", "ranx"),
    "mllib": ("pyspark", "mllib.py", "mllib_binary"),
    "pandas_udf": ("pyspark", "pandas_udf.py", "standard"),
    "pytrec_eval_text": ("pytrec_eval", "pytrec_eval_text.py", "pytrec_eval"),
    "ir_measures_text": ("ir_measures", "ir_measures_text.py", "ir_measures"),
}
#: Those that read TREC text and not Parquet.
OF_TEXT = ("pytrec_eval_text", "ir_measures_text")
#: Those that need more than a minute for ten million results.
SLOW = frozenset({"ranx", "pandas_udf"})
NEEDS_JAVA = frozenset({"mllib", "pandas_udf"})

#: Every measure that needs no more of a list than its first ranks.
AT_CUTOFFS = ("ndcg", "precision", "recall", "ap", "rr", "success", "rbp", "err", "judged")

#: As small beside the data that is counted as Spark's own 10 MB are beside a night of 10^9 results: Spark would send
#: the judgments of small data to every task, which no cluster does with the judgments of a large night.
AS_AT_SCALE = {"spark.sql.autoBroadcastJoinThreshold": "10k"}


@dataclasses.dataclass(frozen=True)
class Program:
    """A command to measure; OUTPUT in it stands for a new folder."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: The program whose NDCG it must give.
    like: str | None = None
    #: Whether one round is enough, as it counts or has its rounds inside.
    once: bool = False
    #: Whether it takes minutes, so that it is left out where time is short.
    slow: bool = False


def ours(
    name: str, engine: str, data: Data | Text, cutoffs: str, options: Sequence[str] = (), **changes: Any
) -> Program:
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
    return Program(name, [*command, "--format", "json", *options], env, changes.get("like"))


def peer(name: str, data: Data | Text, cutoffs: str, like: str | None, *options: str) -> Program:
    """A peer on the same files; `options` are its own."""
    command = [sys.executable, str(PEERS / PEER_PROGRAMS[name][1]), str(data.judgments), str(data.results)]
    env = {"PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable}
    return Program(name, [*command, "OUTPUT", cutoffs, *options], env, like, slow=name in SLOW)


def gunzip(name: str, text: Text) -> Program:
    """Reading and gunzipping every run, and nothing else: no program that reads them can be faster."""
    return Program(name, ["sh", "-c", f"zcat {shlex.quote(str(text.results))}/* | wc -l"])


def counted(name: str, engine: str, cases: Mapping[str, Mapping[str, Any]], spark: Mapping[str, str]) -> Program:
    """Evaluations in one process whose cost is counted; `cases` are their settings, `spark` those of Spark."""
    command = [sys.executable, "-m", "scripts.benchmark.counted", engine, json.dumps(cases), json.dumps(spark)]
    env = {"PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable}
    return Program(name, command, env, once=True)


def warm(name: str, data: Data, cutoffs: str, rounds: int) -> Program:
    """Evaluations, with ranks in the results and without, and sorts in one session of classic Spark."""
    command = [sys.executable, str(PEERS / "classic_warm.py"), str(data.judgments), str(data.results)]
    command += [str(data.unranked)]
    env = {"PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable}
    return Program(name, [*command, cutoffs, str(rounds)], env, once=True)


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
    """The NDCG at every cutoff that a program has printed, of its runs the mean; empty if it printed none.

    Of a comparison, every p value.
    """
    if "comparisons" in printed:
        return {_compared(row): row["p_value"] for row in printed["comparisons"] if row["test"] == "t"}
    if "p_values" in printed:
        return dict(printed["p_values"])
    if "dataset_scores" not in printed:
        return dict(printed.get("ndcg", {}))
    by_cutoff: dict[str, list[float]] = {}
    for row in printed["dataset_scores"]:
        by_cutoff.setdefault(str(row["cutoff"]), []).append(row["ndcg"])
    return {cutoff: sum(values) / len(values) for cutoff, values in by_cutoff.items()}


def _compared(row: Mapping[str, Any]) -> str:
    """What a comparison is of: its run, and its slice if it is of one."""
    return str(row["run"]) + ("" if row["attribute"] is None else f" {row['attribute']}={row['value']}")
