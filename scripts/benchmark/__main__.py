"""Measures ndcg_spark and the alternatives, in turn, on the same data, and prints medians and ratios."""

import argparse
import compileall
import importlib.metadata
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from scripts.benchmark.data import Setting
from scripts.benchmark.measure import PROJECT, measure
from scripts.benchmark.scenarios import SCENARIOS, Program

PACKAGES = ("ndcg-spark", "pysail", "pyspark", "duckdb", "pytrec_eval-terrier")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a program fails or two that should agree do not."""
    parser = argparse.ArgumentParser(prog="python -m scripts.benchmark", description=__doc__)
    parser.add_argument("--scenario", nargs="+", choices=SCENARIOS, default=["peers"])
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", help="these programs of a scenario")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="multiplies the size of all data; try 0.01"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "ndcg-spark-benchmark"
    )
    given = parser.parse_args(arguments)
    # An installed package has bytecode: without it, every start would compile again.
    compileall.compile_dir(PROJECT / "ndcg_spark", quiet=1)
    installed = {of.name: of.version for of in importlib.metadata.distributions()}
    versions = ", ".join(f"{name} {installed.get(name, 'absent')}" for name in PACKAGES)
    sys.stdout.write(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; {versions}\n")
    # All data is made first, so that making it does not disturb a measurement.
    setting = Setting(given.cache, given.scale)
    scenarios = {name: SCENARIOS[name](setting) for name in given.scenario}
    wrong = []
    # In a separate process: memory that a process has used is attributed to the programs that it starts.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as measuring:
        for name, programs in scenarios.items():
            wanted = [
                program for program in programs if program.name in (given.only or [program.name])
            ]
            rows, problems = run_rounds(wanted, given.rounds, measuring)
            sys.stdout.write(
                "\n".join([f"\n{name}\n", medians(rows).to_string(na_rep=""), "", *problems, ""])
            )
            wrong += problems
    return int(bool(wrong))


def run_rounds(
    programs: Sequence[Program], rounds: int, measuring: Executor
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Run every program once in each round, in turn. Return what each took, and what is wrong; a failed program is not run again."""
    rows: list[Mapping[str, Any]] = []
    scores: dict[str, float] = {}
    problems: dict[str, str] = {}
    for program in [program for _ in range(rounds) for program in programs]:
        if program.name in problems:
            continue
        with tempfile.TemporaryDirectory(prefix="benchmark-", ignore_cleanup_errors=True) as output:
            command = [output if part == "OUTPUT" else part for part in program.command]
            try:
                measured, printed = measuring.submit(measure, command, program.env).result()
            except subprocess.CalledProcessError as error:
                problems[program.name] = (
                    f"{program.name}: exit code {error.returncode}, {error.stderr}"
                )
                continue
        # Other work makes a figure worthless.
        sys.stderr.write(
            f"{program.name:<32} {measured['seconds']:8.2f} s, load average {os.getloadavg()[0]:.1f}\n"
        )
        rows.append({"program": program.name, **measured})
        for call, (first, *later) in printed.get("inside", {}).items():
            rows.append({"program": f"{program.name}, first {call}", "seconds": first})
            rows += [
                {"program": f"{program.name}, {call}", "seconds": seconds} for seconds in later
            ]
        mine = fmean(
            row.get("ndcg", float("nan")) for row in printed.get("dataset_scores", [printed])
        )
        scores[program.name], theirs = mine, scores.get(program.like or "")
        if theirs is not None and not abs(mine - theirs) <= 1e-9:
            problems[program.name] = f"{program.name} gives {mine}, {program.like} {theirs}"
    return rows, [*problems.values()]


def medians(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The medians of every program and call, the fastest first, also as a multiple of the first row."""
    table = pd.DataFrame(rows).groupby("program", sort=False).median()
    table[f"times {table.index[0]}"] = table["seconds"] / table["seconds"].iloc[0]
    return table.sort_values("seconds").round(2)


if __name__ == "__main__":
    sys.exit(main())
