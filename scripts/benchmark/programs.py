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

from scripts.benchmark.data import Files

PROJECT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).parent / "peers"
ENVIRONMENT = {"PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable}

#: Each peer: the package it needs, its module, and the preset of ours that is the same NDCG.
PEER_PROGRAMS: Mapping[str, tuple[str, str, str]] = {
    "duckdb": ("duckdb", "duckdb_sql", "standard"),
    "duckdb, checked": ("duckdb", "duckdb_checked", "standard"),
    "polars": ("polars", "polars_lazy", "standard"),
    "ir_measures": ("ir_measures", "ir_measures_frames", "ir_measures"),
    "pytrec_eval": ("pytrec_eval", "pytrec_eval_dicts", "pytrec_eval"),
    "ranx": ("ranx", "ranx_frames", "ranx"),
    "mllib": ("pyspark", "mllib", "mllib_binary"),
}
#: The rank that every program cuts lists at.
CUTOFF = "10"

#: As small beside the data that is counted as Spark's own 10 MB are beside a night of 10^9 results: Spark would send
#: the judgments of small data to every task, which no cluster does with the judgments of a large night.
AS_AT_SCALE = {"spark.sql.autoBroadcastJoinThreshold": "10k"}


def advised() -> dict[str, str]:
    """What conf/spark-defaults.conf advises about plans, on data like that of a large night."""
    lines = (PROJECT / "conf" / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    return {**dict(line.split() for line in lines if line.startswith("spark.sql.")), **AS_AT_SCALE}


@dataclasses.dataclass(frozen=True)
class Program:
    """A command to measure; OUTPUT in it stands for a new folder."""

    name: str
    command: Sequence[str]
    #: The program whose NDCG it must give.
    like: str | None = None
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Whether one round is enough, as it counts or has its rounds inside.
    once: bool = False
    #: The module that it needs, or java.
    needs: str = ""

    @property
    def absent(self) -> str | None:
        """Why it cannot run here, and what to do; None if it can."""
        if self.needs == "java":
            return None if shutil.which("java") else "needs Java 17; apt-get install openjdk-17-jre-headless"
        there = not self.needs or importlib.util.find_spec(self.needs)
        return None if there else "not installed; pip install --group bench"


def ours(name: str, files: Files, *options: str, engine: str = "embedded", **changes: Any) -> Program:
    """`ndcg-spark evaluate` with its output kept. `changes` are those of a Program: env, and like."""
    command = ["evaluate", *inputs(files), "--cutoffs", CUTOFF, "--engine", engine]
    command += ["--output", "OUTPUT", "--format", "json"]
    return module(name, "ndcg_spark", *command, *options, needs="java" if engine == "spark" else "", **changes)


def inputs(files: Files) -> list[str]:
    """The options that name the files."""
    return ["--judgments", str(files.judgments), "--results", str(files.results)]


def both(name: str, data: Any, *options: str, **changes: Any) -> list[Program]:
    """Ours with the ranks of the results and without them."""
    return [
        ours(name, data.ranked, *options, **changes),
        ours(f"{name}, no ranks", data.unranked, *options, **{**changes, "like": name}),
    ]


def module(name: str, module: str, *arguments: str, **changes: Any) -> Program:
    """A module with these arguments."""
    return Program(name, [sys.executable, "-m", module, *arguments], **changes)


def peer(name: str, files: Files, like: str | None, called: str = "") -> Program:
    """A peer on the same files, called by its name or another."""
    package, module, _ = PEER_PROGRAMS[name]
    needs = "java" if package == "pyspark" else package
    return script(called or name, "peer.py", module, *map(str, files), "OUTPUT", CUTOFF, like=like, needs=needs)


def script(name: str, file: str, *arguments: str, **changes: Any) -> Program:
    """A program of the folder peers."""
    return Program(name, [sys.executable, str(PEERS / file), *arguments], **changes)


def gunzip(name: str, folder: Path) -> Program:
    """Reading and gunzipping every run, and nothing else: no program that reads them can be faster."""
    return Program(name, ["sh", "-c", f"zcat {shlex.quote(str(folder))}/*.gz | wc -l"])


def counted(name: str, engine: str, cases: Mapping[str, Mapping[str, Any]], spark: Mapping[str, str]) -> Program:
    """Evaluations in one process whose cost is counted; `cases` are their settings, `spark` those of Spark."""
    arguments = (engine, json.dumps(cases), json.dumps(spark))
    needs = "java" if engine == "spark" else ""
    return module(name, "scripts.benchmark.counted", *arguments, once=True, needs=needs)


def case(files: Files) -> dict[str, Any]:
    """The settings of an evaluation, for `counted`."""
    return {**{table: {"path": str(path)} for table, path in files._asdict().items()}, "cutoffs": CUTOFF}


def ndcg(printed: Mapping[str, Any]) -> dict[str, float]:
    """The NDCG at every cutoff that a program has printed, of its runs the mean; of a comparison, every p value."""
    values: dict[str, list[float]] = {name: [value] for name, value in printed.get("ndcg", {}).items()}
    for row in printed.get("dataset_scores", ()):
        values.setdefault(str(row["cutoff"]), []).append(row["ndcg"])
    for row in printed.get("comparisons", ()):
        if row["test"] == "t":
            part = "" if row["attribute"] is None else f" {row['attribute']}={row['value']}"
            values[f"{row['run']}{part}"] = [row["p_value"]]
    return {name: sum(of) / len(of) for name, of in values.items()}
