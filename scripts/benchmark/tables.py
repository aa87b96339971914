"""Tables in Markdown, and those of what programs count: cost per result, and what it says for larger data."""

from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, float]
#: The cell of a row under each heading.
Columns = Mapping[str, Callable[[Any], str]]

#: The sizes of data that the sizing is for.
NIGHTS = (10**9, 10**10)


def table(what: str, rows: Mapping[str, Any], columns: Columns) -> list[str]:
    """The lines of a table of named rows, and a blank line; none without rows, and no column without a cell."""
    kept = {heading: cell for heading, cell in columns.items() if any(map(cell, rows.values()))}
    cells = [[name, *(cell(row) for cell in kept.values())] for name, row in rows.items()]
    lines = ["| " + " | ".join(line) + " |" for line in ([what, *kept], *cells)]
    return [lines[0], "|---" * (len(kept) + 1) + "|", *lines[1:], ""] if rows else []


def figure(name: str, form: str = ".0f", per: str | float = 1.0) -> Callable[[Row], str]:
    """The cell with this figure of a row, divided by a number or by another figure; empty where there is none."""

    def cell(row: Row) -> str:
        divisor = row[per] if isinstance(per, str) else per
        return "" if row.get(name) is None else format(row[name] / divisor, form)

    return cell


_COUNTS = ("plans", "analyses", "jobs", "stages", "scans_of_results", "scans_of_judgments", "exchanges")
_COSTS: Columns = {
    **{name.replace("_", " "): figure(name) for name in (*_COUNTS, "exchanges_of_results")},
    "read, times the files": figure("bytes_read", ".1f", "input_bytes"),
    **{
        f"bytes {what} per result": figure(f"bytes_{what}", ".1f", "results")
        for what in ("read", "written", "shuffled", "spilled")
    },
    "processor seconds": figure("executor_cpu_seconds", ".1f"),
    "of them per million results": figure("executor_cpu_seconds", ".1f", "millions"),
    "longest task, seconds": figure("longest_task_seconds", ".1f"),
    "most memory of a task, MB": figure("task_memory", per=1e6),
}


def costs(counted: Mapping[str, Row]) -> list[str]:
    """What each case costs, with the engines in tables of their own."""
    classic = {name: row for name, row in counted.items() if "jobs" in row}
    embedded = {name: row for name, row in counted.items() if "plans" in row}
    return table("classic", classic, _COSTS) + table("embedded", embedded, _COSTS)


def expected(counted: Mapping[str, Row]) -> list[str]:
    """What the growth of the cost between sizes says for NIGHTS: what every job costs counts once."""
    kinds: dict[str, list[Row]] = {}
    for name, row in counted.items():
        kinds.setdefault(name.partition(", ")[2] or "with ranks", []).append(row)
    nights = {}
    for kind, rows in kinds.items():
        small, *_, large = sorted([rows[0], *rows], key=lambda row: row["results"])
        for night in NIGHTS if large != small else ():
            more = (night - large["results"]) / (large["results"] - small["results"])
            grown = ("bytes_read", "bytes_shuffled", "executor_cpu_seconds")
            night_of = {figure: large[figure] + more * (large[figure] - small[figure]) for figure in grown}
            nights[f"{night:,} results, {kind}"] = night_of
    columns = {
        "read, GB": figure("bytes_read", ",.0f", 1e9),
        "shuffled, GB": figure("bytes_shuffled", ",.0f", 1e9),
        "core hours": figure("executor_cpu_seconds", ",.1f", 3600.0),
    }
    return table("expected", nights, columns)
