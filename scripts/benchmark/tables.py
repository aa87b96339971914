"""Tables of what programs count: cost per result, what it says for larger data, and what skew does."""

from collections.abc import Callable, Mapping, Sequence

Row = Mapping[str, float]
#: A heading, and the cell of a row.
Column = tuple[str, Callable[[Row], str]]

#: The sizes of data that the sizing is for.
NIGHTS = (10**9, 10**10)


def costs(counted: Mapping[str, Row]) -> list[str]:
    """What each case costs, with the engines in tables of their own."""
    classic = {name: row for name, row in counted.items() if "jobs" in row}
    embedded = {name: row for name, row in counted.items() if "plans" in row}
    whole = ("jobs", "stages", "scans of results", "scans of judgments", "exchanges", "exchanges of results")
    per = (("bytes read", "bytes_read"), ("bytes shuffled", "bytes_shuffled"), ("bytes spilled", "bytes_spilled"))
    columns: list[Column] = [(name, _whole(name.replace(" ", "_"))) for name in whole]
    columns += [(f"{name} per result", _per_result(figure)) for name, figure in per]
    lines = _table("classic", classic, columns) if classic else []
    columns = [
        ("plans run", _whole("plans")),
        ("plans analysed", _whole("analyses")),
        ("bytes read per result", _per_result("bytes_read")),
    ]
    columns += [("read, times the files", lambda row: f"{row['bytes_read'] / row['input_bytes']:.1f}")]
    columns += [("bytes written per result", _per_result("bytes_written"))]
    return lines + (_table("embedded", embedded, columns) if embedded else [])


def sizing(counted: Mapping[str, Row]) -> list[str]:
    """The cost per result at several sizes, and what the growth between them says for NIGHTS."""
    columns: list[Column] = [
        ("bytes read per result", _per_result("bytes_read")),
        ("bytes shuffled per result", _per_result("bytes_shuffled")),
        ("bytes spilled per result", _per_result("bytes_spilled")),
        ("processor seconds per million results", _cpu_per_million),
        ("most memory of a task, MB", lambda row: f"{row['task_memory'] / 1e6:.0f}"),
        ("longest task, seconds", lambda row: f"{row['longest_task_seconds']:.1f}"),
    ]
    lines = _table("classic", counted, columns) if counted else []
    kinds: dict[str, list[Row]] = {}
    for name, row in counted.items():
        kinds.setdefault(name.partition(", ")[2] or "with ranks", []).append(row)
    nights = {
        f"{night:,} results, {kind}": _grown(min(rows, key=_results), max(rows, key=_results), night)
        for kind, rows in kinds.items()
        for night in NIGHTS
        if len({row["results"] for row in rows}) > 1
    }
    columns = [
        ("read, GB", lambda row: f"{row['bytes_read'] / 1e9:,.0f}"),
        ("shuffled, GB", lambda row: f"{row['bytes_shuffled'] / 1e9:,.0f}"),
        ("core hours", lambda row: f"{row['executor_cpu_seconds'] / 3600:,.1f}"),
    ]
    return lines + (_table("expected", nights, columns) if nights else [])


def skew(counted: Mapping[str, Row]) -> list[str]:
    """How long the longest task took, what a task needed, and what did not fit into memory."""
    columns: list[Column] = [
        ("seconds", lambda row: f"{row['seconds']:.1f}"),
        ("longest task, seconds", lambda row: f"{row['longest_task_seconds']:.1f}"),
        ("most memory of a task, MB", lambda row: f"{row['task_memory'] / 1e6:.0f}"),
        ("bytes shuffled per result", _per_result("bytes_shuffled")),
        ("bytes spilled per result", _per_result("bytes_spilled")),
    ]
    return _table("classic, in one session, the first of them cold", counted, columns) if counted else []


def _table(what: str, rows: Mapping[str, Row], columns: Sequence[Column]) -> list[str]:
    lines = ["| " + " | ".join([what, *(heading for heading, _ in columns)]) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += ["| " + " | ".join([name, *(cell(row) for _, cell in columns)]) + " |" for name, row in rows.items()]
    return [*lines, ""]


def _whole(figure: str) -> Callable[[Row], str]:
    return lambda row: f"{row[figure]:.0f}"


def _per_result(figure: str) -> Callable[[Row], str]:
    return lambda row: f"{row[figure] / row['results']:.1f}"


def _cpu_per_million(row: Row) -> str:
    return f"{row['executor_cpu_seconds'] / row['results'] * 1e6:.1f}"


def _results(row: Row) -> float:
    return row["results"]


def _grown(small: Row, large: Row, results: int) -> Row:
    """The totals of so many results, if they grow as they do between two sizes: what every job costs counts once."""
    more = (results - large["results"]) / (large["results"] - small["results"])
    return {
        figure: large[figure] + more * (large[figure] - small[figure])
        for figure in ("bytes_read", "bytes_shuffled", "executor_cpu_seconds")
    }
