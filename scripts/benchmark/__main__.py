"""Measures ours and what users would pick instead, in turn, on the same data; writes benchmark.md and benchmark.json.

From the project's folder: python -m scripts.benchmark --scenario peers --rounds 5 --output benchmark-results
"""

import argparse
import compileall
import dataclasses
import itertools
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

from scripts.benchmark.measure import Measurement, ProgramError, measure
from scripts.benchmark.programs import ENVIRONMENT, PROJECT
from scripts.benchmark.report import disagreements, heading, section
from scripts.benchmark.scenarios import SCENARIOS
from scripts.benchmark.setting import Scenario, Setting


@dataclasses.dataclass
class _Work:
    """A scenario that is being measured, what was found, and of programs that failed what happened."""

    scenario: Scenario
    found: dict[str, list[Measurement]] = dataclasses.field(default_factory=dict)
    broken: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def problems(self) -> list[str]:
        """Programs that failed, and those that should agree and do not."""
        return [*self.broken.values(), *disagreements(self.scenario, self.found)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; 1 if a program fails or two that should agree do not."""
    given = _arguments(arguments)
    # As an installed package has: without bytecode every start compiles again.
    compileall.compile_dir(PROJECT / "ndcg_spark", quiet=1)
    setting = Setting(given.cache, given.rounds, given.scale, given.seed)
    before = heading(setting)
    names = SCENARIOS if "all" in given.scenario else given.scenario
    # All data is made first, so that nothing is measured in the wake of that.
    works = {name: _Work(SCENARIOS[name](setting)) for name in names}
    given.output.mkdir(parents=True, exist_ok=True)
    # In a process of its own: what a process has held counts as held by the programs that it starts.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as measuring:
        for number, work in itertools.product(range(given.rounds), works.values()):
            _measure_round(work, number, given, measuring)
            # After every round: a night of measurements is not lost to the last of them.
            found = {name: {"rounds": of.found, "problems": of.problems} for name, of in works.items()}
            written = json.dumps({"heading": before, "scenarios": found}, indent=1, default=dataclasses.asdict)
            (given.output / "benchmark.json").write_text(written + "\n", encoding="utf-8")
            lines = (section(of.scenario, of.found, of.problems) for of in works.values())
            page = "\n".join([*before, *itertools.chain.from_iterable(lines)]) + "\n"
            (given.output / "benchmark.md").write_text(page, encoding="utf-8")
    sys.stdout.write(page)
    return int(any(work.problems for work in works.values()))


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.benchmark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenario", nargs="+", choices=["all", *SCENARIOS], default=["peers"])
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", help="these programs of a scenario")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the size of all data; try 0.01")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds that one program may take")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "ndcg-spark-benchmark")
    parser.add_argument("--output", type=Path, default=Path("benchmark-results"))
    return parser.parse_args(arguments)


def _measure_round(work: _Work, number: int, given: argparse.Namespace, measuring: Executor) -> None:
    """Every program once, in turn, but those that cannot run here; one that fails is told and not run again."""
    for program in work.scenario.programs:
        is_wanted = not given.only or program.name in given.only
        if not is_wanted or program.absent or program.name in work.broken or (program.once and number):
            continue
        try:
            with tempfile.TemporaryDirectory(prefix="benchmark-", ignore_cleanup_errors=True) as output:
                command = [output if part == "OUTPUT" else part for part in program.command]
                measured = measuring.submit(measure, command, {**ENVIRONMENT, **program.env}, given.timeout).result()
        except ProgramError as error:
            work.broken[program.name] = str(error)
            sys.stderr.write(f"{program.name} fails: {error}\n")
            continue
        work.found.setdefault(program.name, []).append(measured)
        sys.stderr.write(
            f"{work.scenario.title} {number + 1}/{given.rounds} {program.name:<24} {measured.seconds:8.2f} s "
            f"{measured.cpu_seconds:8.2f} s processor {measured.peak_gb:6.2f} GB  load {measured.load:.1f}\n"
        )


if __name__ == "__main__":
    sys.exit(main())
