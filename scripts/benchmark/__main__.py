"""Measures ours and what users would pick instead, in turn, on the same data; writes benchmark.md and benchmark.json.

From the project's folder: python -m scripts.benchmark --scenario peers --rounds 5 --output benchmark-results
"""

import argparse
import compileall
import dataclasses
import datetime
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.benchmark.data import Size
from scripts.benchmark.machine import machine, versions
from scripts.benchmark.measure import Measurement, ProgramError, measure
from scripts.benchmark.programs import PROJECT, Program
from scripts.benchmark.report import disagreements, heading, medians, section, verdicts
from scripts.benchmark.scenarios import SCENARIOS, Scenario, Setting

QUICK = {"queries": 1_000, "rounds": 1}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; 1 if a program fails or two that should agree do not."""
    given = _arguments(arguments)
    # As an installed package has: without bytecode every start compiles again.
    compileall.compile_dir(PROJECT / "ndcg_spark", quiet=1)
    size = Size(given.queries, given.results, given.judgments, given.runs, given.seed)
    setting = Setting(size, given.cutoffs, given.cache, given.rounds)
    facts: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "load": os.getloadavg()[0],
        "parameters": f"{size.queries:,} queries, {size.results} results and {size.judgments} judgments each, "
        f"cutoffs {given.cutoffs}, seed {size.seed}",
        "size": dataclasses.asdict(size),
        "scenarios": {},
    }
    pages, failed = [], False
    for name in SCENARIOS if "all" in given.scenario else given.scenario:
        scenario = _only(SCENARIOS[name](setting), given.only)
        for left_out, reason in scenario.skipped.items():
            _tell(f"{name}: without {left_out}: {reason}")
        found, problems = _measured(name, scenario, given)
        problems += disagreements(scenario, found)
        rows = medians(found)
        pages += section(scenario, rows) + [f"**Problem:** {problem}" for problem in problems]
        failed = failed or bool(problems)
        facts["scenarios"][name] = {
            "medians": rows,
            "targets": verdicts(scenario.targets, rows),
            "rounds": {program: [dataclasses.asdict(m) for m in rounds] for program, rounds in found.items()},
            "problems": problems,
            "skipped": dict(scenario.skipped),
        }
        # After every scenario: a night of measurements is not lost to the last of them.
        _write(given.output, [*heading(facts), *pages], facts)
    sys.stdout.write("\n".join([*heading(facts), *pages]) + "\n")
    return int(failed)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.benchmark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ["all", *SCENARIOS]
    parser.add_argument(
        "--scenario", nargs="+", choices=names, default=["peers"], metavar="NAME", help=", ".join(names)
    )
    parser.add_argument("--queries", type=int, default=96_000)
    parser.add_argument("--results", type=int, default=100, help="of a query in a run")
    parser.add_argument("--judgments", type=int, default=20, help="of a query")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cutoffs", default="10")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", help="these programs of a scenario")
    parser.add_argument("--quick", action="store_true", help="little data, one round: whether everything runs")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds that one program may take")
    parser.add_argument("--quiet-load", type=float, help="wait, up to 5 minutes, until the load average is below this")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "ndcg-spark-benchmark")
    parser.add_argument("--output", type=Path, default=Path("benchmark-results"))
    given = parser.parse_args(arguments)
    if given.quick:
        vars(given).update(QUICK)
    return given


def _only(scenario: Scenario, names: Sequence[str] | None) -> Scenario:
    kept = [program for program in scenario.programs if not names or program.name in names]
    return dataclasses.replace(scenario, programs=kept)


def _measured(
    name: str, scenario: Scenario, given: argparse.Namespace
) -> tuple[dict[str, list[Measurement]], list[str]]:
    """Every program's rounds, A B C A B C; one that fails is told and not run again."""
    found: dict[str, list[Measurement]] = {}
    problems: list[str] = []
    broken: set[str] = set()
    for number in range(given.rounds):
        for program in scenario.programs:
            # What measures inside itself has its rounds there.
            if program.name in broken or (program.name == "warm" and number):
                continue
            _wait_for_quiet(given.quiet_load)
            try:
                measured = _once(program, given.timeout)
            except ProgramError as error:
                problems.append(str(error))
                broken.add(program.name)
                _tell(f"{name}: {program.name} fails: {error}")
                continue
            found.setdefault(program.name, []).append(measured)
            _tell(
                f"{name} {number + 1}/{given.rounds} {program.name:<24} {measured.seconds:8.2f} s "
                f"{measured.cpu_seconds:8.2f} s processor {measured.peak_gb:6.2f} GB  load {measured.load:.1f}"
            )
    return found, problems


def _once(program: Program, timeout: float) -> Measurement:
    output = tempfile.mkdtemp(prefix="benchmark-")
    try:
        command = [output if part == "OUTPUT" else part for part in program.command]
        return measure(command, program.env, timeout)
    finally:
        shutil.rmtree(output, ignore_errors=True)


def _wait_for_quiet(load: float | None) -> None:
    deadline = time.monotonic() + 300
    while load is not None and os.getloadavg()[0] > load and time.monotonic() < deadline:
        time.sleep(5)


def _tell(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")


def _write(folder: Path, lines: Sequence[str], facts: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "benchmark.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
