"""Measurements become medians, ratios and verdicts, as Markdown and JSON."""

import datetime
import importlib.metadata
import os
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.benchmark import tables
from scripts.benchmark.measure import Measurement
from scripts.benchmark.programs import ndcg
from scripts.benchmark.setting import Figures, Scenario, Setting, Target

#: The rounds of every program, by its name.
Found = Mapping[str, Sequence[Measurement]]
#: How far two programs' means may be apart that are the same NDCG.
AGREEMENT = 1e-9
PACKAGES = ("pysail", "pyspark", "pyarrow", "pandas", "duckdb", "polars", "ir-measures", "pytrec-eval-terrier", "ranx")


def medians(found: Found) -> dict[str, dict[str, float]]:
    """Each program's medians; a program that measures inside itself gives a row for everything it measured.

    Of what is measured inside, the first is the cold one and left out. `busy` is the seconds per processor second: 1
    where one core works, and 0.5 where two do.
    """
    rows: dict[str, dict[str, float]] = {}
    for name, rounds in found.items():
        inside = rounds[0].printed.get("inside", {})
        for part, values in inside.items():
            rows[part] = {"seconds": statistics.median(values[1:]), "rounds": len(values) - 1}
            rows[f"{part}, first"] = {"seconds": values[0], "rounds": 1}
        if not inside:
            rows[name] = {
                figure: statistics.median(getattr(measured, figure) for measured in rounds)
                for figure in ("seconds", "cpu_seconds", "peak_gb", "load")
            }
            rows[name]["busy"] = rows[name]["seconds"] / rows[name]["cpu_seconds"]
            rows[name]["rounds"] = len(rounds)
    return rows


def counts(found: Found) -> dict[str, dict[str, float]]:
    """What programs have counted, by case. Counted once: of counts there is no median."""
    return {case: row for rounds in found.values() for case, row in dict(rounds[0].printed.get("cost", {})).items()}


def disagreements(scenario: Scenario, found: Found) -> list[str]:
    """The programs whose NDCG is not that of the program they must be like, in words."""
    wrong = []
    for program in scenario.programs:
        if program.like is None or program.like not in found or not found.get(program.name):
            continue
        mine, theirs = (ndcg(found[name][0].printed) for name in (program.name, program.like))
        apart = [k for k in {*mine, *theirs} if not abs(mine.get(k, -1.0) - theirs.get(k, -2.0)) <= AGREEMENT]
        if apart or not mine:
            wrong.append(f"{program.name} gives {mine}, {program.like} {theirs}")
    return wrong


def verdicts(targets: Sequence[Target], rows: Figures) -> dict[str, dict[str, Any]]:
    """What was measured of every target; those whose programs did not run are `not measured`."""
    said = {}
    for target in targets:
        value = None
        if {target.of, target.against or target.of} <= rows.keys():
            base = rows[target.against][target.figure] if target.against else 1.0
            value = rows[target.of][target.figure] / base
        verdict = "not measured" if value is None else "met" if value <= target.limit else "missed"
        said[target.what] = {"at_most": target.limit, "measured": value, "verdict": verdict}
    return said


def table(rows: Figures) -> list[str]:
    """The medians as a Markdown table, the fastest first, each as a multiple of the first row."""
    first, base = next(((name, row["seconds"]) for name, row in rows.items()), ("", 1.0))
    columns = {
        "seconds": tables.figure("seconds", ".2f"),
        f"times {first}": tables.figure("seconds", ".2f", base),
        "processor seconds": tables.figure("cpu_seconds", ".2f"),
        "memory, GB": tables.figure("peak_gb", ".2f"),
        "rounds": tables.figure("rounds"),
    }
    return tables.table("", dict(sorted(rows.items(), key=lambda item: item[1]["seconds"])), columns)


def section(scenario: Scenario, found: Found, problems: Sequence[str]) -> list[str]:
    """A scenario: its tables, its targets, what was left out, and what is wrong."""
    rows, counted = medians(found), counts(found)
    lines = [f"## {scenario.title}", "", *table(rows), *tables.costs(counted), *tables.expected(counted)]
    said = verdicts(scenario.targets, {**rows, **counted})
    columns = {"at most": tables.figure("at_most", ".3g"), "measured": tables.figure("measured", ".3f")}
    lines += tables.table("target", said, {**columns, "verdict": lambda row: row["verdict"]})
    for program in scenario.programs:
        lines += [f"Left out: {program.name}, {program.absent}.", ""] if program.absent else []
    for problem in problems:
        lines += [f"**Problem:** {problem}", ""]
    return lines


def heading(setting: Setting) -> list[str]:
    """Where, when, with which versions and of what the figures are."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"
    installed = {of.name.lower().replace("_", "-"): of.version for of in importlib.metadata.distributions()}
    versions = {"python": platform.python_version(), **{name: installed.get(name, "absent") for name in PACKAGES}}
    return [
        "# Benchmark",
        "",
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {machine}, {platform.system()} {platform.release()}; "
        f"load average before the runs {os.getloadavg()[0]:.1f}.",
        "",
        f"Scale {setting.scale:g}, seed {setting.seed}. Whole processes, in turn; medians of the rounds.",
        "",
        ", ".join(f"{name} {version}" for name, version in versions.items()),
        "",
    ]
