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
from scripts.benchmark.report import counts, disagreements, heading, medians, section, verdicts
from scripts.benchmark.scenarios import SCENARIOS
from scripts.benchmark.setting import Scenario, Setting

QUICK = {"scale": 0.01, "rounds": 1}
#: Rounds inside a program that measures itself, where time is short.
FEW_ROUNDS = 2


@dataclasses.dataclass
class _Work:
    """A scenario that is being measured."""

    name: str
    scenario: Scenario
    found: dict[str, list[Measurement]] = dataclasses.field(default_factory=dict)
    problems: list[str] = dataclasses.field(default_factory=list)
    broken: set[str] = dataclasses.field(default_factory=set)
    #: What its last round took.
    seconds: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; 1 if a program fails or two that should agree do not."""
    given = _arguments(arguments)
    # As an installed package has: without bytecode every start compiles again.
    compileall.compile_dir(PROJECT / "ndcg_spark", quiet=1)
    queries = max(20, round(given.queries * given.scale))
    size = Size(queries, given.results, given.judgments, given.runs, given.seed)
    inner = min(given.rounds, FEW_ROUNDS) if given.minutes else given.rounds
    setting = Setting(size, given.cutoffs, given.cache, inner, given.scale)
    facts: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "load": os.getloadavg()[0],
        "parameters": f"{size.queries:,} queries, {size.results} results and {size.judgments} judgments each, "
        f"cutoffs {given.cutoffs}, scale {given.scale:g}, seed {size.seed}",
        "size": dataclasses.asdict(size),
    }
    # All data is made first, so that nothing is measured in the wake of that.
    works = [_prepared(name, setting, given) for name in (SCENARIOS if "all" in given.scenario else given.scenario)]
    start = time.monotonic()
    for number in range(given.rounds):
        for work in works:
            left = given.minutes * 60 - (time.monotonic() - start) if given.minutes else None
            # The first round of every scenario is always run.
            if number == 0 or left is None or work.seconds <= left:
                _measure_round(work, number, given)
                # After every round: a night of measurements is not lost to the last of them.
                _write(given.output, facts, works)
    sys.stdout.write("\n".join(_page(facts, works)) + "\n")
    return int(any(_problems(work) for work in works))


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.benchmark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ["all", *SCENARIOS]
    parser.add_argument(
        "--scenario", nargs="+", choices=names, default=["peers"], metavar="NAME", help=", ".join(names)
    )
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the size of all data; try 0.001")
    parser.add_argument("--queries", type=int, default=96_000)
    parser.add_argument("--results", type=int, default=100, help="of a query in a run")
    parser.add_argument("--judgments", type=int, default=20, help="of a query")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cutoffs", default="10")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--minutes",
        type=float,
        help="after the first round of every scenario, repeat only what ends within so many minutes; the programs that "
        "take minutes are left out",
    )
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


def _prepared(name: str, setting: Setting, given: argparse.Namespace) -> _Work:
    """A scenario whose data is made, with the programs that were asked for."""
    scenario = SCENARIOS[name](setting)
    skipped, kept = dict(scenario.skipped), []
    for program in scenario.programs:
        if program.slow and given.minutes:
            skipped[program.name] = "takes minutes; run without --minutes"
        elif not given.only or program.name in given.only:
            kept.append(program)
    for left_out, reason in skipped.items():
        _tell(f"{name}: without {left_out}: {reason}")
    return _Work(name, dataclasses.replace(scenario, programs=kept, skipped=skipped))


def _measure_round(work: _Work, number: int, given: argparse.Namespace) -> None:
    """Every program once, in turn; one that fails is told and not run again."""
    start = time.monotonic()
    for program in work.scenario.programs:
        if program.name in work.broken or (program.once and number):
            continue
        _wait_for_quiet(given.quiet_load)
        try:
            measured = _once(program, given.timeout)
        except ProgramError as error:
            work.problems.append(str(error))
            work.broken.add(program.name)
            _tell(f"{work.name}: {program.name} fails: {error}")
            continue
        work.found.setdefault(program.name, []).append(measured)
        _tell(
            f"{work.name} {number + 1}/{given.rounds} {program.name:<24} {measured.seconds:8.2f} s "
            f"{measured.cpu_seconds:8.2f} s processor {measured.peak_gb:6.2f} GB  load {measured.load:.1f}"
        )
    work.seconds = time.monotonic() - start


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


def _page(facts: dict[str, Any], works: Sequence[_Work]) -> list[str]:
    lines = heading(facts)
    for work in works:
        lines += section(work.scenario, medians(work.found), counts(work.found))
        for problem in _problems(work):
            lines += [f"**Problem:** {problem}", ""]
    return lines


def _problems(work: _Work) -> list[str]:
    return [*work.problems, *disagreements(work.scenario, work.found)]


def _write(folder: Path, facts: dict[str, Any], works: Sequence[_Work]) -> None:
    scenarios = {}
    for work in works:
        rows, counted = medians(work.found), counts(work.found)
        scenarios[work.name] = {
            "medians": rows,
            "counts": counted,
            "targets": verdicts(work.scenario.targets, {**rows, **counted}),
            "rounds": {program: [dataclasses.asdict(m) for m in rounds] for program, rounds in work.found.items()},
            "problems": _problems(work),
            "skipped": dict(work.scenario.skipped),
        }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.md").write_text("\n".join(_page(facts, works)) + "\n", encoding="utf-8")
    found = json.dumps({**facts, "scenarios": scenarios}, indent=1)
    (folder / "benchmark.json").write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
