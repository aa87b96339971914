"""Measurements become medians, ratios and verdicts, as Markdown and JSON."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.benchmark.measure import Measurement
from scripts.benchmark.programs import ndcg
from scripts.benchmark.setting import Figures, Scenario, Target

#: How far two programs' means may be apart that are the same NDCG.
AGREEMENT = 1e-9


def medians(found: Mapping[str, Sequence[Measurement]]) -> dict[str, dict[str, float]]:
    """Each program's medians; a program that measures inside itself gives a row for everything it measured.

    Of what is measured inside, the first is the cold one and left out.
    """
    rows: dict[str, dict[str, float]] = {}
    for name, rounds in found.items():
        inside = [measured.printed["seconds"] for measured in rounds if _measures_inside(measured)]
        if inside:
            for part in inside[0]:
                values = [value for seconds in inside for value in seconds[part][1:]]
                rows[part] = {"seconds": statistics.median(values), "rounds": len(values)}
                rows[f"{part}, first"] = {"seconds": inside[0][part][0], "rounds": 1}
        else:
            rows[name] = {
                figure: statistics.median(getattr(measured, figure) for measured in rounds)
                for figure in ("seconds", "cpu_seconds", "peak_gb", "load")
            }
            rows[name]["rounds"] = len(rounds)
    return rows


def counts(found: Mapping[str, Sequence[Measurement]]) -> dict[str, dict[str, float]]:
    """What programs have counted, by case. Counted once: of counts there is no median."""
    return {case: row for rounds in found.values() for case, row in dict(rounds[0].printed.get("cost", {})).items()}


def disagreements(scenario: Scenario, found: Mapping[str, Sequence[Measurement]]) -> list[str]:
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


def verdicts(targets: Sequence[Target], rows: Figures) -> list[dict[str, Any]]:
    """Every target with what was measured; those whose programs did not run are `not measured`."""
    said = []
    for target in targets:
        there = target.of in rows and (target.against is None or target.against in rows)
        value = None
        if there:
            value = rows[target.of][target.figure]
            if target.against is not None:
                value /= rows[target.against][target.figure]
        verdict = "not measured" if value is None else "met" if value <= target.limit else "missed"
        said.append({"target": target.what, "at_most": target.limit, "measured": value, "verdict": verdict})
    return said


def table(rows: Figures, reference: str) -> list[str]:
    """The medians as a Markdown table, the fastest first, each as a multiple of the reference."""
    columns = ["", "seconds", f"times {reference}", "processor seconds", "memory, GB", "rounds"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    base = rows.get(reference, {}).get("seconds")
    for name, row in sorted(rows.items(), key=lambda item: item[1]["seconds"]):
        cells = [
            name,
            f"{row['seconds']:.2f}",
            f"{row['seconds'] / base:.2f}" if base else "",
            f"{row['cpu_seconds']:.2f}" if "cpu_seconds" in row else "",
            f"{row['peak_gb']:.2f}" if "peak_gb" in row else "",
            f"{row['rounds']:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def section(scenario: Scenario, rows: Figures, counted: Figures) -> list[str]:
    """A scenario: its tables, its targets, and what was left out."""
    lines = [f"## {scenario.title}", ""]
    if rows:
        lines += [*table(rows, scenario.reference), ""]
    lines += scenario.tables(counted)
    if scenario.targets:
        lines += ["| target | at most | measured | |", "|---|---|---|---|"]
        for said in verdicts(scenario.targets, {**rows, **counted}):
            value = "" if said["measured"] is None else f"{said['measured']:.3f}"
            lines.append(f"| {said['target']} | {said['at_most']:.3g} | {value} | {said['verdict']} |")
        lines.append("")
    for name, reason in scenario.skipped.items():
        lines += [f"Left out: {name}, {reason}.", ""]
    return lines


def heading(facts: Mapping[str, Any]) -> list[str]:
    """Where, when and of what the figures are."""
    of = facts["machine"]
    return [
        "# Benchmark",
        "",
        f"{facts['date']}, {of['processor']}, {of['cores']} cores, {of['memory']}, {of['system']}; "
        f"load average before the runs {facts['load']:.1f}.",
        "",
        f"{facts['parameters']}. Whole processes with start-up, in turn, medians of the rounds.",
        "",
        ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
        "",
    ]


def _measures_inside(measured: Measurement) -> bool:
    seconds = measured.printed.get("seconds", {})
    return bool(seconds) and all(isinstance(values, list) for values in seconds.values())
